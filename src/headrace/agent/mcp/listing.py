"""The listing of a server's tools: all its pages, and the news that it has changed.

The rule of this file: news is a mark that is set, never a listing of its own; many at once are one. So nothing that a server says
can make more than one listing wait.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import anyio

from headrace.agent.mcp.endpoint import LOG

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import Tool

MAX_PAGES: Final = 1_000
MAX_TOOLS: Final = 10_000
_LISTEN_AGAIN_S: Final = (1.0, 2.0, 5.0, 15.0, 60.0)


async def listed(client: Client, name: str) -> tuple[Tool, ...]:
    """Return all pages of the listing, up to a bound; a cursor that comes again ends it.

    Raises:
        MCPError, ValidationError: the server does not list its tools, or not by the protocol.
    """
    tools: list[Tool] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _page in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(tools) > MAX_TOOLS:
            break
        seen.add(cursor)
    if cursor is not None:
        LOG.warning("the MCP server %s lists its tools without end; the first %d are taken", name, min(len(tools), MAX_TOOLS))
    return tuple(tools[:MAX_TOOLS])


async def follow(changed: asyncio.Event, list_again: Callable[[], Awaitable[None]]) -> None:
    """List the tools anew whenever they have changed; ends only by cancellation."""
    while True:
        await changed.wait()
        changed.clear()
        await list_again()


async def listen(client: Client, changed: asyncio.Event, acknowledged: asyncio.Event) -> None:
    """Hear of changes from a server of the newer protocol, which tells only those who ask; again and again, unless it never agrees.

    Args:
        client: the session.
        changed: set at each news, and after a gap in which some may have been missed.
        acknowledged: set once the server has agreed, or refused.
    """
    from mcp import MCPError  # noqa: PLC0415 - an extra

    for attempt in itertools.count():
        try:
            async with client.listen(tools_list_changed=True) as events:
                if acknowledged.is_set():
                    changed.set()
                acknowledged.set()
                async for _event in events:
                    changed.set()
        except (MCPError, RuntimeError, TimeoutError):
            if not acknowledged.is_set():
                acknowledged.set()
                return
        await anyio.sleep(_LISTEN_AGAIN_S[min(attempt, len(_LISTEN_AGAIN_S) - 1)])
