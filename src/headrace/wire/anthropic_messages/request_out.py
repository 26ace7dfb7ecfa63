"""A request in neutral words as the body of `POST …/messages`.

The rule of this file: the same request gives the same bytes, and each message is encoded once (`EncodingCache`). Whatever the history, the
body keeps the wire's laws: roles alternate, the first is the user's, every call is answered at the beginning of the message behind it, ids
are used once (`wire/history.py`). What the server cannot take is said as a `dropped_for_provider` warning; what would change the meaning of
the request if it were left out is an `UnsupportedError`.

Markers for the prompt cache are data of the caller's: `metadata={"cache_control": {"type": "ephemeral"}}` of a message or a tool result marks
its last block, the same in the `provider_data` of a part or a tool marks that one, and in `settings.extra_body` the request as a whole.

Source: https://platform.claude.com/docs/en/api/messages.
"""

# Bodies and metadata are JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.request import Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.anthropic_messages.request_assistant import encode_assistant
from headrace.wire.anthropic_messages.request_content import CACHE_CONTROL, content, marked, result_block
from headrace.wire.anthropic_messages.request_options import option_fields
from headrace.wire.anthropic_messages.request_tools import tool_fields
from headrace.wire.beginnings import Beginning, resume, size_of
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.history import PairedCall, Turn
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import body_of, lay_over, list_of, loss_warnings
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_chat.request_results import NOT_RUN
from headrace.wire.profile import DEFAULT, Profile

PATH: Final = "/messages"
VERSION: Final = "2023-06-01"
# Stands before an answer that nobody asked for: the first word is always the user's.
_OPENING: Final = dumps({"type": "text", "text": "Go on."})
_THINKING: Final = (b'{"type":"thinking"', b'{"type":"redacted_thinking"')


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
    options = option_fields(request, profile, warnings, is_in_round_without_thinking=messages.is_in_round_without_thinking)
    fields: dict[str, bytes] = {"model": dumps(request.model), "max_tokens": dumps(options.pop("max_tokens"))}
    if messages.system:
        fields["system"] = dumps(messages.system_value())
    fields["messages"] = messages.value()
    fields |= tool_fields(request, profile, messages.cache, warnings, called=messages.called)
    fields |= {key: dumps(value) for key, value in options.items()}
    container = _container(request.messages, profile)
    if container is not None:
        fields["container"] = dumps(container)
    lay_over(fields, request.settings.extra_body)
    if fields.get("messages") == b"[]":
        raise UsageError("there is no message to send", argument="messages")
    accept = "text/event-stream" if request.is_streamed else "application/json"
    base = {"content-type": "application/json", "accept": accept, "anthropic-version": VERSION}
    return EncodedRequest(PATH, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(warnings))


def _container(messages: tuple[Message, ...], profile: Profile) -> str | None:
    """Return the container in which code waits for the results of calls that it made itself, or None."""
    last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    if last is None or not profile.is_own(last.provider):
        return None
    callers = [call.provider_data.get("caller") for call in last.parts_of(ToolCallPart)]
    if not any(isinstance(caller, dict) and "tool_id" in caller for caller in callers):
        return None
    fields = last.metadata.get("provider_fields")
    container = fields.get("container") if isinstance(fields, dict) else None
    name = container.get("id") if isinstance(container, dict) else None
    return name if isinstance(name, str) else None


