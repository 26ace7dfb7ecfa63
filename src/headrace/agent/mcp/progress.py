"""How far a call has come, from the server to the run."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any, Protocol

from headrace.tools.context import Context


class OnProgress(Protocol):
    """Hears how far a call has come."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take what the server said: how much is done, of how much, and a text."""
        ...


@contextlib.contextmanager
def progress_to(context: Context[Any]) -> Generator[OnProgress | None, None, None]:
    """Give what passes a server's progress on to the run while the call lasts: None, if nobody watches.

    The session hands progress on in a task of its own, so it may come when the call has ended; nobody is told of it then.
    """
    is_over = False

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        if not is_over:
            context.progress(message or "", done=progress, total=total)

    try:
        yield None if context.emit is None else on_progress
    finally:
        is_over = True
