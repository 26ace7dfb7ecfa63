"""From a capture to its inspection: the protocol is guessed where nobody says it.

The rule of this file: pure; what was guessed is said among the notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.inspect.capture import Capture
from headrace.inspect.guess import guess_protocol
from headrace.inspect.timeline import DEFAULT_BOUNDS, inspect_stream
from headrace.inspect.values import Bounds, Inspection
from headrace.wire.options import DecodeOptions


def inspect_capture(
    capture: Capture,
    *,
    protocol: str | None = None,
    provider: str | None = None,
    options: DecodeOptions | Mapping[str, Any] | None = None,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Inspection:
    """Return what a capture was.

    Args:
        capture: the bytes and their times.
        protocol: which wire; None: guess it.
        provider: as for `StreamDecoder`.
        options: as for `StreamDecoder`.
        bounds: how much is kept.

    Raises:
        UsageError: the protocol or an option does not fit.
    """
    notes = capture.notes
    if protocol is None:
        guess = guess_protocol(capture.body)
        protocol = guess.protocol
        notes = (f"protocol guessed: {guess.protocol} ({guess.why})", *notes)
    return inspect_stream(
        capture.body,
        protocol=protocol,
        provider=provider,
        options=options,
        status=capture.status,
        content_type=capture.content_type,
        reads=capture.reads,
        is_complete=capture.is_complete,
        source=capture.source,
        notes=notes,
        bounds=bounds,
    )
