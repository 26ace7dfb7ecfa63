"""A request in neutral words as the body of `POST …/models/M:streamGenerateContent`.

The rule of this file: the same request gives the same bytes, and each message is encoded once (`EncodingCache`). Whatever the history, the
body keeps the wire's laws: roles alternate, the first is the user's, the results of calls stand together directly behind them
(`wire/history.py`). What the server cannot take is said as a `dropped_for_provider` warning; what would change the meaning of the request
if it were left out is an `UnsupportedError`.

Source: https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage
from headrace.messages.request import Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.beginnings import Beginning, resume, size_of
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.gemini.part_in import PROTOCOL
from headrace.wire.gemini.request_contents import encode_message
from headrace.wire.gemini.request_options import option_fields, tool_fields
from headrace.wire.gemini.request_results import encode_result
from headrace.wire.history import PairedCall, Turn
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import body_of, lay_over, list_of, loss_warnings
from headrace.wire.openai_chat.request_results import NOT_RUN
from headrace.wire.profile import DEFAULT, Profile

# Stands before an answer that nobody asked for: the first word is always the user's.
_OPENING: Final = dumps({"text": "Go on."})


def encode_request(request: Request, profile: Profile = DEFAULT, *, cache: EncodingCache | None = None) -> EncodedRequest:
    """Encode a request.

    `settings.extra_body` is laid over the body last: its members replace the body's own, whole; None takes a member out.

    Args:
        request: what is asked.
        profile: what the server takes and wants.
        cache: remembers encoded messages between requests; changes nothing but the time.

    Raises:
        UsageError: there is no message to send, or a tool choice names no tool.
        UnsupportedError: something was asked for that this server lacks and that cannot be left out unnoticed.
    """
    contents = _Contents(profile, EncodingCache() if cache is None else cache)
    contents.add_all(request)
    warnings = contents.warnings
    fields: dict[str, bytes] = {}
    if contents.system:
        fields["systemInstruction"] = b'{"parts":[' + b",".join(contents.system) + b"]}"
    fields["contents"] = contents.value()
    fields |= tool_fields(request, profile, contents.cache, warnings)
    fields |= {name: dumps(value) for name, value in option_fields(request, profile, warnings).items()}
    lay_over(fields, request.settings.extra_body)
    if fields.get("contents") == b"[]":
        raise UsageError("there is no message to send", argument="messages")
    accept = "text/event-stream" if request.is_streamed else "application/json"
    headers = join_headers({"content-type": "application/json", "accept": accept}, request.settings.extra_headers)
    return EncodedRequest(_path(request), body_of(fields), headers, tuple(warnings))


def _path(request: Request) -> str:
    """Return the path; a model's name may say itself in which collection it is, such as `tunedModels/x`."""
    model = quote(request.model, safe="/-_.~@:")
    method = "streamGenerateContent?alt=sse" if request.is_streamed else "generateContent"
    return f"/{model}:{method}" if "/" in model else f"/models/{model}:{method}"


class _Contents:
    """Puts the encoded messages of a history in a row, of one role after the other.

    Attributes:
        wire: the contents that are whole, encoded.
        system: the parts of the instructions, encoded.
    """

    def __init__(self, profile: Profile, cache: EncodingCache) -> None:
        self.profile = profile
        self.cache = cache
        self.system: list[bytes] = []
        self.warnings: list[Warning] = []
        self.wire: list[bytes] = []
        self._role = ""  # of the last content, which may still grow
        self._parts: list[bytes] = []

    def add_all(self, request: Request) -> None:
        """Add a history; one that begins as one before goes on where that ended."""
        messages, profile, beginnings = request.messages, self.profile, self.cache.beginnings
        known, pairing, history = resume(beginnings, messages, profile, PROTOCOL)
        if known is not None:
            self.wire, self.warnings = known.wire, list(known.warnings)
            self.system, self._role, self._parts, _ = known.rest
        added = len(self.wire)
        for stray in history.strays:
            self._warn(stray.index, (Note(stray.part, stray.why),))
        for turn in history.turns:
            self._turn(turn)
        if pairing.is_settled and messages:
            whole = size_of(self.wire[added:]) + (0 if known is None else known.rest[-1])
            rest, size = (self.system, self._role, self._parts, whole), whole + size_of(self._parts)
            beginnings.put(Beginning(messages, profile, pairing, self.wire, tuple(self.warnings), size=size, protocol=PROTOCOL, rest=rest))

    def value(self) -> bytes:
        """Return the contents as JSON."""
        return list_of([*self.wire, _content(self._role, self._parts)] if self._parts else [])

    def _turn(self, turn: Turn) -> None:
        key = (PROTOCOL, *(paired.wire_id for paired in turn.calls))
        fragment = self.cache.find(turn.message, self.profile, key)
        if fragment is None:
            fragment = self.cache.store(turn.message, self.profile, key, encode_message(turn.message, self.profile, turn.calls))
        self._warn(turn.index, fragment.notes)
        if isinstance(turn.message, SystemMessage):
            self.system += [fragment.body] if fragment.body else []
            return
        self._put("model" if isinstance(turn.message, AssistantMessage) else "user", fragment.body)
        follow: list[bytes] = []
        for paired in turn.calls:
            found = self._result(turn, paired)
            self._warn(turn.index, found.notes)
            self._put("user", found.body)
            follow += found.follow
        for part in follow:
            self._put("user", part)

    def _result(self, turn: Turn, paired: PairedCall) -> Fragment:
        result = paired.result or NOT_RUN
        is_own = isinstance(turn.message, AssistantMessage) and self.profile.is_own(turn.message.provider)
        key = (PROTOCOL, paired.wire_id, paired.call.name, paired.call.id_made_up, is_own)
        fragment = self.cache.find(result, self.profile, key)
        if fragment is None:
            fragment = self.cache.store(result, self.profile, key, encode_result(paired, result, self.profile, is_own=is_own))
        return fragment

    def _put(self, role: str, parts: bytes) -> None:
        """Put parts behind those of the same role: results and the user's next words are one content."""
        if not parts:
            return
        if self._role == role:
            self._parts.append(parts)
            return
        if self._parts:
            self.wire.append(_content(self._role, self._parts))
        elif role != "user":
            self.wire.append(_content("user", [_OPENING]))
        self._role, self._parts = role, [parts]

    def _warn(self, index: int, notes: Iterable[Note]) -> None:
        self.warnings += loss_warnings(index, notes)


def _content(role: str, parts: list[bytes]) -> bytes:
    return b'{"role":"' + role.encode() + b'","parts":[' + b",".join(parts) + b"]}"
