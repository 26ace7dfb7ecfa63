"""A request in neutral words as the body of `POST …/chat/completions`.

The rule of this file: the same request gives the same bytes, and each message is encoded once: with an `EncodingCache`
a run of many rounds costs what is new in each round, plus the joining of bytes. Whatever the history, the body keeps the
wire's laws (`wire/history.py`). What the server cannot take is said as a `dropped_for_provider` warning; what would change
the meaning of the request if it were left out is an `UnsupportedError`.

Source: https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Final

from headrace._json import JSON, dumps
from headrace.errors import UsageError
from headrace.messages.message import Message, SystemMessage
from headrace.messages.request import Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.beginnings import Beginning, size_of
from headrace.wire.encoding_cache import EncodingCache, Fixed, Fragment, Note
from headrace.wire.history import History, PairedCall, Pairing, Turn
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import body_of, lay_over, list_of, loss_warnings
from headrace.wire.openai_chat.request_messages import encode_message, encode_system
from headrace.wire.openai_chat.request_options import option_fields
from headrace.wire.openai_chat.request_results import NOT_RUN, encode_result
from headrace.wire.openai_chat.request_tools import tool_fields
from headrace.wire.profile import DEFAULT, Profile

PATH: Final = "/chat/completions"
# Stands between a tool's result and a user's word where a server insists on an assistant message there.
_BRIDGE: Final = dumps({"role": "assistant", "content": "Understood."})


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
    messages = _Messages(profile, EncodingCache() if cache is None else cache)
    messages.add_all(request)
    warnings = messages.warnings
    fields: dict[str, bytes] = {"model": dumps(request.model), "messages": list_of(messages.wire)}
    fixed = _fixed(request, profile, messages.cache)
    fields |= fixed.fields
    warnings += fixed.warnings
    lay_over(fields, request.settings.extra_body)
    if fields.get("messages") == b"[]":
        raise UsageError("there is no message to send", argument="messages")
    return EncodedRequest(PATH, body_of(fields), fixed.headers, tuple(warnings))


def _fixed(request: Request, profile: Profile, cache: EncodingCache) -> Fixed:
    """Return what is mostly the same in each request of a run: the tools, the options, the headers."""
    key = (request.tools, request.tool_choice, request.output, request.settings, request.is_streamed, profile)
    known = cache.fixed
    # The very same values, so that nothing is compared that is large.
    if known is None or len(known.key) != len(key) or not all(map(is_, known.key, key)):
        said: list[Warning] = []
        fields = tool_fields(request, profile, cache, said) | _each(option_fields(request, profile, said))
        base = {"content-type": "application/json", "accept": "text/event-stream" if request.is_streamed else "application/json"}
        known = cache.fixed = Fixed(key, fields, join_headers(base, request.settings.extra_headers), tuple(said))
    return known


def _each(fields: Mapping[str, JSON]) -> dict[str, bytes]:
    return {key: dumps(value) for key, value in fields.items()}


class _Messages:
    """Puts the encoded messages of a history in a row."""

    def __init__(self, profile: Profile, cache: EncodingCache) -> None:
        self.profile = profile
        self.cache = cache
        self.wire: list[bytes] = []
        self.warnings: list[Warning] = []
        self._is_after_tool = False

    def add_all(self, request: Request) -> None:
        """Add a history; one that begins as one before goes on where that ended."""
        messages, beginnings = request.messages, self.cache.beginnings
        known = beginnings.take(messages, self.profile)
        if known is not None and self._goes_on(messages[len(known.messages) :]):
            pairing, added = known.pairing, len(known.wire)
            self.wire, self.warnings, self._is_after_tool = known.wire, list(known.warnings), known.is_after_tool
            history, size = pairing.extend(messages[len(known.messages) :]), known.size
            if not pairing.is_settled:  # something new reaches back: then it is all encoded anew
                self.wire, self.warnings, self._is_after_tool = [], [], False
                pairing, added, size = Pairing(self.profile), 0, 0
                history = pairing.extend(messages)
        else:
            pairing, added, size = Pairing(self.profile), 0, 0
            history = pairing.extend(messages)
        self._add(history)
        if pairing.is_settled and messages:
            size += size_of(self.wire[added:])
            beginnings.put(Beginning(messages, self.profile, pairing, self.wire, tuple(self.warnings), self._is_after_tool, size))

    def _goes_on(self, new: Sequence[Message]) -> bool:
        """Return whether what is new can simply be added: where all instructions stand in one message, none may come later."""
        return self.profile.supports_several_system_messages or not any(isinstance(message, SystemMessage) for message in new)

    def _add(self, history: History) -> None:
        for stray in history.strays:
            self._warn(stray.index, (Note(stray.part, stray.why),))
        turns: Iterable[Turn] = history.turns
        if not self.profile.supports_several_system_messages:
            turns = self._system_first(history.turns)
        for turn in turns:
            self._turn(turn)

    def _system_first(self, turns: tuple[Turn, ...]) -> list[Turn]:
        system = [turn for turn in turns if isinstance(turn.message, SystemMessage)]
        text = "\n\n".join(turn.message.text for turn in system if turn.message.text)
        if text:
            fragment = encode_system(text, system[0].message.name, self.profile)
            self._warn(system[0].index, fragment.notes)
            self.wire.append(fragment.body)
        return [turn for turn in turns if not isinstance(turn.message, SystemMessage)]

    def _turn(self, turn: Turn) -> None:
        key = tuple(paired.wire_id for paired in turn.calls)
        fragment = self.cache.find(turn.message, self.profile, key)
        if fragment is None:
            fragment = self.cache.store(turn.message, self.profile, key, encode_message(turn.message, self.profile, turn.calls))
        self._warn(turn.index, fragment.notes)
        if not fragment.body:
            return
        if turn.message.role == "user":
            self._bridge()
        self.wire.append(fragment.body)
        self._is_after_tool = False
        if turn.calls:
            self._results(turn)

    def _results(self, turn: Turn) -> None:
        follow: list[bytes] = []
        for paired in turn.calls:
            fragment = self._result(paired)
            self._warn(turn.index, fragment.notes)
            self.wire.append(fragment.body)
            follow += fragment.follow
        self._is_after_tool = True
        if follow:
            self._bridge()
            self.wire.append(b'{"role":"user","content":[' + b",".join(follow) + b"]}")

    def _result(self, paired: PairedCall) -> Fragment:
        if paired.result is None:
            return encode_result(NOT_RUN, paired.wire_id, paired.call, self.profile)
        key = (paired.wire_id, paired.call.name)
        fragment = self.cache.find(paired.result, self.profile, key)
        if fragment is None:
            encoded = encode_result(paired.result, paired.wire_id, paired.call, self.profile)
            fragment = self.cache.store(paired.result, self.profile, key, encoded)
        return fragment

    def _bridge(self) -> None:
        if self._is_after_tool and self.profile.needs_assistant_after_tool:
            self.wire.append(_BRIDGE)
        self._is_after_tool = False

    def _warn(self, index: int, notes: Iterable[Note]) -> None:
        self.warnings += loss_warnings(index, notes)
