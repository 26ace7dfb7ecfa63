"""The entry point: which command, and what to install for it."""

from __future__ import annotations

import io
import sys

import pytest

from headrace.cli.main import main, version

WITHOUT_EXTRAS = "import sys\nfor name in ('typer', 'rich', 'prompt_toolkit'): sys.modules[name] = None\n"
RUN = "from headrace.cli.main import main\nsys.exit(main())"


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headrace {version()}\n"


async def test_python_m_headrace_is_headrace(program):
    done = await program("--version")
    assert (done.code, done.text, done.err) == (0, f"headrace {version()}\n", "")


async def test_help_lists_the_commands(program):
    done = await program("--help")
    assert done.code == 0
    for command in ("run", "chat", "merge", "models", "local"):
        assert f"\n  {command} " in done.text


async def test_without_a_command_it_shows_the_help_and_is_2(program):
    done = await program()
    assert done.code == 2
    assert "Usage: headrace" in done.text + done.err


@pytest.mark.parametrize("arguments", [["run", "?"], ["chat"], ["models"], ["local", "list"], []])
async def test_without_the_extra_a_command_says_what_to_install(program, arguments):
    done = await program(*arguments, python=("-c", WITHOUT_EXTRAS + RUN))
    assert (done.code, done.out) == (2, b"")
    assert "pip install 'headrace[cli]'" in done.err
    assert "Traceback" not in done.err


async def test_without_the_extra_the_version_is_still_said(program):
    done = await program("--version", python=("-c", WITHOUT_EXTRAS + RUN))
    assert done.code == 0


async def test_a_terminal_without_unicode_gets_question_marks(program):
    done = await program("local", "list", "--help", environ={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.code == 0
    done = await program("merge", "-", "--protocol", "openai-chat", given=b'data: {"choices":[{"delta":{"content":"\xe2\x9c\x93"}}]}\n\n',
                         environ={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})  # fmt: skip
    assert done.code == 0
    assert b"text        ?\n" in done.out


def test_streams_that_cannot_be_reconfigured_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["--version"]) == 0
    assert sys.stdout.getvalue() == f"headrace {version()}\n"
