"""Exit statuses, and how an error is told at the command line.

The rule of this file: an error is one line on standard error that says what happened and what helps, never a traceback, unless it is a
bug of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.errors import (
    APIError,
    AuthError,
    ConnectFailedError,
    ContextLengthError,
    HeadraceError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    UsageError,
)

DONE: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2
WAITING: Final = 3
INTERRUPTED: Final = 130
READER_LEFT: Final = 141
"""128 and the signal's number, as a shell reports programs that end by SIGINT and by SIGPIPE."""

_ADVICE: Final[tuple[tuple[type[HeadraceError], str], ...]] = (
    (AuthError, "Check the key; `headrace models` shows which variable holds it."),
    (RateLimitError, "Wait a little and try again."),
    (OverloadedError, "Try again, or choose another model with -m."),
    (ContextLengthError, "Ask for less at once, or begin anew."),
    (ConnectFailedError, "Check the address and the network."),
    (StreamTimeoutError, "The server may be slow or gone; try again."),
)


def code_of(error: HeadraceError) -> int:
    """Return the exit status for an error: 2 for wrong use, else 1."""
    return WRONG_USE if isinstance(error, UsageError) else FAILED


def words_of(error: BaseException) -> str:
    """Return what to tell a person about an error, with advice where there is some."""
    text = str(error) or type(error).__name__
    if isinstance(error, APIError) and error.status is not None and str(error.status) not in text:
        text = f"{text} (HTTP {error.status})"
    advice = next((words for kind, words in _ADVICE if isinstance(error, kind)), "")
    return f"{text.rstrip()}{'' if text.rstrip().endswith('.') or not advice else '.'} {advice}".strip()


def complain(text: str) -> None:
    """Say an error on standard error."""
    screen_of(sys.stderr).write((Segment("headrace: ", "error"), Segment(f"{text}\n")))


def guarded(command: Callable[[], int]) -> int:
    """Run a command and return its exit status; what it raises for users is told, not shown as a traceback."""
    try:
        code = command()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Else the interpreter would complain about the same pipe once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except KeyboardInterrupt:
        return INTERRUPTED
    except HeadraceError as error:
        complain(words_of(error))
        return code_of(error)
