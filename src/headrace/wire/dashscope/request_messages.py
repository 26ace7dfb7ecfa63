"""One message or result as DashScope JSON, with a note for each thing that has no place there.

The rule of this file: there are two services with two forms of content. Where only text is spoken of, a content is a text; where media are,
every content is a list of `{"text": …}`, `{"image": …}`, `{"audio": …}`, `{"video": …}`. All else is the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from headrace._json import JSON, dumps
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
from headrace.wire.function_calls import call_item, foreign_reasoning_notes
from headrace.wire.history import PairedCall
from headrace.wire.message_list import speaker_notes
from headrace.wire.openai_chat.request_content import Content, Left, media_item
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.profile import Profile

PROTOCOL: Final = "dashscope"


class Form:
    """Encodes messages and results in one of the two forms of content."""

    def __init__(self, *, has_media: bool) -> None:
        """Say which: `has_media` is the form that has places for media."""
        self.has_media = has_media

    def message(self, message: Message, profile: Profile, calls: Sequence[PairedCall] = ()) -> Fragment:
        """Encode a system, user or assistant message; an empty body if nothing of it can be sent."""
        if isinstance(message, AssistantMessage):
            return _Assistant(message, profile, self).encode(calls)
        notes = speaker_notes(message)
        content = Content()
        for n, part in enumerate(message.parts):
            if content.add_part(part):
                continue
            item = self.medium(part, profile)
            if isinstance(item, Left):
                notes.append(Note(n, item.why))
            else:
                content.add_item(item)
        if message.role == "system" and not message.text:
            return Fragment(b"")
        return Fragment(dumps({"role": message.role, "content": self.content(content)}), tuple(notes))

    def result(self, result: ToolResultPart, wire_id: str, call: ToolCallPart, profile: Profile) -> Fragment:
        """Encode one result as a tool message; an image follows in a user message. How a call ended stands before what it gave."""
        notes: list[Note] = []
        name = legal_tool_name(call.name, profile)
        content = Content()
        follow: list[JSON] = []
        for n, part in enumerate(result.parts):
            if content.add_part(part):
                continue
            item = self.medium(part, profile)
            if isinstance(item, Left):
                notes.append(Note(n, f"{item.why} (in the result of {name})"))
            else:
                follow.append(item)
            if isinstance(part, MediaPart):
                place = ", which could not be passed on" if isinstance(item, Left) else ": in the next user message"
                content.add_text(f"[{part.kind}{place}]", is_own_line=True)
        text = cast("str", content.value())
        if result.state != "success":
            before, alone = ENDINGS[result.state]
            text = before + text if text else alone
        if follow:
            follow.insert(0, {"text": f"From the result of {name} ({wire_id}):"})
        body: JSON = [{"text": text}] if self.has_media else text
        fields = {"role": "tool", "tool_call_id": wire_id, "name": name, "content": body}
        return Fragment(dumps(fields), tuple(notes), tuple(map(dumps, follow)))

    @staticmethod
    def follow(items: tuple[bytes, ...]) -> bytes:
        """Make a user message of what results could not hold."""
        return b'{"role":"user","content":[' + b",".join(items) + b"]}"

    def medium(self, part: Part, profile: Profile) -> dict[str, Any] | Left:
        """Return a medium as a content part, or why there is no place for it."""
        if not isinstance(part, MediaPart):
            return Left("a part of a type that this version does not know")
        if part.kind == "document" or not self.has_media:
            return Left(f"{part.kind}: this provider takes none")
        if part.url is not None:
            address = part.url
        else:
            item = media_item(part, profile)
            if isinstance(item, Left):
                return item
            body = item[item["type"]]
            address = body["url"] if "url" in body else f"data:audio/{body['format']};base64,{body['data']}"
        return {part.kind: address, **{key: value for key, value in part.provider_data.items() if key != part.kind}}

    def content(self, content: Content) -> str | list[JSON]:
        """Return collected content in this form."""
        value = content.value()
        if isinstance(value, str):
            return [{"text": value}] if self.has_media else value
        return [{"text": item["text"]} if item.get("type") == "text" else item for item in value]


def takes_media_form(messages: Sequence[Message]) -> bool:
    """Return whether a history holds a medium that only the service for media takes."""
    return any(_has_medium(part) for message in messages for part in message.parts if message.role in ("user", "tool"))


def _has_medium(part: Part) -> bool:
    if isinstance(part, ToolResultPart):
        return any(_has_medium(inner) for inner in part.parts)
    return isinstance(part, MediaPart) and part.kind != "document"


class _Assistant:
    """Encodes one assistant message."""

    def __init__(self, message: AssistantMessage, profile: Profile, form: Form) -> None:
        self.message = message
        self.profile = profile
        self.form = form
        self.is_own = profile.is_own(message.provider)
        self.notes = speaker_notes(message)
        self.content = Content()
        self.thinking: list[str] = []
        when = profile.reasoning_when
        self.sends_thinking = profile.reasoning_style != "none" and (
            when == "always" or (when == "tool_turns" and message.has(ToolCallPart))
        )

    def encode(self, calls: Sequence[PairedCall]) -> Fragment:
        for n, part in enumerate(self.message.parts):
            self._part(n, part)
        content = self.content.value()
        if not (content or calls):
            return Fragment(b"", tuple(self.notes))
        fields: dict[str, Any] = {"role": "assistant", "content": self.form.content(self.content) if content else ""}
        if self.thinking:
            fields["reasoning_content"] = "".join(self.thinking)
        if calls:
            fields["tool_calls"] = [self._call(paired) for paired in calls]
        return Fragment(dumps(fields), tuple(self.notes))

    def _part(self, n: int, part: Part) -> None:
        match part:
            case ReasoningPart():
                self._reasoning(n, part)
            case MediaPart():
                if part.transcript:
                    self.content.add_text(part.transcript)
                else:
                    self.notes.append(Note(n, f"{part.kind}: an assistant message holds none on this wire"))
            case ProviderItem():
                self.notes.append(Note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})"))
            case ProviderToolPart():
                if not self.is_own:
                    self.notes.append(Note(n, f"the call of {part.name!r}, which {part.provider or self.message.provider} ran itself"))
            case OpaquePart():
                self.notes.append(Note(n, "a part of a type that has no place on this wire"))
            case _:
                self.content.add_part(part)

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        is_sent = self.sends_thinking and (self.is_own or self.profile.takes_foreign_reasoning)
        if is_sent and part.text:
            self.thinking.append(part.text)
        if not self.is_own:
            self.notes += foreign_reasoning_notes(n, part, maker=self.message.provider, is_sent=is_sent)

    def _call(self, paired: PairedCall) -> dict[str, Any]:
        return call_item(paired, self.profile, self.notes, maker=self.message.provider, is_own=self.is_own)
