"""The short way for the events that make up nearly all of a stream: one text piece, or pieces of tool calls; a finish word; the usage.

The rule of this file: it understands an event completely or not at all. The Structs forbid unknown fields, so an event with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).

The head of an event (id, model, time, …) is the same bytes each time. It is learned once, proved to be a run of plain fields, and then
only compared, not parsed: `{"id":"x","object":"y","created":1,"model":"m",` and behind it `"choices":…`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from headrace._json import JSONError, loads

_CHOICES: Final = b'"choices":'
_TELLING: Final = frozenset({"usage", "error", "message", "detail"})


class FastFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`function` of a tool call's piece."""

    name: str | None = None
    arguments: str | None = None


class FastCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A tool call's piece; the type is checked by the general way."""

    function: FastFunction
    index: int | None = None
    id: str | None = None
    type: str | None = None


class FastDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The fields of a delta that need no thought; another role than the assistant's needs some."""

    content: str | None = None
    tool_calls: list[FastCall] | None = None
    role: Literal["assistant"] | None = None
    reasoning_content: str | None = None
    refusal: None = None
    reasoning: str | None = None
    function_call: None = None
    audio: None = None


class FastChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A choice without log-probabilities."""

    delta: FastDelta
    index: int = 0
    finish_reason: str | None = None
    logprobs: None = None
    stop_reason: None = None


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event behind its head."""

    choices: list[FastChoice]
    usage: dict[str, Any] | None = None
    obfuscation: str | None = None
    p: str | None = None


class FastTail(FastEvent, forbid_unknown_fields=True, gc=False):
    """An event that begins with its choices; the head's fields come behind."""

    id: str | None = None
    object: str | None = None
    created: int | None = None
    model: str | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None


decode_event: Final = msgspec.json.Decoder(FastEvent).decode
decode_tail: Final = msgspec.json.Decoder(FastTail).decode
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


def head_of(data: bytes) -> bytes | None:
    """Return the bytes before `"choices":` if they are a run of plain fields, as a head to compare with: b"{" if there are none.

    None if there is no such head; fields that say something anew in each event (usage, an error, or what may be one) are no head.
    """
    at = data.find(_CHOICES)
    if at < 1:
        return None
    head = data[:at]
    fields = head.rstrip().removesuffix(b",")
    try:
        value = loads(fields + b"}")
    except JSONError:
        return None
    if not isinstance(value, dict):
        return None
    may_be_nested = b"{" in fields[1:] or b"[" in fields
    if may_be_nested and any(isinstance(field, (dict, list)) for field in value.values()):
        return None
    return head if _TELLING.isdisjoint(value) and value.get("object") != "error" else None
