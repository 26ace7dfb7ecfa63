"""What a run gave.

The rule of this file: a frozen value; everything in it can be stored as JSON and says the same afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from headrace._json import JSON, thaw
from headrace.agent.approval import Pending
from headrace.agent.permission.judging import Permissions
from headrace.agent.run_state import STATE_VERSION, Open, check_open, check_version, open_form, open_from
from headrace.errors import UsageError
from headrace.messages.fields import GenerateReason
from headrace.messages.json_form import to_dict
from headrace.messages.message import READER, AssistantMessage, Message, UserMessage
from headrace.messages.usage import Usage

_AWAITING = ("awaiting_approval", "awaiting_external")


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gave, or had kept when it failed.

    Attributes:
        run_id: the run.
        session_id: the conversation that it was kept in, or None.
        message: the last assistant message; an empty one that is kept nowhere if the model never said anything.
        messages: all that the run added, its input included; a legal history, whatever happened. While calls wait for somebody, the last
            message is the one with the calls, and the results that are there already are in `state`.
        generate_reason: why the run ended, or what it waits for; None in the state of a run that goes on.
        usage: the sum over the rounds, those of sub-agents included.
        rounds: how many rounds there were.
        pending: the calls that wait for somebody.
        undelivered: words that were to steer the run and came too late for a model call.
        permissions: the mode and the rules, with what was remembered in the run ("always").
        output: the answer: its text, or the value of the `output_type` that was asked for, None if there is none; in a result that was read
            from a state, that value as JSON.
        open: what is open in a run that has not ended.
    """

    run_id: str
    session_id: str | None
    message: AssistantMessage
    messages: tuple[Message, ...]
    generate_reason: GenerateReason | None
    usage: Usage
    rounds: int
    pending: tuple[Pending, ...] = ()
    undelivered: tuple[UserMessage, ...] = ()
    permissions: Permissions = Permissions()
    output: Any = msgspec.UNSET
    open: Open | None = None

    def __post_init__(self) -> None:
        """Take what the answer holds where no other output is given."""
        if self.output is msgspec.UNSET:
            message = self.message
            msgspec.structs.force_setattr(self, "output", thaw(message.structured_output) if message.has_structured else message.text)

    @property
    def is_waiting(self) -> bool:
        """Whether somebody has to answer before the run goes on."""
        return self.generate_reason in _AWAITING

    @property
    def state(self) -> JSON:
        """The run as JSON: what `agent.resume` needs to go on with it, in any process."""
        return {
            "schema_version": STATE_VERSION,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "generate_reason": self.generate_reason,
            "rounds": self.rounds,
            "usage": msgspec.to_builtins(self.usage),
            "messages": [to_dict(message) for message in self.messages],
            "pending": msgspec.to_builtins(self.pending),
            "open": None if self.open is None else open_form(self.open),
        }

    @classmethod
    def from_state(cls, state: object) -> RunResult:
        """Read a run's state: the dictionary, or its JSON text.

        Raises:
            UsageError: it is no state; the error says where.
            SchemaVersionError: a later version wrote it.
        """
        form = _form(state)
        check_version(form)
        messages = READER.many_from(form.get("messages", ()), "state.messages")
        is_open = form.get("open") is not None
        opened = open_from(form["open"]) if is_open else None
        try:
            plain = msgspec.convert(dict(form), type=_Plain)
        except msgspec.ValidationError as error:
            raise UsageError(f"state: {error}", argument="state") from error
        if opened is not None:
            check_open(opened, messages, plain.pending)
        last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
        if opened is not None and opened.call_keys and (last is None or last.run_id != plain.run_id):
            raise UsageError(f"state.run_id is {plain.run_id!r}; the last answer is of another run", argument="state.run_id")
        return cls(
            **msgspec.structs.asdict(plain),
            message=last or AssistantMessage.assemble(run_id=plain.run_id),
            messages=messages,
            permissions=opened.permissions if opened is not None else Permissions(),
            open=opened,
        )


class _Plain(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a state whose form holds no message."""

    run_id: str
    session_id: str | None
    generate_reason: GenerateReason | None
    usage: Usage
    rounds: int
    pending: tuple[Pending, ...]


def _form(state: object) -> Mapping[str, Any]:
    if isinstance(state, (str, bytes)):
        try:
            state = json.loads(state)
        except ValueError as error:
            raise UsageError(f"state is no JSON: {error}", argument="state") from error
    if not isinstance(state, Mapping):
        raise UsageError(f"state is a {type(state).__name__}; give what result.state gave", argument="state")
    return cast("Mapping[str, Any]", state)
