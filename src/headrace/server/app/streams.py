"""A run's log on its way to a reader: pulled from the log as fast as the reader takes it, and no faster.

The rule of this file: nothing is queued for a reader. What there is goes out together, up to a bound; then the reader's connection is waited
for, and meanwhile nothing is read. A reader that takes nothing for long is cut off: the log has all of it, and it can come back. Who leaves
stops nothing but the reading.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Final, Protocol, cast

from headrace.errors import HeadraceError
from headrace.server.app.asks import Ask
from headrace.server.app.faults import FaultError
from headrace.server.app.keys import Key
from headrace.server.app.limits import Limits
from headrace.server.app.metrics import Metrics
from headrace.server.asgi import ClientLeftError, Headers
from headrace.server.caller import Caller
from headrace.server.connections import ABORT
from headrace.server.eager import Resumed
from headrace.sessions.records import Entry

LOG: Final = logging.getLogger("headrace.server")
EVENTS: Final = "text/event-stream"
_PIECE_BYTES: Final = 64 * 1024
_TYPE: Final = b'{"type":"'


class Voice(Protocol):
    """What readers are told of the entries of a log."""

    def write(self, entry: Entry) -> bytes:
        """Return what the next entry is on the wire."""
        ...

    def close(self, reason: str | None) -> bytes:
        """Return what ends the stream: at the end of the log, or before it, for a reason."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nothing further is to be said."""
        ...


class LogVoice:
    """The log as it is: each entry is one event with its number."""

    is_over = False

    def write(self, entry: Entry) -> bytes:
        """Return the entry as a server-sent event."""
        return frame(entry)

    def close(self, reason: str | None) -> bytes:  # noqa: ARG002 - a reader sees by the last event whether it has all
        """Return nothing: the end of the log is its last event."""
        return b""


def frame(entry: Entry) -> bytes:
    """Return an entry of a log as a server-sent event."""
    data = entry.data
    name = data[9 : data.index(b'"', 9)] if data.startswith(_TYPE) else b"message"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.seq, name, data)


