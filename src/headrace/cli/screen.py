"""Where segments go: a terminal with rich, or a plain stream.

The rule of this file: on a terminal no text of a model's reaches the terminal with control characters in it; into a pipe or file text
goes as it is. Every write is flushed, since people watch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol, TextIO

from headrace.cli.segments import Segment, Style, visible

STYLES: Final[dict[Style, str]] = {
    "text": "",
    "reasoning": "dim italic",
    "refusal": "yellow",
    "call": "bold cyan",
    "arguments": "cyan",
    "result": "green",
    "failed": "red",
    "note": "dim",
    "warning": "yellow",
    "error": "bold red",
    "label": "bold",
    "title": "bold magenta",
    "good": "bold green",
}


class Screen(Protocol):
    """Shows segments."""

    def write(self, segments: Iterable[Segment]) -> None:
        """Show them, at once."""
        ...


class PlainScreen:
    """Writes text without styles."""

    def __init__(self, stream: TextIO) -> None:
        """Write to this stream."""
        self._stream = stream
        self._is_terminal = stream.isatty()

    def write(self, segments: Iterable[Segment]) -> None:
        """Write the texts and flush."""
        text = "".join(segment.text for segment in segments)
        if text:
            self._stream.write(visible(text) if self._is_terminal else text)
            self._stream.flush()


class RichScreen:
    """Writes to a terminal, through rich, which knows what the terminal can do."""

    def __init__(self, console: Any) -> None:
        """Write to this `rich.console.Console`."""
        self._console = console

    def write(self, segments: Iterable[Segment]) -> None:
        """Write the styled texts; lines are wrapped by the terminal, so that what is copied out of it is whole."""
        for segment in segments:
            if segment.text:
                self._console.out(visible(segment.text), style=STYLES[segment.style] or None, end="", highlight=False)
        self._console.file.flush()


def screen_of(stream: TextIO) -> Screen:
    """Return the screen that fits a stream: styled on a terminal where rich is installed, else plain."""
    console = console_of(stream)
    return PlainScreen(stream) if console is None else RichScreen(console)


def console_of(stream: TextIO) -> Any:
    """Return rich's console for a terminal; None for what is no terminal, and where rich is not installed."""
    if not stream.isatty():
        return None
    try:
        import rich.console  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return rich.console.Console(file=stream, highlight=False, markup=False, emoji=False)
