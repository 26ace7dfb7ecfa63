"""What every protocol has that headrace speaks as a server: a request read, an answer written, a refusal.

The rule of this file: words and shapes only. A protocol's `request_in.py` has `read_request`, its `stream_out.py` has `StreamOut` and
`refuse`; both are pure: ids, times and the request's own wishes come in as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from headrace._json import EMPTY, JSON, dumps, freeze
from headrace.errors import UnsupportedError
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import JsonPart, MediaPart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, make
from headrace.messages.request import Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

RefusalKind: TypeAlias = Literal[
    "invalid_request", "authentication", "permission", "not_found", "too_large", "rate_limit", "overloaded", "timeout", "server"
]
"""Why nothing was answered, or why an answer broke off, in neutral words."""

_WORDS: Final[dict[RefusalKind, str]] = {
    "rate_limit": r"\b429\b|rate.?limit|too.?many.?requests|throttl|quota|insufficient",
    "overloaded": r"\b(503|529)\b|overload|capacity|unavailable",
    "timeout": r"\b(408|504)\b|time.?out|timed.?out|deadline",
    "authentication": r"\b401\b|authenticat|api.?key|unauthori[sz]ed",
    "permission": r"\b403\b|permission|forbidden",
    "not_found": r"\b404\b|not.?found",
    "too_large": r"\b413\b|too.?large",
    "invalid_request": r"\b(400|422)\b|invalid.?request|invalid.?argument|bad.?request|validation",
}
_KINDS: Final[dict[RefusalKind, re.Pattern[str]]] = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}


APART: Final = freeze({"type": "text"})
"""Data of a text that a person or a tool gave apart from the text before it, as a block of its own."""

_MARKS: Final = frozenset({"cache_control"})
"""Members that clients put on what a model said; all others there are a server's."""
_OF_ITEMS: Final = frozenset({"id", "status", "phase", "field", "summaries"})
"""What an item is called and how it is put together where items have names: it says nothing to other servers, so leaving it out is not said."""

H = TypeVar("H", bound="ToolSpec | TextPart | MediaPart | JsonPart | ToolCallPart | ReasoningPart")


class AnswerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks of the form of its answer, and of nothing else.

    Attributes:
        includes_usage: the stream ends with a report of usage, on a wire that gives one only if asked.
        echoed: members of the request that an answer repeats, on a wire whose answers do.
        is_array: the stream is one JSON array instead of events, on a wire that has both.
        tool_names: the tools that were declared; a call whose name is one of them, and the beginning of no other, can begin before its
            arguments come. None: not known, and every name is taken for whole where a wire lets it grow.
    """

    includes_usage: bool = True
    echoed: dict[str, Any] = EMPTY
    is_array: bool = False
    tool_names: frozenset[str] | None = None


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """A client's request.

    Attributes:
        protocol: the protocol that it came in.
        request: what is asked, in neutral words; its messages have no ids and no times.
        options: how the answer is to be written.
        extra: members of the body that have no neutral word, for a server of the same protocol alone.
        own: members that say in the protocol's own words what the neutral ones say too, or what no other server needs to be told; they go to
            a server of the same protocol alone, and nothing is lost elsewhere.
        needed: what only a server of this protocol has, each as a path and a name, such as `tools[1]: web_search`.
        repeated: settings that say once more, in neutral words, what `extra` says in the protocol's own; only other servers need them.
    """

    protocol: str
    request: Request
    options: AnswerOptions = AnswerOptions()
    extra: dict[str, Any] = EMPTY
    own: dict[str, Any] = EMPTY
    needed: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    def request_for(self, protocol: str) -> tuple[Request, tuple[Warning, ...]]:
        """Return the request for a server, and what of it that server does not get.

        A server of the same protocol gets everything. For any other one the client's own members are left out, of the body, of tools and
        of messages; what a model's calls and thinking carry stays, since it came from a server and may have to go back there.

        Args:
            protocol: what the server speaks.

        Raises:
            UnsupportedError: the server lacks what the request cannot do without.
        """
        request = self.request
        left = [f"messages[{n}].{name}" for n, message in enumerate(request.messages) for name in message.metadata]
        if protocol == self.protocol:
            plain: dict[str, Any] = dict.fromkeys(self.repeated)
            settings = msgspec.structs.replace(
                request.settings, extra_body={**request.settings.extra_body, **self.own, **self.extra}, **plain
            )
            return msgspec.structs.replace(request, settings=settings), _warnings(left)
        if self.needed:
            place = self.needed[0].partition(":")[0]
            raise UnsupportedError(f"{self.needed[0]} is there on a server of {self.protocol} alone; leave it out here", argument=place)
        left += [f"{name}, which only {self.protocol} has" for name in self.extra]
        tools = [_without_data(tool, f"tools[{n}]", left) for n, tool in enumerate(request.tools)]
        messages = [_without_marks(message, f"messages[{n}]", left) for n, message in enumerate(request.messages)]
        return msgspec.structs.replace(request, tools=tuple(tools), messages=tuple(messages)), _warnings(left)


class ReadRequest(Protocol):
    """A reader of requests: the inverse of the protocol's request encoder."""

    def __call__(self, body: bytes, *, model: str | None = None, is_streamed: bool | None = None, provider: str | None = None) -> Incoming:
        """Read a request.

        Args:
            body: the body.
            model: the model, on a wire whose address names it; elsewhere the body counts.
            is_streamed: whether a stream is wanted, on a wire whose address says so; elsewhere the body counts.
            provider: who made the assistant messages, if that is known; None counts as whoever is asked next.

        Raises:
            UsageError: it is no such request; `argument` is the path of what is wrong.
        """
        ...


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same in every event of an answer.

    Attributes:
        id: a name for the answer, unique; the protocol puts its usual prefix before it where it lacks that.
        model: the model's name, until the answer itself says another.
        created_s: when it was begun, in seconds since 1970, until the answer itself says another time.
    """

    id: str
    model: str
    created_s: int = 0


class StreamOut(Protocol):
    """An answer on its way to a client: chunks in, bytes of the protocol out, each at once.

    Attributes:
        media_type: the content type of what `feed` and `close` give.
    """

    media_type: str

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be said: the end or an error was written."""
        ...

    @property
    def repairs(self) -> tuple[Warning, ...]:
        """What was repaired or left out so far: the warnings of the chunks, and those made here."""
        ...

    def feed(self, chunk: MessageChunk) -> bytes:
        """Return what this chunk adds to the stream; b"" if it adds nothing yet."""
        ...

    def close(self, error: StreamError | None = None) -> bytes:
        """Return the rest: the end as the protocol has it, or the error.

        Args:
            error: why the stream broke off, where the chunks did not say so themselves.
        """
        ...

    def whole(self, message: AssistantMessage, *more: AssistantMessage) -> bytes:
        """Return the body of an answer that is not streamed; `more` are further choices, on a wire that has them.

        Ask `fault_of` first: an answer with a fault is refused, not written.
        """
        ...


