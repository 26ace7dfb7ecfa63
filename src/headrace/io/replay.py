"""A transport that answers from recordings or from bytes in memory.

The rule of this file: what it serves is exactly what it was given, cut and delayed as asked. The limits on the first chunk and between
chunks hold as on the network: a longer delay ends as a timeout when the limit runs out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Literal, Self

import msgspec

from headrace.errors import (
    ConfigError,
    ConnectFailedError,
    ConnectionLostError,
    StateError,
    StreamTimeoutError,
    TimeoutStage,
    TransportError,
)
from headrace.io.record import RecordedError, RecordedResponse
from headrace.io.transport import DEFAULT_TIMEOUTS, HTTPRequest, Response, Timeouts

Slicing = Literal["recorded", "whole"] | int | Callable[[bytes], Iterable[bytes]]

_EVENT_STREAM = (("content-type", "text/event-stream"),)


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to serve.

    Attributes:
        status: the HTTP status; None if no answer came, then `error` is raised.
        headers: pairs of name and value.
        body: the bytes that came.
        reads: for each read, where its bytes begin, and when it came, in milliseconds from the start; empty for one read.
        error: what the transport raised after the body, or None.
    """

    status: int | None = 200
    headers: tuple[tuple[str, str], ...] = _EVENT_STREAM
    body: bytes = b""
    reads: tuple[tuple[int, float], ...] = ()
    error: RecordedError | None = None


