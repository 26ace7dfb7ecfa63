"""One message as steps of an interaction, with a note for each thing that this server cannot take.

The rule of this file: what came from a provider goes back to it, unchanged and in its place: signed thoughts, steps of its own tools,
steps that we do not understand. Another provider's go nowhere, and that is said.

Source: https://ai.google.dev/gemini-api/docs/interactions.
"""

# Steps are JSON of the peer's and of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from headrace._json import JSON, JSONError, dumps, dumps_text, loads
from headrace.messages.message import AssistantMessage, Message, SystemMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.gemini.request_contents import arguments_of
from headrace.wire.gemini.request_media import media_part
from headrace.wire.gemini_interactions.step_in import PROTOCOL
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.profile import Profile

_UNKNOWN: Final = "a part of a type that this version does not know"


def encode_message(message: Message, profile: Profile, calls: Sequence[PairedCall] = ()) -> Fragment:
    """Encode a user or assistant message; instructions have a place of their own in the body.

    Args:
        message: the message.
        profile: what the server takes.
        calls: the message's calls with their wire ids, in order (from `history.pair`).

    Returns:
        The steps, encoded and joined by commas, and the notes; an empty body if nothing of the message can be sent.
    """
    steps = _Steps(message, profile, calls)
    if not isinstance(message, SystemMessage):
        for n, part in enumerate(message.parts):
            steps.add(n, part)
    if message.name:
        steps.notes.append(Note(None, f"the speaker's name {message.name!r}"))
    return Fragment(b",".join(map(dumps, steps.take())), tuple(steps.notes))


def encode_result(result: ToolResultPart, wire_id: str, call: ToolCallPart, profile: Profile) -> Fragment:
    """Encode what a tool gave: a text or an object where that is all, else contents; a failure has a flag and its words."""
    notes: list[Note] = []
    name = legal_tool_name(call.name, profile)
    values: list[JSON] = []
    for n, part in enumerate(result.parts):
        match part:
            case TextPart() | RefusalPart():
                values.append(part.text)
            case JsonPart():
                values.append(part.value)
            case MediaPart():
                item = content_of(part, profile)
                if isinstance(item, str):
                    notes.append(Note(n, f"{item} (in the result of {name})"))
                values.append(_Content(item) if not isinstance(item, str) else f"[{part.kind}, which could not be passed on]")
            case _:
                notes.append(Note(n, f"a part of a type that this version does not know, in the result of {name}"))
    fields: dict[str, Any] = {"type": "function_result", "call_id": wire_id, "name": name, "result": _result(values, result)}
    if result.state != "success":
        fields["is_error"] = True
    return Fragment(dumps(fields), tuple(notes))


def content_of(part: MediaPart, profile: Profile) -> dict[str, Any] | str:
    """Return a medium as a content, or why there is no place for it."""
    found = media_part(part, profile)
    if isinstance(found, str):
        return found
    inline, file = found.get("inlineData"), found.get("fileData")
    if inline is not None:
        return {"type": part.kind, "data": inline["data"], "mime_type": inline["mimeType"]}
    media_type = {"mime_type": file["mimeType"]} if file is not None and "mimeType" in file else {}
    return {"type": part.kind, "uri": None if file is None else file["fileUri"], **media_type}


class _Content(msgspec.Struct, frozen=True):
    """A content that is no text."""

    fields: dict[str, Any]


def _result(values: list[JSON], result: ToolResultPart) -> JSON:
    before, alone = ("", "") if result.state == "success" else ENDINGS[result.state]
    if not values:
        return alone
    if result.state == "error":  # the flag says that already
        before = ""
    if len(values) == 1 and isinstance(values[0], dict) and not before:
        return values[0]
    if any(isinstance(value, _Content) for value in values):
        contents = [value.fields if isinstance(value, _Content) else {"type": "text", "text": _words(value)} for value in values]
        return [{"type": "text", "text": before.rstrip()}, *contents] if before else contents
    return before + "".join(map(_words, values))


def _words(value: JSON) -> str:
    return value if isinstance(value, str) else dumps_text(value)


