"""One message as input items, with a note for each thing that this server cannot take.

The rule of this file: what came from a provider goes back to it, item by item, in the order in which it came and under its own ids;
thinking stands directly before the call that it led to. What another provider cannot take is left out and said.

Parts that were one item have its id in their `provider_data` and become one item again.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final, cast

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
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_messages import arguments
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_responses.call_in import ACTIONS
from headrace.wire.openai_responses.item_in import PROTOCOL
from headrace.wire.openai_responses.request_content import user_content
from headrace.wire.profile import Profile

_FIELD: Final = "field"
SUMMARIES: Final = "summaries"
"""Among the data of thinking without an id: its summaries one by one, where there are several."""


def encode_message(message: Message, profile: Profile, calls: Sequence[PairedCall] = (), *, is_stored: bool = True) -> Fragment:
    """Encode a system, user or assistant message.

    Args:
        message: the message; results of tools go by `encode_result`.
        profile: what the server takes.
        calls: the message's calls with their wire ids, in order (from `history.pair`).
        is_stored: whether the server may know an item by its id alone.

    Returns:
        The JSON of its items, with commas between them, and the notes; an empty body if nothing of the message can be sent.
    """
    if isinstance(message, AssistantMessage):
        return _Assistant(message, profile, is_stored=is_stored).encode(calls)
    notes: list[Note] = []
    if message.role == "system":
        return encode_system(message.text, profile)
    content, items = user_content(message.parts, profile, notes)
    if message.name:
        notes.append(Note(None, f"the speaker's name {message.name!r}"))
    if content or not items:
        items.insert(0, {"role": "user", "content": content})
    return Fragment(b",".join(map(dumps, items)), tuple(notes))


def encode_system(text: str, profile: Profile) -> Fragment:
    """Encode instructions in the middle of a conversation; an empty text is not sent."""
    return Fragment(dumps({"role": profile.system_role, "content": text}) if text else b"")


def kind_of(call: ToolCallPart, *, is_own: bool, profile: Profile) -> str:
    """Return the type of the item that a call goes as."""
    if call.kind == "provider" and is_own and call.name in ACTIONS and call.parsed is not None:
        return call.name
    if call.kind == "custom" and profile.supports_custom_tools:
        return "custom_tool_call"
    return "function_call"


class _Assistant:
    """Encodes one assistant message."""

    def __init__(self, message: AssistantMessage, profile: Profile, *, is_stored: bool) -> None:
        self.message = message
        self.profile = profile
        self.is_own = profile.is_own(message.provider)
        self.is_stored = is_stored
        self.notes: list[Note] = []
        self.items: list[dict[str, Any] | bytes] = []
        self.unsent: JSON = None

    def encode(self, calls: Sequence[PairedCall]) -> Fragment:
        waiting = iter(calls)
        for n, part in enumerate(self.message.parts):
            if isinstance(part, ToolCallPart):
                self._call(next(waiting))
            else:
                self._part(n, part)
        if self.message.name:
            self.notes.append(Note(None, f"the speaker's name {self.message.name!r}"))
        while self.items and _type_of(self.items[-1]) == "reasoning":
            self.items.pop()  # thinking that led to nothing is refused
        items = [item if isinstance(item, bytes) else dumps(item) for item in self.items]
        return Fragment(b",".join(items), tuple(self.notes))

    def _part(self, n: int, part: Part) -> None:
        match part:
            case TextPart():
                self._say({"type": "output_text", "text": part.text, "annotations": list(part.citations) if self.is_own else []}, part)
            case RefusalPart() if self.profile.supports_refusal:
                self._say({"type": "refusal", "refusal": part.text}, part)
            case RefusalPart():
                self._say({"type": "output_text", "text": part.text, "annotations": []}, part)
            case JsonPart():
                self._say({"type": "output_text", "text": dumps_text(part.value), "annotations": []}, part)
            case OpaquePart() if self.is_own:
                self._say(part.raw, part)  # content of a message that the decoder did not know
            case ReasoningPart():
                self._reason(n, part)
            case ProviderToolPart():
                self._provider_tool(n, part)
            case ProviderItem():
                self._provider_item(n, part)
            case MediaPart():
                self._media(n, part)
            case _:
                self.notes.append(Note(n, f"a part that only {self.message.provider} understands"))

    # ------------------------------------------------------------------------------------------ what was said and thought

    def _say(self, content: dict[str, Any], part: Part) -> None:
        """Add content to the message item at hand, or begin the next one."""
        if not content.get("text", content):
            return
        data: dict[str, Any] = {} if not self.is_own or isinstance(part, OpaquePart) else cast("Any", part).provider_data
        identifier = data.get("id") or None
        last = self.items[-1] if self.items else None
        if isinstance(last, dict) and last.get("type") == "message" and identifier in (None, last.get("id")):
            last["content"].append(content)
            return
        own = {key: value for key, value in data.items() if key not in ("type", "role", "content", "status")} if identifier else {}
        self.items.append({"type": "message", "role": "assistant", "status": "completed", **own, "content": [content]})

    def _reason(self, n: int, part: ReasoningPart) -> None:
        if not self.is_own:
            if part.text or part.signature or part.encrypted:
                self.notes.append(Note(n, f"reasoning of {self.message.provider}"))
            return
        data = part.provider_data
        identifier = data.get("id") or None
        is_raw = data.get(_FIELD) == "content"
        if identifier == self.unsent is not None or not (self.is_stored or part.encrypted or is_raw):
            self.unsent = identifier  # a server that stores nothing knows it only by what is encrypted
            return
        text: JSON = {"type": "reasoning_text" if is_raw else "summary_text", "text": part.text}
        last = self.items[-1] if self.items else None
        is_more = isinstance(last, dict) and last.get("type") == "reasoning" and identifier == last.get("id") and not part.encrypted
        if not isinstance(last, dict) or not is_more or identifier is None:
            own = {key: value for key, value in data.items() if key not in (_FIELD, SUMMARIES, "type", "summary", "content")}
            summaries = [{"type": "summary_text", "text": one} for one in data.get(SUMMARIES, ())]
            last = cast("dict[str, Any]", {"type": "reasoning", **own, "summary": summaries})
            if part.encrypted:
                last["encrypted_content"] = part.encrypted
            self.items.append(last)
        if part.text and SUMMARIES not in data:
            last.setdefault("content" if is_raw else "summary", []).append(text)

    # ------------------------------------------------------------------------------------------ calls

    def _call(self, paired: PairedCall) -> None:
        call = paired.call
        kind = kind_of(call, is_own=self.is_own, profile=self.profile)
        name = legal_tool_name(call.name, self.profile)
        if name != call.name:
            self.notes.append(Note(None, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}"))
        own = self._own_data(call, is_same_id=paired.wire_id == call.id)
        head: dict[str, Any] = {"type": kind, "call_id": paired.wire_id}
        if kind in ACTIONS:
            parsed = cast("dict[str, Any]", call.parsed)
            is_many = kind == "computer_call" and set(parsed) == {"actions"}
            action = parsed if is_many else {ACTIONS[kind]: parsed}
            self.items.append(own | head | {"status": "completed"} | action)
        elif kind == "custom_tool_call":
            self.items.append(own | head | {"name": name, "input": call.arguments})
        else:
            self.items.append(own | head | {"name": name, "arguments": arguments(call, _TEXT)})

    def _own_data(self, call: ToolCallPart, *, is_same_id: bool) -> dict[str, Any]:
        data = call.provider_data
        if not data or not self.profile.sends_provider_data:
            return {}
        if not self.is_own:
            self.notes.append(Note(None, f"data of {self.message.provider} on a call: {', '.join(sorted(data))}"))
            return {}
        # Under its own id the server would find the call's other id in what it has stored.
        return {key: value for key, value in data.items() if is_same_id or key != "id"}

    def _provider_tool(self, n: int, part: ProviderToolPart) -> None:
        item: JSON = part.provider_data.get("item")
        if not self.is_own or not isinstance(item, dict):
            self.notes.append(Note(n, f"the call of {part.name!r}, which {part.provider or self.message.provider} ran itself"))
            return
        self.items.append(dict(cast("dict[str, Any]", item)))
        output: JSON = part.provider_data.get("output_item")
        if isinstance(output, dict):
            self.items.append(dict(cast("dict[str, Any]", output)))

    def _media(self, n: int, part: MediaPart) -> None:
        """Put an image back into the call that made it; an assistant's message itself holds no media."""
        identifier = part.provider_data.get("id")
        made = next((item for item in reversed(self.items) if isinstance(item, dict) and identifier and item.get("id") == identifier), None)
        if self.is_own and made is not None and made.get("type") == "image_generation_call":
            made["result"] = part.url if part.data is None else base64.b64encode(part.data).decode("ascii")
        else:
            self.notes.append(Note(n, f"{part.kind}: an assistant message holds none on this wire"))

    def _provider_item(self, n: int, part: ProviderItem) -> None:
        if part.protocol != PROTOCOL or not self.profile.is_own(part.provider):
            self.notes.append(Note(n, f"an item of {part.provider or 'an unnamed provider'} ({part.protocol})"))
        elif _is_object(part.raw):
            self.items.append(part.raw)
        else:
            self.notes.append(Note(n, f"an item of {part.provider} that is no JSON object"))


_TEXT: Final = Profile(arguments_as="text")


def _type_of(item: dict[str, Any] | bytes) -> JSON:
    return item.get("type") if isinstance(item, dict) else None


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(loads(raw), dict)
    except JSONError:
        return False
