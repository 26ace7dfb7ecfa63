"""What is inspected, and from where it comes: a file, a recording, a pipe, a URL, one packed document.

The rule of this file: a capture is the bytes as they came, with the times of their reads where those are known; what was secret in the request is
not in it. What cannot be read is the caller's mistake, what broke on the way is part of the capture.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from headrace.errors import ConfigError, TransportError, UsageError
from headrace.io.record import RecordedRequest, RecordedResponse
from headrace.io.redact import redact, redact_bytes, redact_url, secrets_of
from headrace.io.replay import stems_of
from headrace.io.transport import DEFAULT_TIMEOUTS, HTTPRequest, Timeouts, Transport

MAX_BYTES: Final = 512 * 1024 * 1024
"""How much of a body is read; what lies beyond is left out, and that is said."""
_MAX_HEADERS: Final = 64 * 1024
_BLOCK: Final = 256 * 1024
_PARTS: Final = (".request.json", ".response.json", ".body")


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One answer as it came.

    Attributes:
        source: where it came from, for the reader; without secrets.
        body: its bytes.
        status: the HTTP status, if it is known.
        content_type: the header, if it is known.
        reads: for each read, where its bytes begin, and when it came, in milliseconds from the request; empty where that is not known.
        is_complete: whether the body came to its end.
        notes: what the reader should know, such as how it broke off.
    """

    source: str
    body: bytes
    status: int | None = None
    content_type: str | None = None
    reads: tuple[tuple[int, float], ...] = ()
    is_complete: bool = True
    notes: tuple[str, ...] = ()


class _Packed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A capture as one document of JSON; `headrace_capture` is the version of its form."""

    headrace_capture: int
    body: bytes
    source: str = ""
    response: RecordedResponse = RecordedResponse(is_complete=True)


# ---------------------------------------------------------------------------------------------- one document


def unpack(data: bytes, *, source: str) -> Capture:
    """Return the capture that posted bytes are: a packed one, which has times, else the body itself.

    A packed one is `{"headrace_capture": 1, "body": "<base64>", "response": {…}}`, where `response` has the facts of a recording's
    `*.response.json`.

    Raises:
        UsageError: it says that it is packed, but is not.
    """
    if not data[:200].lstrip().startswith(b'{"headrace_capture"'):
        return Capture(source=source, body=data)
    try:
        packed = msgspec.json.decode(data, type=_Packed)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the packed capture cannot be read: {error}", argument="body") from error
    return _with_facts(packed.source or source, packed.body, packed.response)


# ---------------------------------------------------------------------------------------------- files


def read_path(path: Path) -> Capture:
    """Read a file with a body, or a recording: one of its files, their common beginning, or its folder.

    The facts of `x.sse` are in `x.response.json`, or as plain headers in `x.headers`, if one of them is there.

    Raises:
        UsageError: it is not there, or cannot be read.
    """
    try:
        if path.is_dir():
            stems = stems_of(path)
            capture = _recording(stems[0])
            if len(stems) == 1:
                return capture
            note = f"the first of {len(stems)} recordings in this folder; name {path / stems[-1].name} for the last"
            return msgspec.structs.replace(capture, notes=(*capture.notes, note))
        stem = _stem_of(path)
        return _recording(stem) if stem is not None else _plain(path)
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror or error}", argument="FILE") from error


def _stem_of(path: Path) -> Path | None:
    """Return the common beginning of a recording's files, if the path is one of them or that beginning."""
    for suffix in _PARTS:
        if path.name.endswith(suffix):
            path = path.with_name(path.name.removesuffix(suffix))
            break
    is_recording = not path.suffix and path.with_name(f"{path.name}.body").exists() and path.with_name(f"{path.name}.request.json").exists()
    return path if is_recording else None


def _recording(stem: Path) -> Capture:
    body, notes = _read(stem.with_suffix(".body"))
    facts_file = stem.with_suffix(".response.json")
    if facts_file.exists():
        facts = _facts(facts_file)
    else:  # the recording process died in the middle
        facts, notes = RecordedResponse(is_complete=True), (*notes, "the recording was never finished")
    request_file = stem.with_suffix(".request.json")
    source = str(stem)
    try:
        asked = msgspec.json.decode(request_file.read_bytes(), type=RecordedRequest)
        source = f"{stem} ({asked.method} {redact_url(asked.url)})"
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        pass  # what was asked is a word for the reader, no more
    return _with_facts(source, body, facts, notes)


def _plain(path: Path) -> Capture:
    body, notes = _read(path)
    facts_file, headers_file = path.with_suffix(".response.json"), path.with_suffix(".headers")
    if path.suffix != ".json" and facts_file.exists():
        return _with_facts(str(path), body, _facts(facts_file), notes)
    capture = unpack(body, source=str(path))
    if headers_file.exists() and headers_file != path:
        with headers_file.open("rb") as file:
            status, content_type = _headers(file.read(_MAX_HEADERS))
        capture = msgspec.structs.replace(capture, status=status or capture.status, content_type=content_type)
    return msgspec.structs.replace(capture, notes=(*capture.notes, *notes), is_complete=capture.is_complete and not notes)


