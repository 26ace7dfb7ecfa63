"""What a run gave.

The rule of this file: a frozen value; everything in it can be stored as JSON and says the same afterwards.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace._json import JSON
from headrace.agent.approval import Pending
from headrace.messages.fields import GenerateReason
from headrace.messages.json_form import to_dict
from headrace.messages.message import AssistantMessage, Message, UserMessage
from headrace.messages.usage import Usage

STATE_VERSION: Final = 1


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gave, or had kept when it failed.

    Attributes:
        run_id: the run.
        session_id: the conversation that it was kept in, or None.
        message: the last assistant message; an empty one that is kept nowhere if the model never said anything.
        messages: all that the run added, its input included; a legal history, whatever happened.
        generate_reason: why the run ended.
        usage: the sum over the rounds.
        rounds: how many rounds there were.
        pending: the calls that wait for somebody.
        undelivered: words that were to steer the run and came too late for a model call.
    """

    run_id: str
    session_id: str | None
    message: AssistantMessage
    messages: tuple[Message, ...]
    generate_reason: GenerateReason
    usage: Usage
    rounds: int
    pending: tuple[Pending, ...] = ()
    undelivered: tuple[UserMessage, ...] = ()

    @property
    def output(self) -> Any:
        """The answer: its text, as long as no type was asked for."""
        return self.message.text

    @property
    def state(self) -> JSON:
        """The run as JSON: what another process needs to know of it."""
        return {
            "schema_version": STATE_VERSION,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "generate_reason": self.generate_reason,
            "rounds": self.rounds,
            "usage": msgspec.to_builtins(self.usage),
            "messages": [to_dict(message) for message in self.messages],
            "pending": msgspec.to_builtins(self.pending),
        }
