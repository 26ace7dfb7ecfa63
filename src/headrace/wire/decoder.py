"""What every wire decoder needs: warnings with their place, text filters, the fold, and how a stream has ended.

The rule of this file: a decoder is a machine from frames to chunks; it never raises for what a peer sent, and each chunk is what one
event added. `Output` gathers the deltas of one event and feeds the fold as it goes, so that `result` costs nothing extra.
"""

from __future__ import annotations

from typing import Final, Protocol

from headrace._json import has_lone_surrogate
from headrace.messages.accumulator import Accumulator, LimitExceeded
from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import (
    Delta,
    Ended,
    FinishDelta,
    MediaDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    ToolCallFragment,
    WarningDelta,
)
from headrace.messages.finish import neutral
from headrace.messages.identity import is_nothing
from headrace.messages.parts import ToolCallPart
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.frames import Batch, Frame
from headrace.wire.inline_calls import Verdict
from headrace.wire.inline_families import InlineCall
from headrace.wire.limits import Limits
from headrace.wire.marks import marks_of
from headrace.wire.options import NO_OPTIONS as NO_OPTIONS  # noqa: PLC0414 - said again, so that type checkers let others take them from here
from headrace.wire.options import DecodeOptions as DecodeOptions  # noqa: PLC0414
from headrace.wire.text_filters import Halves, Kind, TextFilter
from headrace.wire.text_kinds import Piece

_PART_ENDS: Final = (ToolCallFragment, PartDelta, ProviderToolFragment, MediaDelta, FinishDelta)
"""Deltas that open another part or end the choice, so that text which was held back has to come before them.

What was held back of a part that the wire numbers waits for the choice's end: its place is its number, whatever came between.
"""
_UNNUMBERED: Final[tuple[tuple[Kind, None], ...]] = (("text", None), ("reasoning", None), ("refusal", None))