class _Steps:
    """Collects the steps of one message."""

    def __init__(self, message: Message, profile: Profile, calls: Sequence[PairedCall]) -> None:
        self.profile = profile
        self.provider = message.provider if isinstance(message, AssistantMessage) else None
        self.is_own = profile.is_own(self.provider)
        self.notes: list[Note] = []
        self._kind = "model_output" if isinstance(message, AssistantMessage) else "user_input"
        self._calls = iter(calls)
        self._steps: list[JSON] = []
        self._content: list[JSON] = []
        self._beside: dict[str, JSON] = {}

    def take(self) -> list[JSON]:
        self._end()
        return self._steps

    def add(self, n: int, part: Part) -> None:
        match part:
            case TextPart() | RefusalPart():
                self._text(n, part)
            case JsonPart():
                self._content.append({"type": "text", "text": dumps_text(part.value)})
            case MediaPart():
                item = content_of(part, self.profile)
                if isinstance(item, str):
                    self.notes.append(Note(n, item))
                else:
                    self._content.append({**item, **self._own_data(n, part.provider_data)})
            case ToolCallPart():
                self._call(next(self._calls))
            case ReasoningPart():
                self._thought(n, part)
            case ProviderToolPart():
                self._tool(n, part)
            case ProviderItem():
                self._item(n, part)
            case OpaquePart() | _:
                self.notes.append(Note(n, _UNKNOWN))

    def _text(self, n: int, part: TextPart | RefusalPart) -> None:
        beside = self._own_data(n, part.provider_data)
        citations = list(part.citations) if isinstance(part, TextPart) and self.is_own and self._kind == "model_output" else []
        annotations = [item for item in citations if isinstance(item, dict) and "type" in item]
        if part.text:
            self._content.append({"type": "text", "text": part.text, **({"annotations": annotations} if annotations else {})})
        self._beside |= beside

    def _own_data(self, n: int | None, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return what goes back beside a part; another provider's is left out, and that is said."""
        if not data or not self.profile.sends_provider_data:
            return {}
        if self.is_own:
            return data
        self.notes.append(Note(n, f"data of {self.provider}: {', '.join(sorted(data))}"))
        return {}

    def _end(self) -> None:
        """End the step at hand, if anything is in it."""
        if self._content or self._beside:
            self._steps.append({"type": self._kind, "content": self._content, **self._beside})
        self._content, self._beside = [], {}

    def _step(self, step: JSON) -> None:
        self._end()
        self._steps.append(step)

    def _thought(self, n: int, part: ReasoningPart) -> None:
        if not self.is_own:
            if part.text or part.signature or part.encrypted or part.details:
                self.notes.append(Note(n, f"reasoning of {self.provider}"))
            return
        data = dict(part.provider_data)
        others = data.pop("summary", None)
        summary = [*([{"type": "text", "text": part.text}] if part.text else []), *(others if isinstance(others, list) else [])]
        step: dict[str, Any] = {"type": "thought", **data}
        if part.signature is not None:
            step["signature"] = part.signature
        if summary:
            step["summary"] = summary
        if part.signature is not None or (summary and self.profile.reasoning_style == "parts"):
            self._step(step)

    def _call(self, paired: PairedCall) -> None:
        call = paired.call
        name = legal_tool_name(call.name, self.profile)
        if name != call.name:
            self.notes.append(Note(None, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}"))
        beside = self._own_data(None, call.provider_data)
        self._step({**beside, "type": "function_call", "id": paired.wire_id, "name": name, "arguments": arguments_of(call)})

    def _tool(self, n: int, part: ProviderToolPart) -> None:
        steps = part.provider_data.get("steps")
        if self.is_own and isinstance(steps, list):
            for step in steps:
                self._step(step)
        elif not self.is_own:
            self.notes.append(Note(n, f"the call of {part.name!r}, which {part.provider or self.provider} ran itself"))

    def _item(self, n: int, part: ProviderItem) -> None:
        if part.protocol != PROTOCOL or not self.profile.is_own(part.provider) or not self.is_own:
            self.notes.append(Note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})"))
            return
        try:
            is_object = isinstance(loads(part.raw), dict)
        except JSONError:
            is_object = False
        if is_object:
            self._step(msgspec.Raw(part.raw))
        else:
            self.notes.append(Note(n, f"an item of {part.provider} that is no JSON object"))
