"""Events of Converse, each under its name, and whole answers.

The rule of this file: everything in an event is a delta, or kept in the message's metadata, or known to say nothing (`p` is padding).
The message is finished by `messageStop`; the usage comes after it.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace._json import JSON, replace_surrogates
from headrace.messages.deltas import Delta, FinishDelta, MessageStart, MetadataDelta, UsageDelta
from headrace.messages.finish import is_word
from headrace.wire.bedrock_converse.answer_in import read_block
from headrace.wire.bedrock_converse.block_in import BlockReader
from headrace.wire.bedrock_converse.error_in import error_of, exception_in, is_error_body
from headrace.wire.bedrock_converse.payload import usage_in, word
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept

_PADDING: Final = frozenset({"p"})
_BLOCK: Final = frozenset({"contentBlockIndex", "p", "start", "delta"})
_START: Final = frozenset({"p", "role"})
_STOP: Final = frozenset({"p", "stopReason"})
_METADATA: Final = frozenset({"p", "usage"})
_ANSWER: Final = frozenset({"p", "id", "model", "output", "stopReason", "usage"})
_EXCEPTION: Final = "exception"


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        blocks: the content blocks.
        name: of the event at hand, or None; its members are then events under their names, or it is a whole answer.
        is_body: the event at hand is a whole body.
        has_event: whether any event came.
        is_finished: whether the wire said that the message is whole.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.name: str | None = None
        self.is_body = False
        self.has_event = False
        self.is_finished = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self.blocks = BlockReader(output, self._extras, provider)
        self._readers: Final[dict[str, Callable[[Mapping[str, Any]], None]]] = {
            "messageStart": self._message_start,
            "contentBlockStart": self._block_start,
            "contentBlockDelta": self._block_delta,
            "contentBlockStop": self._block_stop,
            "messageStop": self._message_stop,
            "metadata": self._metadata,
        }

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event.

        Args:
            event: the object.
            is_error: its event was called `error`.
            status: the HTTP status that came with the event; unknown here.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        del status
        if not self.has_event:
            self.has_event = True
            if self._provider:
                self._output.add(MessageStart(provider=self._provider))
        if is_error:
            self.fail(None, event)
        elif self.name is None:
            self._nameless(event)
        else:
            self._named(self.name, event)

    def fail(self, name: str | None, body: JSON) -> None:
        """Take an error that the provider sent; its own object stays in the metadata.

        Raises:
            UsageError: it holds what a message cannot keep.
        """
        self.has_event = True
        self._output.fail(exception_in(name, body))
        if isinstance(body, Mapping):
            self._output.add(MetadataDelta({"error": kept(body)}, ("error",)))

    def rest(self) -> list[Delta]:
        """Return what was kept without being understood."""
        return self._extras.deltas()

    # ------------------------------------------------------------------------------------------ events

    def _nameless(self, event: dict[str, Any]) -> None:
        rest: dict[str, Any] = {}
        has_name = False
        for name, value in event.items():
            if isinstance(value, dict) and (name in self._readers or name.lower().endswith(_EXCEPTION)):
                has_name = True
                self._named(name, value)
            else:
                rest[name] = value
        if has_name:
            self._extras.take("", rest, _PADDING, kept)
        elif isinstance(event.get("output"), dict) or (self.is_body and "stopReason" in event):
            self._answer(event)
        elif is_error_body(event):
            self.fail(None, error_of(event))
        else:
            self._extras.take("", event, _PADDING, kept)

    def _named(self, name: str, event: Mapping[str, Any]) -> None:
        reader = self._readers.get(name)
        if reader is not None:
            reader(event)
        elif name.lower().endswith(_EXCEPTION):
            self.fail(name, event)
        else:
            self._extras.take("", {name: event}, frozenset(), kept)

    def _message_start(self, event: Mapping[str, Any]) -> None:
        self._extras.take("messageStart.", event, _START, kept)

    def _block_start(self, event: Mapping[str, Any]) -> None:
        start = event.get("start")
        self.blocks.start(event.get("contentBlockIndex"), start if isinstance(start, dict) else {})
        self._extras.take("contentBlockStart.", event, _BLOCK, kept)

    def _block_delta(self, event: Mapping[str, Any]) -> None:
        delta = event.get("delta")
        self.blocks.delta(event.get("contentBlockIndex"), delta if isinstance(delta, dict) else {})
        self._extras.take("contentBlockDelta.", event, _BLOCK, kept)

    def _block_stop(self, event: Mapping[str, Any]) -> None:
        self.blocks.stop(event.get("contentBlockIndex"))
        self._extras.take("contentBlockStop.", event, _BLOCK, kept)

    def _message_stop(self, event: Mapping[str, Any]) -> None:
        self.blocks.release()
        self._stop_reason(event.get("stopReason"))
        self._extras.take("", event, _STOP, kept)

    def _metadata(self, event: Mapping[str, Any]) -> None:
        self._usage(event.get("usage"))
        self._extras.take("", event, _METADATA, kept)

    def _stop_reason(self, reason: JSON) -> None:
        self.blocks.settle()
        self.is_finished = True
        output = self._output
        if isinstance(reason, str) and is_word(reason):
            output.add(FinishDelta(replace_surrogates(reason), event=output.events, offset=output.offset))

    def _usage(self, raw: JSON) -> None:
        usage = usage_in(raw)
        if usage is not None:
            self._output.add(UsageDelta(usage))

    # ------------------------------------------------------------------------------------------ whole answers

    def _answer(self, answer: Mapping[str, Any]) -> None:
        """Read the answer of a request that was not streamed."""
        output = answer.get("output")
        message = output.get("message") if isinstance(output, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        identifier, model = word(answer.get("id")), word(answer.get("model"))
        if identifier or model:
            self._output.add(MessageStart(identifier, model))
        for n, block in enumerate(content if isinstance(content, list) else ()):
            for delta in read_block(self.blocks, n, block) if isinstance(block, dict) else ():
                self._output.add(delta)
        self._stop_reason(answer.get("stopReason"))
        self._usage(answer.get("usage"))
        self._extras.take("", answer, _ANSWER, kept)
