"""One message as Chat Completions JSON, with a note for each thing that this server cannot take.

The rule of this file: what came from a provider goes back to it, and what another provider cannot take is left out and
said. What a server does not want back from itself (its own thinking, the record of a tool that it ran) is no loss and
gets no note. Arguments that do not parse never go back as they are, and are never replaced by an empty object.

Members that a stream's delta had beside the known ones are the `provider_data` of a text, refusal or reasoning part and
go back as members of the message; those of a call as members of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import JSON, JSONError, dumps, dumps_text, loads
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import (
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_content import Content, user_content
from headrace.wire.openai_chat.request_names import legal_tool_name, speaker
from headrace.wire.profile import Profile

PROTOCOL: Final = "openai-chat"


def encode_message(message: Message, profile: Profile, calls: Sequence[PairedCall] = ()) -> Fragment:
    """Encode a system, user or assistant message.

    Args:
        message: the message; tool messages go by `encode_result`, one result at a time.
        profile: what the server takes.
        calls: the message's calls with their wire ids, in order (from `history.pair`).

    Returns:
        The JSON and the notes; an empty body if nothing of the message can be sent.
    """
    if isinstance(message, AssistantMessage):
        return _Assistant(message, profile).encode(calls)
    notes: list[Note] = []
    if message.role == "system":
        return _system(message, profile)
    fields: dict[str, Any] = {"role": "user", "content": user_content(message.parts, profile, notes)}
    return Fragment(dumps(fields | speaker(message.name, profile, notes)), tuple(notes))


def _system(message: Message, profile: Profile) -> Fragment:
    content = Content()
    for part in message.parts:
        content.add_given(part, profile)
    value = content.value()
    if isinstance(value, str):
        return encode_system(value, message.name, profile)
    notes: list[Note] = []
    return Fragment(dumps({"role": profile.system_role, "content": value} | speaker(message.name, profile, notes)), tuple(notes))


def encode_system(text: str, name: str | None, profile: Profile) -> Fragment:
    """Encode instructions; an empty text is not sent."""
    if not text:
        return Fragment(b"")
    notes: list[Note] = []
    return Fragment(dumps({"role": profile.system_role, "content": text} | speaker(name, profile, notes)), tuple(notes))


class _Assistant:
    """Encodes one assistant message."""

    def __init__(self, message: AssistantMessage, profile: Profile) -> None:
        self.message = message
        self.profile = profile
        self.is_own = profile.is_own(message.provider)
        self.notes: list[Note] = []
        self.content = Content()
        self.refusal: list[str] = []
        self.thinking: list[str] = []
        self.details: list[JSON] = []
        self.encrypted: list[str] = []
        self.extra: dict[str, Any] = {}
        self.audio: dict[str, Any] | None = None
        when = profile.reasoning_when
        self.sends_thinking = profile.reasoning_style != "none" and (
            when == "always" or (when == "tool_turns" and message.has(ToolCallPart))
        )

    def encode(self, calls: Sequence[PairedCall]) -> Fragment:
        for n, part in enumerate(self.message.parts):
            self._part(n, part)
        content: JSON = self.content.value()
        if not (content or self.refusal or calls or self.audio):
            return Fragment(b"", tuple(self.notes))
        fields: dict[str, Any] = {"role": "assistant"}
        if content or not calls or self.refusal:
            fields["content"] = content or None
        elif self.profile.content_with_calls != "absent":
            fields["content"] = "" if self.profile.content_with_calls == "empty" else None
        if self.refusal:
            fields["refusal"] = "".join(self.refusal)
        fields |= self._reasoning_fields()
        if self.audio:
            fields["audio"] = self.audio
        if calls:
            fields["tool_calls"] = [self._call(paired) for paired in calls]
        fields |= speaker(self.message.name, self.profile, self.notes)
        fields |= {key: value for key, value in self.extra.items() if key not in fields}
        return Fragment(dumps(fields), tuple(self.notes))

    def _part(self, n: int, part: Part) -> None:
        match part:
            case ReasoningPart():
                self._reasoning(n, part)
            case RefusalPart() if self.profile.supports_refusal:
                if part.text:
                    self.refusal.append(part.text)
            case MediaPart():
                self._media(n, part)
            case ProviderItem():
                self._provider_item(n, part)
            case ProviderToolPart():
                if not self.is_own:
                    self.notes.append(Note(n, f"the call of {part.name!r}, which {part.provider or self.message.provider} ran itself"))
            case OpaquePart() if self.is_own:
                self.content.add_item(part.raw)  # a content part of the wire that the decoder did not know
            case OpaquePart():
                self.notes.append(Note(n, f"a part that only {self.message.provider} understands"))
            case _:
                self.content.add_part(part)
        if isinstance(part, (TextPart, RefusalPart, ReasoningPart)) and part.provider_data:
            self._keep_extra(n, part.provider_data)

    def _keep_extra(self, n: int, data: dict[str, Any]) -> None:
        if not self.profile.sends_provider_data:
            return
        if self.is_own:
            self.extra |= data
        else:
            self.notes.append(Note(n, f"data of {self.message.provider}: {', '.join(sorted(data))}"))

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        is_sent = self.sends_thinking and (self.is_own or self.profile.takes_foreign_reasoning)
        if not self.is_own:
            # Its own provider's proof of the thinking means nothing elsewhere, so only the text can go along.
            sealed = part.signature is not None or part.encrypted is not None or bool(part.details)
            if part.text and not is_sent:
                self.notes.append(Note(n, f"reasoning of {self.message.provider}"))
            elif sealed:
                self.notes.append(Note(n, f"signed or encrypted reasoning of {self.message.provider}"))
        if not is_sent:
            return
        match self.profile.reasoning_style:
            case "think_tags":
                if part.text:
                    self.content.add_text(f"<think>{part.text}</think>\n\n")
            case "parts":
                if part.text:
                    signature = {} if part.signature is None or not self.is_own else {"signature": part.signature}
                    self.content.add_item({"type": "thinking", "thinking": [{"type": "text", "text": part.text}], **signature})
            case _:
                self.thinking.append(part.text)
                if self.is_own:
                    self.details.extend(part.details)
                    self.encrypted += [part.encrypted] if part.encrypted else []

    def _reasoning_fields(self) -> dict[str, Any]:
        if not self.sends_thinking or self.profile.reasoning_style not in ("field", "details"):
            return {}
        if self.details and self.profile.reasoning_style == "details":
            return {"reasoning_details": self.details}
        text = "".join(self.thinking) or self.profile.reasoning_filler
        fields = {} if text is None else {self.profile.reasoning_field: text}
        if self.encrypted and self.profile.encrypted_field is not None:
            fields[self.profile.encrypted_field] = "".join(self.encrypted)
        return fields

    def _media(self, n: int, part: MediaPart) -> None:
        # A spoken answer goes back by its id, which only the speaker knows; elsewhere its words go.
        audio_id = part.provider_data.get("id")
        if part.kind == "audio" and self.is_own and self.profile.supports_audio and isinstance(audio_id, str):
            self.audio = {"id": audio_id}
        elif part.transcript:
            self.content.add_text(part.transcript)
        else:
            self.notes.append(Note(n, f"{part.kind}: an assistant message holds none on this wire"))

    def _provider_item(self, n: int, part: ProviderItem) -> None:
        if part.protocol != PROTOCOL or not self.profile.is_own(part.provider):
            self.notes.append(Note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})"))
            return
        if _parsed(part.raw) is not None:
            self.content.add_item(msgspec.Raw(part.raw))
        else:
            self.notes.append(Note(n, f"an item of {part.provider} that is no JSON object"))

    def _call(self, paired: PairedCall) -> dict[str, Any]:
        call = paired.call
        name = legal_tool_name(call.name, self.profile)
        if name != call.name:
            self.notes.append(Note(None, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}"))
        item: dict[str, Any]
        if call.kind == "custom" and self.profile.supports_custom_tools:
            item = {"id": paired.wire_id, "type": "custom", "custom": {"name": name, "input": call.arguments}}
        else:
            item = {"id": paired.wire_id, "type": "function", "function": {"name": name, "arguments": arguments(call, self.profile)}}
        if call.provider_data and self.profile.sends_provider_data:
            if self.is_own:
                item |= {key: value for key, value in call.provider_data.items() if key not in item}
            else:
                self.notes.append(Note(None, f"data of {self.message.provider} on a call: {', '.join(sorted(call.provider_data))}"))
        return item


def arguments(call: ToolCallPart, profile: Profile) -> JSON:
    """Return a call's arguments as an object that the server can read, in the shape that it wants.

    The raw text as it is where it parses to an object; what was repaired, encoded anew; else an object that holds the raw
    text (DESIGN 8), since servers and chat templates refuse arguments that are none.
    """
    value: JSON = {"input": call.arguments} if call.kind == "custom" else _parsed(call.arguments)
    if value is None:
        value = {"_invalid_arguments": call.arguments} if call.parsed is None else call.parsed
    elif call.kind != "custom" and profile.arguments_as == "text":
        return call.arguments
    return value if profile.arguments_as == "object" else dumps_text(value)


def _parsed(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = loads(text)
    except JSONError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
