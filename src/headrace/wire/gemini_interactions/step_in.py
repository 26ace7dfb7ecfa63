"""Steps: their beginning, their pieces, their end.

The rule of this file: a step is text, thinking, a call, or a tool that the provider ran, found by its number; what else it may be is kept
whole. A step that came at once is read by the same functions as one that streamed.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from headrace._json import EMPTY, JSON, dumps, dumps_text, replace_surrogates
from headrace.messages.deltas import (
    CitationDelta,
    MediaDelta,
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    ToolCallFragment,
    ToolCallSettled,
)
from headrace.messages.parts import MediaPart, ProviderItem, make
from headrace.wire.decoder import Output
from headrace.wire.gemini.values import bytes_of, kept, kind_of, text_of
from headrace.wire.gemini_interactions.step import Step

PROTOCOL: Final = "gemini-interactions"
CALL, RESULT = "_call", "_result"
_FUNCTION_FIELDS: Final = frozenset({"type", "id", "name", "arguments"})
_OUTPUT_FIELDS: Final = frozenset({"type", "content", "error"})
_THOUGHT_FIELDS: Final = frozenset({"type", "summary", "signature"})
_MEDIA: Final = frozenset({"image", "audio", "video", "document"})


class StepReader:
    """Reads steps into an `Output`.

    Attributes:
        steps: what has come, by the wire's number.
        has_calls: a call came that the client has to run.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first step."""
        self.steps: dict[int, Step] = {}
        self.has_calls = False
        self._output = output
        self._provider = provider or ""
        self._next_part = 0
        self._tool: tuple[int, Step, list[JSON]] | None = None  # a call of the provider's own whose result may be next

    # ------------------------------------------------------------------------------------------ beginning, pieces, end

    def start(self, index: int, fields: Mapping[str, Any]) -> Step | None:
        """A step begins; returns it, or None if there are too many."""
        known = self.steps.get(index)
        if known is not None and not known.is_stopped:
            self.stop(known)
        if known is None and len(self.steps) >= self._output.limits.max_parts:
            self._output.exceed("parts", self._output.limits.max_parts)
            return None
        step = self.steps[index] = Step(index, kept(fields))
        match step.type:
            case "model_output":
                self._contents(step, fields.get("content"))
                self._data(step, "text", _OUTPUT_FIELDS)
            case "thought":
                self._thought(step, fields.get("summary"), fields.get("signature"))
                self._data(step, "reasoning", _THOUGHT_FIELDS)
            case "function_call":
                self.has_calls = True
                rest = {name: value for name, value in kept(fields).items() if name not in _FUNCTION_FIELDS and value is not None}
                self._call(step, text_of(fields.get("id")), text_of(fields.get("name")), data=rest)
            case _ if step.type.endswith(CALL):
                self._open(step)
                self._tool_part(step, [])
            case _:
                pass
        return step

    def delta(self, index: int, delta: Mapping[str, Any]) -> None:
        """A piece of a step came; where its beginning did not, the piece says what step it is."""
        step = self.steps.get(index)
        kind = str(delta.get("type") or "")
        if step is None or step.is_stopped:
            self._output.warn_once("missing_block_start", f"a piece of step {index}, which is not open")
            step = self.start(index, {"type": _step_of(kind)})
            if step is None:
                return
        if kind == "arguments_delta":
            self._arguments(step, delta.get("arguments"))
        elif step.type == "thought":
            content = delta.get("content", delta.get("text") if kind == "text" else None)
            self._thought(step, content, delta.get("signature"))
        elif step.type == "model_output":
            self._contents(step, delta)
        elif step.type == "function_call":
            step.add(kept({name: value for name, value in delta.items() if name != "type"}))
            self._call(step, text_of(delta.get("id")), text_of(delta.get("name")))
        else:
            step.add(kept({name: value for name, value in delta.items() if name != "type"}))

    def stop(self, step: Step) -> None:
        """The step is whole."""
        if step.is_stopped:
            return
        step.is_stopped = True
        match step.type:
            case "model_output":
                pass
            case "thought" if step.others:
                self._output.add(PartDataDelta({"summary": step.others}, "reasoning", self._part(step, "reasoning")))
            case "thought":
                pass
            case "function_call":
                self._settle(step)
            case _ if step.type.endswith(CALL):
                self._tool_part(step, [step.body])
                self._tool = None if step.part is None else (step.part, step, [step.body])
            case _ if step.type.endswith(RESULT):
                self._result(step)
            case _:
                self._unknown(step)

    def finish(self) -> None:
        """The stream has ended: what was not stopped is kept as it came, but no call is whole by that."""
        for step in self.steps.values():
            if not step.is_stopped and step.type != "function_call":
                self.stop(step)

    def contents(self, items: JSON) -> None:
        """Take the contents of a whole answer that has no steps."""
        for item in items if isinstance(items, list) else [items]:
            step = self.start(len(self.steps), as_step(item)) if isinstance(item, dict) else None
            if step is not None:
                self.stop(step)

    # ------------------------------------------------------------------------------------------ what a step holds

    def _open(self, step: Step, run: str = "") -> int:
        """Return the key of a new part of a step."""
        step.part, step.run = self._next_part, run
        self._next_part += 1
        if self._tool is not None and self._tool[1] is not step:
            self._tool = None
        return step.part

    def _part(self, step: Step, run: str) -> int:
        """Return the key of the part that a piece of this kind belongs to."""
        return step.part if step.part is not None and step.run == run else self._open(step, run)

    def _data(self, step: Step, kind: Literal["text", "reasoning"], known: frozenset[str]) -> None:
        """Keep the fields of a step that are not understood, with its part."""
        rest = {name: value for name, value in step.body.items() if name not in known and value not in (None, "")}
        if rest:
            self._output.add(PartDataDelta(rest, kind, self._part(step, kind)))

    def _contents(self, step: Step, content: JSON) -> None:
        for item in content if isinstance(content, list) else [content]:
            if not isinstance(item, dict):
                continue
            kind = text_of(item.get("type"))
            text, annotations = item.get("text"), item.get("annotations")
            if isinstance(text, str):
                if text:
                    self._output.text("text", text, 0, self._part(step, "text"))
            elif kind in _MEDIA:
                self._media(step, kind or "", item)
            elif annotations is None and "type" in item:
                self._item(step, item)
            for annotation in annotations if isinstance(annotations, list) else ():
                self._output.add(CitationDelta(kept(annotation), self._part(step, "text")))

    def _thought(self, step: Step, summary: JSON, signature: JSON) -> None:
        for item in summary if isinstance(summary, list) else [summary]:
            text = item.get("text") if isinstance(item, dict) else item
            if isinstance(text, str):
                if text:
                    self._output.text("reasoning", text, 0, self._part(step, "reasoning"))
            elif item is not None:
                step.others.append(kept(item))
        sealed = text_of(signature)
        if sealed:
            self._output.add(ReasoningDelta("", self._part(step, "reasoning"), signature=sealed))

    def _call(self, step: Step, call_id: str | None, name: str | None, arguments: str | None = None, data: dict[str, JSON] = EMPTY) -> None:
        output = self._output
        part = self._part(step, "call")
        output.add(ToolCallFragment(call_id, name, arguments, None, None, part, 0, False, output.events, output.offset, data))

    def _settle(self, step: Step) -> None:
        # An empty object at the beginning holds a place; whether there were no arguments, the end of the stream tells.
        given = None if step.arguments else step.get("arguments")
        text = None if not given else given if isinstance(given, str) else dumps_text(given)
        self._output.add(ToolCallSettled(self._part(step, "call"), None, text))

    def _arguments(self, step: Step, piece: JSON) -> None:
        text = piece if isinstance(piece, str) else "" if piece is None else dumps_text(replace_surrogates(piece))
        step.arguments.append(text)
        if step.type == "function_call" and text:
            self._call(step, None, None, self._output.arguments(None, text, 0, self._part(step, "call")))

    def _media(self, step: Step, kind: str, item: Mapping[str, Any]) -> None:
        mime, url = text_of(item.get("mime_type")), text_of(item.get("uri"))
        data = None if item.get("data") is None else bytes_of(item["data"])
        rest = {name: value for name, value in kept(item).items() if name not in {"type", "data", "uri", "mime_type"} and value is not None}
        media_kind = kind_of(mime or f"{kind}/")
        if data is not None and media_kind == "audio":
            part = self._part(step, f"audio {mime}")  # speech comes in pieces
            self._output.add(MediaDelta("audio", data, media_type=mime, part=part))
        elif (data is None) != (url is None):
            part = self._open(step)
            self._output.add(PartDelta(make(MediaPart, kind=media_kind, data=data, url=url, media_type=mime, provider_data=rest), part))
        else:
            self._item(step, item)

    def _item(self, step: Step, item: Mapping[str, Any]) -> None:
        """Keep a content that is not understood."""
        raw = dumps({"type": "model_output", "content": [replace_surrogates(dict(item))]})
        self._output.add(PartDelta(make(ProviderItem, provider=self._provider, protocol=PROTOCOL, raw=raw), self._open(step)))

    # ------------------------------------------------------------------------------------------ the provider's own steps

    def _tool_part(self, step: Step, steps: list[JSON]) -> None:
        """Say what is known of a call of the provider's own; `steps` is what goes back."""
        name = text_of(step.get("name")) or step.type.removesuffix(CALL)
        arguments = step.body.get("arguments") if steps else None
        text = arguments if isinstance(arguments, str) else None if arguments is None else dumps_text(arguments)
        data = {"steps": [kept(item) for item in steps]} if steps else EMPTY
        self._output.add(ProviderToolFragment(text_of(step.get("id")), name, text, None, self._provider, step.part, 0, data))

    def _result(self, step: Step) -> None:
        """Take a result of the provider's own tool: directly behind its call it belongs to it, else it stands by itself."""
        body, call_id = kept(step.body), text_of(step.get("call_id"))
        result = body.get("result", {name: value for name, value in body.items() if name not in {"type", "call_id", "signature"}})
        kind = step.type.removesuffix(RESULT)
        before = self._tool
        if before is not None and before[1].type == kind + CALL and before[1].get("id") == step.get("call_id"):
            part, steps = before[0], [*map(kept, before[2]), body]
        else:
            part, steps = self._open(step), [body]
        self._tool = None
        name = text_of(step.get("name")) or kind
        self._output.add(ProviderToolFragment(call_id, name, None, result, self._provider, part, 0, {"steps": steps}))

    def _unknown(self, step: Step) -> None:
        raw = dumps(kept(step.body))
        self._output.add(PartDelta(make(ProviderItem, provider=self._provider, protocol=PROTOCOL, raw=raw), self._open(step)))


def as_step(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a content of the older form of the API, which had no steps, as a step."""
    kind = text_of(content.get("type"))
    return {"type": "model_output", "content": [content]} if kind == "text" or kind in _MEDIA else content


def _step_of(delta: str) -> str:
    """Return the type of step that a delta belongs to."""
    match delta:
        case "thought_summary" | "thought_signature":
            return "thought"
        case "arguments_delta":
            return "function_call"
        case _ if delta.endswith((CALL, RESULT)):
            return delta
        case _:
            return "model_output"
