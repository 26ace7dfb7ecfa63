"""Parts of an answer as parts of generateContent, and what one event adds to a candidate.

The rule of this file: a part goes out as the wire has it or not at all; what is not understood but came from this wire is the bytes that
came. Neighbouring pieces of one kind that nothing stands beside are one part.
"""

# Data of parts are JSON of a provider's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headrace._json import JSON, dumps_text, loads
from headrace.messages.deltas import ReasoningDelta
from headrace.messages.identity import object_of
from headrace.messages.parts import (
    CallKind,
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
from headrace.messages.reasoning_details import join_details
from headrace.wire.gemini.part_in import PROTOCOL, SIGNATURE
from headrace.wire.gemini.request_media import media_part
from headrace.wire.gemini.sealed_thoughts import seal
from headrace.wire.profile import Profile

_BESIDE: Final = frozenset({SIGNATURE, "partMetadata", "videoMetadata", "mediaResolution"})
"""What may stand beside a part on this wire."""
_ALL_MEDIA: Final = Profile(supports_video=True)


def beside(data: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return what of a provider's data stands beside a part on this wire."""
    return {name: value for name, value in data.items() if name in _BESIDE}


class CandidateOut:
    """What one candidate has to say in the next event.

    Attributes:
        index: which one it is.
        logprobs: log-probabilities that go with it.
    """

    def __init__(self, index: int) -> None:
        """Start with nothing."""
        self.index = index
        self.logprobs: JSON = None
        self._parts: list[JSON] = []
        self._tools: dict[int, int] = {}
        self._run: dict[str, Any] | None = None
        self._thought: int | None = None
        self._thoughts: set[int] = set()
        self._length = 0
        self._signature: list[str] = []
        self._encrypted: list[str] = []
        self._details: list[JSON] = []

    def take(self) -> list[JSON]:
        """Return the parts that are ready, and start anew."""
        parts, self._parts, self._run = self._parts, [], None
        return parts

    def text(self, text: str, data: Mapping[str, JSON]) -> None:
        """Add text, with what stands beside it."""
        self.end_thought()
        self._say({"text": text}, data)

    def thinking(self, key: int, delta: ReasoningDelta) -> bool:
        """Add thinking; what proves or hides it waits until it is whole. Returns False if a proof came too late to be told."""
        if delta.text or (key != self._thought and key not in self._thoughts):
            if key != self._thought:
                self.end_thought()
            self._thought = key
            self._thoughts.add(key)
        if delta.text:
            self._length += len(delta.text)
            self._say({"text": delta.text, "thought": True}, {})
        is_late = self._thought != key
        if is_late and delta.signature:
            return False
        if is_late:
            self.end_thought()  # a part of its own: what it hides needs no text
            self._thought = key
        self._signature += [delta.signature] if delta.signature else []
        self._encrypted += [delta.encrypted] if delta.encrypted else []
        self._details += delta.details
        return True

    def end_thought(self) -> None:
        """The thinking at hand is whole: add what proves or hides it."""
        if self._signature or self._encrypted or self._details:
            signature = seal(self._length, "".join(self._signature), "".join(self._encrypted), join_details(self._details))
            self._add({"text": "", "thought": True, SIGNATURE: signature})
        self._thought, self._length = None, 0
        self._signature, self._encrypted, self._details = [], [], []

    def add(self, part: JSON) -> None:
        """Add a part that is whole."""
        self.end_thought()
        self._add(part)

    def tool(self, key: int, parts: list[JSON]) -> None:
        """Add the parts of a call that the provider ran; what it gave may come when the call itself was told."""
        told = self._tools.get(key, 0)
        for part in parts[told:]:
            self.add(part)
        self._tools[key] = max(told, len(parts))

    def _add(self, part: JSON) -> None:
        self._run = None
        self._parts.append(part)

    def _say(self, part: dict[str, Any], data: Mapping[str, JSON]) -> None:
        run = self._run
        if not data and run is not None and run.get("thought") == part.get("thought"):
            run["text"] += part["text"]
            return
        self._add({**part, **data})
        self._run = None if data else part
        if self._run is not None:
            self._parts[-1] = self._run


def call_form(identifier: str, name: str, arguments: str, data: Mapping[str, JSON]) -> dict[str, Any] | None:
    """Return a call as a part, or None if its arguments are no object; "" is an empty one. A call without an id is one of this wire too."""
    text = arguments.strip() or "{}"
    if object_of(text) is None:
        return None
    inside = data.get("functionCall")
    function = {**({"id": identifier} if identifier else {}), "name": name, "args": msgspec.Raw(text.encode())}
    return {"functionCall": {**inside, **function} if isinstance(inside, dict) else function, **beside(data)}


def inline_form(data: bytes, media_type: str) -> dict[str, Any]:
    """Return bytes as a part."""
    return {"inlineData": {"mimeType": media_type, "data": base64.b64encode(data).decode("ascii")}}


def put_part(candidate: CandidateOut, key: int, part: Part) -> bool:
    """Add a part that is whole; returns whether there is a place for it. Calls that cannot be run have none."""
    match part:
        case TextPart() | RefusalPart():
            candidate.text(part.text, beside(part.provider_data))
        case JsonPart():
            candidate.text(dumps_text(part.value), beside(part.provider_data))
        case ReasoningPart():
            return candidate.thinking(key, ReasoningDelta(part.text, key, 0, part.signature, part.encrypted, part.details))
        case ToolCallPart():
            return _put_call(candidate, part)
        case MediaPart():
            form = media_part(part, _ALL_MEDIA)
            if isinstance(form, str):
                return False
            candidate.add({**form, **beside(part.provider_data)})
        case ProviderToolPart():
            parts = part.provider_data.get("parts")
            if not isinstance(parts, list):
                return False
            candidate.tool(key, parts)
        case ProviderItem() if part.protocol == PROTOCOL and _is_object(part.raw):
            candidate.add(msgspec.Raw(part.raw))
        case _:
            return False
    return True


def _put_call(candidate: CandidateOut, call: ToolCallPart) -> bool:
    if not call.runnable:
        return False
    text = text_of_call(call.kind, call.arguments, call.parsed)
    form = call_form("" if call.id_made_up else call.id, call.name, text, call.provider_data)
    if form is not None:
        candidate.add(form)
    return form is not None


def text_of_call(kind: CallKind, arguments: str, parsed: dict[str, Any] | None) -> str:
    """Return a call's arguments as the text of an object: free text is the member of one."""
    if kind == "custom":
        return dumps_text({"input": arguments})
    return arguments if object_of(arguments) is not None else dumps_text(parsed)


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(loads(raw), dict)
    except ValueError:
        return False
