"""Events and whole answers of the Responses protocol: what each adds. The grammar is the facts' section 2.

The rule of this file: events are told apart by their JSON type; the whole response that the last event repeats fills what is missing and
adds nothing. `handlers` is the list of all event families.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from headrace._json import JSON, replace_surrogates
from headrace.messages.deltas import Delta, FinishDelta, MediaDelta, MessageStart, MetadataDelta, UsageDelta
from headrace.messages.finish import FinishReason
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
from headrace.wire.openai_responses.item_in import ItemReader, form_of
from headrace.wire.openai_responses.items import CONTENT, Item, place_of
from headrace.wire.openai_responses.raw_items import raw_item, raw_output
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


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        items: the output items.
        name: the name of the event at hand, for one whose JSON has no type.
        data: its bytes.
        is_over: the response said how it ended.
        has_answer: anything was part of a response.
        status: the last status that a response told.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first event."""
        self.items = ItemReader(output, provider)
        self.name: str | None = None
        self.data = b""
        self.is_over = False
        self.has_answer = False
        self.status = ""
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._has_id = False
        self._has_model = False

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event, or an answer that is one whole response."""
        kind = event.get("type")
        kind = kind if isinstance(kind, str) and kind else self.name or ""
        handler = _HANDLERS.get(kind)
        if handler is not None:
            self.has_answer = True
            handler(self, event)
            self._extras.take("", event, _KNOWN_EVENT, kept)
            if is_error and self._output.error is None:
                self.fail(event, status)
        elif is_error or kind == "error":
            self._error(event, status)
        elif event.get("object") == "response" or isinstance(event.get("output"), list):
            self._answer(event)
        elif event.get("error") or "detail" in event or ("message" in event and ("code" in event or "param" in event)):
            self.fail(event.get("error") or event, status)
        elif kind not in _QUIET and not kind.endswith((".in_progress", ".completed", ".searching", ".interpreting", ".generating")):
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
        self._end(response if isinstance(response, dict) else {}, word_of(event.get("type") or self.name).rpartition(".")[2])

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
                raws = raw_output(self.data, len(values)) if raws is None else raws
                return raws[n] if n < len(raws) else None

            form = values[n]
            place = n if items.find(n, "", "") is None else None
            self.items.whole(item or self.items.open(place, form), form, raw)

    # ------------------------------------------------------------------------------------------ items and their parts

    def item_added(self, event: Event) -> None:
        """`response.output_item.added`."""
        form = form_of(event.get("item"))
        if form is not None:
            self.items.added(place_of(event.get("output_index")), form)

    def item_done(self, event: Event) -> None:
        """`response.output_item.done`."""
        form = form_of(event.get("item"))
        if form is not None:
            self.items.done(place_of(event.get("output_index")), form, lambda: raw_item(self.data))

    def item_of(self, event: Event, kind: str) -> Item:
        """Return the item that an event means; one that was not announced begins here."""
        index, identifier = place_of(event.get("output_index")), word_of(event.get("item_id"))
        item = self.items.items.find(index, identifier, kind)
        if item is None:
            self._output.warn_once("missing_block_start", f"{kind} {identifier}")
            item = self.items.open(index, {}, kind)
            item.id = identifier
        elif index is None and not identifier:
            self._output.warn_once("missing_item_id", f"taken for the last {kind}")
        return item

    def text(self, event: Event) -> None:
        """`response.output_text.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.texts.piece(self.item_of(event, "message"), "text", _place(event), delta)
        self.items.texts.logprobs(event.get("logprobs"))

    def text_done(self, event: Event) -> None:
        """`response.output_text.done`."""
        self.items.texts.whole(self.item_of(event, "message"), "text", _place(event), event.get("text"))

    def refusal(self, event: Event) -> None:
        """`response.refusal.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.texts.piece(self.item_of(event, "message"), "refusal", _place(event), delta)

    def refusal_done(self, event: Event) -> None:
        """`response.refusal.done`."""
        self.items.texts.whole(self.item_of(event, "message"), "refusal", _place(event), event.get("refusal"))

    def summary(self, event: Event) -> None:
        """`response.reasoning_summary_text.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            place = min(place_of(event.get("summary_index")) or 0, CONTENT - 1)
            self.items.texts.piece(self.item_of(event, "reasoning"), "reasoning", place, delta)

    def summary_done(self, event: Event) -> None:
        """`response.reasoning_summary_text.done`."""
        place = min(place_of(event.get("summary_index")) or 0, CONTENT - 1)
        self.items.texts.whole(self.item_of(event, "reasoning"), "reasoning", place, event.get("text"))

    def thinking(self, event: Event) -> None:
        """`response.reasoning_text.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.texts.piece(self.item_of(event, "reasoning"), "reasoning", CONTENT + _place(event), delta)

    def thinking_done(self, event: Event) -> None:
        """`response.reasoning_text.done`."""
        self.items.texts.whole(self.item_of(event, "reasoning"), "reasoning", CONTENT + _place(event), event.get("text"))

    def annotation(self, event: Event) -> None:
        """`response.output_text.annotation.added`."""
        if event.get("annotation") is not None:
            self.items.texts.citation(self.item_of(event, "message"), _place(event), event["annotation"])

    def audio(self, event: Event) -> None:
        """`response.audio.delta`, `response.audio.transcript.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str) and word_of(event.get("type") or self.name).endswith("transcript.delta"):
            self._output.add(MediaDelta("audio", transcript=word_of(delta)))
        elif isinstance(delta, str):
            try:
                self._output.add(MediaDelta("audio", base64.b64decode(delta, validate=True)))
            except (binascii.Error, ValueError):
                self._extras.take_piece("audio.data", word_of(delta))

    # ------------------------------------------------------------------------------------------ calls

    def arguments(self, event: Event) -> None:
        """`response.function_call_arguments.delta`, and those of custom calls and of remote servers' tools."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.calls.piece(self.item_of(event, self._call_kind(event)), delta)

    def arguments_done(self, event: Event) -> None:
        """Their `.done`."""
        kind = self._call_kind(event)
        item = self.item_of(event, kind)
        whole = event.get("input" if kind == "custom_tool_call" else "arguments")
        if kind != "mcp_call" and whole is not None and self.items.calls.is_for_client(item.added or {"type": kind}):
            self.items.calls.settle(item, whole)

    def _call_kind(self, event: Event) -> str:
        kind = word_of(event.get("type") or self.name)
        return "custom_tool_call" if "custom_tool" in kind else "mcp_call" if "mcp" in kind else "function_call"

    def code(self, event: Event) -> None:
        """`response.code_interpreter_call_code.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.calls.code(self.item_of(event, "code_interpreter_call"), delta)

    def command(self, event: Event) -> None:
        """`response.shell_call_command.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.calls.gather(self.item_of(event, "shell_call"), place_of(event.get("command_index")) or 0, word_of(delta))

    def diff(self, event: Event) -> None:
        """`response.apply_patch_call_operation_diff.delta`."""
        delta = event.get("delta")
        if isinstance(delta, str):
            self.items.calls.gather(self.item_of(event, "apply_patch_call"), 0, word_of(delta))

    def partial_image(self, event: Event) -> None:
        """`response.image_generation_call.partial_image`: a preview, until the image is there."""
        self.items.calls.image(self.item_of(event, "image_generation_call"), event.get("partial_image_b64"), event, is_partial=True)

    def repeats(self, event: Event) -> None:
        """An event that says nothing which the whole item does not say."""


