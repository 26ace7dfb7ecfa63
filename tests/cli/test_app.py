"""The commands' own options and help."""

from __future__ import annotations

import pytest

from headrace.cli import merge
from headrace.cli.app import main


@pytest.mark.parametrize(
    "command", [["run"], ["chat"], ["models"], ["inspect"], ["local"], ["local", "pull"], ["local", "list"], ["local", "path"]]
)
def test_every_command_has_a_help(command, capsys):
    assert main([*command, "--help"]) == 0
    assert f"Usage: headrace {' '.join(command)}" in capsys.readouterr().out


def test_merge_is_the_same_program_with_and_without_the_extra(capsys):
    with pytest.raises(SystemExit) as left:
        merge.main(["--help"])
    own = capsys.readouterr().out
    assert (left.value.code, main(["merge", "--help"])) == (0, 0)
    assert capsys.readouterr().out == own


def test_an_unknown_option_is_2(capsys):
    assert main(["models", "--loud"]) == 2
    assert "--loud" in capsys.readouterr().err
