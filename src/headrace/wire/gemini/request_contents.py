"""One message as parts of a generateContent body, with a note for each thing that this server cannot take.

The rule of this file: what came from a provider goes back to it, unchanged and on the part that it came with: thought signatures, tools
that it ran itself with what they gave, parts that we do not understand. Another provider's go nowhere, and that is said. Arguments go back
as the very text that came where that is an object; else as an object that holds the text.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

# Parts are JSON of the peer's and of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from headrace._json import JSON, JSONError, dumps, dumps_text, loads
from headrace.messages.message import AssistantMessage, Message
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
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.gemini.part_in import PROTOCOL, SIGNATURE
from headrace.wire.gemini.request_media import media_part
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.profile import Profile

_UNKNOWN: Final = "a part of a type that this version does not know"


def encode_message(message: Message, profile: Profile, calls: Sequence[PairedCall] = ()) -> Fragment:
    """Encode a system, user or assistant message.

    Args:
        message: the message; results of tools go by `request_results.py`.
        profile: what the server takes.
        calls: the message's calls with their wire ids, in order (from `history.pair`).

    Returns:
        The parts, encoded and joined by commas, and the notes; an empty body if nothing of the message can be sent.
    """
    parts = _Parts(profile, message)
    if isinstance(message, AssistantMessage):
        parts.add_answer(message, calls)
    else:
        for n, part in enumerate(message.parts):
            parts.add(n, part)
    if message.name:
        parts.notes.append(Note(None, f"the speaker's name {message.name!r}"))
    return Fragment(b",".join(map(dumps, parts.wire)), tuple(parts.notes))


def arguments_of(call: ToolCallPart) -> JSON:
    """Return a call's arguments as an object: the very text that came, if it is one; what was repaired; else an object that holds the text."""
    if call.kind == "custom":
        return {"input": call.arguments}
    try:
        is_object = isinstance(loads(call.arguments), dict)
    except JSONError:
        is_object = False
    if is_object:
        return msgspec.Raw(call.arguments.strip().encode())
    return {"_invalid_arguments": call.arguments} if call.parsed is None else call.parsed


class _Parts:
    """Collects the parts of one message."""

    def __init__(self, profile: Profile, message: Message) -> None:
        self.profile = profile
        self.provider = message.provider if isinstance(message, AssistantMessage) else None
        self.is_own = profile.is_own(self.provider)
        self.wire: list[JSON] = []
        self.notes: list[Note] = []

    def add_answer(self, message: AssistantMessage, calls: Sequence[PairedCall]) -> None:
        paired, filler = iter(calls), self.profile.unsigned_call
        for n, part in enumerate(message.parts):
            match part:
                case ToolCallPart():
                    self._call(next(paired), filler)
                    filler = None  # of calls that were made together the first one is signed, the others need nothing
                case ReasoningPart():
                    self._reasoning(n, part)
                case ProviderToolPart():
                    self._provider_tool(n, part)
                case ProviderItem():
                    self._item(n, part)
                case _:
                    self.add(n, part)

    def add(self, n: int, part: Part) -> None:
        match part:
            case TextPart() | RefusalPart():
                beside = self._own_data(n, part.provider_data)
                if part.text or beside:
                    self.wire.append({"text": part.text, **beside})
            case JsonPart():
                self.wire.append({"text": dumps_text(part.value), **self._own_data(n, part.provider_data)})
            case MediaPart():
                item = media_part(part, self.profile)
                if isinstance(item, str):
                    self.notes.append(Note(n, item))
                else:
                    self.wire.append({**item, **self._own_data(n, part.provider_data)})
            case OpaquePart() | _:
                self.notes.append(Note(n, _UNKNOWN))

    def _own_data(self, n: int | None, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return what goes back beside a part; another provider's is left out, and that is said."""
        if not data or not self.profile.sends_provider_data:
            return {}
        if self.is_own:
            return data
        self.notes.append(Note(n, f"data of {self.provider}: {', '.join(sorted(data))}"))
        return {}

    def _reasoning(self, n: int, part: ReasoningPart) -> None:
        if not self.is_own:
            if part.text and self.profile.takes_foreign_reasoning and self.profile.reasoning_style == "parts":
                self.wire.append({"text": part.text, "thought": True})
            if part.text or part.signature or part.encrypted or part.details:
                self.notes.append(Note(n, f"reasoning of {self.provider}"))
            return
        data: dict[str, Any] = {**part.provider_data}
        if part.signature is not None:
            data[SIGNATURE] = part.signature
        if data or (part.text and self.profile.reasoning_style == "parts"):
            self.wire.append({"text": part.text, "thought": True, **data})

    def _call(self, paired: PairedCall, filler: str | None) -> None:
        call = paired.call
        name = legal_tool_name(call.name, self.profile)
        if name != call.name:
            self.notes.append(Note(None, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}"))
        beside = dict(self._own_data(None, call.provider_data))
        rest = beside.pop("functionCall", None)
        function: dict[str, Any] = {**call_id(paired, is_own=self.is_own), "name": name, "args": arguments_of(call)}
        if isinstance(rest, dict):
            function = {**rest, **function}
        if filler is not None and SIGNATURE not in beside:
            beside[SIGNATURE] = filler
        self.wire.append({"functionCall": function, **beside})

    def _provider_tool(self, n: int, part: ProviderToolPart) -> None:
        parts = part.provider_data.get("parts")
        if self.is_own and isinstance(parts, list):
            self.wire += parts
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
            self.wire.append(msgspec.Raw(part.raw))
        else:
            self.notes.append(Note(n, f"an item of {part.provider} that is no JSON object"))


def call_id(paired: PairedCall, *, is_own: bool) -> dict[str, str]:
    """Return the `id` member of a call and of its result: only where the provider gave one, since not each of its servers knows the member."""
    return {"id": paired.wire_id} if is_own and paired.call.id and not paired.call.id_made_up else {}