class Refuse(Protocol):
    """Writes a refusal: what a client gets instead of an answer."""

    def __call__(self, status: int, kind: RefusalKind, message: str, *, argument: str | None = None) -> tuple[int, bytes]:
        """Return the HTTP status and the body.

        Args:
            status: the status.
            kind: why, in neutral words.
            message: what happened and what helps.
            argument: the member of the request that was wrong, if one was.
        """
        ...


def _without_data(holder: H, place: str, left: list[str], *, marks_alone: bool = False) -> H:
    """Return a part or a tool without the data of its protocol, and say what was left out."""
    data = holder.provider_data
    kept = {name: value for name, value in data.items() if marks_alone and name not in _MARKS and name not in _OF_ITEMS}
    if len(kept) == len(data):
        return holder
    left += [f"{place}.{name}" for name in data if name not in kept and name not in _OF_ITEMS]
    return msgspec.structs.replace(holder, provider_data=kept)


def _warnings(left: list[str]) -> tuple[Warning, ...]:
    return tuple(Warning("dropped_for_provider", detail=detail) for detail in left)


def _without_marks(message: Message, place: str, left: list[str]) -> Message:
    parts = tuple(_part_without(part, f"{place}.parts[{n}]", left) for n, part in enumerate(message.parts))
    changed = any(new is not old for new, old in zip(parts, message.parts, strict=True))
    return msgspec.structs.replace(message, parts=parts) if changed else message


def _part_without(part: Part, place: str, left: list[str]) -> Part:
    match part:
        case TextPart() if part.provider_data == APART:
            return make(TextPart, text="\n" + part.text)  # on a line of its own, where there are no blocks
        case TextPart() | MediaPart() | JsonPart():
            return _without_data(part, place, left)
        case ToolCallPart() | ReasoningPart():
            return _without_data(part, place, left, marks_alone=True)
        case ToolResultPart():
            parts = tuple(_part_without(inner, f"{place}.parts[{n}]", left) for n, inner in enumerate(part.parts))
            left += [f"{place}.{name}" for name in part.metadata]
            return msgspec.structs.replace(part, parts=parts, metadata=EMPTY)
        case _:
            return part


def one_line(value: JSON) -> bytes:
    """Encode a value as one line, as an event needs it: bytes that are passed on as they came may hold line breaks between the tokens."""
    data = dumps(value)
    return data.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in data or b"\r" in data else data


def kind_of_error(error: StreamError) -> RefusalKind:
    """Say an error's kind, by its code or else its words."""
    for text in (error.code, error.message):
        if text:
            for kind, pattern in _KINDS.items():
                if pattern.search(text):
                    return kind
    return "server"


def fault_of(message: AssistantMessage) -> StreamError | None:
    """Return why a message cannot be passed on as an answer, or None.

    A call that was cut off by the bound of tokens or by a filter is no fault: the finish reason says what happened to it. Any other call
    that must not run is, since a client would run it or stop at it.
    """
    if message.finish_reason in ("error", None):
        return StreamError("provider_error", "the model's answer failed", retryable=True)
    if message.finish_reason in ("length", "content_filter"):
        return None
    for call in message.tool_calls:
        if not call.runnable and not is_cut(message, call.name):
            return broken_call(call.name)
    return None


def cut_call_of(messages: Iterable[AssistantMessage]) -> StreamError | None:
    """Return the error of a call that was cut off, by a bound of tokens or by a filter, where it is to be told as an error; None if none was."""
    for message in messages:
        for call in message.tool_calls:
            if not call.runnable:
                return StreamError(
                    "malformed_function_call",
                    f"the model's call of {call.name!r} was cut off and cannot be run (finish reason: {message.finish_reason_raw or 'none'})",
                    "truncated_function_call",
                )
    return None


def is_cut(message: AssistantMessage, name: str) -> bool:
    """Return whether a warning says that the arguments of a call of this name were cut off, whatever the finish word said."""
    return any(warning.code == "truncated_tool_arguments" and warning.detail == name for warning in message.warnings)


def broken_call(name: str) -> StreamError:
    """Return the error of a call that cannot be run and was not cut off."""
    what = f"the call of {name!r} has arguments that are no JSON object" if name else "a call without a name"
    return StreamError(
        "malformed_function_call", f"the model made a call that cannot be run: {what}", "malformed_function_call", retryable=True
    )
