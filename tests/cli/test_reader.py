"""Where a chat's lines come from; the prompt itself is tried on a terminal in test_chat.py."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from headrace.cli.reader import LineReader, history_path, reader_of_terminal


async def entries(monkeypatch, text, **options):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    reader, read = LineReader(**options), []
    while (entry := await reader.read()) is not None:
        read.append(entry)
    return read


async def test_each_line_is_an_entry(monkeypatch):
    assert await entries(monkeypatch, "one\r\n\ntwo") == ["one", "", "two"]


async def test_a_backslash_at_the_end_goes_on_in_the_next_line_also_at_the_end_of_input(monkeypatch):
    assert await entries(monkeypatch, "one\\\ntwo\\\n three\nfour\\\n") == ["one\ntwo\n three", "four"]


async def test_a_terminal_that_can_do_no_more_is_asked_for_each_line(monkeypatch, capsys):
    assert await entries(monkeypatch, "one\\\ntwo\n", is_prompt=True) == ["one\ntwo"]
    assert capsys.readouterr().out == "> . > "


def test_what_is_no_terminal_is_read_line_by_line_without_asking(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert not reader_of_terminal().is_prompt


def test_the_history_is_in_the_users_state_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_STATE", str(tmp_path))
    assert history_path() == tmp_path / "history"


@pytest.mark.parametrize(
    ("platform", "variable", "value", "path"),
    [
        ("linux", "XDG_STATE_HOME", "/state", "/state/headrace/history"),
        ("linux", "XDG_STATE_HOME", "relative", "/home/ada/.local/state/headrace/history"),
        ("linux", "XDG_STATE_HOME", "", "/home/ada/.local/state/headrace/history"),
        ("darwin", "XDG_STATE_HOME", "/state", "/home/ada/Library/Application Support/headrace/history"),
        ("win32", "LOCALAPPDATA", "/local", "/local/headrace/history"),
        ("win32", "LOCALAPPDATA", "", "/home/ada/AppData/Local/headrace/history"),
    ],
)
def test_each_platform_has_its_folder(monkeypatch, platform, variable, value, path):
    monkeypatch.delenv("HEADRACE_STATE", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert history_path() == Path(path)
