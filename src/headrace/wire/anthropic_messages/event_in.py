"""One event of the Messages protocol: the head of a message, its blocks, its end, errors, and whatever else is in it.

The rule of this file: an event means what its JSON `type` says, and what its name says only where it has none; a field is a delta, or kept
in the message's metadata, or known to say nothing. Blocks are read in `block_in.py`. The grammar is the facts' section 3.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from headrace._json import JSON, JSONError, dumps, loads, replace_surrogates
from headrace.messages.deltas import Delta, FinishDelta, MessageStart, MetadataDelta, UsageDelta
from headrace.messages.finish import is_word
from headrace.wire.anthropic_messages.block_in import BlockReader
from headrace.wire.anthropic_messages.fast import FastEvent
from headrace.wire.anthropic_messages.usage_in import UsageReader
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
from headrace.wire.options import DecodeOptions

_KNOWN_MESSAGE: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage", "error"})
_KNOWN_EVENT: Final = frozenset({"type", "message", "index", "content_block", "delta", "usage", "error", "p"})
_KNOWN_DELTA: Final = frozenset({"stop_reason", "usage", "type"})
_BLOCK_TYPES: Final = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})


class _RawStart(msgspec.Struct):
    content_block: msgspec.Raw


class _RawMessage(msgspec.Struct):
    content: list[msgspec.Raw]


class _RawMessageStart(msgspec.Struct):
    message: _RawMessage


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        raw: the bytes of the event at hand, and `name`: its name, if they are known.
        has_message: whether any part of a message came.
        has_finished: whether it said why it stopped.
        is_stopped: whether it said that it is over.
    """

    def __init__(self, output: Output, options: DecodeOptions, provider: str | None) -> None:
        """Start before the first event."""
        self.raw = b""
        self.name: str | None = None
        self.has_message = False
        self.has_finished = False
        self.is_stopped = False
        self._output = output
        self._provider = provider
        self._drops_repeated_start = options.drop_repeated_block_start_text
        self._is_begun = False
        self._word = ""
        self._begin()

    def _begin(self) -> None:
        self._extras = Extras()
        self._usage = UsageReader()
        self.blocks = BlockReader(self._output, self._extras, provider=self._provider, drops_repeated_start=self._drops_repeated_start)

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event.

        Args:
            event: the event.
            is_error: it was called `error`.
            status: the HTTP status that came with it, or None.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        kind = event.get("type")
        if not isinstance(kind, str):
            kind = self.name or ""
        error = event.get("error")
        if is_error or kind == "error" or (isinstance(error, (dict, str)) and error) or self._is_bare_error(kind, event):
            self._fail(event, status)
        elif kind in _BLOCK_TYPES:
            self._block(kind, event)
        elif kind == "message_start":
            self._start(event)
        elif kind == "message_delta":
            self._delta(event)
        elif kind == "message_stop":
            self._stop(event)
        elif kind == "message":
            self._whole(event)
        elif kind != "ping":
            self._extras.take(f"event.{word_of(kind)}.", event, frozenset({"type"}), kept)

    def take(self, event: FastEvent) -> None:
        """Read a delta of a block that the short way has decoded; the same as `read`."""
        self.has_message = True
        self.has_finished = False
        self.blocks.take(event.index, event.delta)

    def end(self) -> list[Delta]:
        """Close what is open, and return what was kept without being understood."""
        self.blocks.close_all()
        return self._extras.deltas()

    # ------------------------------------------------------------------------------------------ errors

    def _is_bare_error(self, kind: str, event: Mapping[str, Any]) -> bool:
        """Whether an event of no type of the protocol's own is the inside of an error, as some servers send it."""
        return isinstance(event.get("message"), str) and ("code" in event or kind.endswith("error"))

    def _fail(self, event: Mapping[str, Any], status: int | None) -> None:
        error = event.get("error") or event
        self._output.fail(stream_error(replace_surrogates(error), status=status))
        if isinstance(error, dict):
            self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))
        if error is not event:
            self._extras.take("", event, _KNOWN_EVENT, kept)

    # ------------------------------------------------------------------------------------------ the message

    def _start(self, event: Mapping[str, Any]) -> None:
        if self._is_begun:
            self._restart()
        self._is_begun = self.has_message = True
        message = event.get("message")
        if isinstance(message, dict):
            self._head(message)
            self._contents(message, lambda: _raw_contents(self.raw, _RawMessageStart))
            self._finish(message)
        self._extras.take("", event, _KNOWN_EVENT, kept)

    def _restart(self) -> None:
        self._output.restart()
        self._output.warn("restarted_message", "what came of the message before was dropped")
        self.has_finished = False
        self._word = ""
        self._begin()

    def _whole(self, message: Mapping[str, Any]) -> None:
        """Read a whole message; where blocks came before it, it repeats them and only fills gaps."""
        self._is_begun = self.has_message = True
        self._head(message)
        if not self.blocks.has_any:
            self._contents(message, lambda: _raw_contents(self.raw, _RawMessage))
        self.blocks.close_all()
        self._finish(message)
        self.is_stopped = True

    def _head(self, message: Mapping[str, Any]) -> None:
        self._output.add(MessageStart(word_of(message.get("id")) or None, word_of(message.get("model")) or None, provider=self._provider))
        self._report(message.get("usage"))
        self._extras.take("", message, _KNOWN_MESSAGE, kept)

    def _contents(self, message: Mapping[str, Any], raws: Callable[[], list[bytes]]) -> None:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list) or not content:
            return
        raw = raws()
        for n, block in enumerate(content):
            if isinstance(block, str):
                block = {"type": "text", "text": block}  # noqa: PLW2901 - the same block in its usual form
            if isinstance(block, dict):
                at = raw[n] if len(raw) == len(content) else b""
                self.blocks.start(None, block, partial(_checked, at, block), is_whole=True)

    def _delta(self, event: Mapping[str, Any]) -> None:
        self.has_message = True
        self.blocks.close_all()
        delta = event.get("delta")
        if isinstance(delta, dict):
            self._finish(delta)
            self._extras.take("", delta, _KNOWN_DELTA, kept)
            self._report(delta.get("usage"))
        self._report(event.get("usage"))
        self._extras.take("", event, _KNOWN_EVENT, kept)

    def _stop(self, event: Mapping[str, Any]) -> None:
        self.blocks.close_all()
        self._report(event.get("usage"))
        self._extras.take("", event, _KNOWN_EVENT, kept)
        self.is_stopped = self.has_message

    def _finish(self, holder: Mapping[str, Any]) -> None:
        word = word_of(holder.get("stop_reason"))
        if not is_word(word):
            return
        self.has_finished = True
        if word != self._word:  # totals may be reported several times, each with the same word
            self._word = word
            self._output.add(FinishDelta(word, event=self._output.events, offset=self._output.offset))

    def _report(self, raw: JSON) -> None:
        usage = self._usage.report(raw)
        if usage is not None:
            self._output.add(UsageDelta(usage))

    # ------------------------------------------------------------------------------------------ blocks

    def _block(self, kind: str, event: Mapping[str, Any]) -> None:
        self.has_message = True
        index = event.get("index")
        if kind == "content_block_stop":
            self.blocks.stop(index)
            return
        self.has_finished = False
        if kind == "content_block_start":
            block = event.get("content_block")
            if isinstance(block, dict):
                self.blocks.start(index, block, lambda: _checked(_raw_block(self.raw), block))
        else:
            delta = event.get("delta")
            if isinstance(delta, dict):
                self.blocks.delta(index, delta)
        self._extras.take("", event, _KNOWN_EVENT, kept)


def _raw_block(raw: bytes) -> bytes:
    try:
        return bytes(msgspec.json.decode(raw, type=_RawStart).content_block)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return b""


def _raw_contents(raw: bytes, kind: type[_RawMessage | _RawMessageStart]) -> list[bytes]:
    try:
        value = msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    message = value.message if isinstance(value, _RawMessageStart) else value
    return [bytes(block) for block in message.content]


def _checked(raw: bytes, block: Mapping[str, Any]) -> bytes:
    """Return the bytes of a block as they came, if they are known and can be written again; else its JSON."""
    try:
        if raw and loads(raw) == block:
            return raw
    except JSONError:
        pass
    return dumps(kept(block))
