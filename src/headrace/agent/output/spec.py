"""Structured output: the type of an agent's answer, what a model is asked for it, and what its answer is worth. Pure.

The rule of this file: an answer is taken only whole. Text that was cut off, a call that is not runnable, one of two objects are no answer
(law 4); what is wrong is said so that a model can do better, and where asking again cannot help, that is said instead.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final, Literal, Self, TypeAlias, cast, get_args

import msgspec

from headrace._json import JSON, JSONError, dumps_text
from headrace.agent.output.codec import MisfitError, codec_of, name_of
from headrace.agent.output.form import Form, plain_name, tool_forms
from headrace.agent.output.outcome import Failed, Invalid, Outcome, Valid, bounded, misfit_text
from headrace.agent.output.partial import PartialOutput
from headrace.agent.output.text import json_in
from headrace.agent.results import not_runnable_result
from headrace.errors import InvalidStructuredOutputError, ToolError, UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import RefusalPart, TextPart, ToolCallPart
from headrace.messages.request import NamedTool, OutputFormat, ToolChoice, ToolSpec
from headrace.wire.profile import Profile

OutputMode: TypeAlias = Literal["native", "tool", "prompted"]
Validate: TypeAlias = Callable[[Any], object]

FINAL_ANSWER: Final = "final_answer"
_MODES: Final = ("auto", *get_args(OutputMode))
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROMPT: Final = "Answer with JSON alone, without any other text: one whole JSON object that fits this JSON Schema.\n"
_CALL: Final = "Give your final answer by calling the tool {}; a text is not taken as the answer."
_DESCRIPTION: Final = "Give the final answer. Call this once, when you have it, and nothing beside it."


class OutputParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the answer's type adds to each call of a model.

    Attributes:
        output: the form of the answer, or None.
        tools: tools to offer beside the agent's own; a call of one is the answer.
        instructions: a text for the instructions, or "".
        forced_choice: the choice that makes the model answer now; where it is not a `NamedTool`, only `tools` may be offered with it.
    """

    output: OutputFormat | None = None
    tools: tuple[ToolSpec, ...] = ()
    instructions: str = ""
    forced_choice: ToolChoice = "none"


