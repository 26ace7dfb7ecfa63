"""What happens inside a sub-agent, as lines beside the outer run. Pure.

The rule of this file: of a run inside only what it did is shown, each on one line and shortened: calls, results, what it said, notes. What
it thinks and what streams is its own business.
"""

from __future__ import annotations

from typing import Final

from headrace.agent.events import Event, RoundEnded, RunEnded, SubRun, ToolCallEnded, ToolEnded
from headrace.cli.run_wording import CALL, NOTE, RESULT, end_words, note_of
from headrace.cli.wording import one_line, result_text

BAR: Final = "┊ "
_MAX_CHARS: Final = 160


def subrun_lines(event: SubRun) -> list[str]:
    """Return the lines that an event of a sub-agent adds, without newlines; often none. Deeper agents are indented further."""
    inner = event.event
    if isinstance(inner, SubRun):
        return [BAR + line for line in subrun_lines(inner)]
    return [BAR + line for line in _lines(inner)]


def _lines(event: Event) -> list[str]:
    match event:
        case ToolCallEnded():
            state = "" if event.runnable else "  (cannot be run)"
            return [_short(f"{CALL}{event.name} {event.arguments}") + state]
        case ToolEnded(result=result):
            state = "" if result.state == "success" else f"[{result.state}] "
            return [_short(f"{RESULT}{result.name} {state}{result_text(result)}")]
        case RoundEnded(message=message) if message is not None and message.text.strip():
            return [_short(message.text)]
        case RunEnded(generate_reason="awaiting_approval" | "awaiting_external"):
            return []  # the outer run says what waits
        case RunEnded():
            return [_short(NOTE + end_words(event))]
        case _:
            note = note_of(event)
            return [_short(NOTE + note)] if note else []


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MAX_CHARS else f"{line[:_MAX_CHARS]} … ({len(line) - _MAX_CHARS:,} more characters)"
