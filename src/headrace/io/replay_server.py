"""Recordings as a server gives them again: in order or by path, in their own time or another, sliced, cut or broken off.

The rule of this file: what is served is what was recorded, byte for byte, unless it was asked to be cut; a request that nothing is left for is told
so, and never gets another one's answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from headrace.errors import ConfigError
from headrace.io.http_server import RefusedError
from headrace.io.record import RecordedRequest
from headrace.io.replay import Recorded, ReplayTransport, load_answer, stems_of
from headrace.io.transport import HTTPRequest, Response, Timeouts

_TIMEOUTS: Final = Timeouts(connect_s=None, first_chunk_s=None, idle_s=None)
_TYPES: Final = {".json": "application/json", ".ndjson": "application/x-ndjson", ".bin": "application/vnd.amazon.eventstream"}
_ENDPOINTS: Final = (
    "/chat/completions",
    "/responses",
    "/messages",
    "/completions",
    "/models/",
    "/model/",
    "/interactions",
    "/chat",
    "/generate",
)


class Exchange(msgspec.Struct, frozen=True):
    """A recorded answer, and what it answered if that is known: the method, and the path without its query."""

    answer: Recorded
    method: str | None = None
    path: str | None = None


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How recordings are served.

    Attributes:
        speed: how many times faster than recorded; None: without waiting.
        delay_s: seconds before each piece, instead of the recorded times.
        slice_size: bytes of a piece; None: as recorded.
        cut_at: how many bytes of a body come before it ends; None: all.
        is_reset: behind these bytes the connection breaks.
        is_looping: after the last recording the first one comes again.
        is_by_path: a request gets the next recording of its own method and path, instead of the next one.
    """

    speed: float | None = 1.0
    delay_s: float | None = None
    slice_size: int | None = None
    cut_at: int | None = None
    is_reset: bool = False
    is_looping: bool = False
    is_by_path: bool = False


class Replayer:
    """Answers requests from recordings.

    Raises:
        ConfigError: there are none, or a setting does not fit.
    """

    def __init__(self, exchanges: Sequence[Exchange], manner: Manner) -> None:
        """Check the settings."""
        if not exchanges:
            raise ConfigError("there is nothing to replay", argument="source")
        if manner.speed is not None and not manner.speed > 0:
            raise ConfigError(f"the speed is a number above 0, not {manner.speed!r}", argument="speed")
        if manner.is_by_path and any(exchange.path is None for exchange in exchanges):
            raise ConfigError("a plain body does not say which path it answers; only recordings do", argument="by_path")
        self._all = tuple(exchanges)
        self._left = list(self._all)
        self._manner = manner
        self._transport(self._all[0].answer)  # a setting that does not fit must not wait for the first request

    def __call__(self, request: HTTPRequest) -> AbstractAsyncContextManager[Response]:
        """Give the next answer.

        Raises:
            RefusedError: none is left, or none has this path.
        """
        return self._transport(self._next(request).answer).stream(request, timeouts=_TIMEOUTS)

    def _next(self, request: HTTPRequest) -> Exchange:
        asked = (request.method, request.url.partition("?")[0])
        found = self._first(asked)
        if found is None and self._manner.is_looping:
            self._left += [exchange for exchange in self._all if self._fits(exchange, asked)]
            found = self._first(asked)
        if found is None and self._manner.is_by_path and not any(self._fits(exchange, asked) for exchange in self._all):
            raise RefusedError(404, "not_recorded", f"nothing was recorded for {asked[0]} {asked[1]}")
        if found is None:
            raise RefusedError(410, "replay_exhausted", f"all {len(self._all)} recordings have been served; --loop serves them again")
        self._left.remove(found)
        return found

    def _first(self, asked: tuple[str, str]) -> Exchange | None:
        return next((exchange for exchange in self._left if self._fits(exchange, asked)), None)

    def _fits(self, exchange: Exchange, asked: tuple[str, str]) -> bool:
        return not self._manner.is_by_path or (exchange.method, exchange.path) == asked

    def _transport(self, answer: Recorded) -> ReplayTransport:
        manner = self._manner
        if manner.delay_s is None and manner.speed is not None:
            reads = tuple((start, time_ms / manner.speed) for start, time_ms in answer.reads)
            answer = msgspec.structs.replace(answer, reads=reads)
        return ReplayTransport(
            answer,
            slicing="recorded" if manner.slice_size is None else manner.slice_size,
            delay_s=manner.delay_s if manner.delay_s is not None else 0.0 if manner.speed is None else "recorded",
            cut_at=manner.cut_at,
            reset=manner.is_reset,
        )


def load(source: Path) -> tuple[Exchange, ...]:
    """Load a folder of recordings, or one body: a file with a stream or JSON in it, and beside it, if it is there, the answer's facts.

    The facts of `x.sse` are in `x.response.json`, in the form in which recordings have them.

    Raises:
        ConfigError: it is not there, holds no recording, or cannot be read.
    """
    try:
        if source.is_dir():
            return tuple(_exchange(stem) for stem in stems_of(source))
        return (_plain(source),)
    except OSError as error:
        raise ConfigError(f"cannot read {str(source)!r}: {error.strerror or error}", argument="source") from error


def base_path(exchanges: Sequence[Exchange]) -> str:
    """Return the path that a client's base URL had when the first answer was recorded, as far as its own path tells; "" if it is not known."""
    path = next((exchange.path for exchange in exchanges if exchange.path is not None), "")
    ends = [at for endpoint in _ENDPOINTS if (at := path.find(endpoint)) >= 0]
    return path[: min(ends)] if ends else ""


def _exchange(stem: Path) -> Exchange:
    file = stem.with_suffix(".request.json")
    try:
        request = msgspec.json.decode(file.read_bytes(), type=RecordedRequest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{str(file)!r} is no recording: {error}", argument="source") from error
    return Exchange(load_answer(stem), request.method, urlsplit(request.url).path)


def _plain(file: Path) -> Exchange:
    body = file.read_bytes()
    if file.with_suffix(".response.json").exists():
        facts = load_answer(file.with_suffix(""))
        return Exchange(msgspec.structs.replace(facts, body=body))
    kind = _TYPES.get(file.suffix)
    return Exchange(Recorded(body=body) if kind is None else Recorded(body=body, headers=(("content-type", kind),)))
