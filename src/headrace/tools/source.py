"""Where tools come from that live elsewhere: a server that offers them, for as long as it can be reached.

The rule of this file: a source that cannot be reached is no error of the run. It gives no tools, and `problem` says why.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Protocol

from headrace.tools.toolset import Toolset


class ToolSource(Protocol):
    """Gives a toolset while it is open. Each `open` has its `aclose`; the source lives until the last one.

    Both may be called from different tasks of one event loop: sources open side by side.

    Attributes:
        name: what to call it in a message.
        problem: why its tools are missing or may fail, or None if all is well.
        toolset: the tools that it offers now. They may change while it is open: read it again before each round.
    """

    @property
    def name(self) -> str:
        """What to call it in a message."""
        ...

    @property
    def problem(self) -> str | None:
        """Why its tools are missing or may fail, or None."""
        ...

    @property
    def toolset(self) -> Toolset:
        """The tools that it offers now."""
        ...

    async def open(self) -> Toolset:
        """Open it, or try again if it was lost, and return its tools: none if it cannot be reached."""
        ...

    async def aclose(self) -> None:
        """Undo one `open`; the last one lets go of the source."""
        ...


@contextlib.asynccontextmanager
async def opened(source: ToolSource) -> AsyncGenerator[Toolset, None]:
    """Keep a source open for a block, and give its toolset."""
    tools = await source.open()
    try:
        yield tools
    finally:
        await source.aclose()
