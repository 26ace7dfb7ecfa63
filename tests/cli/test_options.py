"""The options by which `run` and `chat` choose."""

from __future__ import annotations

import inspect

import pytest

from headrace.cli.options import choices_of, with_choices
from headrace.cli.setup import Choices


def test_without_options_everything_is_as_it_comes():
    assert choices_of() == Choices()


def test_rules_keep_what_they_do():
    choices = choices_of(allow=["a", "b"], deny=["c"], ask=["d"], mcp=["server"], limit=["tokens=3"], mode="explore")
    assert choices.rules == (("allow", "a"), ("allow", "b"), ("ask", "d"), ("deny", "c"))
    assert (choices.mcp, choices.limits, choices.mode) == (("server",), ("tokens=3",), "explore")


def test_only_settings_that_were_given_are_settings():
    assert choices_of(temperature=0.0).settings == {"temperature": 0.0}
    assert choices_of(think_starts_open=True).options == {"think_tags": True, "think_starts_open": True}


def test_a_command_gets_the_options_beside_its_own():
    seen = []

    @with_choices
    def command(choices: Choices, *, loud: bool = False) -> None:
        """Do."""
        seen.append((choices, loud))

    names = list(inspect.signature(command).parameters)
    assert names == [*inspect.signature(choices_of).parameters, "loud"]
    defaults = {name: parameter.default for name, parameter in inspect.signature(choices_of).parameters.items()}
    command(**(defaults | {"system": "Be brief.", "loud": True}))
    assert seen == [(Choices(system="Be brief."), True)]


@pytest.mark.parametrize("command", ["run", "chat"])
async def test_help_names_every_option(program, command):
    done = await program(command, "--help", environ={"COLUMNS": "200"})
    assert done.code == 0
    for option in (
        "--mode MODE",
        "--allow RULE",
        "--ask RULE",
        "--deny RULE",
        "--mcp COMMAND|URL",
        "--limit WHAT=NUMBER",
        "--max-rounds",
        "-T, --tool",
    ):
        assert option in done.text
