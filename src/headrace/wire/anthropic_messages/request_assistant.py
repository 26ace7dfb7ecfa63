"""One assistant message as blocks of the Messages protocol.

The rule of this file: what came from a provider goes back to it unchanged and in its place: signed and sealed thinking, tools that it ran
itself with what they gave, blocks that we do not understand. Another provider's go nowhere, and that is said. Arguments go back as the
very text that came where that is an object; else as an object that holds the text.
"""

# Blocks are JSON of the peer's and of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import JSON, JSONError, dumps, loads
from headrace.messages.message import AssistantMessage
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
)
from headrace.wire.anthropic_messages.blocks import PROTOCOL
from headrace.wire.anthropic_messages.request_content import Blocks, marked
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.profile import Profile

_BROKEN_OFF: Final = frozenset({None, "error", "length"})
"""Finish words of answers in which a tool of the provider's may have been cut off. In others it may be at work still: its result comes later."""


def encode_assistant(message: AssistantMessage, profile: Profile, calls: Sequence[PairedCall], *, is_last: bool = False) -> Fragment:
    """Encode an assistant message.

    Args:
        message: the message.
        profile: what the server takes.
        calls: its calls with their wire ids, in order (from `history.pair`).
        is_last: nothing follows it, so the model goes on where it ends; then it may not end with spaces.

    Returns:
        The blocks, encoded and joined by commas, and the notes; an empty body if nothing of the message can be sent.
    """
    return _Assistant(message, profile, calls).encode(is_last=is_last)


class _Assistant:
    """Encodes one assistant message."""

    def __init__(self, message: AssistantMessage, profile: Profile, calls: Sequence[PairedCall]) -> None:
        self.message = message
        self.profile = profile
        self.is_own = profile.is_own(message.provider)
        self.calls = iter(calls)
        self.blocks = Blocks()
        self.notes: list[Note] = []

    def encode(self, *, is_last: bool) -> Fragment:
        for n, part in enumerate(self.message.parts):
            self._part(n, part)
        if self.message.name:
            self.notes.append(Note(None, f"the speaker's name {self.message.name!r}"))
        blocks = marked(self.blocks.take(), self.message.metadata)
        if is_last and blocks and isinstance(blocks[-1], dict) and blocks[-1].get("type") == "text":
            blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
        return Fragment(b",".join(map(dumps, blocks)), tuple(self.notes))

    def _part(self, n: int, part: Part) -> None:
        match part:
            case TextPart():
                self._text(n, part)
            case RefusalPart():
                self.blocks.add_text(part.text)
            case ReasoningPart():
                self._reasoning(n, part)
            case ToolCallPart():
                self.blocks.add(self._call(n, next(self.calls)))
            case ProviderToolPart():
                self._provider_tool(n, part)
            case ProviderItem():
                self._item(n, part)
            case OpaquePart() if self.is_own:
                self.blocks.add(part.raw)
            case OpaquePart():
                self._note(n, f"a part that only {self.message.provider} understands")
            case JsonPart():
                self.blocks.add_text(dumps(part.value).decode(), is_own_line=True)
            case MediaPart():
                self._note(n, f"{part.kind}: an assistant message holds none on this wire")
            case _:
                self._note(n, f"a {type(part).__name__}")

    def _note(self, n: int | None, text: str) -> None:
        self.notes.append(Note(n, text))

    def _text(self, n: int, part: TextPart) -> None:
        if not self.is_own:
            self.blocks.add_text(part.text)
            if part.citations or part.provider_data:
                what = "citations" if part.citations else f"data ({', '.join(sorted(part.provider_data))})"
                self._note(n, f"{what} of {self.message.provider}")
        elif part.text.strip():
            citations = {"citations": list(part.citations)} if part.citations else {}
            self.blocks.add({"type": "text", "text": part.text, **citations, **part.provider_data})

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        profile = self.profile
        if profile.reasoning_when == "never" or (profile.reasoning_when == "tool_turns" and not self.message.has(ToolCallPart)):
            return
        if not self.is_own:
            if profile.takes_foreign_reasoning and not profile.needs_signature and part.text:
                self.blocks.add({"type": "thinking", "thinking": part.text})
                sealed = part.signature is not None or part.encrypted is not None or bool(part.details)
                if sealed:
                    self._note(n, f"the signature of {self.message.provider}'s reasoning")
            else:
                self._note(n, f"reasoning of {self.message.provider}")
            return
        if part.encrypted is not None:
            self.blocks.add({"type": "redacted_thinking", "data": part.encrypted, **part.provider_data})
        if part.signature is not None or (part.text and not profile.needs_signature):
            signature = {} if part.signature is None else {"signature": part.signature}
            self.blocks.add({"type": "thinking", "thinking": part.text, **signature, **part.provider_data})
        elif part.text:
            self._note(n, "reasoning without a signature")

    def _call(self, n: int, paired: PairedCall) -> dict[str, Any]:
        call = paired.call
        name = legal_tool_name(call.name, self.profile)
        if name != call.name:
            self._note(n, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}")
        block: dict[str, Any] = {"type": "tool_use", "id": paired.wire_id, "name": name, "input": _input(call)}
        if call.provider_data and self.profile.sends_provider_data:
            if self.is_own:
                block |= {key: value for key, value in call.provider_data.items() if key not in block}
            else:
                self._note(n, f"data of {self.message.provider} on a call: {', '.join(sorted(call.provider_data))}")
        return block

    def _provider_tool(self, n: int, part: ProviderToolPart) -> None:
        data = dict(part.provider_data)
        kind = data.pop("type", None)
        if not (self.is_own and self.profile.is_own(part.provider)) or not isinstance(kind, str):
            self._note(n, f"the call of {part.name!r}, which {part.provider or self.message.provider or 'the provider'} ran itself")
            return
        arguments = _object(part.arguments) if part.arguments.strip() else b"{}"
        if arguments is None or (part.result is None and not self._may_wait(part)):
            self._note(n, f"the call of {part.name!r}, which the provider did not finish")
            return
        about = data.pop("result", None)
        self.blocks.add({"type": kind, "id": part.id, "name": part.name, "input": msgspec.Raw(arguments), **data})
        if part.result is not None and isinstance(about, dict):
            self.blocks.add({**cast("dict[str, Any]", about), "tool_use_id": part.id, "content": part.result})

    def _may_wait(self, part: ProviderToolPart) -> bool:
        """Return whether a call without a result is in order: it comes in a later answer, or it has a place of its own in this one."""
        if self.message.finish_reason not in _BROKEN_OFF:
            return True
        values = (_value(item.raw) for item in self.message.parts_of(ProviderItem))
        return any(isinstance(value, dict) and value.get("tool_use_id") == part.id for value in values)

    def _item(self, n: int, part: ProviderItem) -> None:
        if part.protocol != PROTOCOL or not self.profile.is_own(part.provider) or not self.is_own:
            self._note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})")
        elif _object(part.raw) is None:
            self._note(n, f"an item of {part.provider} that is no JSON object")
        else:
            self.blocks.add(msgspec.Raw(part.raw))


def _input(call: ToolCallPart) -> JSON:
    """Return a call's arguments as an object that the server can read: the bytes that came, where they are one."""
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