class Streams:
    """The streams that are open.

    Attributes:
        is_leaving: whether the server ends; then no stream begins.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        """Begin with none."""
        self.limits = limits
        self.metrics = metrics
        self.is_leaving = False
        self._open: dict[asyncio.Task[object], None] = {}
        self._by_key: Counter[str] = Counter()

    def leave(self) -> None:
        """End all streams: the server ends, and their readers come back to the next one."""
        self.is_leaving = True
        for task in list(self._open):
            task.cancel()

    @contextlib.contextmanager
    def entered(self, key: Key, route: str) -> Generator[None]:
        """Count a stream while the block runs.

        Raises:
            FaultError: there are too many, or the server ends.
        """
        self.check(key)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = None
        self._by_key[key.name] += 1
        self.metrics.streams.add(route)
        try:
            yield
        finally:
            del self._open[task]
            self._by_key[key.name] -= 1
            self.metrics.streams.add(route, by=-1)

    def check(self, key: Key) -> None:
        """Refuse a stream that would be one too many.

        Raises:
            FaultError: it would be, or the server ends.
        """
        if self.is_leaving:
            raise leaving()
        if key.max_streams is not None and self._by_key[key.name] >= key.max_streams:
            raise FaultError(
                "limit", f"this key has {key.max_streams} streams open, which is all that it may have at once", retry_after_s=1
            )
        if len(self._open) >= self.limits.max_streams:
            raise FaultError(
                "unavailable", f"{self.limits.max_streams} streams are open, which is all that are served at once", retry_after_s=1
            )


def leaving() -> FaultError:
    """Return the fault for whoever comes while the server ends."""
    return FaultError("unavailable", "the server is shutting down; runs go on with the next one", retry_after_s=1)


class Stream:
    """An answer that is a stream of a log."""

    def __init__(
        self,
        streams: Streams,
        route: str,
        entries: AsyncGenerator[Entry],
        voice: Voice,
        *,
        headers: Headers = (),
        prelude: bytes = b"",
        on_left: Callable[[], object] | None = None,
    ) -> None:
        """Hold what is to be sent.

        Args:
            streams: counts it.
            route: the name of its route.
            entries: the log.
            voice: what is said of it.
            headers: of the protocol.
            prelude: what is sent at once, so that the reader knows that it is heard.
            on_left: what is done if the reader leaves before the end; may be async.
        """
        self._streams = streams
        self._route = route
        self._entries = entries
        self._voice = voice
        self._headers = headers
        self._prelude = prelude
        self._on_left = on_left

    async def send(self, ask: Ask, headers: Headers) -> int:
        """Send it; see `Answer`."""
        limits = self._streams.limits
        own = tuple(one for one in self._headers if one[0] not in ("cache-control", "x-accel-buffering"))
        caller = Caller(ask.receive, ask.send, (*own, *headers), keep_alive_s=limits.keep_alive_s, stall_s=limits.stall_s)
        caller.will_stream(EVENTS)
        with self._streams.entered(ask.key, self._route):
            try:
                async with caller, contextlib.aclosing(self._entries):
                    await self._through(caller)
            except ClientLeftError as error:
                if "took nothing" in str(error):
                    self._streams.metrics.cut_off.add()
                await cut(ask)
                await left(self._on_left)
            except HeadraceError as error:
                LOG.warning("id=%s a stream broke off: %s: %s", ask.id, type(error).__name__, error)
                await cut(ask)
            finally:
                self._streams.metrics.bytes.add(by=caller.sent_bytes)
        return 200

    async def _through(self, caller: Caller) -> None:
        reason, rest = None, b""
        try:
            rest = await self._carry(caller)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._streams.is_leaving or task is None or task.uncancel() > 0:
                raise
            reason = "the server is shutting down; the run goes on"
        await caller.end(rest + self._voice.close(reason))

    async def _carry(self, caller: Caller) -> bytes:
        """Send entries as they come; those that are there together leave together. Returns what is left to be sent."""
        entries, voice, events = self._entries, self._voice, self._streams.metrics.events
        pieces: list[bytes] = [self._prelude]
        size = len(self._prelude)
        while not voice.is_over:
            step = cast("Generator[object, object, Entry]", entries.__anext__().__await__())
            try:
                waiting = step.send(None)
            except StopIteration as got:
                entry: Entry = got.value
            except StopAsyncIteration:
                break
            else:
                raised = await _sent(caller, b"".join(pieces)) if size else None
                pieces, size = [], 0
                try:
                    entry = await Resumed(step, waiting, raised)
                except StopAsyncIteration:
                    break
            piece = voice.write(entry)
            events.add()
            if piece:
                pieces.append(piece)
                size += len(piece)
            if size >= _PIECE_BYTES:
                await caller.write(b"".join(pieces))
                pieces, size = [], 0
                await asyncio.sleep(0)  # a log that is there already must not keep the others waiting
        return b"".join(pieces)


async def left(then: Callable[[], object] | None) -> None:
    """Do what is to be done when a client has left."""
    done = None if then is None else then()
    if inspect.isawaitable(done):
        try:
            await done
        except HeadraceError as error:
            LOG.warning("what was to be done when a client left failed: %s: %s", type(error).__name__, error)


async def _sent(caller: Caller, data: bytes) -> BaseException | None:
    """Send; returns what happened instead, by which the reading has to end too."""
    try:
        await caller.write(data)
    except BaseException as error:  # noqa: BLE001 - it is raised where the log is read
        return error
    return None


async def cut(ask: Ask) -> None:
    """Cut a connection whose answer cannot be ended, without waiting for what the client has not taken."""
    abort = ask.scope.get("extensions", {}).get(ABORT)
    if abort is not None:
        abort()
        await asyncio.sleep(0)
