"""Where segments go."""

from __future__ import annotations

import io
from typing import get_args

import pytest
import rich.console

from headrace.cli.screen import STYLES, PlainScreen, RichScreen, screen_of
from headrace.cli.segments import Segment, Style


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def test_every_style_has_a_look():
    assert set(STYLES) == set(get_args(Style))


def test_into_a_pipe_text_goes_as_it_is():
    stream = io.StringIO()
    screen = screen_of(stream)
    screen.write([Segment("a\x1b[1m", "call"), Segment("b\n")])
    assert isinstance(screen, PlainScreen)
    assert stream.getvalue() == "a\x1b[1mb\n"


def test_a_plain_terminal_gets_no_control_characters():
    stream = Terminal()
    PlainScreen(stream).write([Segment("a\x1b[2J\n")])
    assert stream.getvalue() == "a\u241b[2J\n"


def rich_terminal(**options):
    stream = Terminal()
    return stream, RichScreen(rich.console.Console(file=stream, force_terminal=True, width=20, markup=False, emoji=False, **options))


def test_a_terminal_shows_styles_and_no_control_characters_of_the_model():
    stream, screen = rich_terminal(color_system="standard")
    screen.write([Segment("a\x1b[2J", "failed")])
    assert "\x1b[31ma\u241b[2J\x1b[0m" in stream.getvalue()


def test_what_looks_like_markup_stays_text_and_long_lines_stay_whole():
    stream, screen = rich_terminal(color_system=None)
    screen.write([Segment("[bold]:smile: " + "x" * 60)])
    assert stream.getvalue() == "[bold]:smile: " + "x" * 60


def test_a_terminal_gets_the_rich_screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(screen_of(Terminal()), RichScreen)


def test_without_rich_a_terminal_is_plain(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich.console", None)
    assert isinstance(screen_of(Terminal()), PlainScreen)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_nothing_is_written_for_nothing(stream):
    screen_of(stream).write([Segment("")])
    assert stream.getvalue() == ""
