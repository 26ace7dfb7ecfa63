"""The gate: which calls of a round run, which get a result without being run, and which wait for somebody. Pure.

The rule of this file: a call passes only if everything that has a say lets it pass: the loop (its arguments arrived whole, no limit is
reached), the permissions, the person who was asked, and, where it may have run before, whoever can know. What was answered counts for
the one call that it was given to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from headrace.agent.approval import Answer, Approve, Deny, Pending, PendingKind, Reply, digest_of
from headrace.agent.hooks import Ask, Veto
from headrace.agent.permission.judging import Permissions, Verdict, judge
from headrace.agent.results import error_result
from headrace.agent.steps import PlannedCall
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.tools.tool import Tool

DENIED: Final = "A person denied this call."
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
    """It was run outside, and this is what it gave."""

    planned: PlannedCall
    answer: Answer


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
    replies: Sequence[Reply] = (),
    has_started: bool = False,
    hook: HookSaid | None = None,
) -> Decision:
    """Return what is done with a call that the loop would run.

    Args:
        planned: the call, without a refusal.
        tool: the tool that it names.
        call_key: its key.
        permissions: the mode and the rules.
        replies: what was answered about this call, in order.
        has_started: whether it was started before a crash and left no result.
        hook: what a hook says of it.
    """
    given = _Given(replies)
    if given.deny is not None:
        return Refused(planned, _denied(planned.call, given.deny.reason, in_doubt=has_started))
    if given.answer is not None:
        return Answered(planned, given.answer)
    if has_started and not tool.options.idempotent and given.approve is None:
        reason = "It was started before the run broke off, and left no result: it may have had its effect."
        return Waits(planned, _pending("in_doubt", call_key, planned.call, Verdict("ask", reason)))
    match hook:
        case ToolResultPart():
            return Refused(planned, hook)
        case Veto(reason=reason):
            return Refused(
                planned,
                error_result(planned.call, f"Not allowed: {reason}" if reason else "Not allowed.", state="denied", denied_by="hook"),
            )
        case _:
            pass
    arguments = hook if isinstance(hook, Mapping) else None
    if given.approve is not None and given.approve.arguments is not None:
        arguments = given.approve.arguments
    verdict = judge(permissions, tool, _with_arguments(planned.call, arguments))
    if isinstance(hook, Ask) and verdict.behavior != "deny":
        verdict = Verdict("ask", hook.reason, (), is_final=True)
    if verdict.behavior == "deny":
        return Refused(planned, error_result(planned.call, f"Not allowed: {verdict.reason}", state="denied", denied_by="rule"))
    if verdict.behavior == "ask" and given.approve is None:
        return Waits(planned, _pending("approval", call_key, planned.call, verdict))
    if tool.options.external:
        return Waits(planned, _pending("external", call_key, _with_arguments(planned.call, arguments), Verdict("ask", "")))
    return Go(planned, arguments)


class _Given:
    """What was answered about a call: of each kind the last."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.approve: Approve | None = None
        self.deny: Deny | None = None
        self.answer: Answer | None = None
        for reply in replies:
            match reply:
                case Approve():
                    self.approve = reply
                case Deny():
                    self.deny = reply
                case Answer():
                    self.answer = reply


def _pending(kind: PendingKind, call_key: str, call: ToolCallPart, verdict: Verdict) -> Pending:
    return Pending(kind, call_key, call, digest_of(call_key, call), verdict.reason, verdict.suggestions)


def _with_arguments(call: ToolCallPart, arguments: Mapping[str, Any] | None) -> ToolCallPart:
    """Return the call as a person changed it."""
    if arguments is None:
        return call
    return ToolCallPart(id=call.id, name=call.name, kind=call.kind, arguments=dict(arguments), runnable=True)


def _denied(call: ToolCallPart, reason: str, *, in_doubt: bool) -> ToolResultPart:
    if in_doubt:
        return error_result(call, f"{_GIVEN_UP} {reason}".strip(), state="in_doubt", denied_by="person")
    return error_result(call, f"{DENIED} Reason: {reason}" if reason else DENIED, state="denied", denied_by="person")
