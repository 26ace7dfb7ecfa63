"""A transport that writes down every exchange of another, without secrets.

The rule of this file: a recording is whole or says that it is not. What a peer sent is kept byte for byte, secrets apart, which are
replaced by stars of the same length; files are for their owner only, and no recording is ever written over.

An exchange is three files with one number: `0001.request.json`, `0001.response.json` and `0001.body`. The first is written before
the request goes out, the body while it comes, the answer's facts when it ends, by whatever way.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from headrace.errors import ConfigError, StreamTimeoutError, TimeoutStage, TransportError
from headrace.io.redact import longest_secret, redact, redact_bytes, redact_headers, redact_json, redact_url, secrets_of
from headrace.io.transport import DEFAULT_TIMEOUTS, HTTPRequest, Response, Timeouts, Transport, flow

FORMAT_VERSION = 1


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is stored: `json` where its body was JSON, else `text`."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    json: Any = None
    text: str | None = None
    format_version: int = FORMAT_VERSION


class RecordedError(msgspec.Struct, frozen=True, kw_only=True):
    """How an exchange failed: the class's name, its message, and which limit it was for a timeout."""

    type: str
    message: str
    stage: TimeoutStage | None = None
    timeout_s: float | None = None


class RecordedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of an answer as they are stored.

    Attributes:
        status: the HTTP status, or None if no answer came.
        headers: pairs of name and value.
        reads: for each read, where its bytes begin in the body, and when it came, in milliseconds from the sending of the request.
        is_complete: whether the body came to its end; False if it broke or the reader left.
        error: what the transport raised, if it did.
    """

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    reads: tuple[tuple[int, float], ...] = ()
    is_complete: bool = False
    error: RecordedError | None = None
    format_version: int = FORMAT_VERSION


class RecordTransport:
    """Writes what goes through another transport into a folder.

    Args:
        inner: the transport that does the work.
        folder: made if it is not there; may hold earlier recordings, after which the numbers go on.
        secrets: more secrets than those that the requests' own headers and URLs show.
        clock: seconds from any start.
    """

    def __init__(
        self, inner: Transport, folder: str | Path, *, secrets: tuple[str, ...] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the folder."""
        self._inner = inner
        self._folder = Path(folder)
        self._secrets = secrets
        self._clock = clock
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise ConfigError(f"recordings need a folder, and {str(folder)!r} is a file", argument="folder") from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._inner.aclose()

    @asynccontextmanager
    async def stream(self, request: HTTPRequest, *, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> AsyncGenerator[Response]:
        """Send a request through the transport inside and write the exchange down; see `Transport.stream`."""
        secrets = (*self._secrets, *secrets_of(request.url, request.headers))
        recording = _Recording(self._folder, request, secrets, self._clock)
        try:
            async with self._inner.stream(request, timeouts=timeouts) as response:
                recording.answered(response)
                yield _RecordingResponse(response, recording)
        except TransportError as error:
            recording.failed(error)
            raise
        finally:
            recording.close()


class _RecordingResponse:
    """An answer that is written down while it is read; see `Response`."""

    def __init__(self, inner: Response, recording: _Recording) -> None:
        self._inner = inner
        self._recording = recording

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return _RecordingChunks(self._inner.chunks(), self._recording)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _RecordingChunks:
    """The reads of a body, each written down before it is handed on."""

    def __init__(self, inner: AsyncIterator[bytes], recording: _Recording) -> None:
        self._inner = inner
        self._recording = recording

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._inner.__anext__()
        except StopAsyncIteration:
            self._recording.is_complete = True
            raise
        except TransportError as error:
            # Noted here too: a reader may catch it and leave the block in peace.
            self._recording.failed(error)
            raise
        self._recording.add(chunk)
        return chunk

    async def flow(self, take: Callable[[bytes], bool]) -> bool:
        def came(chunk: bytes) -> bool:
            self._recording.add(chunk)
            return take(chunk)

        try:
            may_go_on = await flow(self._inner, came)
        except TransportError as error:
            self._recording.failed(error)
            raise
        self._recording.is_complete = not may_go_on
        return may_go_on


class _Recording:
    """The three files of one exchange."""

    def __init__(self, folder: Path, request: HTTPRequest, secrets: tuple[str, ...], clock: Callable[[], float]) -> None:
        self.is_complete = False
        self._secrets = secrets
        self._clock = clock
        self._began = clock()
        # A secret may be cut by two reads: so many bytes wait until the next read shows whether they begin one.
        self._held_back = max(0, longest_secret(secrets) - 1)
        self._pending = b""
        self._size = 0
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._reads: list[tuple[int, float]] = []
        self._error: RecordedError | None = None
        self._stem = _claim(folder, _request_json(request, secrets))
        self._body: BinaryIO = _create(self._stem.with_suffix(".body"))

    def answered(self, response: Response) -> None:
        self._status = response.status
        self._headers = redact_headers(response.headers.items(), self._secrets)

    def add(self, chunk: bytes) -> None:
        self._reads.append((self._size, round((self._clock() - self._began) * 1000, 3)))
        self._size += len(chunk)
        self._pending = redact_bytes(self._pending + chunk, self._secrets)
        ready = len(self._pending) - self._held_back
        if ready > 0:
            self._body.write(self._pending[:ready])
            self._pending = self._pending[ready:]

    def failed(self, error: TransportError) -> None:
        stage, timeout_s = (error.stage, error.timeout_s) if isinstance(error, StreamTimeoutError) else (None, None)
        self._error = RecordedError(type=type(error).__name__, message=redact(str(error), self._secrets), stage=stage, timeout_s=timeout_s)

    def close(self) -> None:
        with self._body as body:
            body.write(self._pending)
        facts = RecordedResponse(
            status=self._status, headers=self._headers, reads=tuple(self._reads), is_complete=self.is_complete, error=self._error
        )
        with _create(self._stem.with_suffix(".response.json")) as file:
            file.write(msgspec.json.format(msgspec.json.encode(facts), indent=1))


def _request_json(request: HTTPRequest, secrets: tuple[str, ...]) -> bytes:
    url, headers = redact_url(request.url, secrets), redact_headers(request.headers, secrets)
    try:
        body = redact_json(msgspec.json.decode(request.body), secrets) if request.body else None
        stored = RecordedRequest(method=request.method, url=url, headers=headers, json=body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = redact(request.body.decode(errors="replace"), secrets)
        stored = RecordedRequest(method=request.method, url=url, headers=headers, text=text)
    return msgspec.json.format(msgspec.json.encode(stored), indent=1)


def _claim(folder: Path, request: bytes) -> Path:
    """Take the next free number by making its request file, also if another process takes numbers; return the files' common stem."""
    taken = [int(path.name.partition(".")[0]) for path in folder.glob("*.request.json") if path.name.partition(".")[0].isdecimal()]
    number = max(taken, default=0) + 1
    while True:
        stem = folder / f"{number:04d}"
        try:
            file = _create(stem.with_suffix(".request.json"))
        except FileExistsError:
            number += 1
            continue
        with file:
            file.write(request)
        return stem


def _create(path: Path) -> BinaryIO:
    """A new file that only its owner can read; an existing one is an error."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
