"""One assistant message as blocks of Converse.

The rule of this file: what came from a provider goes back to it unchanged and in its place: signed and sealed thinking, tools that it ran
itself with what they gave, blocks that we do not understand. Another provider's go nowhere, and that is said. Thinking without a signature
goes back only where the profile says so (`reasoning_style="parts"`): most models here refuse it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import JSON, JSONError, dumps, dumps_text, loads
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from headrace.wire.bedrock_converse.block_in import PROTOCOL, SERVER_TOOL
from headrace.wire.bedrock_converse.request_content import text_block
from headrace.wire.bedrock_converse.request_media import CACHE_MARKS, Block, cache_point, media_block
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.profile import Profile

_OWN_CALL_DATA: Final = frozenset({"type", *CACHE_MARKS})


def encode_assistant(message: AssistantMessage, profile: Profile, calls: Sequence[PairedCall]) -> Fragment:
    """Encode an assistant message.

    Args:
        message: the message.
        profile: what the server takes.
        calls: its calls with their wire ids, in order (from `history.pair`).

    Returns:
        The blocks, encoded and joined by commas, and the notes; an empty body if nothing of the message can be sent.
    """
    return _Assistant(message, profile, calls).encode()


class _Assistant:
    """Encodes one assistant message."""

    def __init__(self, message: AssistantMessage, profile: Profile, calls: Sequence[PairedCall]) -> None:
        self.message = message
        self.profile = profile
        self.is_own = profile.is_own(message.provider)
        self.calls = iter(calls)
        self.blocks: list[Any] = []
        self.notes: list[Note] = []

    def encode(self) -> Fragment:
        for n, part in enumerate(self.message.parts):
            self._part(n, part)
        if self.message.name:
            self.notes.append(Note(None, f"the speaker's name {self.message.name!r}"))
        point = cache_point(self.message.metadata)
        self.blocks += [point] if point and self.blocks else []
        return Fragment(b",".join(map(dumps, self.blocks)), tuple(self.notes))

    def _part(self, n: int, part: Part) -> None:
        match part:
            case TextPart():
                self._text(n, part)
            case RefusalPart():
                self.blocks += text_block(part.text)
            case ReasoningPart():
                self._reasoning(n, part)
            case ToolCallPart():
                self.blocks.append({"toolUse": self._call(n, next(self.calls))})
            case ProviderToolPart():
                self._provider_tool(n, part)
            case ProviderItem():
                self._item(n, part)
            case JsonPart():
                self.blocks += text_block(dumps_text(part.value))
            case MediaPart():
                self._media(n, part)
            case _:  # an opaque one; what else there is stands in no assistant message
                self._note(n, "a part of a type that this version does not know")

    def _note(self, n: int | None, text: str) -> None:
        self.notes.append(Note(n, text))

    def _text(self, n: int, part: TextPart) -> None:
        if not part.citations:
            self.blocks += text_block(part.text)
        elif not self.is_own:
            self._note(n, f"citations of {self.message.provider}")
            self.blocks += text_block(part.text)
        elif part.text.strip() or all(isinstance(citation, dict) for citation in part.citations):
            self.blocks.append({"citationsContent": {"content": text_block(part.text), "citations": list(part.citations)}})

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        profile = self.profile
        if profile.reasoning_when == "never" or (profile.reasoning_when == "tool_turns" and not self.message.has(ToolCallPart)):
            return
        if not self.is_own:
            self._note(n, f"reasoning of {self.message.provider}")
            return
        if part.text or part.signature is not None:
            text: Block = {"text": part.text}
            if part.signature is not None:
                text["signature"] = part.signature
            if part.signature is not None or profile.reasoning_style == "parts":
                self.blocks.append({"reasoningContent": {"reasoningText": text}})
        if part.encrypted is not None:
            self.blocks.append({"reasoningContent": {"redactedContent": part.encrypted}})

    def _call(self, n: int, paired: PairedCall) -> Block:
        call = paired.call
        name = legal_tool_name(call.name, self.profile)
        if name != call.name:
            self._note(n, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}")
        block: Block = {"toolUseId": paired.wire_id, "name": name, "input": _input(call)}
        if call.provider_data and self.profile.sends_provider_data:
            if self.is_own:
                block |= {key: value for key, value in call.provider_data.items() if key not in block and key not in _OWN_CALL_DATA}
            else:
                self._note(n, f"data of {self.message.provider} on a call: {', '.join(sorted(call.provider_data))}")
        return block

    def _provider_tool(self, n: int, part: ProviderToolPart) -> None:
        if not (self.is_own and self.profile.is_own(part.provider)) or part.provider_data.get("type") != SERVER_TOOL:
            self._note(n, f"the call of {part.name!r}, which {part.provider or self.message.provider or 'the provider'} ran itself")
            return
        arguments = _object(part.arguments) if part.arguments.strip() else b"{}"
        if arguments is None or (part.result is None and not self._has_result_elsewhere(part)):
            self._note(n, f"the call of {part.name!r}, which the provider did not finish")
            return
        self.blocks.append({"toolUse": {"toolUseId": part.id, "name": part.name, "input": msgspec.Raw(arguments), **part.provider_data}})
        if part.result is not None:
            self.blocks.append({"toolResult": part.result})

    def _has_result_elsewhere(self, part: ProviderToolPart) -> bool:
        """Return whether what a tool gave has a place of its own in this message."""
        for item in self.message.parts_of(ProviderItem):
            block = _value(item.raw)
            result = cast("dict[str, Any]", block).get("toolResult") if isinstance(block, dict) else None
            if isinstance(result, dict) and cast("dict[str, Any]", result).get("toolUseId") == part.id:
                return True
        return False

    def _item(self, n: int, part: ProviderItem) -> None:
        if part.protocol != PROTOCOL or not self.profile.is_own(part.provider) or not self.is_own:
            self._note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})")
        elif _object(part.raw) is None:
            self._note(n, f"an item of {part.provider} that is no JSON object")
        else:
            self.blocks.append(msgspec.Raw(part.raw))

    def _media(self, n: int, part: MediaPart) -> None:
        block = media_block(part, self.profile) if self.is_own else f"{part.kind}: an answer of another provider"
        if not isinstance(block, str):
            self.blocks.append(block)
        elif part.transcript:
            self.blocks += text_block(part.transcript)
        else:
            self._note(n, block)


def _input(call: ToolCallPart) -> JSON:
    """Return a call's arguments as an object that the server can read: the bytes that came, where they are one (DESIGN 8)."""
    if call.kind == "custom":
        return {"input": call.arguments}
    raw = _object(call.arguments)
    if raw is not None:
        return msgspec.Raw(raw)
    return {"_invalid_arguments": call.arguments} if call.parsed is None else call.parsed


def _object(text: str | bytes) -> bytes | None:
    """Return the bytes of a JSON object, or None if it is none."""
    return (text.strip().encode() if isinstance(text, str) else text) if isinstance(_value(text), dict) else None


def _value(text: str | bytes) -> JSON:
    try:
        return loads(text)
    except JSONError:
        return None
