"""The keyboard of a POSIX terminal, where a program wants its keys at once and unseen. Elsewhere nothing happens.

The rule of this file: how the terminal was is how it is left.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from typing import Any, Final

_LFLAG: Final = 3
_CONTROL: Final = 6


def _termios() -> Any:
    try:
        return importlib.import_module("termios")
    except ImportError:  # Windows
        return None


_TERMIOS: Final[Any] = _termios()
IS_KNOWN: Final = _TERMIOS is not None
"""Whether this system's terminals are of that kind."""


@contextlib.contextmanager
def without_echo(fd: int) -> Generator[None]:
    """Let keys come one by one and unseen for a block; Ctrl-C stays a signal."""
    if _TERMIOS is None:
        yield
        return
    try:
        before: list[Any] = _TERMIOS.tcgetattr(fd)
    except _TERMIOS.error:
        yield
        return
    quiet = [*before]
    quiet[_LFLAG] &= ~(_TERMIOS.ICANON | _TERMIOS.ECHO)
    quiet[_CONTROL] = [*before[_CONTROL]]
    quiet[_CONTROL][_TERMIOS.VMIN], quiet[_CONTROL][_TERMIOS.VTIME] = 1, 0
    _TERMIOS.tcsetattr(fd, _TERMIOS.TCSANOW, quiet)
    try:
        yield
    finally:
        with contextlib.suppress(_TERMIOS.error):
            _TERMIOS.tcsetattr(fd, _TERMIOS.TCSANOW, before)


def forget_keys(fd: int) -> None:
    """Drop what was typed and not read."""
    if _TERMIOS is not None:
        with contextlib.suppress(_TERMIOS.error):
            _TERMIOS.tcflush(fd, _TERMIOS.TCIFLUSH)
