"""The sources of a run's tools, opened together and let go of together.

The rule of this file: whatever happens while they open, nothing stays open that nobody will close; and what one of them raises when it is
let go of is no error of the run, which has its result by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from headrace.tools.source import ToolSource

LOG: Final = logging.getLogger("headrace.agent")


class Sources:
    """Holds sources of tools open for one run, or for one block of an agent."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        """Open nothing yet."""
        self._sources = tuple(sources)
        self._opened: list[ToolSource] = []

    async def open(self) -> None:
        """Open them, side by side; if one of them raises, or the caller is cancelled, none stays open."""
        if len(self._sources) < 2:  # as most agents have it: no task is needed
            for source in self._sources:
                await self._open(source)
            return
        tasks = [asyncio.create_task(self._open(source), name=f"headrace-open-{source.name}") for source in self._sources]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self.aclose()
            raise

    async def _open(self, source: ToolSource) -> None:
        await source.open()
        self._opened.append(source)

    async def aclose(self) -> None:
        """Undo what was opened; does nothing a second time."""
        while self._opened:
            source = self._opened.pop()
            try:
                await source.aclose()
            except Exception:  # a source may be a stranger's code
                LOG.warning("the source of tools %s could not be closed", source.name, exc_info=True)
            except BaseException:
                await self.aclose()  # cancelled: the others are let go of as well
                raise
