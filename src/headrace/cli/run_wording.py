"""What is said about a run: its notes, what it waits for, how far a tool is, and the line under it. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from headrace.agent.approval import Answer, Approve, Deny, Pending, PendingKind, Reply
from headrace.agent.events import (
    ApprovalGiven,
    AttemptDiscarded,
    ContextCompacted,
    Event,
    LimitReached,
    ReminderAdded,
    RoundEnded,
    RunEnded,
    ToolProgress,
    ToolsChanged,
)
from headrace.cli.wording import one_line, usage_words
from headrace.messages.fields import GenerateReason

CALL: Final = "→ "
RESULT: Final = "← "
NOTE: Final = "· "
_ENDS: Final[dict[GenerateReason, str]] = {
    "completed": "",
    "structured_output": "",
    "tool_calls": "the run stopped after a tool round",
    "awaiting_approval": "the run waits for a person's approval",
    "awaiting_external": "the run waits for a tool that runs elsewhere",
    "all_denied": "every call was denied",
    "interrupted": "interrupted; what came is kept",
    "max_rounds": "the tool rounds were used up, so the model had to answer",
    "limit": "a limit was reached",
    "stopped": "stopped by a hook",
    "length": "cut: the answer reached the model's limit of tokens",
    "content_filter": "the provider's content filter ended the answer",
    "error": "the answer broke off",
}
_WAITS: Final[dict[PendingKind, str]] = {
    "approval": "waits for approval",
    "external": "waits for a result from elsewhere",
    "in_doubt": "in doubt, it may have run before",
}
_PROGRESS_EVERY_S: Final = 1.0


def end_words(event: RunEnded) -> str:
    """Return the line under a run: rounds, usage, and why it ended if that is worth a word."""
    rounds = f"{event.round} round{'' if event.round == 1 else 's'}"
    return " · ".join(word for word in (rounds, usage_words(event.usage), _ENDS[event.generate_reason]) if word)


def waiting_words(pending: Pending) -> str:
    """Return what waits, and for what."""
    inside = " (inside a sub-agent)" if pending.path else ""
    return f"{_WAITS[pending.kind]}{inside}: {pending.call.name} {one_line(pending.call.arguments)}".rstrip()


def reply_words(reply: Reply) -> str:
    """Return what somebody answered."""
    match reply:
        case Approve():
            return "approved" if reply.arguments is None else "approved with other arguments"
        case Deny():
            return f"denied: {reply.reason}" if reply.reason else "denied"
        case Answer():
            return "answered with an error" if reply.is_error else "answered"


def note_of(event: Event) -> str:
    """Return what is worth a note beside the answer, or nothing."""
    match event:
        case AttemptDiscarded():
            return f"attempt {event.attempt} died ({event.reason}); what it gave is void, asking again"
        case ReminderAdded(message=message):
            return f"{'reminder' if message.origin == 'framework' else 'steered'}: {message.text}"
        case ContextCompacted():
            detail = f" ({event.detail})" if event.detail else ""
            return f"context shortened from {event.messages_before} to {event.messages_after} messages{detail}"
        case ToolsChanged():
            detail = f" ({event.detail})" if event.detail else ""
            return f"tools now: {', '.join(event.tools) or 'none'}{detail}"
        case LimitReached():
            return f"limit reached: {event.which}{f' of {event.tool}' if event.tool else ''} ({event.limit:g})"
        case ApprovalGiven(answer=answer):
            return reply_words(answer)
        case RoundEnded(message=message) if message is not None and message.warnings:
            return "repaired: " + ", ".join(dict.fromkeys(warning.code for warning in message.warnings))
        case _:
            return ""


class Progress:
    """How far tools are, one line each time that it is worth one: other words, a second later, or the end of it."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: dict[str, tuple[str, datetime]] = {}

    def feed(self, event: ToolProgress) -> str:
        """Return what to say, or nothing."""
        before = self._said.get(event.call_key)
        is_done = event.total is not None and event.done == event.total
        if before is not None and before[0] == event.message and not is_done:
            passed_s = (event.at - before[1]).total_seconds()
            if passed_s < _PROGRESS_EVERY_S:
                return ""
        self._said[event.call_key] = (event.message, event.at)
        count = "" if event.done is None else f"{event.done:g}" + ("" if event.total is None else f"/{event.total:g}")
        return " ".join(word for word in (one_line(event.message), f"({count})" if count and event.message else count) if word)
