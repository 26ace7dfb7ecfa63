"""The contents of a client's request, as messages: the inverse of `request_contents.py` and `request_results.py`.

The rule of this file: what a model said is one message, each result is one, and a text behind a text of a person's begins another one, so
that two stay two. What stands beside a part stays with it. A part of a model's that is not understood stays as the bytes that came.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace._json import JSON, dumps, dumps_text
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    Part,
    ProviderItem,
    ReasoningPart,
    ResultState,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.wire.gemini.fields_in import each, inner, raw_arguments
from headrace.wire.gemini.part_in import PROTOCOL, SIGNATURE
from headrace.wire.gemini.sealed_thoughts import unseal
from headrace.wire.gemini.values import kind_of
from headrace.wire.request_fields import Fields

_ROLES: Final = (None, "user", "function", "tool")


def read_system(body: Fields) -> Iterator[Message]:
    """Read the instructions: each part is a message of its own.

    Raises:
        UsageError: they are no text.
    """
    value = body.any("systemInstruction")
    if value is None:
        return
    if isinstance(value, str):
        value = {"parts": [{"text": value}]}
    for part in each(Fields(value, "systemInstruction"), "parts"):
        text = part.text("text")
        if text is None:
            raise UsageError(f"{part.path} is no text; instructions are text alone", argument=part.path)
        if text:
            yield SystemMessage.assemble([make(TextPart, text=text)])


class OpenCalls:
    """The calls of the last answer that have no result yet: a result names its call by its id, or by the name of the tool alone."""

    def __init__(self) -> None:
        """Start before the first answer."""
        self._ids: dict[str, deque[str]] = {}

    def answer(self, message: AssistantMessage) -> None:
        """Take an answer's calls in place of those before them."""
        self._ids = {}
        for call in message.tool_calls:
            self._ids.setdefault(call.name, deque()).append(call.id)

    def id_of(self, name: str, call_id: str) -> str:
        """Return the id of the call that a result answers; of several of one name the first one without a result."""
        waiting = self._ids.get(name)
        if not call_id:
            return waiting.popleft() if waiting else ""
        if waiting and call_id in waiting:
            waiting.remove(call_id)
        return call_id


def read_content(content: Fields, raws: Sequence[bytes], provider: str | None, calls: OpenCalls) -> Iterator[Message]:
    """Read a content.

    Args:
        content: its members.
        raws: the bytes of its parts, as far as they are known.
        provider: who made the model's, if known.
        calls: what was called before it.

    Raises:
        UsageError: it is no such content; the error names the path.
    """
    role = content.text("role")
    if role == "model":
        parts = [part for n, item in enumerate(each(content, "parts")) if (part := _said(item, raws[n : n + 1], provider)) is not None]
        if parts:
            message = AssistantMessage.assemble(_unsealed(parts), provider=provider)
            calls.answer(message)
            yield message
    elif role in _ROLES:
        yield from _given(content, calls)
    else:
        raise content.unknown("role", "user, model")


# ---------------------------------------------------------------------------------------------- what a person or a tool gave


def _given(content: Fields, calls: OpenCalls) -> Iterator[Message]:
    parts: list[Part] = []
    for item in each(content, "parts"):
        response = inner(item, "functionResponse")
        part = None if response is not None else _text_or_medium(item)
        is_text_behind_text = isinstance(part, TextPart) and bool(parts) and isinstance(parts[-1], TextPart)
        if parts and (response is not None or is_text_behind_text):
            yield UserMessage.assemble(parts)
            parts = []
        if response is not None:
            yield ToolMessage.assemble([_result(response, calls)], metadata=item.rest())
        elif part is not None:
            parts.append(part)
        else:
            known = "text, inlineData, fileData, functionResponse"
            raise UsageError(
                f"{item.path} is {', '.join(item.values()) or 'empty'}; a part of a user's is one of {known}", argument=item.path
            )
    if parts:
        yield UserMessage.assemble(parts)


