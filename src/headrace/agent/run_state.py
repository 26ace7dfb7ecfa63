"""What is open in a run that has not ended: enough to go on with it in another process. JSON.

The rule of this file: what is written and read again is equal. A run that goes on from here does what the first one would have done, but
for what cannot be known: an answer that was on its way is asked for again, a call that had started is in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from headrace._json import EMPTY, JSON, freeze, thaw
from headrace.agent.approval import Pending, Reply
from headrace.agent.permission.judging import Permissions
from headrace.agent.session import Keep
from headrace.errors import SchemaVersionError, UsageError
from headrace.messages.json_form import to_dict
from headrace.messages.message import READER, AssistantMessage, Message, ToolMessage, UserMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.usage import Usage

STATE_VERSION: Final = 1


class Waiting(msgspec.Struct, frozen=True):
    """A call that waits.

    Attributes:
        pendings: what is asked: one question of its own, or those of an agent that it runs.
        is_suspended: whether it has run and suspended the run; then it goes on as soon as one question is answered.
        state: what a suspended tool wants back then: JSON.
        arguments: what a person or a hook had put in place of the model's when it ran, or None.
    """

    pendings: tuple[Pending, ...]
    is_suspended: bool = False
    state: Any = None
    arguments: dict[str, Any] | None = None


class Inside(msgspec.Struct, frozen=True):
    """From where a call that runs can go on if the process dies.

    Attributes:
        state: what its tool kept: JSON.
        arguments: what a person or a hook had put in place of the model's, or None.
    """

    state: Any = None
    arguments: dict[str, Any] | None = None


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """What is open.

    Attributes:
        seq: the number of the last event.
        round: the round, from 1; 0 before the first.
        history: what came before the run and is sent with it.
        keep: what the session keeps of the run.
        answering: the id of an answer that was on its way, or None.
        call_keys: the keys of the last answer's calls, by their place.
        results: those that are there already, by the place of the call.
        results_at: when the last of them came.
        started: the calls, by place, that were started and have no result, and how many answers there were to each by then.
        inside: those of them, by place, that can go on from where they were.
        waiting: the calls, by place, that wait for somebody.
        replies: what was answered about the open calls, in order.
        permissions: the mode, and the rules with what was remembered since.
        own_usage: the sum over the run's own rounds.
        sub_usage: of each run of a sub-agent, by its id.
        beside_tokens, beside_cost_usd: what counts for limits and no message of the run tells.
        elapsed_s: how long the run took so far, without the time that it waited for people, in seconds.
        steers: words that came in and were not put in yet.
        more: what other parts of the agent keep, by their names.
    """

    seq: int
    round: int
    history: tuple[Message, ...] = ()
    keep: Keep = "rounds"
    answering: str | None = None
    call_keys: tuple[str, ...] = ()
    results: dict[int, ToolResultPart] = {}
    results_at: datetime | None = None
    started: dict[int, int] = {}
    inside: dict[int, Inside] = {}
    waiting: dict[int, Waiting] = {}
    replies: tuple[Reply, ...] = ()
    permissions: Permissions = Permissions()
    own_usage: Usage = Usage()
    sub_usage: dict[str, Usage] = {}
    beside_tokens: int = 0
    beside_cost_usd: float = 0.0
    elapsed_s: float = 0.0
    steers: tuple[UserMessage, ...] = ()
    more: dict[str, Any] = EMPTY

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What is asked, in the order of the calls."""
        return tuple(question for place in sorted(self.waiting) for question in self.waiting[place].pendings)


class _Plain(msgspec.Struct, frozen=True, kw_only=True):
    """The fields whose form holds no message."""

    seq: int
    round: int
    keep: Keep
    answering: str | None
    call_keys: tuple[str, ...]
    results_at: datetime | None
    started: dict[int, int]
    waiting: dict[int, Waiting]
    inside: dict[int, Inside] = {}
    replies: tuple[Reply, ...]
    permissions: Permissions
    own_usage: Usage
    sub_usage: dict[str, Usage]
    beside_tokens: int
    beside_cost_usd: float
    elapsed_s: float


def open_form(state: Open) -> dict[str, JSON]:
    """Return what is open as JSON."""
    plain = {name: getattr(state, name) for name in _Plain.__struct_fields__}
    form: dict[str, JSON] = thaw(msgspec.to_builtins(plain, str_keys=True))
    form["history"] = [to_dict(message) for message in state.history]
    form["steers"] = [to_dict(message) for message in state.steers]
    form["results"] = {str(place): to_dict(ToolMessage.assemble((result,))) for place, result in state.results.items()}
    form["more"] = thaw(state.more)
    return form


