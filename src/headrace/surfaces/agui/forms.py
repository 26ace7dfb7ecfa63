"""The objects of AG-UI: messages, contents, usage, interrupts.

The rule of this file: names and shapes are those of the specification's schema; a field without a value is left out, never null.

Source: https://ag-ui.com/spec/1.0/schema.json.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from headrace._json import JSON, thaw
from headrace.agent.approval import Pending, PendingKind
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage
from headrace.surfaces.content import seal, text_of, usual_type
from headrace.surfaces.surface import Form

PROTOCOL_VERSION: Final = "1.0"
MARK: Final = "headrace"
"""Under this key of `metadata` stands what the protocol has no field for; events of our own begin with it."""
_MOST: Final = 2**53 - 1

_REASONS: Final[dict[PendingKind, str]] = {"approval": "tool_call", "external": "input_required", "in_doubt": "confirmation"}
_YES_OR_NO: Final[dict[str, Any]] = {
    "approved": {"type": "boolean", "description": "Whether the tool may run."},
    "reason": {"type": "string", "description": "Why not; the model reads it."},
}
_SCHEMAS: Final[dict[PendingKind, dict[str, Any]]] = {
    "approval": {
        "type": "object",
        "properties": {
            **_YES_OR_NO,
            "editedArgs": {"type": "object", "description": "Run it with these arguments instead."},
            "always": {"type": "boolean", "description": "Do not ask about calls like this one for the rest of the run."},
        },
        "required": ["approved"],
    },
    "external": {"description": "What the tool gave."},
    "in_doubt": {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the tool runs again."},
            "result": {"description": "What the tool gave, if it is known to have run."},
            "reason": _YES_OR_NO["reason"],
        },
    },
}


def reasoning_id(message_id: str, part: int) -> str:
    """Name a message of thinking."""
    return f"{message_id}/{part}"


def result_id(call_key: str) -> str:
    """Name the message that holds a result."""
    return f"{call_key}/result"


# ---------------------------------------------------------------------------------------------- contents


def content(parts: Iterable[Part]) -> str | list[Form]:
    """Return parts as the content of a message: a text, or a list where there are media."""
    held = list(parts)
    if not any(isinstance(part, MediaPart) for part in held):
        return text_of(held)
    forms: list[Form] = []
    for part in held:
        if isinstance(part, MediaPart):
            forms.append({"type": part.kind, "source": _source(part)})
        elif text := text_of([part]):
            forms.append({"type": "text", "text": text})
    return forms


def _source(part: MediaPart) -> Form:
    if part.data is not None:
        encoded = base64.b64encode(part.data).decode("ascii")
        return {"type": "data", "value": encoded, "mimeType": part.media_type or usual_type(part.kind)}
    kind, value = ("url", part.url) if part.url is not None else ("file", part.file_id)
    return {"type": kind, "value": value, **({"mimeType": part.media_type} if part.media_type else {})}


def result_metadata(result: ToolResultPart) -> Form:
    """Return how a call ended, where it did not end well."""
    return {} if result.state == "success" else {"metadata": {MARK: {"state": result.state}}}


# ---------------------------------------------------------------------------------------------- messages


class Said(msgspec.Struct, frozen=True):
    """An answer of a model, and what its blocks were called when they streamed.

    Attributes:
        message: the answer.
        ids: by kind (`text`, `reasoning`, `call`), in the order of the message.
    """

    message: AssistantMessage
    ids: dict[str, list[str]]


def answer_forms(said: Said) -> Iterator[Form]:
    """Give an answer as the messages that streaming it made: each text and all thinking is one; calls hang on the first text."""
    message, own = said.message, said.message.id or ""
    ids = {kind: iter(said.ids.get(kind, ())) for kind in ("text", "reasoning", "call")}
    texts: list[Form] = []
    calls: list[Form] = []
    for place, part in enumerate(message.parts):
        name = f"{own}/{place}"
        match part:
            case ReasoningPart():
                sealed = seal(part, message.provider)
                form: Form = {"id": next(ids["reasoning"], name), "role": "reasoning", "content": part.text}
                yield form if sealed is None else {**form, "encryptedValue": sealed}
            case TextPart() | RefusalPart():
                texts.append({"id": next(ids["text"], name), "role": "assistant", "content": part.text})
            case ToolCallPart():
                calls.append(call_form(part, next(ids["call"], name), message.provider))
            case _:
                pass
    if calls:
        if not any(text["id"] == own for text in texts):
            texts.insert(0, {"id": own, "role": "assistant"})
        next(text for text in texts if text["id"] == own)["toolCalls"] = calls
    yield from texts


def call_form(part: ToolCallPart, call_key: str, provider: str | None) -> Form:
    """Return a call inside a message."""
    sealed = seal(part, provider)
    form: Form = {"id": call_key, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
    return form if sealed is None else {**form, "encryptedValue": sealed}


def result_form(result: ToolResultPart, call_key: str) -> Form:
    """Return a result as a message."""
    form: Form = {"id": result_id(call_key), "role": "tool", "toolCallId": call_key, "content": content(result.parts)}
    if result.state != "success":
        form["error"] = text_of(result.parts) or result.state
    return form


# ---------------------------------------------------------------------------------------------- usage and interrupts


def usage_forms(used: dict[tuple[str | None, str | None], Usage]) -> list[Form]:
    """Return what was used, by provider and model; a count that nobody said is left out."""
    forms: list[Form] = []
    for (provider, model), usage in used.items():
        has_total = usage.input_tokens is not None and usage.output_tokens is not None
        counts = {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.total_tokens if has_total else None,
            "reasoningTokens": usage.reasoning_tokens,
            "cachedInputTokens": usage.cache_read_tokens,
            "cacheWriteInputTokens": usage.cache_write_tokens,
        }
        said: Form = {name: count for name, count in counts.items() if count is not None and 0 <= count <= _MOST}
        if said:
            labels: Form = {name: label for name, label in (("provider", provider), ("model", model)) if label}
            forms.append(labels | said)
    return forms


def interrupt_form(pending: Pending, subagent: str | None) -> Form:
    """Return a question; its id is the question's digest, so an answer fits this one alone.

    Args:
        pending: the question.
        subagent: the run inside which it is asked, if that is known.
    """
    call: JSON = thaw(pending.call.parsed) if pending.call.parsed is not None else pending.call.arguments
    metadata: Form = {"kind": pending.kind, "toolName": pending.call.name, "arguments": call}
    if pending.path:
        metadata["path"] = list(pending.path)
    if pending.suggestions:
        metadata["always"] = [str(rule) for rule in pending.suggestions]
    return {
        "id": pending.digest,
        "reason": _REASONS[pending.kind],
        "message": pending.reason or f"{pending.call.name} waits for an answer",
        "toolCallId": pending.call_key,
        "responseSchema": _SCHEMAS[pending.kind],
        "metadata": {MARK: metadata},
        **({"subagentRunId": subagent} if subagent is not None else {}),
    }
