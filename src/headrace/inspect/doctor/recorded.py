"""From a recording to evidence: the events, the comments and the times of a body that was written down.

The rule of this file: it reads what `RecordTransport` wrote and judges nothing. What it keeps is bounded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from headrace.inspect.capture import Capture, read_path
from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.pieces import pieces_of
from headrace.io.replay import stems_of
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.protocols import WIRES

_MAX_EVENTS: Final = 5_000
_MAX_BEGINNING: Final = 400
_COMMENT: Final = re.compile(rb"^:", re.MULTILINE)
_TERMINATOR: Final = b"[DONE]"


def with_recording(evidence: Evidence, folder: Path, protocol: str) -> Evidence:
    """Return the evidence with what the last recording in a folder shows; unchanged where nothing was sent."""
    if not folder.is_dir() or not any(folder.glob("*.request.json")):
        return evidence
    stem = stems_of(folder)[-1]
    file = stem.with_suffix(".body")
    capture = read_path(file)
    events, has_terminator = _events(capture, protocol)
    return msgspec.structs.replace(
        evidence,
        status=capture.status,
        content_type=(capture.content_type or "").partition(";")[0].strip().lower(),
        events=events,
        has_terminator=has_terminator,
        comments=len(_COMMENT.findall(capture.body)),
        reads_ms=tuple(time_ms for _, time_ms in capture.reads),
        beginning=capture.body[:_MAX_BEGINNING].decode(errors="replace"),
        capture=str(file),
    )


def _events(capture: Capture, protocol: str) -> tuple[tuple[Any, ...], bool]:
    events: list[Any] = []
    has_terminator = False
    for piece in pieces_of(capture.body, WIRES[protocol], DEFAULT_LIMITS):
        data = piece.frame.data if piece.frame is not None else capture.body[piece.offset : piece.end]
        has_terminator |= data.strip().endswith(_TERMINATOR)
        if len(events) < _MAX_EVENTS:
            try:
                events.append(msgspec.json.decode(data))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
    return tuple(events), has_terminator
