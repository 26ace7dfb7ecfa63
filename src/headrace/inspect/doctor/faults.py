"""What is odd about the streams themselves, whatever was asked: each repair of the decoder's, as a finding. Pure.

The rule of this file: one finding for each kind of fault, however often it came, with the recordings that show it. What a model may have done
by itself is unclear; what only a server can have done is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from headrace._json import EMPTY
from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.doctor.forms import FORMS, odd_forms
from headrace.inspect.doctor.probe import Finding, Level
from headrace.wire.protocols import WIRES

STREAM: Final = "stream"
"""The name under which the findings stand."""
_MAX_CAPTURES: Final = 3
_ENOUGH: Final = 3
_EVENT_STREAM: Final = "text/event-stream"
_CHAT: Final = ("openai-chat",)

_COPES: Final = "Headrace repairs it"
_FAULTS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "missing_tool_index": ("Fragments of calls come without an index", _COPES, EMPTY),
    "reused_tool_index": (
        "Several calls of one answer have the same index",
        f"clients that go by the index glue them together; {_COPES}",
        EMPTY,
    ),
    "duplicate_tool_id": ("Two calls of one answer have the same id", f"{_COPES}: the second gets an id of its own", EMPTY),
    "changing_tool_id": ("The id of a call changes from fragment to fragment", f"{_COPES}: the first one counts", EMPTY),
    "missing_tool_id": ("Calls come without an id", f"{_COPES}: it makes one", EMPTY),
    "missing_tool_name": ("A call comes without a name", "it is never run", EMPTY),
    "repeated_tool_name": ("The name of a call comes again with later fragments", f"clients that join it double it; {_COPES}", EMPTY),
    "arguments_not_string": ("Arguments come as an object, not as text", _COPES, EMPTY),
    "duplicate_arguments_dropped": ("The arguments of a call come twice", _COPES, EMPTY),
    "placeholder_arguments_dropped": ("A call begins with arguments that are a placeholder", _COPES, EMPTY),
    "cumulative_chunks": (
        "Each piece of text repeats all before it",
        "a client that joins the pieces repeats it all",
        {"decode_options": {"cumulative_text": True}},
    ),
    "finish_reason_mismatch": (
        "An answer with calls ends as if it had none",
        f"clients that go by the finish reason never run them; {_COPES}",
        EMPTY,
    ),
    "finish_reason_missing": (
        "An answer ends without a finish reason",
        f"nobody can tell whether it was cut off; {_COPES} where the end is sure",
        EMPTY,
    ),
    "finish_without_tool_calls": ("An answer says that it ended in calls, and has none", _COPES, EMPTY),
    "multiple_finish_reasons": ("An answer has several finish reasons", f"{_COPES}: the telling one counts", EMPTY),
    "early_finish_reason": ("Content comes after the finish reason", f"clients that stop there lose it; {_COPES}: it reads on", EMPTY),
    "missing_terminal_event": (
        "The terminator of the stream does not come",
        f"nobody can tell a whole answer from one that was cut; {_COPES}",
        EMPTY,
    ),
    "missing_block_start": ("A block goes on that never began", _COPES, EMPTY),
    "missing_item_id": ("Pieces come without the id of their item", _COPES, EMPTY),
    "comment_in_data": ("A keep-alive comment is wrapped into an event", f"clients that parse it break; {_COPES}", EMPTY),
    "unterminated_event": ("Events are not ended by a blank line", f"clients may lose it; {_COPES}", EMPTY),
    "restarted_message": ("A second message begins in the middle of an answer", _COPES, EMPTY),
    "invalid_utf8": ("Text comes that is no UTF-8", f"{_COPES}: what cannot be read becomes U+FFFD", EMPTY),
}
_PERHAPS_THE_MODEL: Final = {
    "lenient_json": ("Arguments come that are not quite JSON", _COPES),
    "trailing_garbage": ("Something stands behind the arguments of a call", _COPES),
    "invalid_tool_arguments": ("Arguments come that cannot be read", "such a call is never run"),
    "arguments_not_object": ("Arguments come that are no object", "such a call is never run"),
    "leaked_special_tokens": ("Marks of the chat template stand in the text", "the template or the model's own settings may be wrong"),
}


def faults_in(seen: Sequence[tuple[str, Evidence]], protocol: str) -> tuple[Finding, ...]:
    """Return a finding for each kind of fault of the streams.

    Args:
        seen: each probe's name with each evidence of it.
        protocol: the protocol that was spoken.
    """
    found: dict[str, list[tuple[Evidence, str]]] = {}
    for _, evidence in seen:
        for code, detail in _faults_of(evidence, protocol):
            found.setdefault(code, []).append((evidence, detail))
    findings = [_finding(code, cases) for code, cases in found.items()]
    answered = [evidence for _, evidence in seen if evidence.failed is None and evidence.events]
    if not findings and answered:
        what = f"The streams keep to the protocol: {len(answered)} answers, nothing to repair"
        return (Finding(level="right", what=what, probe=STREAM),)
    return tuple(findings)


def _faults_of(evidence: Evidence, protocol: str) -> list[tuple[str, str]]:
    faults = {
        warning.code: warning.detail for warning in evidence.warnings if warning.code in _FAULTS or warning.code in _PERHAPS_THE_MODEL
    }
    is_whole = evidence.failed is None and not evidence.is_left and not evidence.is_runaway
    if is_whole and _is_stream(evidence) and WIRES[protocol].framing == "events" and evidence.content_type != _EVENT_STREAM:
        faults["content_type"] = f"Content-Type is {evidence.content_type!r}"
    if is_whole and protocol in _CHAT and _is_stream(evidence) and not evidence.has_terminator:
        faults.setdefault("missing_terminal_event", "no data: [DONE] came")
    if is_whole and _is_stream(evidence):
        faults |= odd_forms(evidence.events, protocol)
    if _is_cumulative(evidence.text_pieces):
        faults.setdefault("cumulative_chunks", f"{evidence.text_pieces[1][:40]!r}, then {evidence.text_pieces[2][:40]!r}")
    return list(faults.items())


def _is_cumulative(pieces: Sequence[str]) -> bool:
    """Whether each piece begins with the whole one before it, and by chance that cannot be."""
    grows = [later for earlier, later in pairwise(pieces) if later.startswith(earlier) and len(later) > len(earlier)]
    return len(grows) >= _ENOUGH and len(grows) == len(pieces) - 1


def _is_stream(evidence: Evidence) -> bool:
    return evidence.beginning.lstrip().startswith(("data:", "event:", ":", "id:"))


def _finding(code: str, cases: Sequence[tuple[Evidence, str]]) -> Finding:
    level: Level = "wrong"
    switches: dict[str, Any] = EMPTY
    if code in _FAULTS:
        what, copes, switches = _FAULTS[code]
    elif code in _PERHAPS_THE_MODEL:
        level = "unclear"
        what, copes = _PERHAPS_THE_MODEL[code]
    elif code in FORMS:
        what, copes = FORMS[code]
    else:
        what, copes = (
            f"A stream has another Content-Type than {_EVENT_STREAM}",
            "browsers and proxies treat it as a document; Headrace reads it",
        )
    detail = cases[0][1]
    often = f"in {len(cases)} answers" if len(cases) > 1 else "in 1 answer"
    captures = tuple(dict.fromkeys(evidence.capture for evidence, _ in cases if evidence.capture))[:_MAX_CAPTURES]
    words = f"{copes} ({code}, {often}{f': {detail}' if detail else ''})"
    return Finding(level=level, what=what, detail=words, switches=switches, probe=STREAM, evidence=captures)
