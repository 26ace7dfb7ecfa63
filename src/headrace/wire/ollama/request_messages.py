"""One message or result as Ollama's JSON, with a note for each thing that has no place there.

The rule of this file: a message is one text, its images in base64 beside it, and calls whose arguments are objects; ids and names of tools
go along, of which a server takes what it knows.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final, cast

from headrace._json import JSONError, dumps, loads
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import (
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.function_calls import add_call_data, called_name, foreign_reasoning_notes
from headrace.wire.history import PairedCall
from headrace.wire.message_list import speaker_notes
from headrace.wire.openai_chat.request_content import Content
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.profile import Profile

PROTOCOL: Final = "ollama"
_NO_ADDRESS: Final = "image: only the image itself has a place on this wire, not its address"


def encode_message(message: Message, profile: Profile, calls: Sequence[PairedCall] = ()) -> Fragment:
    """Encode a system, user or assistant message; an empty body if nothing of it can be sent."""
    if message.role == "system":
        body = dumps({"role": "system", "content": message.text})
        return Fragment(body, tuple(speaker_notes(message))) if message.text else Fragment(b"")
    encoder = _Message(message, profile)
    for n, part in enumerate(message.parts):
        encoder.add(n, part)
    return encoder.encode(calls)


class _Message:
    """Encodes one user or assistant message."""

    def __init__(self, message: Message, profile: Profile) -> None:
        self.message = message
        self.profile = profile
        provider = message.provider if isinstance(message, AssistantMessage) else None
        self.provider = provider or ""
        self.is_own = profile.is_own(provider)
        self.notes = speaker_notes(message)
        self.content = Content()
        self.images: list[str] = []
        self.thinking: list[str] = []
        when = profile.reasoning_when
        self.sends_thinking = profile.reasoning_style != "none" and (
            when == "always" or (when == "tool_turns" and message.has(ToolCallPart))
        )

    def add(self, n: int, part: Part) -> None:
        if self.content.add_part(part):
            return
        match part:
            case MediaPart():
                self._media(n, part)
            case ReasoningPart():
                self._reasoning(n, part)
            case ProviderItem():
                self.notes.append(Note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})"))
            case ProviderToolPart():
                if not self.is_own:
                    self.notes.append(Note(n, f"the call of {part.name!r}, which {part.provider or self.provider} ran itself"))
            case OpaquePart():
                self.notes.append(Note(n, "a part of a type that has no place on this wire"))
            case _:  # calls have a place of their own
                pass

    def _media(self, n: int, part: MediaPart) -> None:
        image = image_of(part, self.profile)
        if image is not None:
            self.images.append(image)
        elif part.transcript:
            self.content.add_text(part.transcript)
        else:
            self.notes.append(Note(n, _why_not(part, self.profile)))

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        is_sent = self.sends_thinking and (self.is_own or self.profile.takes_foreign_reasoning)
        if is_sent and part.text:
            self.thinking.append(part.text)
        if not self.is_own:
            self.notes += foreign_reasoning_notes(n, part, maker=self.provider, is_sent=is_sent)

    def encode(self, calls: Sequence[PairedCall]) -> Fragment:
        text = text_of(self.content)
        is_user = self.message.role == "user"
        if not (is_user or text or calls or self.images):
            return Fragment(b"", tuple(self.notes))
        fields: dict[str, Any] = {"role": self.message.role, "content": text}
        if self.thinking:
            fields["thinking"] = "".join(self.thinking)
        if self.images:
            fields["images"] = self.images
        if calls:
            fields["tool_calls"] = [self._call(paired) for paired in calls]
        return Fragment(dumps(fields), tuple(self.notes))

    def _call(self, paired: PairedCall) -> dict[str, Any]:
        call, notes = paired.call, self.notes
        name = called_name(call, self.profile, notes)
        item: dict[str, Any] = {"id": paired.wire_id, "function": {"name": name, "arguments": arguments_of(call)}}
        return add_call_data(item, call, self.profile, notes, maker=self.provider, is_own=self.is_own)


def arguments_of(call: ToolCallPart) -> dict[str, Any]:
    """Return a call's arguments as an object; what is none goes as an object that holds the raw text (DESIGN 8)."""
    if call.kind == "custom":
        return {"input": call.arguments}
    try:
        value = loads(call.arguments)
    except JSONError:
        value = None
    if not isinstance(value, dict):
        value = call.parsed
    return {"_invalid_arguments": call.arguments} if value is None else cast("dict[str, Any]", value)


def image_of(part: MediaPart, profile: Profile) -> str | None:
    """Return an image in base64; None if it is none, or only its address is known."""
    if part.kind != "image" or not profile.supports_images:
        return None
    if part.data is not None:
        return base64.b64encode(part.data).decode("ascii")
    head, _, data = (part.url or "").partition(",")
    if not head.startswith("data:") or not head.endswith(";base64"):
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data


def _why_not(part: MediaPart, profile: Profile) -> str:
    return _NO_ADDRESS if part.kind == "image" and profile.supports_images else f"{part.kind}: this provider takes none"


def text_of(content: Content) -> str:
    """Return content that holds nothing but text."""
    return cast("str", content.value())


def encode_result(result: ToolResultPart, wire_id: str, call: ToolCallPart, profile: Profile) -> Fragment:
    """Encode one result as a tool message. The wire has no flag for failure, so how a call ended stands before what it gave."""
    notes: list[Note] = []
    name = legal_tool_name(call.name, profile)
    content = Content()
    images: list[str] = []
    for n, part in enumerate(result.parts):
        if content.add_part(part):
            continue
        image = image_of(part, profile) if isinstance(part, MediaPart) else None
        if image is not None:
            images.append(image)
            continue
        why = _why_not(part, profile) if isinstance(part, MediaPart) else "a part of a type that has no place on this wire"
        notes.append(Note(n, f"{why} (in the result of {name})"))
        if isinstance(part, MediaPart):
            content.add_text(f"[{part.kind}, which could not be passed on]", is_own_line=True)
    text = text_of(content)
    if result.state != "success":
        before, alone = ENDINGS[result.state]
        text = before + text if text else alone
    fields: dict[str, Any] = {"role": "tool", "tool_name": name, "tool_call_id": wire_id, "content": text}
    if images:
        fields["images"] = images
    return Fragment(dumps(fields), tuple(notes))
