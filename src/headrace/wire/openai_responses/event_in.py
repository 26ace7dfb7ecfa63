"""Events and whole answers of the Responses protocol: what each adds. The grammar is the facts' section 2.

The rule of this file: events are told apart by their JSON type; the whole response that the last event repeats fills what is missing and
adds nothing. Events about items are `piece_in.py`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from headrace._json import JSON, replace_surrogates
from headrace.messages.deltas import Delta, FinishDelta, MessageStart, MetadataDelta, UsageDelta
from headrace.messages.finish import FinishReason
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.frames import Frame
from headrace.wire.json_events import kept, word_of
from headrace.wire.openai_responses.item_in import ItemReader, form_of
from headrace.wire.openai_responses.piece_in import HANDLERS, PieceReader
from headrace.wire.openai_responses.raw_items import raw_output
from headrace.wire.openai_responses.usage_in import usage_in

Event: TypeAlias = Mapping[str, Any]
_LAST_TIME: Final = 32_503_680_000  # the year 3000, in seconds
_TERMINAL: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
_KNOWN_EVENT: Final = frozenset(
    """
    type sequence_number response item part item_id output_index content_index summary_index annotation_index command_index annotation
    delta text refusal arguments input code diff command output logprobs obfuscation error message param partial_image_b64
    partial_image_index size quality background output_format model
    """.split()
)
_KNOWN_RESPONSE: Final = frozenset(
    """
    id object created_at completed_at status error incomplete_details model output output_text usage background frequency_penalty
    instructions max_output_tokens max_tool_calls metadata parallel_tool_calls presence_penalty previous_response_id prompt
    prompt_cache_key prompt_cache_retention reasoning safety_identifier store temperature text tool_choice tools top_logprobs top_p
    truncation user
    """.split()
)
"""What a response says of itself, and what of the request it repeats."""
_QUIET: Final = frozenset({"keepalive", "ping", "response.heartbeat"})
_PROGRESS: Final = (".in_progress", ".completed", ".searching", ".interpreting", ".generating")
"""How the events end that say how far a call of the provider's is; the whole item says it too."""


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        items: the output items.
        pieces: reads events about items.
        is_over: the response said how it ended.
        has_answer: anything was part of a response.
        status: the last status that a response told.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.items = ItemReader(output, provider)
        self._extras = Extras()
        self.pieces = PieceReader(output, self.items, self._extras)
        self.is_over = False
        self.has_answer = False
        self.status = ""
        self._output = output
        self._provider = provider
        self._has_id = False
        self._has_model = False

    def at(self, frame: Frame) -> None:
        """Take the frame at hand: its name tells of an event whose JSON has no type, its bytes are those of an item that nobody understands."""
        self.pieces.name, self.pieces.data = frame.event, frame.data

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event, or an answer that is one whole response."""
        kind = self.pieces.type_of(event)
        life, handler = _LIFE.get(kind), HANDLERS.get(kind)
        if life is not None:
            life(self, event)
        elif handler is not None:
            handler(self.pieces, event)
        else:
            self._other(kind, event, is_error=is_error, status=status)
            return
        self.has_answer = True
        self._extras.take("", event, _KNOWN_EVENT, kept)
        if is_error and self._output.error is None:
            self.fail(event, status)

    def _other(self, kind: str, event: Event, *, is_error: bool, status: int | None) -> None:
        """Read what is no event of a family: an error, a whole answer, or what nobody understands."""
        if is_error or kind == "error":
            self._error(event, status)
        elif event.get("object") == "response" or isinstance(event.get("output"), list):
            self._answer(event)
        elif event.get("error") or "detail" in event or ("message" in event and ("code" in event or "param" in event)):
            self.fail(event.get("error") or event, status)
        elif kind not in _QUIET and not kind.endswith(_PROGRESS):
            self._extras.take("event.", {kind: event}, frozenset(), kept)

    def rest(self) -> list[Delta]:
        """Return what was kept without being understood."""
        return self._extras.deltas()

    # ------------------------------------------------------------------------------------------ errors

    def fail(self, error: JSON, status: int | None = None) -> None:
        """Take an error that the provider sent; its own object stays in the metadata."""
        self._output.fail(stream_error(replace_surrogates(error), status=status))
        if isinstance(error, dict):
            self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))

    def _error(self, event: Event, status: int | None) -> None:
        error = event.get("error")
        if not error:
            error = {key: value for key, value in event.items() if key != "sequence_number" and (key, value) != ("type", "error")}
        self.fail(error, status)

    # ------------------------------------------------------------------------------------------ the response

    def begin(self, event: Event) -> None:
        """`response.created`, `.queued`, `.in_progress`."""
        response = event.get("response")
        if isinstance(response, dict):
            self._start(response)

    def end(self, event: Event) -> None:
        """`response.completed`, `.incomplete`, `.failed`, `.cancelled`."""
        response = event.get("response")
        self._end(response if isinstance(response, dict) else {}, self.pieces.type_of(event).rpartition(".")[2])

    def _answer(self, response: Event) -> None:
        """A body that is one whole response."""
        self.has_answer = True
        status = word_of(response.get("status"))
        if status in _TERMINAL or not status:
            self._end(response, status or "completed")
        else:  # it runs in the background; what there is of it counts
            self._start(response)
            self._outputs(response)

    def _start(self, response: Event) -> None:
        self.status = word_of(response.get("status"))
        tools = response.get("tools")
        if isinstance(tools, list) and tools:
            kinds = [tool for tool in tools if isinstance(tool, dict)]
            if not any(tool.get("type") == "namespace" for tool in kinds):  # which holds tools of its own
                self.items.calls.custom_names = frozenset(word_of(tool.get("name")) for tool in kinds if tool.get("type") == "custom")
        identifier, model = word_of(response.get("id")), word_of(response.get("model"))
        if (identifier and not self._has_id) or (model and not self._has_model):
            self._has_id = self._has_id or bool(identifier)
            self._has_model = self._has_model or bool(model)
            created: Any = response.get("created_at")
            is_time = type(created) in (int, float) and 0 < created < _LAST_TIME
            time = datetime.fromtimestamp(int(created), UTC) if is_time else None
            self._output.add(MessageStart(identifier or None, model or None, time, None, self._provider))

    def _end(self, response: Event, word: str) -> None:
        self._start(response)
        status = word_of(response.get("status"))
        word = status if status in _TERMINAL else word if word in _TERMINAL else "completed"
        self._outputs(response)
        self.items.close()
        usage = usage_in(response.get("usage"))
        if usage is not None:
            self._output.add(UsageDelta(usage))
        error = response.get("error")
        if error or word in ("failed", "cancelled"):
            self.fail(
                error
                or {"code": f"response_{word}", "message": f"the response was {word}" if word == "cancelled" else "the response failed"}
            )
        self._finish(response, word)
        self._extras.take("response.", response, _KNOWN_RESPONSE, kept)
        if identifier := word_of(response.get("id")):
            self._output.add(MetadataDelta({"response_id": identifier}, ("response_id",)))
        self.is_over = True

    def _finish(self, response: Event, word: str) -> None:
        details = response.get("incomplete_details")
        reason = word_of(details.get("reason")) if isinstance(details, dict) else ""
        word = reason if word == "incomplete" and reason else word
        choice = self._output.fold.choices.get(0)
        has_calls = choice is not None and any(part.kind == "tool_call" for part in choice.parts)
        # The protocol has no word of its own for an answer that calls tools.
        neutral: FinishReason | None = "tool_calls" if word == "completed" and has_calls else None
        self._output.add(FinishDelta(word, 0, neutral, self._output.events, self._output.offset))

    def _outputs(self, response: Event) -> None:
        """Fill in what the whole response knows and no event brought."""
        output = response.get("output")
        values = output if isinstance(output, list) else []
        places = [n for n, value in enumerate(values) if form_of(value) is not None]
        items = self.items.items
        raws: list[bytes] | None = None
        for n, item in zip(places, items.repeated([values[n] for n in places]), strict=True):
            if self._output.is_dead:
                return

            def raw(n: int = n) -> bytes | None:
                nonlocal raws
                raws = raw_output(self.pieces.data, len(values)) if raws is None else raws
                return raws[n] if n < len(raws) else None

            form = values[n]
            place = n if items.find(n, "", "") is None else None
            self.items.whole(item or self.items.open(place, form), form, raw)


_LIFE: Final[dict[str, Callable[[EventReader, Event], None]]] = {
    **{f"response.{word}": EventReader.begin for word in ("created", "queued", "in_progress")},
    **{f"response.{word}": EventReader.end for word in (*_TERMINAL, "done")},
}
"""For each event about the response as a whole: what reads it."""
