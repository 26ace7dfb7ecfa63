"""What a server's process writes to its standard error: read, so that it never blocks, and its end kept, so that a failed start can be told."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Callable
from typing import Final, TextIO

_MAX_LINES: Final = 12
_MAX_LINE_BYTES: Final = 500


class StderrTail:
    """The last lines of a process' standard error.

    Attributes:
        file: what the process is given to write to; close it (`given`) once the process has it.
    """

    def __init__(self, on_line: Callable[[str], object]) -> None:
        """Make the pipe, and read it in a daemon thread until every process that holds it has ended.

        Args:
            on_line: called in that thread with each line.
        """
        reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self._lines: collections.deque[str] = collections.deque(maxlen=_MAX_LINES)
        self._on_line = on_line
        self._thread = threading.Thread(target=self._read, args=(reading,), name="headrace-mcp-stderr", daemon=True)
        self._thread.start()

    def given(self) -> None:
        """Close our own end, so that the process' end is the pipe's end."""
        self.file.close()

    def wait(self, limit_s: float) -> None:
        """Wait until everything was read; a grandchild may hold the pipe for longer, so no more than a limit."""
        self._thread.join(limit_s)

    @property
    def text(self) -> str:
        """The last lines."""
        return "\n".join(tuple(self._lines))

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb") as stream:
            while line := stream.readline(_MAX_LINE_BYTES):
                text = line.decode("utf-8", "replace").rstrip()
                if text:
                    self._lines.append(text)
                    self._on_line(text)
