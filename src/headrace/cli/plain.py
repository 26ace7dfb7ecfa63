"""A run's events for pipes and files: the answer alone on standard output, what happened on standard error. Pure.

The rule of this file: nothing but the final answer's text goes to `answer`. Whether a text is the final answer is known when its round has
ended; only where there are no tools, every text is, and goes out as it comes.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.agent.events import (
    Event,
    RoundEnded,
    RunEnded,
    SubRun,
    TextDelta,
    TextStarted,
    ToolCallEnded,
    ToolEnded,
    ToolProgress,
)
from headrace.cli.run_wording import CALL, NOTE, RESULT, Progress, end_words, note_of
from headrace.cli.segments import shortened
from headrace.cli.subruns import subrun_lines
from headrace.cli.wording import one_line, result_text
from headrace.messages.message import AssistantMessage


class Output(NamedTuple):
    """What an event adds to the two streams."""

    answer: str = ""
    activity: str = ""


class PlainRun:
    """Turns the events of one run, in order, into text."""

    def __init__(self, *, has_tools: bool) -> None:
        """Start before the first event; without tools the answer is given as it comes."""
        self._is_live = not has_tools
        self._is_line_open = False
        self._refusals: set[tuple[str, int]] = set()
        self._last: AssistantMessage | None = None
        self._told: AssistantMessage | None = None
        self._names: dict[str, str] = {}
        self._progress = Progress()

    def feed(self, event: Event) -> Output:
        """Return what this event adds; often nothing."""
        match event:
            case TextStarted(kind="refusal"):
                self._refusals.add((event.message_id, event.part))
                return Output()
            case TextDelta() if self._is_live and (event.message_id, event.part) not in self._refusals:
                return self._answer(event.text)
            case ToolCallEnded():
                self._names[event.call_key] = event.name
                state = "" if event.runnable else "  (cannot be run)"
                return Output(activity=f"{CALL}{event.name} {one_line(event.arguments)}{state}\n")
            case ToolEnded(result=result):
                state = "" if result.state == "success" else f"[{result.state}] "
                return Output(activity=f"{RESULT}{result.name} {state}{shortened(result_text(result))}\n")
            case ToolProgress():
                words = self._progress.feed(event)
                return Output(activity=f"{NOTE}{self._names.get(event.call_key, '')}: {words}\n" if words else "")
            case SubRun():
                return Output(activity="".join(f"{line}\n" for line in subrun_lines(event)))
            case RoundEnded(message=message) if message is not None and not self._is_live:
                self._last = message
                if event.is_final:
                    return Output(activity=_lines(_note(event)))
                self._told = message
                return Output(activity=_lines(message.text) + _lines(_note(event)))
            case RunEnded():
                return self._end(event)
            case _:
                return Output(activity=_lines(_note(event)))

    def _end(self, event: RunEnded) -> Output:
        message, answer = event.message, ""
        # A run that ends in the middle of a tool round has no answer: its last message's text was told already, perhaps before it waited.
        is_new = message is not None and self._last is not None and message.id == self._last.id and self._told is not self._last
        if message is not None and is_new:
            answer = self._answer(message.text).answer
        refusal = "" if message is None else message.refusal
        answer += "\n" if self._is_line_open else ""
        self._is_line_open = False
        return Output(answer, _lines(f"refused: {refusal}" if refusal else "") + _lines(NOTE + end_words(event)))

    def _answer(self, text: str) -> Output:
        if text:
            self._is_line_open = not text.endswith("\n")
        return Output(text)


def _note(event: Event) -> str:
    note = note_of(event)
    return NOTE + note if note else ""


def _lines(text: str) -> str:
    return f"{text.rstrip()}\n" if text.strip() else ""
