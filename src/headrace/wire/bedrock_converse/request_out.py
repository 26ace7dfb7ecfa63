"""A request in neutral words as the body of `POST /model/{id}/converse-stream`.

The rule of this file: the same request gives the same bytes, and each message is encoded once (`EncodingCache`). Whatever the history, the
body keeps the wire's laws: roles alternate, the first is the user's, every call is answered at the beginning of the message behind it, ids
and names are spelled with legal characters (`wire/history.py`), tools that were called are declared. What the server cannot take is said as
a `dropped_for_provider` warning; what would change the meaning of the request if it were left out is an `UnsupportedError`.

Cache points are data of the caller's: `{"cachePoint": {"type": "default"}}` in the `provider_data` of a part or a tool, or in the `metadata`
of a message or a result, ends there what is to be cached; `{"cache_control": {"type": "ephemeral"}}`, as another wire spells it, means the
same. Guardrails and the like go by `settings.extra_body`.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage
from headrace.messages.request import Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.bedrock_converse.request_assistant import encode_assistant
from headrace.wire.bedrock_converse.request_content import content, result_blocks
from headrace.wire.bedrock_converse.request_media import Block, cache_point
from headrace.wire.bedrock_converse.request_options import option_fields
from headrace.wire.bedrock_converse.request_tools import tool_config
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.history import PairedCall, Turn, pair
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import body_of, lay_over, loss_warnings
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_chat.request_results import NOT_RUN
from headrace.wire.profile import DEFAULT, Profile

EVENT_STREAM: Final = "application/vnd.amazon.eventstream"
LEGAL: Final = Profile(call_id_pattern=r"[a-zA-Z0-9_.:-]{1,64}", tool_name_pattern=r"[A-Za-z0-9_-]", supports_images_in_results=True)
"""What the wire's own grammar demands, whoever the server is."""
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
    if profile is DEFAULT:
        profile = LEGAL
    messages = _Messages(profile, EncodingCache() if cache is None else cache)
    messages.add_all(request.messages)
    warnings = messages.warnings
    fields: dict[str, bytes] = {"messages": messages.value()}
    if messages.system:
        fields["system"] = dumps(messages.system)
    tools = tool_config(request, profile, messages.cache, warnings, called=messages.called)
    if tools is not None:
        fields["toolConfig"] = tools
    fields |= {key: dumps(value) for key, value in option_fields(request, profile, warnings).items()}
    lay_over(fields, request.settings.extra_body)
    if fields.get("messages") == b"[]":
        raise UsageError("there is no message to send", argument="messages")
    base = {"content-type": "application/json", "accept": EVENT_STREAM if request.is_streamed else "application/json"}
    path = f"/model/{quote(request.model, safe='')}/{'converse-stream' if request.is_streamed else 'converse'}"
    return EncodedRequest(path, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(warnings))


class _Messages:
    """Puts the encoded messages of a history in a row, of one role after the other.

    Attributes:
        system: the blocks of the instructions.
        called: the names of the tools that were called.
    """

    def __init__(self, profile: Profile, cache: EncodingCache) -> None:
        self.profile = profile
        self.cache = cache
        self.system: list[Block] = []
        self.called: list[str] = []
        self.warnings: list[Warning] = []
        self._wire: list[tuple[str, list[bytes]]] = []

    def add_all(self, messages: Sequence[Message]) -> None:
        history = pair(messages, self.profile)
        for stray in history.strays:
            self._warn(stray.index, (Note(stray.part, stray.why),))
        for turn in history.turns:
            if isinstance(turn.message, SystemMessage):
                self._instructions(turn)
            else:
                self._turn(turn)

    def value(self) -> bytes:
        """Return the messages as JSON."""
        messages = self._wire
        if messages and messages[0][0] != "user":
            messages = [("user", [_OPENING]), *messages]
        return b"[" + b",".join(_message(role, blocks) for role, blocks in messages) + b"]"

    def _instructions(self, turn: Turn) -> None:
        notes: list[Note] = []
        self.system += self._blocks(turn.message, notes)
        self._warn(turn.index, notes)

    def _turn(self, turn: Turn) -> None:
        key = ("converse", *(paired.wire_id for paired in turn.calls))
        fragment = self.cache.find(turn.message, self.profile, key)
        if fragment is None:
            fragment = self.cache.store(turn.message, self.profile, key, self._encoded(turn))
        self._warn(turn.index, fragment.notes)
        self._put(turn.message.role, fragment.body)
        for paired in turn.calls:
            self._result(turn.index, paired)

    def _encoded(self, turn: Turn) -> Fragment:
        if isinstance(turn.message, AssistantMessage):
            return encode_assistant(turn.message, self.profile, turn.calls)
        notes: list[Note] = []
        blocks = self._blocks(turn.message, notes)
        return Fragment(b",".join(map(dumps, blocks)), tuple(notes))

    def _blocks(self, message: Message, notes: list[Note]) -> list[Any]:
        blocks = content(message.parts, self.profile, notes)
        if message.name:
            notes.append(Note(None, f"the speaker's name {message.name!r}"))
        point = cache_point(message.metadata)
        return [*blocks, point] if point and blocks else blocks

    def _result(self, index: int, paired: PairedCall) -> None:
        name = legal_tool_name(paired.call.name, self.profile)
        self.called.append(name)
        result = paired.result or NOT_RUN
        key = ("converse", paired.wire_id, name)
        fragment = self.cache.find(result, self.profile, key)
        if fragment is None:
            notes: list[Note] = []
            blocks = result_blocks(result, paired.wire_id, name, self.profile, notes)
            fragment = self.cache.store(result, self.profile, key, Fragment(b",".join(map(dumps, blocks)), tuple(notes)))
        self._warn(index, fragment.notes)
        self._put("user", fragment.body)

    def _put(self, role: str, blocks: bytes) -> None:
        """Put blocks behind those of the same role: results and the user's next words are one message."""
        if not blocks:
            return
        if self._wire and self._wire[-1][0] == role:
            self._wire[-1][1].append(blocks)
        else:
            self._wire.append((role, [blocks]))

    def _warn(self, index: int, notes: Iterable[Note]) -> None:
        self.warnings += loss_warnings(index, notes)


def _message(role: str, blocks: list[bytes]) -> bytes:
    return b'{"role":"' + role.encode() + b'","content":[' + b",".join(blocks) + b"]}"
