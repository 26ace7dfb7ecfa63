"""One message or result as Cohere v2 JSON, with a note for each thing that has no place there.

The rule of this file: what came from Cohere goes back to it: the tool plan, thinking, citations, blocks that we did not know. What a
message says before it calls is its plan on this wire, so the text of another provider's message with calls goes as `tool_plan`.
"""

# JSON that anybody put there is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace._json import JSON, dumps
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    ResultState,
    TextPart,
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

PROTOCOL: Final = "cohere-v2"


def encode_message(message: Message, profile: Profile, calls: Sequence[PairedCall] = ()) -> Fragment:
    """Encode a system, user or assistant message; an empty body if nothing of it can be sent."""
    if isinstance(message, AssistantMessage):
        return _Assistant(message, profile).encode(calls)
    notes = speaker_notes(message)
    if message.role == "system":
        return Fragment(dumps({"role": "system", "content": message.text}), tuple(notes)) if message.text else Fragment(b"")
    content = Content()
    for n, part in enumerate(message.parts):
        if content.add_part(part):
            continue
        item = _image(part, profile)
        if isinstance(item, Left):
            notes.append(Note(n, item.why))
        else:
            content.add_item(item)
    return Fragment(dumps({"role": "user", "content": content.value()}), tuple(notes))


def encode_follow(items: tuple[bytes, ...]) -> bytes:
    """Make a user message of content that results could not hold."""
    return b'{"role":"user","content":[' + b",".join(items) + b"]}"


def _image(part: Part, profile: Profile) -> dict[str, Any] | Left:
    if not isinstance(part, MediaPart):
        return Left("a part of a type that this version does not know")
    if part.kind != "image":
        return Left(f"{part.kind}: this provider takes none")
    return media_item(part, profile)


class _Assistant:
    """Encodes one assistant message."""

    def __init__(self, message: AssistantMessage, profile: Profile) -> None:
        self.message = message
        self.profile = profile
        self.is_own = profile.is_own(message.provider)
        self.notes = speaker_notes(message)
        self.content = Content()
        self.citations: list[JSON] = []

    def encode(self, calls: Sequence[PairedCall]) -> Fragment:
        for n, part in enumerate(self.message.parts):
            self._part(n, part)
        content, plan = self.content.value(), self._plan()
        fields: dict[str, Any] = {"role": "assistant"}
        if calls and not plan and isinstance(content, str):
            content, plan = "", content
        if not (content or calls or plan):
            return Fragment(b"", tuple(self.notes))
        if plan:
            fields["tool_plan"] = plan
        if content:
            fields["content"] = content
        if calls:
            fields["tool_calls"] = [self._call(paired) for paired in calls]
        if self.citations:
            fields["citations"] = self.citations
        return Fragment(dumps(fields), tuple(self.notes))

    def _plan(self) -> str:
        """Return the message's own plan; and take its citations that stand beside the text."""
        if not self.is_own:
            return ""
        plan, citations = self.message.metadata.get("tool_plan"), self.message.metadata.get("citations")
        self.citations += citations if isinstance(citations, list) else []
        return plan if isinstance(plan, str) else ""

    def _part(self, n: int, part: Part) -> None:
        match part:
            case ReasoningPart():
                self._reasoning(n, part)
            case TextPart():
                self.content.add_text(part.text)
                self.citations += part.citations if self.is_own else ()
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
            case OpaquePart() if self.is_own:
                self.content.add_item(part.raw)  # a block that the decoder did not know
            case OpaquePart():
                self.notes.append(Note(n, f"a part that only {self.message.provider} understands"))
            case _:
                self.content.add_part(part)

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        profile = self.profile
        is_wanted = profile.reasoning_style != "none" and (
            profile.reasoning_when == "always" or (profile.reasoning_when == "tool_turns" and self.message.has(ToolCallPart))
        )
        is_sent = is_wanted and (self.is_own or profile.takes_foreign_reasoning) and bool(part.text)
        if is_sent:
            self.content.add_item({"type": "thinking", "thinking": part.text})
        if not self.is_own:
            self.notes += foreign_reasoning_notes(n, part, maker=self.message.provider, is_sent=is_sent)

    def _call(self, paired: PairedCall) -> dict[str, Any]:
        return call_item(paired, self.profile, self.notes, maker=self.message.provider, is_own=self.is_own)


def encode_result(result: ToolResultPart, wire_id: str, call: ToolCallPart, profile: Profile) -> Fragment:
    """Encode one result as a tool message.

    JSON objects go as documents, which the model can cite; how a call ended that did not succeed stands in front as text. An image
    follows in a user message.
    """
    notes: list[Note] = []
    name = legal_tool_name(call.name, profile)
    content = Content()
    follow: list[dict[str, Any]] = []
    for n, part in enumerate(result.parts):
        documents = _documents(part)
        if documents is not None:
            for document in documents:
                content.add_item({"type": "document", "document": {"data": document}})
        elif not content.add_part(part):
            item = _image(part, profile)
            if isinstance(item, Left):
                notes.append(Note(n, f"{item.why} (in the result of {name})"))
            else:
                follow.append(item)
            if isinstance(part, MediaPart):
                place = ", which could not be passed on" if isinstance(item, Left) else ": in the next user message"
                content.add_text(f"[{part.kind}{place}]", is_own_line=True)
    if follow:
        follow.insert(0, {"type": "text", "text": f"From the result of {name} ({wire_id}):"})
    fields = {"role": "tool", "tool_call_id": wire_id, "content": _with_ending(content.value(), result.state)}
    return Fragment(dumps(fields), tuple(notes), tuple(map(dumps, follow)))


def _documents(part: Part) -> list[JSON] | None:
    """Return the objects that a JSON value is or lists; None if it is another one."""
    if not isinstance(part, JsonPart) or not part.value:
        return None
    values: list[JSON] = part.value if isinstance(part.value, list) else [part.value]
    return values if all(isinstance(value, dict) for value in values) else None


def _with_ending(value: str | list[JSON], state: ResultState) -> str | list[JSON]:
    if state == "success":
        return value
    before, alone = ENDINGS[state]
    if isinstance(value, str):
        return before + value if value else alone
    return [{"type": "text", "text": before.rstrip()}, *value]