class OutputSpec:
    """The type of an answer, compiled: `OutputSpec.of(City)`.

    Attributes:
        name: what the answer is called.
        mode: how the answer is asked for, or `auto`: as the model's profile allows.
        retries: how often a model may try again after an answer that did not fit.
        schema: the JSON Schema of the whole answer, an object; a type whose values are no objects lies in one, under `value` or `items`.
        is_strict: whether a provider can be held to that schema to the letter.
        tool_names: the names of the tools by which the answer may come.
    """

    def __init__(self, output_type: object, *, mode: str, name: str | None, retries: int, validate: Validate | None) -> None:
        """Compile the type; use `of`."""
        if mode not in _MODES:
            raise UsageError(f"mode is {mode!r}; it is one of {', '.join(_MODES)}", argument="mode")
        if type(retries) is not int or retries < 0:
            raise UsageError(f"retries is {retries!r}; it counts from 0", argument="retries")
        if inspect.iscoroutinefunction(validate):
            raise UsageError("validate is async; an answer is read without waiting, so give a plain function", argument="validate")
        if name is not None and not _NAME.fullmatch(name):
            raise UsageError(f"name is {name!r}; providers take letters, digits, _ and -, at most 64", argument="name")
        self.type = output_type
        self.mode: OutputMode | Literal["auto"] = cast("Any", mode)
        self.retries = retries
        self._validate = validate
        self._whole = Form(name or FINAL_ANSWER, output_type, codec_of(output_type))
        self._tools = tool_forms(self._whole, output_type)
        self.name = name or plain_name(output_type) or "answer"
        self.schema = self._whole.schema
        self.is_strict = self._whole.is_strict
        self.tool_names = tuple(self._tools)

    @classmethod
    def of(
        cls, output_type: object, *, mode: str = "auto", name: str | None = None, retries: int = 2, validate: Validate | None = None
    ) -> Self:
        """Compile a type: a pydantic model, dataclass, TypedDict, Struct, plain type, union of those, or a JSON Schema as a mapping.

        Args:
            output_type: the type.
            mode: `native` (the provider holds the model to the schema), `tool` (the answer is a call of a tool; of a union that has several
                object types each has its own), `prompted` (the schema stands in the instructions), or `auto`.
            name: what the answer is called, for the model; by default the type's name, and `final_answer` as a tool.
            retries: how often a model may try again after an answer that did not fit.
            validate: called with the typed value; a ValueError or ToolError that it raises goes to the model, as its text.

        Raises:
            UsageError: the type has no JSON Schema, or is `str` (text needs no type); or an argument does not fit. The error names it.
        """
        if output_type is str:
            raise UsageError("output_type is str: an answer in text needs no type; leave it out", argument="output_type")
        return cls(output_type, mode=mode, name=name, retries=retries, validate=validate)

    def __repr__(self) -> str:
        """Show the type and the mode."""
        return f"OutputSpec({name_of(self.type)}, mode={self.mode!r})"

    # ------------------------------------------------------------------------------------------ asking

    def mode_for(self, profile: Profile | None, *, has_tools: bool) -> OutputMode:
        """Return how to ask: the mode that was chosen, else the strongest that the model's server has; None knows nothing of it."""
        if self.mode != "auto":
            return self.mode
        if profile is None:
            return "tool"
        if "json_schema" in profile.output_formats and (profile.supports_output_with_tools or not has_tools):
            return "native"
        return "tool" if profile.tool_choices else "prompted"

    def request_parts(self, mode: OutputMode, profile: Profile | None = None, *, has_tools: bool = False) -> OutputParts:
        """Return what to add to each call of a model.

        Args:
            mode: as `mode_for` said.
            profile: the model's; None is careful: it forces nothing and asks for no form but that of `native`.
            has_tools: whether the agent has tools of its own.
        """
        match mode:
            case "native":
                return OutputParts(output=OutputFormat(name=self.name, schema=self.schema, is_strict=self.is_strict))
            case "tool":
                is_strict = profile is not None and profile.supports_strict_tools
                tools = tuple(_tool_of(form, is_strict=form.is_strict and is_strict) for form in self._tools.values())
                return OutputParts(
                    tools=tools, instructions=_CALL.format(" or ".join(self._tools)), forced_choice=_forced(self.tool_names, profile)
                )
            case "prompted":
                has_form = profile is not None and "json_object" in profile.output_formats
                has_form = has_form and profile is not None and (profile.supports_output_with_tools or not has_tools)
                return OutputParts(
                    output=OutputFormat(name=self.name) if has_form else None, instructions=_PROMPT + dumps_text(self.schema)
                )

    # ------------------------------------------------------------------------------------------ reading

    def read(self, message: AssistantMessage, mode: OutputMode) -> Outcome | None:
        """Return what a whole answer is worth.

        A call of an answer's tool counts in every mode; calls beside it are the caller's to close. Of several such calls the first that fits
        counts. Of a text the whole, a fenced block or the one object in it counts; in mode `tool` none does.

        Returns:
            `Valid`, `Invalid` (the model can try again), `Failed` (it cannot), or None: no answer yet, since it calls other tools, pauses,
            is empty or broke off.
        """
        if message.finish_reason in ("error", "pause") or message.generate_reason in ("interrupted", "error"):
            return None
        if message.finish_reason == "content_filter":
            return Failed("content_filter", "the provider filtered the answer")
        calls = [(place, call) for place, call in enumerate(message.tool_calls) if call.name in self._tools]
        if not calls and message.has(ToolCallPart):
            return None
        if not calls and message.has(RefusalPart):
            refusal = "".join(part.text for part in message.parts_of(RefusalPart))
            return Failed("refusal", refusal or "the model refused")
        outcome = self._read_calls(calls) if calls else self._read_text(message, mode)
        if isinstance(outcome, Invalid) and message.finish_reason == "length":
            return Failed("length", "the answer was cut off by the limit of tokens (settings.max_tokens, or the model's own)")
        return outcome

    def _read_calls(self, calls: list[tuple[int, ToolCallPart]]) -> Valid | Invalid:
        outcomes: list[Invalid] = []
        for place, call in calls:
            outcome = self._read_call(call, place)
            if isinstance(outcome, Valid):
                return outcome
            outcomes.append(outcome)
        return outcomes[0]

    def _read_call(self, call: ToolCallPart, place: int) -> Valid | Invalid:
        if not call.runnable or call.parsed is None:
            text = "".join(part.text for part in not_runnable_result(call).parts if isinstance(part, TextPart))
            return Invalid(text, call_id=call.id, place=place)
        return self._judged(self._tools[call.name], call.parsed, call_id=call.id, place=place)

    def _read_text(self, message: AssistantMessage, mode: OutputMode) -> Valid | Invalid | None:
        text = message.text
        if not text.strip():
            return None
        if mode == "tool":
            return Invalid(f"Your answer was text. {_CALL.format(' or '.join(self._tools))}")
        try:
            value = json_in(text)
        except JSONError as error:
            return Invalid(bounded(f"The answer cannot be read: {error}. Answer with one whole JSON object that fits the schema, and nothing else."))  # fmt: skip
        return self._judged(self._whole, value, may_be_bare=mode == "prompted")

    def _judged(
        self, form: Form, value: JSON, *, call_id: str | None = None, place: int | None = None, may_be_bare: bool = False
    ) -> Valid | Invalid:
        try:
            inner, typed = form.read(value, may_be_bare=may_be_bare)
        except MisfitError as error:
            return Invalid(misfit_text(error.mistakes), call_id=call_id, place=place)
        if self._validate is not None:
            try:
                self._validate(typed)
            except (ValueError, ToolError) as error:
                return Invalid(bounded(f"The answer does not do: {error}"), call_id=call_id, place=place)
        return Valid(inner, typed, call_id=call_id, place=place)

    def typed(self, value: JSON) -> Any:
        """Return a kept value (`message.structured_output`) as the type, without the `validate` function.

        Where members of a union take the same JSON, it is the one that fits best, whatever tool the model had called.

        Raises:
            InvalidStructuredOutputError: it does not fit, as when the type has changed since.
        """
        try:
            return self._whole.codec.decode(value)
        except MisfitError as error:
            name = name_of(self.type)
            raise InvalidStructuredOutputError(f"the structured output is no {name}: {error}", argument=name) from error

    def partial(self, tool_name: str | None = None) -> PartialOutput:
        """Return a reader of the answer while it streams: of the arguments of a call of that tool, or of the text."""
        return PartialOutput((self._whole if tool_name is None else self._tools[tool_name]).key)


def output_of(output_type: object) -> OutputSpec | None:
    """Return an agent's `output_type` compiled, or None where it asks for text (None or `str`); an `OutputSpec` stays as it is.

    Raises:
        UsageError: the type has no JSON Schema; the error names it.
    """
    if output_type is None or output_type is str:
        return None
    return output_type if isinstance(output_type, OutputSpec) else OutputSpec.of(output_type)


def _tool_of(form: Form, *, is_strict: bool) -> ToolSpec:
    description = f"{_DESCRIPTION}\n\n{form.description}" if form.description else _DESCRIPTION
    return ToolSpec(name=form.name, description=description, parameters=form.schema, is_strict=is_strict or None)


def _forced(names: tuple[str, ...], profile: Profile | None) -> ToolChoice:
    words = () if profile is None else profile.tool_choices
    if len(names) == 1 and ("named" in words or "required" in words):
        return NamedTool(names[0])  # an encoder whose server has no names offers this tool alone, and requires one
    return "required" if "required" in words else "auto"