def _read(path: Path) -> tuple[bytes, tuple[str, ...]]:
    with path.open("rb") as file:
        return _bounded(file.read(MAX_BYTES + 1))


def _bounded(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    if len(body) <= MAX_BYTES:
        return body, ()
    return body[:MAX_BYTES], (f"only the first {MAX_BYTES:,} bytes were read",)


def _facts(path: Path) -> RecordedResponse:
    try:
        return msgspec.json.decode(path.read_bytes(), type=RecordedResponse)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} is no recording: {error}", argument="FILE") from error


def _with_facts(source: str, body: bytes, facts: RecordedResponse, notes: tuple[str, ...] = ()) -> Capture:
    how = (f"the answer broke off: {facts.error.message}",) if facts.error is not None else ()
    if facts.error is None and not facts.is_complete:
        how = ("whoever read it left before its end",)
    return Capture(
        source=source,
        body=body,
        status=facts.status,
        content_type=next((value for name, value in facts.headers if name.lower() == "content-type"), None),
        reads=facts.reads,
        is_complete=facts.is_complete and not notes,
        notes=(*how, *notes),
    )


def _headers(data: bytes) -> tuple[int | None, str | None]:
    """Read the head of an answer as text; of several the last one counts."""
    status: int | None = None
    content_type: str | None = None
    for line in data.decode("latin-1").splitlines():
        name, colon, value = line.partition(":")
        if line.startswith("HTTP/"):
            word = line.split()[1:2]
            status = int(word[0]) if word and word[0].isdecimal() and len(word[0]) == 3 else status
        elif colon and name.strip().lower() == "content-type":
            content_type = value.strip()
    return status, content_type


# ---------------------------------------------------------------------------------------------- a pipe


def read_stream(stream: BinaryIO, *, source: str, clock: Callable[[], float]) -> Capture:
    """Read to the end; what comes through a pipe has the times at which it came, counted from the call.

    Args:
        stream: its bytes.
        source: for the reader.
        clock: seconds from any start.
    """
    began = clock()
    read: Any = getattr(stream, "read1", stream.read)  # what is there, so that each read has its own time
    pieces: list[bytes] = []
    reads: list[tuple[int, float]] = []
    size = 0
    while size <= MAX_BYTES and (piece := read(_BLOCK)):
        reads.append((size, (clock() - began) * 1000))
        pieces.append(piece)
        size += len(piece)
    body, notes = _bounded(b"".join(pieces))
    capture = unpack(body, source=source)
    is_own = capture.body is body
    return msgspec.structs.replace(
        capture,
        reads=tuple(reads) if is_own and _is_live(stream) else capture.reads,
        notes=(*capture.notes, *notes),
        is_complete=capture.is_complete and not notes,
    )


def _is_live(stream: BinaryIO) -> bool:
    """Whether bytes come at their own time: from a pipe or a socket, not from a file."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


# ---------------------------------------------------------------------------------------------- the network


def request_of(url: str, *, body: bytes | None, headers: tuple[tuple[str, str], ...] = ()) -> HTTPRequest:
    """Return the request for a URL: a GET, with a body a POST of JSON."""
    names = {name.lower() for name, _ in headers}
    if body is None:
        return HTTPRequest("GET", url, headers)
    return HTTPRequest("POST", url, (*headers, *((("content-type", "application/json"),) if "content-type" not in names else ())), body)


def body_of_recorded(data: bytes) -> bytes:
    """Return the body of a recorded request (`*.request.json`), to send it again.

    Raises:
        UsageError: it is none.
    """
    try:
        asked = msgspec.json.decode(data, type=RecordedRequest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"this is no recorded request: {error}", argument="request") from error
    return (asked.text or "").encode() if asked.json is None else msgspec.json.encode(asked.json)


async def fetch(
    transport: Transport, request: HTTPRequest, *, clock: Callable[[], float], timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> Capture:
    """Send a request and keep its answer as it comes.

    Raises:
        TransportError: no answer came. One that broke off is a capture that says so.
        UsageError: the request cannot be sent.
    """
    secrets = secrets_of(request.url, request.headers)
    began = clock()
    pieces: list[bytes] = []
    reads: list[tuple[int, float]] = []
    size, failure = 0, ""
    try:
        async with transport.stream(request, timeouts=timeouts) as response:
            try:
                async for piece in response.chunks():
                    reads.append((size, (clock() - began) * 1000))
                    pieces.append(piece)
                    size += len(piece)
                    if size > MAX_BYTES:
                        break
            except TransportError as error:
                failure = f"the answer broke off: {redact(str(error), secrets)}"
    except ConfigError as error:
        raise UsageError(redact(str(error), secrets), argument="URL") from error
    body, notes = _bounded(redact_bytes(b"".join(pieces), secrets))
    return Capture(
        source=f"{request.method} {redact_url(request.url, secrets)}",
        body=body,
        status=response.status,
        content_type=response.headers.get("content-type"),
        reads=tuple(reads),
        is_complete=not failure and not notes,
        notes=(*((failure,) if failure else ()), *notes),
    )
