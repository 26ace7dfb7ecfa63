"""The gate: which calls of a round run, which get a result without being run, and which wait for somebody. Pure.

The rule of this file: a call passes only if everything that has a say lets it pass: the loop (its arguments arrived whole, no limit is
reached), the permissions, the person who was asked, and, where it may have run before, whoever can know. What was answered counts for
the one call that it was given to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, assert_never

import msgspec

from headrace.agent.approval import Answer, Approve, Deny, Pending, PendingKind, Reply, digest_of
from headrace.agent.hooks import Ask, Veto
from headrace.agent.permission.judging import Permissions, Verdict, judge
from headrace.agent.results import error_result
from headrace.agent.steps import PlannedCall
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.tools.tool import Tool

DENIED: Final = "A person denied this call."
_MAY_HAVE_RUN: Final = "It was started before the run broke off, and left no result: it may have had its effect."
_GIVEN_UP: Final = "It is not known whether this call had an effect; it was given up."


class Go(msgspec.Struct, frozen=True):
    """Run it.

    Attributes:
        planned: the call.
        arguments: what a person put in place of the model's arguments, or None.
    """

    planned: PlannedCall
    arguments: Mapping[str, Any] | None = None


class Refused(msgspec.Struct, frozen=True):
    """It has its result without being run."""

    planned: PlannedCall
    result: ToolResultPart


class Answered(msgspec.Struct, frozen=True):
    """It was run outside, and this is what it gave; with these arguments, if not with the model's."""

    planned: PlannedCall
    answer: Answer
    arguments: Mapping[str, Any] | None = None


class Waits(msgspec.Struct, frozen=True):
    """Somebody has to say something first."""

    planned: PlannedCall
    pending: Pending


HookSaid: TypeAlias = Mapping[str, Any] | ToolResultPart | Veto | Ask
"""What a hook says of a call: other arguments, its result, no, or that a person must be asked."""
Decision: TypeAlias = Go | Refused | Answered | Waits


def decide(
    planned: PlannedCall,
    tool: Tool[..., Any],
    call_key: str,
    permissions: Permissions,
    *,
    run_id: str = "",
    replies: Sequence[Reply] = (),
    started_after: int | None = None,
    hook: HookSaid | None = None,
) -> Decision:
    """Return what is done with a call that the loop would run.

    Args:
        planned: the call, without a refusal.
        tool: the tool that it names.
        call_key: its key.
        permissions: the mode and the rules.
        run_id: the run.
        replies: what was answered about this call, in order.
        started_after: how many of these answers there were when it was started, if it left no result since the run broke off; None: it was
            not started.
        hook: what a hook says of it.
    """
    given = _Given(replies)

    def waits(kind: PendingKind, verdict: Verdict, call: ToolCallPart = planned.call) -> Waits:
        digest = digest_of(call_key, call, kind=kind, run_id=run_id, turn=len(replies))
        return Waits(planned, Pending(kind, call_key, call, digest, verdict.reason, verdict.suggestions))

    if given.is_settled:
        return given.settled(planned, has_started=started_after is not None)
    # A yes from before it was started is used up: it may have had its effect by then.
    if started_after is not None and not tool.options.idempotent and not any(isinstance(r, Approve) for r in replies[started_after:]):
        return waits("in_doubt", Verdict("ask", _MAY_HAVE_RUN), _with_arguments(planned.call, given.arguments))
    match hook:
        case ToolResultPart():
            return Refused(planned, hook)
        case Veto(reason=reason):
            text = f"Not allowed: {reason}" if reason else "Not allowed."
            return Refused(planned, error_result(planned.call, text, state="denied", denied_by="hook"))
        case None | Ask() | Mapping():
            pass
        case _:
            assert_never(hook)
    arguments = hook.arguments if isinstance(hook, Ask) else hook
    if given.arguments is not None:
        arguments = given.arguments
    shown = _with_arguments(planned.call, arguments)
    verdict = judge(permissions, tool, shown)
    if isinstance(hook, Ask) and verdict.behavior != "deny":
        verdict = Verdict("ask", hook.reason, (), is_final=True)
    if verdict.behavior == "deny":
        return Refused(planned, error_result(planned.call, f"Not allowed: {verdict.reason}", state="denied", denied_by="rule"))
    if verdict.behavior == "ask" and not given.has_approved(shown, planned.call, call_key, run_id):
        return waits("approval", verdict, shown)
    if tool.options.external:
        return waits("external", Verdict("ask"), shown)
    return Go(planned, arguments)


class _Given:
    """What was answered about a call: of each kind the last, and the last arguments that a person put in."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.approve: Approve | None = None
        self._turn = 0
        self.arguments: Mapping[str, Any] | None = None
        self.deny: Deny | None = None
        self.answer: Answer | None = None
        for turn, reply in enumerate(replies):
            match reply:
                case Approve():
                    self.approve, self._turn = reply, turn
                    self.arguments = self.arguments if reply.arguments is None else reply.arguments
                case Deny():
                    self.deny = reply
                case Answer():
                    self.answer = reply

    def has_approved(self, shown: ToolCallPart, call: ToolCallPart, call_key: str, run_id: str) -> bool:
        """Whether somebody has said yes to this: if a hook makes another call of it than was shown, nobody has."""
        approve = self.approve
        if approve is None or approve.arguments is not None or approve.digest is None:
            return approve is not None
        asked: tuple[tuple[PendingKind, ToolCallPart], ...] = (("approval", shown), ("in_doubt", _with_arguments(call, self.arguments)))
        return approve.digest in {digest_of(call_key, one, kind=kind, run_id=run_id, turn=self._turn) for kind, one in asked}

    @property
    def is_settled(self) -> bool:
        """Whether somebody has said no, or given the result."""
        return self.deny is not None or self.answer is not None

    def settled(self, planned: PlannedCall, *, has_started: bool) -> Refused | Answered:
        """Return what that comes to."""
        if self.deny is not None:
            return Refused(planned, _denied(planned.call, self.deny.reason, in_doubt=has_started))
        assert self.answer is not None
        return Answered(planned, self.answer, self.arguments)


def _denied(call: ToolCallPart, reason: str, *, in_doubt: bool) -> ToolResultPart:
    if in_doubt:
        return error_result(call, f"{_GIVEN_UP} {reason}".strip(), state="in_doubt", denied_by="person")
    return error_result(call, f"{DENIED} Reason: {reason}" if reason else DENIED, state="denied", denied_by="person")


def _with_arguments(call: ToolCallPart, arguments: Mapping[str, Any] | None) -> ToolCallPart:
    """Return the call as a person or a hook changed it."""
    if arguments is None:
        return call
    return ToolCallPart(id=call.id, name=call.name, kind=call.kind, arguments=dict(arguments), runnable=True)
