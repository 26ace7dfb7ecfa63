"""The client's end of one request: the answer begun, its bytes sent, a sign of life in long silences, and the news that the client has left.

The rule of this file: it knows bytes and no protocol. One task for a request listens for the client leaving; nothing is made for a chunk.
A client that leaves, or takes nothing for too long, cancels the task that answers it, which ends the upstream's work too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from types import TracebackType
from typing import Any, Final, Self

from headrace.server.asgi import ClientLeftError, Headers, Receive, Send, send_start, send_whole
from headrace.server.eager import Resumed

COMMENTED: Final = "text/event-stream"
_BEAT: Final = b": keep-alive\n\n"
_STREAM_HEADERS: Final[Headers] = (("cache-control", "no-cache"), ("x-accel-buffering", "no"))


class Caller:
    """A client that waits; open it with `async with` in the task that answers.

    Attributes:
        headers: go with every answer.
        is_started: whether the status has been sent.
        is_over: whether the whole answer has been sent.
        sent_bytes: how many bytes of the body were sent.
    """

    def __init__(self, receive: Receive, send: Send, headers: Headers, *, keep_alive_s: float, stall_s: float) -> None:
        """Wait for nothing yet; the request's body must have been read.

        Args:
            receive: of ASGI.
            send: of ASGI.
            headers: go with every answer.
            keep_alive_s: after so long without a word, or at most twice as long, a stream says that it lives.
            stall_s: a client that takes nothing for so long has gone.
        """
        self.headers = headers
        self.is_started = False
        self.is_over = False
        self.sent_bytes = 0
        self._receive, self._send = receive, send
        self._keep_alive_s, self._stall_s = keep_alive_s, stall_s
        self._has_sent = False  # since it was last looked whether a sign of life is due
        self._media_type: str | None = None
        self._task: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._has_left = False
        self._is_sending = False
        self._beat_over: asyncio.Event | None = None
        self._unfinished: tuple[Generator[Any, Any, None], Any] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._unfinished is not None:
            self._unfinished[0].close()
        try:
            await self._stop_watching()
        except asyncio.CancelledError as late:
            error = error or late
        if self._has_left and self._task is not None and self._task.uncancel() == 0:
            raise ClientLeftError("the client left before its answer was whole") from error
        if error is not None and kind is None:
            raise error

    async def _stop_watching(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    # ------------------------------------------------------------------------------------------ the answer

    def will_stream(self, media_type: str) -> None:
        """Say what kind of stream this becomes, so that a sign of life may begin it."""
        self._media_type = media_type

    @property
    def is_free(self) -> bool:
        """Whether `pour` may be called: the answer has begun, and nothing is being sent."""
        return self.is_started and not self._is_sending and self._beat_over is None

    def pour(self, data: bytes) -> bool:
        """Send a piece of the stream at once; returns whether the client took it, else `settle` has to be awaited."""
        self.sent_bytes += len(data)
        self._has_sent = True
        step = self._send({"type": "http.response.body", "body": data, "more_body": True}).__await__()
        try:
            waiting = next(step)
        except StopIteration:
            return True
        self._unfinished, self._is_sending = (step, waiting), True
        return False

    async def settle(self) -> None:
        """Wait until nothing is being sent.

        Raises:
            ClientLeftError: the client took nothing for too long.
        """
        while self._beat_over is not None:
            await self._beat_over.wait()
        if self._unfinished is not None:
            (step, waiting), self._unfinished = self._unfinished, None
            try:
                await self._slowly(step, waiting)
            finally:
                self._is_sending = False

    async def write(self, data: bytes) -> None:
        """Send a piece of the stream, the status before the first one.

        Raises:
            ClientLeftError: the client took nothing for too long.
        """
        await self.settle()
        self._is_sending = True
        try:
            if not self.is_started:
                await self._start()
            await self._put(data, more=True)
        finally:
            self._is_sending = False

    async def end(self, data: bytes) -> None:
        """Send the last piece of the stream."""
        await self.settle()
        self._is_sending = True
        if not self.is_started:
            await self._start()
        self.is_over = True
        await self._put(data, more=False)

    async def whole(self, status: int, body: bytes, media_type: str = "application/json", headers: Headers = ()) -> None:
        """Send an answer that is no stream."""
        self.is_started = self.is_over = True
        self.sent_bytes += len(body)
        await send_whole(self._send, status, body, media_type=media_type, headers=(*self.headers, *headers))

    async def _start(self) -> None:
        assert self._media_type is not None
        self.is_started = True
        await send_start(self._send, 200, (("content-type", self._media_type), *_STREAM_HEADERS, *self.headers))

    async def _put(self, data: bytes, *, more: bool) -> None:
        self.sent_bytes += len(data)
        self._has_sent = True
        step = self._send({"type": "http.response.body", "body": data, "more_body": more}).__await__()
        try:
            waiting = next(step)
        except StopIteration:
            return
        await self._slowly(step, waiting)

    async def _slowly(self, step: Generator[Any, Any, None], waiting: Any) -> None:
        """The client is slow: what was sent before has not left yet. A timer only now, not for each piece."""
        try:
            async with asyncio.timeout(self._stall_s):
                await Resumed(step, waiting)
        except TimeoutError as error:
            raise ClientLeftError(f"the client took nothing for {self._stall_s:g} s") from error

    # ------------------------------------------------------------------------------------------ the client

    async def _watch(self) -> None:
        while not self.is_over:
            try:
                async with asyncio.timeout(self._keep_alive_s):
                    message = await self._receive()
            except TimeoutError:
                await self._beat()
                continue
            if message["type"] == "http.disconnect" and not self.is_over and self._task is not None:
                self._has_left = True
                self._task.cancel()
                return

    async def _beat(self) -> None:
        """Say that the stream lives, unless something was said lately or is being said now."""
        is_due, self._has_sent = not self._has_sent, False
        if self._media_type != COMMENTED or self._is_sending or self.is_over or not is_due:
            return
        self._beat_over = asyncio.Event()
        try:
            if not self.is_started:
                await self._start()
            await self._put(_BEAT, more=True)
        except ClientLeftError:
            if self._task is not None:
                self._has_left = True
                self._task.cancel()
        finally:
            self._beat_over.set()
            self._beat_over = None