class _Messages:
    """Puts the encoded messages of a history in a row, of one role after the other.

    Attributes:
        wire: the messages that are whole, encoded.
        system: the blocks of the instructions.
        called: the names of the tools that were called.
    """

    def __init__(self, profile: Profile, cache: EncodingCache) -> None:
        self.profile = profile
        self.cache = cache
        self.system: list[dict[str, Any]] = []
        self.called: list[str] = []
        self.warnings: list[Warning] = []
        self.wire: list[bytes] = []
        self._role = ""  # of the last message, which may still grow
        self._blocks: list[bytes] = []
        self._before = b""  # how the message before it begins
        self._is_in_round = False

    def add_all(self, request: Request) -> None:
        """Add a history; one that begins as one before goes on where that ended."""
        messages, profile, beginnings = request.messages, self.profile, self.cache.beginnings
        known, pairing, history = resume(beginnings, messages, profile, PATH)
        if known is not None:
            self.wire, self.warnings, self._is_in_round = known.wire, list(known.warnings), known.is_after_tool
            self.system, self.called, self._role, self._blocks, self._before, _ = known.rest
        added = len(self.wire)
        for stray in history.strays:
            self._warn(stray.index, (Note(stray.part, stray.why),))
        spoken = (turn for turn in reversed(history.turns) if not isinstance(turn.message, SystemMessage))
        last = next((turn for turn in spoken if self._fragment(turn).body), None)
        is_end = last is not None and isinstance(last.message, AssistantMessage) and not last.calls
        for turn in history.turns:
            if isinstance(turn.message, SystemMessage):
                self._instructions(turn)
            else:
                self._turn(turn, is_end=is_end and turn is last)
        if pairing.is_settled and messages and not is_end:  # an answer that is the last has another form than later
            whole = size_of(self.wire[added:]) + (0 if known is None else known.rest[-1])
            rest = (self.system, self.called, self._role, self._blocks, self._before, whole)
            size = whole + size_of(self._blocks)
            beginnings.put(
                Beginning(messages, profile, pairing, self.wire, tuple(self.warnings), self._is_in_round, size, protocol=PATH, rest=rest)
            )

    def value(self) -> bytes:
        """Return the messages as JSON."""
        return list_of([*self.wire, _message(self._role, self._blocks)] if self._blocks else [])

    def system_value(self) -> str | list[dict[str, Any]]:
        """Return the instructions: a text where that is all."""
        only = self.system[0]
        return only["text"] if len(self.system) == 1 and CACHE_CONTROL not in only else self.system

    @property
    def is_in_round_without_thinking(self) -> bool:
        """Whether the history ends in results of calls whose message does not begin with thinking."""
        return self._is_in_round and bool(self._before) and not self._before.startswith(_THINKING)

    def _instructions(self, turn: Turn) -> None:
        message = turn.message
        if message.name:
            self._warn(turn.index, (Note(None, f"the speaker's name {message.name!r}"),))
        notes: list[Note] = []
        self.system += marked(content(message.parts, self.profile, notes), message.metadata)
        self._warn(turn.index, notes)

    def _turn(self, turn: Turn, *, is_end: bool) -> None:
        fragment = self._fragment(turn, is_end=is_end)
        self._warn(turn.index, fragment.notes)
        self._put(turn.message.role, fragment.body)
        self._is_in_round = self._is_in_round and turn.message.role == "user"
        for paired in turn.calls:
            self._result(turn.index, paired)

    def _fragment(self, turn: Turn, *, is_end: bool = False) -> Fragment:
        key = (is_end, *(paired.wire_id for paired in turn.calls))
        fragment = self.cache.find(turn.message, self.profile, key)
        if fragment is None:
            fragment = self.cache.store(turn.message, self.profile, key, self._encoded(turn, is_end=is_end))
        return fragment

    def _encoded(self, turn: Turn, *, is_end: bool) -> Fragment:
        message = turn.message
        if isinstance(message, AssistantMessage):
            return encode_assistant(message, self.profile, turn.calls, is_last=is_end)
        notes: list[Note] = []
        blocks = marked(content(message.parts, self.profile, notes), message.metadata)
        if message.name:
            notes.append(Note(None, f"the speaker's name {message.name!r}"))
        return Fragment(b",".join(map(dumps, blocks)), tuple(notes))

    def _result(self, index: int, paired: PairedCall) -> None:
        name = legal_tool_name(paired.call.name, self.profile)
        self.called.append(name)
        result = paired.result or NOT_RUN
        key = (paired.wire_id, name)
        fragment = self.cache.find(result, self.profile, key)
        if fragment is None:
            notes: list[Note] = []
            block = result_block(result, paired.wire_id, name, self.profile, notes)
            fragment = self.cache.store(result, self.profile, key, Fragment(dumps(block), tuple(notes)))
        self._warn(index, fragment.notes)
        self._put("user", fragment.body)
        self._is_in_round = True

    def _put(self, role: str, blocks: bytes) -> None:
        """Put blocks behind those of the same role: results and the user's next words are one message."""
        if not blocks:
            return
        if self._role == role:
            self._blocks.append(blocks)
            return
        if self._blocks:
            self.wire.append(_message(self._role, self._blocks))
            self._before = self._blocks[0]
        elif role != "user":
            self.wire.append(_message("user", [_OPENING]))
        self._role, self._blocks = role, [blocks]

    def _warn(self, index: int, notes: Iterable[Note]) -> None:
        self.warnings += loss_warnings(index, notes)


def _message(role: str, blocks: list[bytes]) -> bytes:
    return b'{"role":"' + role.encode() + b'","content":[' + b",".join(blocks) + b"]}"
