"""How far a call has come, from the server to the run."""

from __future__ import annotations

import inspect
from typing import Any, Protocol


class OnProgress(Protocol):
    """Hears how far a call has come."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take what the server said: how much is done, of how much, and a text."""
        ...


def progress_of(context: object) -> OnProgress | None:
    """Return what passes a server's progress on to the run, if the context has a place for it."""
    report: Any = getattr(context, "progress", None)
    if not callable(report):
        return None

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        said: Any = report(message or "", done=progress, total=total)
        if inspect.isawaitable(said):
            await said

    return on_progress
