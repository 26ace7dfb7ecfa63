"""What is said about a run: its notes, and the line under it. Pure."""

from __future__ import annotations

from typing import Final

from headrace.agent.events import AttemptDiscarded, ContextCompacted, Event, LimitReached, ReminderAdded, RoundEnded, RunEnded
from headrace.cli.wording import usage_words
from headrace.messages.fields import GenerateReason

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


def end_words(event: RunEnded) -> str:
    """Return the line under a run: rounds, usage, and why it ended if that is worth a word."""
    rounds = f"{event.round} round{'' if event.round == 1 else 's'}"
    return " · ".join(word for word in (rounds, usage_words(event.usage), _ENDS[event.generate_reason]) if word)


def note_of(event: Event) -> str:
    """Return what is worth a note beside the answer, or nothing."""
    match event:
        case AttemptDiscarded():
            return f"attempt {event.attempt} died ({event.reason}); what it gave is void, asking again"
        case ReminderAdded(message=message):
            return f"{'reminder' if message.origin == 'framework' else 'steered'}: {message.text}"
        case ContextCompacted():
            return f"context shortened from {event.messages_before} to {event.messages_after} messages"
        case LimitReached():
            return f"limit reached: {event.which} ({event.limit:g})"
        case RoundEnded(message=message) if message is not None and message.warnings:
            return "repaired: " + ", ".join(dict.fromkeys(warning.code for warning in message.warnings))
        case _:
            return ""