def open_from(form: object, path: str = "state.open") -> Open:
    """Read what is open.

    Raises:
        UsageError: it is something else; the error says where.
    """
    if not isinstance(form, Mapping):
        raise UsageError(f"{path} is a {type(form).__name__}, not an object", argument=path)
    fields = cast("Mapping[str, Any]", form)
    try:
        plain = msgspec.convert(dict(fields), type=_Plain, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}", argument=path) from error
    _check_numbers(plain, path)
    results = fields.get("results", EMPTY)
    if not isinstance(results, Mapping) or not all(place.isdecimal() for place in cast("Mapping[str, Any]", results)):
        raise UsageError(f"{path}.results is no object whose keys are the places of calls", argument=f"{path}.results")
    return Open(
        **msgspec.structs.asdict(plain),
        history=READER.many_from(fields.get("history", ()), f"{path}.history"),
        steers=_steers(fields.get("steers", ()), f"{path}.steers"),
        results={int(place): _result(value, f"{path}.results[{place}]") for place, value in cast("Mapping[str, Any]", results).items()},
        more=_more(fields.get("more", EMPTY), f"{path}.more"),
    )


def check_open(opened: Open, messages: Sequence[Message], pending: Sequence[Pending], path: str = "state.open") -> None:
    """Check that what is open belongs to the messages of the run.

    Raises:
        UsageError: it does not; the error says what.
    """
    if tuple(pending) != opened.pending:
        raise UsageError("state.pending is not what state.open.waiting asks", argument="state.pending")
    last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    calls = () if last is None else last.tool_calls
    has_open = bool(opened.waiting or opened.started or opened.results or opened.replies)
    if has_open and (last is None or last is not messages[-1] or len(calls) != len(opened.call_keys)):
        raise UsageError(f"{path} has calls open that the last message does not hold", argument=f"{path}.call_keys")
    for name in ("results", "started", "inside", "waiting"):
        for place in getattr(opened, name):
            if not 0 <= place < len(calls):
                raise UsageError(f"{path}.{name}[{place}]: the last message has {len(calls)} calls", argument=f"{path}.{name}")
    for place, result in opened.results.items():
        if result.call_id != calls[place].id:
            raise UsageError(f"{path}.results[{place}] is the result of another call, {result.call_id!r}", argument=f"{path}.results")
    for place, waiting in opened.waiting.items():
        for question in waiting.pendings:
            outermost = question.path[0] if question.path else question.call_key
            is_own = not question.path
            if outermost != opened.call_keys[place] or (
                is_own and (question.call.id, question.call.name) != (calls[place].id, calls[place].name)
            ):
                raise UsageError(f"{path}.waiting[{place}] asks about another call, {question.call_key!r}", argument=f"{path}.waiting")
        if not waiting.pendings:
            raise UsageError(f"{path}.waiting[{place}] asks nothing", argument=f"{path}.waiting")


def _check_numbers(plain: _Plain, path: str) -> None:
    for name, least in (("seq", 1), ("round", 0), ("elapsed_s", 0)):
        value = getattr(plain, name)
        if not least <= value < math.inf:
            raise UsageError(f"{path}.{name} is {value!r}; it is a number from {least} up", argument=f"{path}.{name}")


def _steers(form: object, path: str) -> tuple[UserMessage, ...]:
    messages = READER.many_from(form, path)
    for n, message in enumerate(messages):
        if not isinstance(message, UserMessage):
            raise UsageError(f"{path}[{n}] is a {type(message).__name__}, not a UserMessage", argument=f"{path}[{n}]")
    return cast("tuple[UserMessage, ...]", messages)


def _more(form: object, path: str) -> dict[str, Any]:
    if not isinstance(form, Mapping):
        raise UsageError(f"{path} is a {type(form).__name__}, not an object", argument=path)
    return cast("dict[str, Any]", freeze(cast("Mapping[str, Any]", form), path))


def _result(form: object, path: str) -> ToolResultPart:
    message = READER.one_from(form, path)
    if not isinstance(message, ToolMessage) or not message.results:
        raise UsageError(f"{path} holds no result of a tool", argument=path)
    return message.results[0]


def check_version(form: Mapping[str, Any]) -> None:
    """Refuse a state that this version cannot read.

    Raises:
        SchemaVersionError: it is of a later version, or of none.
    """
    version = form.get("schema_version")
    if version != STATE_VERSION:
        raise SchemaVersionError(f"the state has schema_version {version!r}; this version of headrace reads {STATE_VERSION}")