class ReplayTransport:
    """Serves recorded answers, one for each request, in order; what is asked makes no difference.

    Args:
        source: a folder that `RecordTransport` wrote; one body or `Recorded`; or a sequence of them. A plain body is an event stream with status 200.
        slicing: how bodies are cut into chunks: as they were `recorded` (whole where that is unknown), `whole`, in pieces of so many
            bytes, or by a function from a body to its pieces.
        delay_s: seconds before each chunk, or `recorded`.
        cut_at: how many bytes of each body come before the stream ends; None for all.
        reset: after the bytes the connection breaks (`ConnectionLostError`), instead of an end.
    """

    def __init__(
        self,
        source: str | Path | bytes | Recorded | Sequence[bytes | Recorded],
        *,
        slicing: Slicing = "recorded",
        delay_s: float | Literal["recorded"] = 0.0,
        cut_at: int | None = None,
        reset: bool = False,
    ) -> None:
        """Read the recordings; check the settings."""
        if isinstance(slicing, int) and slicing < 1:
            raise ConfigError(f"slicing into pieces needs at least 1 byte each, not {slicing}", argument="slicing")
        if isinstance(slicing, str) and slicing not in {"recorded", "whole"}:
            raise ConfigError(f"slicing is 'recorded', 'whole', a number or a function, not {slicing!r}", argument="slicing")
        if cut_at is not None and cut_at < 0:
            raise ConfigError(f"cut_at counts bytes from 0 on, not {cut_at}", argument="cut_at")
        if isinstance(delay_s, str):
            if delay_s != "recorded":
                raise ConfigError(f"delay_s is a number of seconds or 'recorded', not {delay_s!r}", argument="delay_s")
        elif not delay_s >= 0:
            raise ConfigError(f"delay_s counts seconds from 0 on, not {delay_s!r}", argument="delay_s")
        self._answers = _answers(source)
        self._slicing = slicing
        self._delay_s = delay_s
        self._cut_at = cut_at
        self._reset = reset
        self._requests: list[HTTPRequest] = []
        self._is_closed = False

    @property
    def requests(self) -> tuple[HTTPRequest, ...]:
        """What was asked so far, in order, with its secrets."""
        return tuple(self._requests)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Serve nothing more."""
        self._is_closed = True

    @asynccontextmanager
    async def stream(self, request: HTTPRequest, *, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> AsyncGenerator[Response]:
        """Serve the next answer; see `Transport.stream`.

        Raises:
            StateError: the answers are used up.
        """
        if self._is_closed:
            raise StateError("this transport is closed")
        number = len(self._requests)
        if number >= len(self._answers):
            raise StateError(f"the replay holds {len(self._answers)} answers, and this is request {number + 1}")
        self._requests.append(request)
        answer = self._answers[number]
        if answer.status is None:
            raise _error_of(answer.error)
        response = _ReplayResponse(answer, self._pieces(answer), timeouts, self._end(answer))
        try:
            yield response
        finally:
            await response.aclose()

    def _end(self, answer: Recorded) -> TransportError | None:
        """What is raised after the bytes, if anything."""
        if self._reset:
            return ConnectionLostError("the replayed connection broke, as it was asked to")
        is_cut = self._cut_at is not None and self._cut_at < len(answer.body)
        return None if answer.error is None or is_cut else _error_of(answer.error)

    def _pieces(self, answer: Recorded) -> Iterator[tuple[bytes, float]]:
        """The chunks of an answer, each with the seconds to wait before it."""
        body = answer.body if self._cut_at is None else answer.body[: self._cut_at]
        delays = _recorded_delays(answer) if self._delay_s == "recorded" else deque[tuple[int, float]]()
        at = 0
        for piece in self._sliced(body, answer):
            if piece:
                # With another slicing than the recorded one, a piece takes the delays of all reads that began in it.
                delay_s = self._delay_s if isinstance(self._delay_s, (int, float)) else _take(delays, at + len(piece))
                at += len(piece)
                yield piece, delay_s

    def _sliced(self, body: bytes, answer: Recorded) -> Iterable[bytes]:
        slicing = self._slicing
        if callable(slicing):
            return slicing(body)
        if isinstance(slicing, int):
            return (body[start : start + slicing] for start in range(0, len(body), slicing))
        if slicing == "whole" or not answer.reads:
            return (body,)
        starts = [start for start, _ in answer.reads]
        return (body[start:stop] for start, stop in pairwise([0, *starts[1:], len(answer.body)]))


class _ReplayResponse:
    """An answer from memory; see `Response`."""

    def __init__(self, answer: Recorded, pieces: Iterator[tuple[bytes, float]], timeouts: Timeouts, end: TransportError | None) -> None:
        self._answer = answer
        self._pieces = pieces
        self._timeouts = timeouts
        self._end = end
        self._body: AsyncGenerator[bytes] | None = None
        self._is_closed = False
        self._is_waiting = False

    @property
    def status(self) -> int:
        return self._answer.status or 0

    @property
    def headers(self) -> Mapping[str, str]:
        return _joined(self._answer.headers)

    def chunks(self) -> AsyncIterator[bytes]:
        if self._body is not None:
            raise StateError("the body of an answer can be read once")
        self._body = self._read()
        return self._body

    async def aclose(self) -> None:
        self._is_closed = True
        # A reader in another task ends by itself, at its next piece.
        if self._body is not None and not self._is_waiting:
            await self._body.aclose()

    async def _read(self) -> AsyncGenerator[bytes]:
        for count, (piece, delay_s) in enumerate(self._pieces):
            if delay_s > 0:
                await self._wait(delay_s, count)
            if self._is_closed:
                raise ConnectionLostError("the replayed answer was closed while it was read")
            yield piece
        if self._end is not None:
            raise self._end

    async def _wait(self, delay_s: float, count: int) -> None:
        stage: TimeoutStage = "idle" if count else "first_chunk"
        limit_s = self._timeouts.idle_s if count else self._timeouts.first_chunk_s
        waited_s = delay_s if limit_s is None else min(delay_s, limit_s)
        self._is_waiting = True
        try:
            await asyncio.sleep(waited_s)
        finally:
            self._is_waiting = False
        if limit_s is None or delay_s < limit_s:
            return
        raise StreamTimeoutError(
            f"the replayed answer stalled for {limit_s:g} s after {count} chunks", stage=stage, timeout_s=limit_s, chunks=count
        )


def _answers(source: str | Path | bytes | Recorded | Sequence[bytes | Recorded]) -> tuple[Recorded, ...]:
    if isinstance(source, (str, Path)):
        return tuple(load_answer(stem) for stem in stems_of(Path(source)))
    several = [source] if isinstance(source, (bytes, Recorded)) else source
    return tuple(item if isinstance(item, Recorded) else Recorded(body=item) for item in several)


def stems_of(folder: Path) -> tuple[Path, ...]:
    """Return the common beginnings of the names of each recording in a folder, in the order of their numbers.

    Raises:
        ConfigError: there are none.
    """
    found = sorted(
        (path for path in folder.glob("*.request.json") if path.name.partition(".")[0].isdecimal()),
        key=lambda path: int(path.name.partition(".")[0]),
    )
    if not found:
        raise ConfigError(f"{str(folder)!r} holds no recordings (files like 0001.request.json)", argument="source")
    return tuple(folder / path.name.partition(".")[0] for path in found)


def load_answer(stem: Path) -> Recorded:
    """Load the answer of a recording by the common beginning of its files' names.

    Raises:
        ConfigError: its facts cannot be read.
    """
    facts_file, body_file = stem.with_suffix(".response.json"), stem.with_suffix(".body")
    body = body_file.read_bytes() if body_file.exists() else b""
    try:
        facts = msgspec.json.decode(facts_file.read_bytes(), type=RecordedResponse)
    except FileNotFoundError:
        # The recording process died in the middle: the status is not known.
        facts = RecordedResponse(error=RecordedError(type="ConnectionLostError", message=f"the recording {stem.name} was never finished"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{str(facts_file)!r} is no recording: {error}", argument="source") from error
    return Recorded(status=facts.status, headers=facts.headers, body=body, reads=facts.reads, error=facts.error)


def _error_of(error: RecordedError | None) -> TransportError:
    if error is None:
        return ConnectionLostError("the recording has no answer")
    if error.stage is not None and error.timeout_s is not None:
        return StreamTimeoutError(error.message, stage=error.stage, timeout_s=error.timeout_s)
    return (ConnectFailedError if error.type == "ConnectFailedError" else ConnectionLostError)(error.message)


def _recorded_delays(answer: Recorded) -> deque[tuple[int, float]]:
    """For each read, where its bytes begin and the seconds since the read before it."""
    times = [0.0, *(time_ms for _, time_ms in answer.reads)]
    return deque((start, (later - earlier) / 1000) for (start, _), (earlier, later) in zip(answer.reads, pairwise(times), strict=True))


def _take(delays: deque[tuple[int, float]], stop: int) -> float:
    """Take out the delays of the reads that began before `stop`; they are in order."""
    total = 0.0
    while delays and delays[0][0] < stop:
        total += delays.popleft()[1]
    return total


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    return joined
