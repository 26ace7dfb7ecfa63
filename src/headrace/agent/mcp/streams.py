"""The two streams between a session and its server, watched: when they end, what was handed over, what nobody knows.

The rule of this file: messages pass in order and nothing is held back. It learns from the traffic what the session does not
tell: that the server went away while nobody was asking, and whether a call had left when it did (law 9).
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, cast

import anyio

KEPT: Final = "headrace/block"
"""Where a content block of an unknown kind is kept, in the metadata of an empty text block."""
KNOWN_KINDS: Final = frozenset({"text", "image", "audio", "resource", "resource_link"})


class Handed:
    """Whether a request was handed to the transport.

    Attributes:
        is_handed: from then on it may have reached the server.
    """

    def __init__(self) -> None:
        """Nothing was handed over yet."""
        self.is_handed = False


SENDING: Final[contextvars.ContextVar[Handed | None]] = contextvars.ContextVar("headrace_mcp_sending", default=None)
"""The mark of the call that the running task sends."""


class _Watched:
    """What both sides share: a stream that is passed on."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return cast("bool | None", await self._inner.__aexit__(kind, error, trace))


class ReadSide(_Watched):
    """Messages from the server; says when they end."""

    def __init__(self, inner: Any, on_end: Callable[[], object]) -> None:
        """Read from `inner`; call `on_end` when nothing more can come."""
        super().__init__(inner)
        self._on_end = on_end

    @property
    def last_context(self) -> contextvars.Context | None:
        """The sender's context of the last message, where the transport carries it."""
        return cast("contextvars.Context | None", getattr(self._inner, "last_context", None))

    def __aiter__(self) -> ReadSide:
        return self

    async def __anext__(self) -> Any:
        return await self._next(self._inner.__anext__)

    async def receive(self) -> Any:
        """Return the next message."""
        return await self._next(self._inner.receive)

    async def _next(self, read: Callable[[], Any]) -> Any:
        try:
            item = await read()
        except (StopAsyncIteration, anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise
        keep_unknown(getattr(getattr(item, "message", None), "result", None))
        return item


class WriteSide(_Watched):
    """Messages to the server; marks the call that hands one over."""

    async def send(self, item: Any) -> None:
        """Hand a message to the transport."""
        mark = SENDING.get()
        if mark is None or mark.is_handed:
            await self._inner.send(item)
            return
        # A send that is cancelled may have delivered all the same, so the mark comes first.
        mark.is_handed = True
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            mark.is_handed = False
            raise


def keep_unknown(result: object) -> None:
    """Wrap the content blocks of a result whose kind the protocol's types do not know, in place.

    The session refuses a whole result for one such block, and it is the server's right to be newer than we are.
    """
    content: Any = cast("dict[str, Any]", result).get("content") if isinstance(result, dict) else None
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    for place, block in enumerate(blocks):
        if isinstance(block, dict) and cast("dict[str, Any]", block).get("type") not in KNOWN_KINDS:
            blocks[place] = {"type": "text", "text": "", "_meta": {KEPT: block}}


@contextlib.asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], on_open: Callable[[], object], on_end: Callable[[], object]
) -> AsyncGenerator[tuple[ReadSide, WriteSide], None]:
    """Open a transport and watch its streams."""
    async with transport as (read, write):
        on_open()
        yield ReadSide(read, on_end), WriteSide(write)