def _text_or_medium(item: Fields) -> TextPart | MediaPart | None:
    text, blob, file = item.text("text"), inner(item, "inlineData"), inner(item, "fileData")
    if blob is not None:
        media_type, data, name = blob.text("mimeType"), blob.required_text("data"), blob.text("displayName")
        url = f"data:{media_type or ''};base64,{data}"
        return make(MediaPart, kind=kind_of(media_type), url=url, media_type=media_type, name=name, provider_data=item.rest())
    if file is not None:
        media_type, url, name = file.text("mimeType"), file.required_text("fileUri"), file.text("displayName")
        return make(MediaPart, kind=kind_of(media_type), url=url, media_type=media_type, name=name, provider_data=item.rest())
    return None if text is None else make(TextPart, text=text, provider_data=item.rest())


def _result(response: Fields, calls: OpenCalls) -> ToolResultPart:
    given, name = response.text("id") or "", response.required_text("name")
    call_id = calls.id_of(name, given)
    value = response.required_object("response").values()
    state: ResultState = "success"
    output: JSON = value
    if len(value) == 1 and "output" in value:
        output = value["output"]
    elif len(value) == 1 and "error" in value:
        state, output = "error", value["error"]
    parts: list[Part] = [] if output == "" else [make(TextPart, text=output) if isinstance(output, str) else make(JsonPart, value=output)]
    for item in each(response, "parts"):
        medium = _text_or_medium(item)
        if medium is None:
            raise UsageError(f"{item.path} is no medium", argument=item.path)
        parts.append(medium)
    return make(ToolResultPart, call_id=call_id, name=name, parts=tuple(parts), state=state, metadata=response.rest())


# ---------------------------------------------------------------------------------------------- what a model said


def _said(item: Fields, raws: Sequence[bytes], provider: str | None) -> Part | None:
    raw = raws[0] if raws else dumps(item.values())
    call = inner(item, "functionCall")
    if call is not None:
        return _call(item, call, raw)
    is_thought = item.values().get("thought") is True
    if is_thought and isinstance(item.values().get("text"), str):
        item.any("thought")
        text, signature = item.text("text") or "", item.text(SIGNATURE)
        return make(ReasoningPart, text=text, signature=signature, provider_data=item.rest())
    part = _text_or_medium(item)
    if part is not None:
        return part if not isinstance(part, TextPart) or part.text or part.provider_data else None
    if item.values().keys() == {SIGNATURE}:  # a text that is empty
        return make(TextPart, text="", provider_data=item.rest())
    return make(ProviderItem, provider=provider or "", protocol=PROTOCOL, raw=raw)


def _call(item: Fields, call: Fields, raw: bytes) -> ToolCallPart:
    identifier, name, args = call.text("id") or "", call.required_text("name"), call.object("args")
    text = raw_arguments(raw) if args is not None else ""
    if args is not None and not text:
        text = dumps_text(args.values())
    rest = call.rest()
    data: dict[str, Any] = {**item.rest(), "functionCall": rest} if rest else item.rest()
    return ToolCallPart(id=identifier, name=name, arguments=text or "{}", provider_data=data)


def _unsealed(parts: list[Part]) -> list[Part]:
    """Join thinking that went out in pieces with what proves or hides it, where that has our form."""
    joined: list[Part] = []
    for part in parts:
        found = unseal(part.signature) if isinstance(part, ReasoningPart) and not part.text else None
        if found is None:
            joined.append(part)
            continue
        length, fields = found
        pieces: list[str] = []
        missing = length
        while missing > 0 and joined and isinstance(last := joined[-1], ReasoningPart) and not (last.signature or last.encrypted):
            pieces.append(last.text)
            missing -= len(last.text)
            joined.pop()
        text = "".join(reversed(pieces))
        start = max(0, len(text) - length)
        before, covered = text[:start], text[start:]
        if before:
            joined.append(make(ReasoningPart, text=before))
        joined.append(make(ReasoningPart, text=covered, **fields))
    return joined
