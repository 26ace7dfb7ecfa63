"""What a run goes on with: its state, and the answers to what it asked, checked against each other.

The rule of this file: what does not fit is an error before anything has happened, so the state can still be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from headrace.agent.approval import Answer, Reply
from headrace.agent.permission.judging import Permissions
from headrace.agent.replies import checked_replies
from headrace.agent.run_result import RunResult
from headrace.agent.run_state import Open
from headrace.errors import StateError
from headrace.tools.tool import Tool

ToolOf: TypeAlias = Callable[[str], Tool[..., Any] | None]


@runtime_checkable
class ChecksReplies(Protocol):
    """A tool's function that itself asks for answers, and can check them beforehand."""

    def check_replies(self, state: object, replies: Sequence[Reply], names: Sequence[str]) -> None:
        """Check answers to the calls inside.

        Args:
            state: what the call gave when it was suspended.
            replies: the answers to what it asked.
            names: what the answers are called in errors.

        Raises:
            UsageError: one does not fit.
        """
        ...


class Resumed:
    """A run that is to go on.

    Attributes:
        saved: where it stood.
        opened: what was open there.
        replies: what was answered.
        permissions: the mode and the rules, with what is to be remembered.
    """

    def __init__(self, state: object, answers: object, tool_of: ToolOf, *, names: Sequence[str] = ()) -> None:
        """Read the state, and check the answers.

        Args:
            state: what `RunResult.state` gave.
            answers: the answers, in any order.
            tool_of: the tool of a name, or None for one that this agent does not run itself.
            names: what the answers are called in errors.

        Raises:
            UsageError: the state is none, or an answer does not fit.
            StateError: the run has ended, or an answer is foreign, stale, repeated or of the wrong kind.
            SchemaVersionError: a later version wrote the state.
        """
        self.saved = saved = RunResult.from_state(state)
        if saved.open is None:
            raise StateError(f"run {saved.run_id} has ended as {saved.generate_reason}; nothing is left to resume", argument="state")
        self.opened: Open = saved.open
        own = {pending.call_key for pending in saved.pending if not pending.path}
        self.replies = checked_replies(
            answers,
            saved.pending,
            answered=[reply.call_key for reply in self.opened.replies],
            suspended=own
            & {question.call_key for waiting in self.opened.waiting.values() if waiting.is_suspended for question in waiting.pendings},
            tool_of=tool_of,
            names=names,
        )
        self._check_inside(tool_of, names)
        rules = [rule for reply in self.replies if not isinstance(reply, Answer) and reply.call_key in own for rule in reply.rules]
        self.permissions: Permissions = self.opened.permissions.with_rules(*rules)

    def _check_inside(self, tool_of: ToolOf, names: Sequence[str]) -> None:
        """Check answers to what was asked inside calls, by whoever asked."""
        for place, waiting in self.opened.waiting.items():
            keys = {question.call_key for question in waiting.pendings if question.path}
            inside = [n for n, reply in enumerate(self.replies) if reply.call_key in keys]
            tool = tool_of(self.saved.message.tool_calls[place].name) if inside else None
            if tool is not None and isinstance(tool.function, ChecksReplies):
                called = [names[n] if names else f"answers[{n}]" for n in inside]
                tool.function.check_replies(waiting.state, [self.replies[n] for n in inside], called)
