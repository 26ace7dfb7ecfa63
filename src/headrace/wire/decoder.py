"""What every wire decoder needs: warnings with their place, text filters, the fold, and the rule for how a stream has ended.

The rule of this file: a decoder is a machine from frames to chunks; it never raises for what a peer sent, and each chunk is what one
event added. `Output` gathers the deltas of one event and feeds the fold as it goes, so that `result` costs nothing extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from headrace._json import JSON, has_lone_surrogate
from headrace.messages.accumulator import Accumulator, LimitExceeded
from headrace.messages.chunk import AssistantMessageChunk, make_assistant_chunk
from headrace.messages.deltas import Delta, Ended, MetadataDelta, ReasoningDelta, RefusalDelta, StreamError, TextDelta, WarningDelta
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.frames import Batch, Frame
from headrace.wire.limits import Limits
from headrace.wire.text_filters import Cumulative, Halves, ThinkTags


class DecodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may switch on; each changes what honest-looking text means.

    Attributes:
        think_tags: split `<think>…</think>` out of the text as reasoning.
        think_starts_open: the template has already opened the tag.
        cumulative_text: each text piece repeats all text before it.
    """

    think_tags: bool = False
    think_starts_open: bool = False
    cumulative_text: bool = False


class WireDecoder(Protocol):
    """A machine from frames to chunks."""

    output: Output

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
    """

    __slots__ = ("_deltas", "_filters", "_options", "_said", "error", "events", "fold", "has_filters", "is_dead", "offset")

    def __init__(self, limits: Limits, options: DecodeOptions) -> None:
        """Start empty."""
        self.fold = Accumulator(bounds=limits.bounds, is_from_wire=True)
        self.error: StreamError | None = None
        self.is_dead = False
        self.events = 0
        self.offset = 0
        self.has_filters = options.think_tags or options.cumulative_text
        self._options = options
        self._deltas: list[Delta] = []
        self._filters: dict[tuple[str, int], _TextFilter] = {}
        self._said: set[str] = set()

    def add(self, delta: Delta) -> None:
        """Take a delta of the event at hand; past a limit the stream is dead."""
        if self.is_dead:
            return
        try:
            self.fold.add(delta)
        except LimitExceeded as exceeded:
            self.fail(StreamError("limit_exceeded", str(exceeded), None, which=exceeded.which))
            self.is_dead = True
            return
        self._deltas.append(delta)

    def text(self, kind: str, piece: str, choice: int) -> None:
        """Take a piece of text, reasoning or refusal, through the filters that are on."""
        key = (kind, choice)
        found = self._filters.get(key)
        if found is None:
            if not self.has_filters and not has_lone_surrogate(piece):
                self._put(kind, piece, choice)
                return
            found = self._filters[key] = _TextFilter(kind, self._options)
        for piece_kind, text in found.feed(piece, self._warn_once):
            self._put(piece_kind, text, choice)

    def _put(self, kind: str, text: str, choice: int) -> None:
        if kind == "text":
            self.add(TextDelta(text, None, choice))
        elif kind == "reasoning":
            self.add(ReasoningDelta(text, None, choice))
        else:
            self.add(RefusalDelta(text, None, choice))

    def halves(self, key: str, piece: str, choice: int) -> str:
        """Join halves of characters in a piece that no other filter concerns, such as arguments."""
        found = self._filters.get((key, choice))
        if found is None:
            if not has_lone_surrogate(piece):
                return piece
            found = self._filters[key, choice] = _TextFilter(key, DecodeOptions())
        return "".join(text for _, text in found.feed(piece, self._warn_once))

    @property
    def is_holding(self) -> bool:
        """Whether a filter is on or holds something back, so that text must go through `text`."""
        return self.has_filters or bool(self._filters)

    def flush(self) -> None:
        """Let the filters give what they held back; half a character at the end is no character."""
        for (_, choice), found in self._filters.items():
            for kind, text in found.close(self._warn_once):
                self._put(kind, text, choice)
        self._filters.clear()

    def warn(self, code: str, detail: str = "", *, choice: int = 0) -> None:
        """Say a repair at the event at hand."""
        self.add(WarningDelta(Warning(code, self.events, self.offset, choice, None, detail)))

    def warn_once(self, code: str, detail: str = "", *, choice: int = 0) -> None:
        """Say a repair the first time it is made in this stream."""
        if code not in self._said:
            self._said.add(code)
            self.warn(code, detail, choice=choice)

    def _warn_once(self, code: str) -> None:
        self.warn_once(code)

    def fail(self, error: StreamError) -> None:
        """Keep the first error."""
        self.error = self.error or error

    def kill(self, error: StreamError) -> None:
        """Keep the first error, and read nothing more."""
        self.fail(error)
        self.is_dead = True

    def chunk(self, chunks: list[AssistantMessageChunk]) -> None:
        """End an event: what it added becomes a chunk, if it added anything."""
        if self._deltas:
            chunks.append(make_assistant_chunk(tuple(self._deltas), len(self._deltas), True))  # noqa: FBT003 - a Struct's positions are its fields
            self._deltas.clear()

    def end(self, *, is_terminated: bool) -> list[AssistantMessageChunk]:
        """Give the last chunk."""
        self.is_dead = False
        ended = Ended(self.error, is_terminated)
        self.fold.add(ended)
        self._deltas.append(ended)
        chunks: list[AssistantMessageChunk] = []
        self.chunk(chunks)
        self.is_dead = True
        return chunks


class _TextFilter:
    """The filters of one kind of text of one choice, in their order: halves, cumulative, tags."""

    __slots__ = ("_cumulative", "_halves", "_kind", "_tags")

    def __init__(self, kind: str, options: DecodeOptions) -> None:
        self._kind = kind
        self._halves = Halves()
        is_text = kind == "text"
        self._cumulative = Cumulative() if is_text and options.cumulative_text else None
        self._tags = ThinkTags(starts_open=options.think_starts_open) if is_text and options.think_tags else None

    def feed(self, piece: str, warn: Callable[[str], None]) -> list[tuple[str, str]]:
        text, is_mended = self._halves.feed(piece)
        if is_mended:
            warn("invalid_utf8")
        if self._cumulative is not None:
            text, is_snapshot = self._cumulative.feed(text)
            if is_snapshot:
                warn("cumulative_chunks")
        if self._tags is not None:
            return list(self._tags.feed(text))
        return [(self._kind, text)] if text else []

    def close(self, warn: Callable[[str], None]) -> list[tuple[str, str]]:
        if self._halves.close():
            warn("invalid_utf8")
        return list(self._tags.close()) if self._tags is not None else []


class Extras:
    """Fields that are not understood: kept, and given out once at the end as the metadata key `provider_fields`.

    Of a field of an event or a choice the last value counts; texts in a delta that differ from piece to piece are joined, since they
    may be a kind of text that we do not know. A field of a choice is called `choice.NAME`, one of a delta `delta.NAME`.
    """

    __slots__ = ("_pieces", "_seen")

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._seen: dict[str, JSON] = {}
        self._pieces: dict[str, list[str]] = {}

    def take(self, prefix: str, fields: Mapping[str, Any], known: frozenset[str], keep: Callable[[JSON], JSON]) -> None:
        """Keep what is unknown among fields."""
        for name, value in fields.items():
            if name in known or value is None or value == "":
                continue
            key = prefix + name
            if self._seen.get(key) != value:
                if prefix == "delta." and isinstance(value, str):
                    self._pieces.setdefault(key, []).append(keep(value))
                self._seen[key] = keep(value)

    def deltas(self) -> list[Delta]:
        """Return what was seen, as one delta; none if nothing was."""
        if not self._seen:
            return []
        joined = {key: "".join(pieces) for key, pieces in self._pieces.items()}
        return [MetadataDelta({"provider_fields": {**self._seen, **joined}}, ("provider_fields",))]


NO_OPTIONS: Final = DecodeOptions()