def _place(event: Event) -> int:
    return place_of(event.get("content_index")) or 0


Handler: TypeAlias = Callable[[EventReader, Event], None]
_FAMILIES: Final[dict[Handler, str]] = {
    EventReader.begin: "created queued in_progress",
    EventReader.end: "completed incomplete failed cancelled done",
    EventReader.item_added: "output_item.added",
    EventReader.item_done: "output_item.done",
    EventReader.text: "output_text.delta",
    EventReader.text_done: "output_text.done",
    EventReader.annotation: "output_text.annotation.added",
    EventReader.refusal: "refusal.delta",
    EventReader.refusal_done: "refusal.done",
    EventReader.summary: "reasoning_summary_text.delta reasoning_summary.delta",
    EventReader.summary_done: "reasoning_summary_text.done reasoning_summary.done",
    EventReader.thinking: "reasoning_text.delta reasoning.delta",
    EventReader.thinking_done: "reasoning_text.done reasoning.done",
    EventReader.audio: "audio.delta audio.transcript.delta output_audio.delta output_audio_transcript.delta audio_transcript.delta",
    EventReader.arguments: "function_call_arguments.delta custom_tool_call_input.delta mcp_call_arguments.delta mcp_call.arguments.delta",
    EventReader.arguments_done: "function_call_arguments.done custom_tool_call_input.done mcp_call_arguments.done mcp_call.arguments.done",
    EventReader.code: "code_interpreter_call_code.delta code_interpreter_call.code.delta",
    EventReader.command: "shell_call_command.delta",
    EventReader.diff: "apply_patch_call_operation_diff.delta",
    EventReader.partial_image: "image_generation_call.partial_image",
    EventReader.repeats: "content_part.added content_part.done reasoning_part.added reasoning_part.done reasoning_summary_part.added "
    "reasoning_summary_part.done audio.done audio.transcript.done code_interpreter_call_code.done code_interpreter_call.code.done "
    "shell_call_command.added shell_call_command.done shell_call_output_content.delta shell_call_output_content.done "
    "apply_patch_call_operation_diff.done mcp_call.failed mcp_list_tools.failed",
}
_HANDLERS: Final[dict[str, Handler]] = {f"response.{name}": handler for handler, names in _FAMILIES.items() for name in names.split()}
"""For each event: what reads it."""
