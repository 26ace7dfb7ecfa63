"""A run's events as segments: what a terminal shows while an agent works. Pure.

The rule of this file: an event becomes segments at once and nothing that was shown is taken back, so nothing flickers. Blocks may
interleave: where another one goes on, a new line begins and says whose it is.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from headrace.agent.events import (
    ApprovalGiven,
    ApprovalRequired,
    Event,
    ExternalRequired,
    ReasoningDelta,
    RunEnded,
    SubRun,
    TextDelta,
    TextStarted,
    ToolCallArguments,
    ToolCallEnded,
    ToolCallStarted,
    ToolEnded,
    ToolOutput,
    ToolProgress,
    ToolsChanged,
)
from headrace.cli.run_wording import CALL, NOTE, RESULT, Progress, end_words, note_of, waiting_words
from headrace.cli.segments import Segment, Style, shortened
from headrace.cli.subruns import subrun_lines
from headrace.cli.wording import one_line, part_text, result_text

_Block: TypeAlias = tuple[str, str]
_TEXTS: Final = ("text", "reasoning")
_BREAKS: Final = re.compile(r"\s*[\r\n]\s*")


class Renderer:
    """Turns the events of one run, in order, into segments.

    The text of a block is shown as it comes, without the newlines that begin it.
    """

    def __init__(self, *, shows_reasoning: bool = True, shows_waiting: bool = True, told: set[str] | None = None) -> None:
        """Start before the first event.

        Args:
            shows_reasoning: whether the model's thinking is shown.
            shows_waiting: whether questions and answers are; not where a person is asked them anyway.
            told: what was said of tools that changed, in runs before this one as well; it is said once.
        """
        self._shows_reasoning = shows_reasoning
        self._shows_waiting = shows_waiting
        self._progress = Progress()
        self._told: set[str] = set() if told is None else told
        self._open: _Block | None = None
        self._is_line_open = False
        self._has_shown = False
        self._refusals: set[_Block] = set()
        self._names: dict[str, str] = {}
        self._arguments: dict[str, list[str]] = {}
        self._swallows: set[str] = set()
        self._outputs: dict[str, list[str]] = {}

    def feed(self, event: Event) -> list[Segment]:
        """Return what this event shows; often nothing."""
        match event:
            case TextStarted(kind="refusal"):
                self._refusals.add(_text_block(event.message_id, event.part))
                return []
            case TextDelta():
                block = _text_block(event.message_id, event.part)
                return self._stream(block, event.text, "refusal" if block in self._refusals else "text")
            case ReasoningDelta():
                if not self._shows_reasoning:
                    return []
                return self._stream(("reasoning", f"{event.message_id}/{event.part}"), event.text, "reasoning")
            case ToolCallStarted():
                self._names[event.call_key] = event.name
                self._arguments[event.call_key] = []
                self._swallows.add(event.call_key)
                return self._enter(("call", event.call_key))
            case ToolCallArguments():
                return self._call_arguments(event)
            case ToolCallEnded():
                return self._call_ended(event)
            case ToolOutput():
                return self._tool_output(event)
            case ToolEnded():
                return self._tool_ended(event)
            case ToolProgress():
                return self._tool_progress(event)
            case _:
                return self._beside(event)

    def _beside(self, event: Event) -> list[Segment]:
        """Return lines of their own: what happens beside the answer and its calls."""
        match event:
            case SubRun():
                return self._subrun(event)
            case ApprovalRequired() | ExternalRequired() | ApprovalGiven() if not self._shows_waiting:
                return []
            case ApprovalRequired() | ExternalRequired():
                return self._line([Segment(f"{NOTE}{waiting_words(event.pending)}", "warning")])
            case RunEnded(generate_reason="awaiting_approval" | "awaiting_external") if not self._shows_waiting:
                return self._break()
            case RunEnded():
                return self._line([Segment(f"{NOTE}{end_words(event)}", "note")])
            case ToolsChanged():
                note = note_of(event)
                is_new = note not in self._told
                self._told.add(note)
                return self._line([Segment(NOTE + note, "note")]) if is_new else []
            case _:
                note = note_of(event)
                return self._line([Segment(NOTE + note, "note")]) if note else []

    def end(self) -> list[Segment]:
        """Close a line that is still open, so that others may write; what goes on after it says again what it is."""
        self._open, self._has_shown = None, False
        return self._break()

    def name_of(self, call_key: str) -> str:
        """Return the name of a call's tool, inside of sub-agents as well; empty for a call that was not seen."""
        return self._names.get(call_key, "")

    # ------------------------------------------------------------------------------------------ text

    def _stream(self, block: _Block, text: str, style: Style) -> list[Segment]:
        is_new = block != self._open
        if is_new:
            text = text.lstrip("\n")
        if not text:
            return []
        segments = self._enter(block)
        self._is_line_open = not text.endswith("\n")
        return [*segments, Segment(text, style)]

    # ------------------------------------------------------------------------------------------ calls

    def _call_arguments(self, event: ToolCallArguments) -> list[Segment]:
        key = event.call_key
        segments = self._enter(("call", key))
        self._arguments.setdefault(key, []).append(event.text)
        # Line breaks between JSON values become one space, also where a delta ends inside of them.
        text = event.text.lstrip() if key in self._swallows else event.text
        if not text:
            return segments
        piece = _BREAKS.sub(" ", text)
        if _BREAKS.search(text[len(text.rstrip()) :]):
            self._swallows.add(key)
        else:
            self._swallows.discard(key)
        return [*segments, Segment(piece, "arguments")]

    def _call_ended(self, event: ToolCallEnded) -> list[Segment]:
        segments: list[Segment] = []
        if event.call_key not in self._names or self._names[event.call_key] != event.name:
            self._names[event.call_key] = event.name
            segments += self._enter(("renamed", event.call_key))
            segments.append(Segment(one_line(event.arguments), "arguments"))
        elif one_line("".join(self._arguments[event.call_key])) != one_line(event.arguments):
            segments += self._enter(("call", event.call_key))
            segments += [*self._break(), Segment(f"  = {one_line(event.arguments)}", "arguments")]
            self._is_line_open = True
        if not event.runnable:
            segments += [] if segments else self._enter(("call", event.call_key))
            segments.append(Segment("  (cannot be run)", "failed"))
        return segments

    def _tool_output(self, event: ToolOutput) -> list[Segment]:
        text = part_text(event.output)
        self._outputs.setdefault(event.call_key, []).append(text)
        return self._line([Segment(f"{RESULT}{self.name_of(event.call_key)} ", "call"), Segment(_body(text), "result")])

    def _tool_ended(self, event: ToolEnded) -> list[Segment]:
        result = event.result
        name = result.name or self.name_of(event.call_key)
        outputs = self._outputs.pop(event.call_key, None)
        if result.state != "success":
            return self._line([Segment(f"{RESULT}{name} [{result.state}] ", "failed"), Segment(_body(result_text(result)), "failed")])
        whole, shown = "".join(part_text(part) for part in result.parts), "".join(outputs or ())
        if shown and whole.endswith(shown):
            # It was shown as it came; what stands before it was put there afterwards.
            before = whole.removesuffix(shown)
            return self._line([Segment(f"{RESULT}{name} ", "call"), Segment(_body(before), "result")]) if before.strip() else []
        return self._line([Segment(f"{RESULT}{name} ", "call"), Segment(_body(result_text(result)), "result")])

    def _tool_progress(self, event: ToolProgress) -> list[Segment]:
        words = self._progress.feed(event)
        return self._line([Segment(f"{NOTE}{self.name_of(event.call_key)}: {words}", "note")]) if words else []

    def _subrun(self, event: SubRun) -> list[Segment]:
        inner: Event = event
        while isinstance(inner, SubRun):
            inner = inner.event
        if isinstance(inner, ToolCallStarted | ToolCallEnded):
            self._names[inner.call_key] = inner.name
        if isinstance(inner, ApprovalGiven) and not self._shows_waiting:
            return []
        return [segment for line in subrun_lines(event) for segment in self._line([Segment(line, "note")])]

    # ------------------------------------------------------------------------------------------ lines

    def _enter(self, block: _Block) -> list[Segment]:
        """Begin a block, or go on with it after another one."""
        if block == self._open:
            return []
        kind, key = block
        segments = self._break()
        if self._has_shown and (kind in _TEXTS or (self._open is not None and self._open[0] in _TEXTS)):
            segments.append(Segment("\n"))
        if kind in ("call", "renamed"):
            segments.append(Segment(f"{CALL}{self._names[key]} ", "call"))
            self._is_line_open = True
        self._open = block
        self._has_shown = True
        return segments

    def _line(self, content: list[Segment]) -> list[Segment]:
        """A line of its own."""
        segments = [*self._break(), *content, Segment("\n")]
        self._open = None
        self._has_shown = True
        return segments

    def _break(self) -> list[Segment]:
        was_open, self._is_line_open = self._is_line_open, False
        return [Segment("\n")] if was_open else []


def _body(text: str) -> str:
    return shortened(text.rstrip("\n")).replace("\n", "\n  ")


def _text_block(message_id: str, part: int) -> _Block:
    return ("text", f"{message_id}/{part}")