class WireDecoder(Protocol):
    """A machine from frames to chunks.

    Attributes:
        output: where its deltas go.
        is_done: the wire's terminator came: whatever follows is not read.
    """

    output: Output

    @property
    def is_done(self) -> bool:
        """Whether the wire's terminator came."""
        ...

    def feed(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        """Return what these frames added, a chunk an event."""
        ...

    def close(self, body_kind: str, *, complete: bool) -> list[AssistantMessageChunk]:
        """Return the last chunk, which says how the stream ended."""
        ...


class Output:
    """Gathers deltas into chunks and into the fold.

    Attributes:
        fold: the message so far.
        error: why the stream failed, or None.
        is_dead: nothing that follows is read any more.
        events: how many events were read.
        offset: where the event at hand begins in the body, in bytes.
        limits: the bounds; parts, calls and arguments are watched here.
        has_filters: whether the caller asked for filters of text.
    """

    __slots__ = (
        "_argument_halves", "_begun", "_called", "_deltas", "_filters", "_last_call", "_options", "_said",
        "error", "events", "fold", "has_filters", "is_dead", "limits", "offset",
    )  # fmt: skip

    def __init__(self, limits: Limits, options: DecodeOptions) -> None:
        """Start empty."""
        self.fold = Accumulator(bounds=limits.bounds, is_from_wire=True)
        self.error: StreamError | None = None
        self.is_dead = False
        self.events = 0
        self.offset = 0
        self.limits = limits
        self.has_filters = options.think_tags or options.cumulative_text or bool(options.inline_families)
        self._options = options
        self._deltas: list[Delta] = []
        # By choice, then by part: what belongs to other choices is not looked at.
        self._filters: dict[int, dict[tuple[Kind, int | None], TextFilter]] = {}
        self._argument_halves: dict[int, dict[tuple[int | str | None, int | None], Halves]] = {}
        self._last_call: dict[int, int | str] = {}
        self._said: set[str] = set()
        self._begun: set[int] = set()  # choices whose text has begun, so that no later part of it starts inside of a tag
        self._called: set[int] = set()  # choices in which the wire itself gave a call

    # ------------------------------------------------------------------------------------------ deltas

    def add(self, delta: Delta) -> None:
        """Take a delta of the event at hand; past a limit the stream is dead."""
        if self.is_holding and isinstance(delta, _PART_ENDS) and not (isinstance(delta, ToolCallFragment) and is_nothing(delta)):
            is_end = isinstance(delta, FinishDelta)
            if _is_call(delta):
                self._called.add(delta.choice)
            self._release(delta.choice, is_end=is_end, verdict=_verdict(delta) if isinstance(delta, FinishDelta) else "calls")
            if is_end:
                self._release_arguments(delta.choice)
        self._add(delta)

    def _add(self, delta: Delta) -> None:
        if self.is_dead:
            return
        try:
            self.fold.add(delta)
        except LimitExceeded as exceeded:
            self.exceed(exceeded.which, exceeded.limit)
            return
        self._deltas.append(delta)

    def text(self, kind: Kind, piece: str, choice: int, part: int | None = None) -> None:
        """Take a piece of text, reasoning or refusal, through the filters that are on; `part` is its key where the wire numbers parts."""
        if self._filters and part is None:
            self._release(choice, but=kind)
        found = self._filters[choice].get((kind, part)) if choice in self._filters else None
        if found is None:
            if not self.has_filters and not has_lone_surrogate(piece):
                self._put(kind, piece, choice, part)
                return
            found = TextFilter(kind, self._options, is_first=choice not in self._begun)
            self._filters.setdefault(choice, {})[kind, part] = found
            if kind == "text":
                self._begun.add(choice)
        for out in found.feed(piece, self.warn_once):
            self._put(*out, choice, part)

    def _put_all(self, pieces: list[Piece | InlineCall], choice: int, part: int | None) -> None:
        for piece in pieces:
            if isinstance(piece, InlineCall):
                at_event, at = self.events, self.offset
                self._add(
                    ToolCallFragment(
                        None, piece.name, piece.arguments, None, None, None, choice, is_id_optional=True, event=at_event, offset=at
                    )
                )
            else:
                self._put(*piece, choice, part)

    def _put(self, kind: Kind, text: str, choice: int, part: int | None) -> None:
        if kind == "text":
            self._add(TextDelta(text, part, choice))
        elif kind == "reasoning":
            self._add(ReasoningDelta(text, part, choice))
        else:
            self._add(RefusalDelta(text, part, choice))

    def arguments(self, call: int | str | None, piece: str, choice: int, part: int | None = None) -> str:
        """Return a piece of a call's arguments with whole characters only; half a character at its end waits for the next piece.

        Args:
            call: the call's index, else its id; None: the one that came last.
            piece: the piece.
            choice: the choice.
            part: the call's key where the wire numbers parts; then `call` says nothing more.
        """
        if part is not None:
            call = None
        elif call is None:
            call = self._last_call.get(choice)
        else:
            self._last_call[choice] = call
        found = self._argument_halves[choice].get((call, part)) if choice in self._argument_halves else None
        if found is None:
            if not has_lone_surrogate(piece):
                return piece
            found = self._argument_halves.setdefault(choice, {})[call, part] = Halves()
        text, is_mended = found.feed(piece)
        if is_mended:
            self.warn_once("invalid_utf8", choice=choice)
        return text

    @property
    def is_holding(self) -> bool:
        """Whether a filter is on or holds something back, so that text and arguments must go through here."""
        return self.has_filters or bool(self._filters or self._argument_halves)

    def _release(self, choice: int, *, but: Kind | None = None, is_end: bool = False, verdict: Verdict = "calls") -> None:
        """Another part begins, or the choice ends: what was held back of the choice's texts comes now."""
        filters = self._filters.get(choice, {})
        if choice in self._called:
            verdict = "text"
        for kind, part in list(filters) if is_end else _UNNUMBERED:
            found = filters.get((kind, part))
            if found is not None and kind != but:
                self._put_all(found.release(self.warn_once, verdict=verdict), choice, part)

    def flush(self, *, is_cut: bool) -> None:
        """Let the filters give what they held back, at the end; half a character is U+FFFD, or nothing where the stream was cut."""
        for choice, filters in self._filters.items():
            verdict: Verdict = "text" if choice in self._called or self.error is not None else "calls"
            for (_, part), found in filters.items():
                self._put_all(found.release(self.warn_once, is_cut=is_cut, verdict=verdict), choice, part)
        self._filters.clear()
        for choice in list(self._argument_halves):
            self._release_arguments(choice, is_cut=is_cut)

    def _release_arguments(self, choice: int, *, is_cut: bool = False) -> None:
        for (call, part), halves in self._argument_halves.pop(choice, {}).items():
            lone = halves.release()
            if lone:
                self.warn_once("invalid_utf8", choice=choice)
            if lone and not is_cut:
                index, identifier = (None, call) if isinstance(call, str) else (call, None)
                at_event = self.events
                self._add(ToolCallFragment(identifier, None, lone, index, None, part, choice, event=at_event, offset=self.offset))

    def restart(self) -> None:
        """The peer began its message anew: what came before is void, and so is what was held back of it."""
        self._filters.clear()
        self._argument_halves.clear()
        self._last_call.clear()
        self._called.clear()
        self._begun.clear()
        self._add(Restarted())

    # ------------------------------------------------------------------------------------------ what is said

    def warn(self, code: str, detail: str = "", *, choice: int = 0) -> None:
        """Say a repair at the event at hand."""
        self._add(WarningDelta(Warning(code, self.events, self.offset, choice, None, detail)))

    def warn_once(self, code: str, detail: str = "", *, choice: int = 0) -> None:
        """Say a repair the first time it is made in this stream."""
        if code not in self._said:
            self._said.add(code)
            self.warn(code, detail, choice=choice)

    def fail(self, error: StreamError) -> None:
        """Keep the first error."""
        self.error = self.error or error

    def kill(self, error: StreamError) -> None:
        """Keep the first error, and read nothing more."""
        self.fail(error)
        self.is_dead = True

    def exceed(self, which: str, limit: int) -> None:
        """A limit was passed: read nothing more."""
        self.kill(StreamError("limit_exceeded", f"more than {limit} {which}", which=which))

    # ------------------------------------------------------------------------------------------ chunks

    def chunk(self, chunks: list[AssistantMessageChunk]) -> None:
        """End an event: what it added becomes a chunk, if it added anything."""
        if self._deltas:
            chunks.append(make_assistant_chunk(tuple(self._deltas), len(self._deltas), True))
            self._deltas.clear()

    def end(self, *, is_terminated: bool) -> list[AssistantMessageChunk]:
        """Give the last chunk: what the text holds that no text should, and how the stream ended."""
        self.is_dead = False
        for choice, code, mark in marks_of(self.fold):
            self.warn(code, mark, choice=choice)
        ended = Ended(self.error, is_terminated)
        self.fold.add(ended)
        self._deltas.append(ended)
        chunks: list[AssistantMessageChunk] = []
        self.chunk(chunks)
        self.is_dead = True
        return chunks


def _is_call(delta: Delta) -> bool:
    """Whether the wire itself gives a call, or a piece of one."""
    return isinstance(delta, ToolCallFragment) or (isinstance(delta, PartDelta) and isinstance(delta.value, ToolCallPart))


def _verdict(finish: FinishDelta) -> Verdict:
    """What calls in the text become, by the word that ends the answer: one that was cut off may have been cut inside of its last call."""
    reason = finish.reason or neutral(finish.word)
    if reason == "length":
        return "whole"
    return "calls" if reason in {"stop", "tool_calls", "other"} else "text"
