"""Words for a run that goes on: the first key that is pressed opens a line, and the output waits until it is said.

The rule of this file: while a person types, nothing is written to the terminal, so nothing is torn; the run itself goes on meanwhile. What
is said too late for the run is not lost: it is kept for whoever asks next, and so are commands.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Final

from headrace.cli.kept import Watchable
from headrace.cli.keyboard import IS_KNOWN, without_echo
from headrace.cli.reader import SAY, PromptReader, Reader, is_command, words_of_entry
from headrace.cli.screen import Screen
from headrace.cli.segments import Segment
from headrace.errors import StateError

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_READ_BYTES: Final = 4096


class Steering:
    """Words for one run after the other; on anything but a real prompt nothing is done.

    Attributes:
        left: the entries that no run has heard.
    """

    def __init__(self, reader: Reader, screen: Screen) -> None:
        """Listen to nobody yet."""
        self.left: list[str] = []
        self._reader = reader if isinstance(reader, PromptReader) and IS_KNOWN else None
        self._screen = screen
        self._run: Watchable | None = None
        self._typed = ""
        self._typing: asyncio.Task[None] | None = None
        self._held: list[Callable[[], None]] = []
        self._end_line: Callable[[], None] = _nothing

    @property
    def is_typing(self) -> bool:
        """Whether a person has begun a line."""
        return self._typing is not None

    def show(self, write: Callable[[], None]) -> None:
        """Write now, or when nobody types any more."""
        if self.is_typing:
            self._held.append(write)
        else:
            write()

    @contextlib.asynccontextmanager
    async def listening(self, run: Watchable, end_line: Callable[[], None]) -> AsyncGenerator[None]:
        """Listen while a run goes on; at the end of the block what was begun is waited for.

        Args:
            run: who hears it; first what was said before it.
            end_line: ends the line that is being written, when a person begins another one.
        """
        if self._reader is None:
            yield
            return
        self._run, self._end_line, reader = run, end_line, self._reader
        for words in self.take():
            self._say(words)
        loop, fd = asyncio.get_running_loop(), sys.stdin.fileno()
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        with without_echo(fd):

            def on_keys() -> None:
                try:
                    keys = os.read(fd, _READ_BYTES)
                except OSError:
                    keys = b""
                if not keys:  # the terminal is gone
                    loop.remove_reader(fd)
                    return
                self._typed += decoder.decode(keys)
                self._take_lines()
                if self._typed:
                    loop.remove_reader(fd)
                    self._typing = asyncio.ensure_future(self._type(reader, lambda: loop.add_reader(fd, on_keys)))

            loop.add_reader(fd, on_keys)
            try:
                yield
            except asyncio.CancelledError:
                if self._typing is not None:
                    self._typing.cancel()
                raise
            finally:
                # While a line is typed the keys are the prompt's, and so is the reader.
                if self._typing is not None:
                    with contextlib.suppress(asyncio.CancelledError):
                        await self._typing
                loop.remove_reader(fd)
                self._run = None

    def take(self) -> list[str]:
        """Return what no run has heard, and forget it."""
        left, self.left = self.left, []
        return left

    # ------------------------------------------------------------------------------------------ typing

    def _take_lines(self) -> None:
        """Say whole lines that came at once, such as what was pasted; what begins a line stays."""
        text = _CONTROLS.sub("", _ESCAPES.sub("", self._typed.replace("\r", "\n")))
        *lines, self._typed = text.split("\n")
        said = "\n".join(line for line in lines if line.strip())
        if said:
            self._end_line()
            self._screen.write([Segment(f"{SAY}{said}\n", "note")])
            self._say(said)

    async def _type(self, reader: PromptReader, listen: Callable[[], None]) -> None:
        begun, self._typed = self._typed, ""
        self._end_line()
        try:
            words = await reader.say(begun)
            if words is not None and words.strip():
                self._say(words)
        except KeyboardInterrupt:
            if self._run is not None:
                self._run.interrupt()
        finally:
            self._typing = None
            for write in self._all_held():
                write()
            listen()

    def _all_held(self) -> Iterator[Callable[[], None]]:
        while self._held:
            yield self._held.pop(0)

    def _say(self, entry: str) -> None:
        try:
            if self._run is not None and not is_command(entry):
                self._run.steer(words_of_entry(entry))
                return
        except StateError:
            pass  # it has given its answer, or it waits: whoever asks next says it
        self.left.append(entry)


def _nothing() -> None:
    """Do nothing."""
