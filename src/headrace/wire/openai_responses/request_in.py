"""A client's body of `POST …/responses`, in neutral words: the inverse of `request_out.py`.

The rule of this file: what has a neutral word becomes it; every other member is kept as it came, for a server that speaks the same
protocol. Nothing is kept from one request to the next, so a request that counts on it is refused.

Source: https://platform.openai.com/docs/api-reference/responses/create.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args

from headrace._json import dumps
from headrace.errors import UsageError
from headrace.messages.message import Message, SystemMessage
from headrace.messages.parts import TextPart, make
from headrace.messages.request import NamedTool, OutputFormat, ReasoningEffort, Request, Settings, ToolChoice, ToolMode, ToolSpec
from headrace.wire.openai_responses.history_in import HistoryReader
from headrace.wire.openai_responses.item_in import PROTOCOL
from headrace.wire.openai_responses.raw_items import raw_input
from headrace.wire.request_fields import Fields, read_body
from headrace.wire.server_side import AnswerOptions, Incoming

_MODES: Final[dict[str, ToolMode]] = {"auto": "auto", "none": "none", "required": "required"}
_OWN_KINDS: Final = ("function", "custom")
_LOGPROBS: Final = "message.output_text.logprobs"
_SEALED: Final = "reasoning.encrypted_content"
_KEPT: Final = {
    "previous_response_id": "send the whole conversation as input",
    "conversation": "send the whole conversation as input",
    "background": "ask for a stream and read it",
}
"""What counts on something that is kept, and what to do instead."""
_ECHOED: Final = (
    "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "prompt_cache_key", "reasoning",
    "safety_identifier", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
)  # fmt: skip
_QUIET: Final = ("store", "stream_options")
"""Members that ask other servers for nothing: what is not stored there anyway, and the look of the stream."""


def read_request(body: bytes, *, model: str | None = None, is_streamed: bool | None = None, provider: str | None = None) -> Incoming:
    """Read a request; see `ReadRequest`.

    Raises:
        UsageError: it is no such request; `argument` is the path of what is wrong.
    """
    fields = read_body(body)
    name = fields.text("model") or model
    if not name:
        raise UsageError("model is missing", argument="model")
    for member, instead in _KEPT.items():
        if fields.any(member):
            raise UsageError(f"{member} needs something that was kept, but nothing is kept here; {instead}", argument=member)
    messages = (*_instructions(fields), *_input(fields, body, provider))
    if not messages:
        raise UsageError("input is missing or empty", argument="input")
    reader = _Reader(fields)
    tools = reader.tools()
    choice, tools = reader.choice(tools)
    output, settings, streamed = reader.output(), reader.settings(), fields.boolean("stream")
    request = Request(
        model=name,
        messages=messages,
        tools=tools,
        tool_choice=choice,
        output=output,
        settings=settings,
        is_streamed=bool(is_streamed) if streamed is None else streamed,
    )
    own = {**reader.own, **{member: fields.any(member) for member in _QUIET if member in fields}}
    return Incoming(
        protocol=PROTOCOL,
        request=request,
        options=AnswerOptions(
            echoed={member: fields.values()[member] for member in _ECHOED if member in fields},
            tool_names=frozenset(tool.name for tool in tools),
        ),
        extra={**reader.extra, **fields.rest()},
        own=own,
        needed=tuple(reader.needed),
        repeated=tuple(reader.repeated),
    )


def _instructions(fields: Fields) -> Iterator[Message]:
    text = fields.text("instructions")
    if text:
        yield SystemMessage.assemble([make(TextPart, text=text)])


def _input(fields: Fields, body: bytes, provider: str | None) -> tuple[Message, ...]:
    reader = HistoryReader(provider)
    value = fields.any("input")
    if isinstance(value, str):
        reader.text(value)
    elif value is not None:
        raws = raw_input(body)
        for n, item in enumerate(fields.objects("input")):
            reader.read(item, raws[n] if n < len(raws) else dumps(item.values()))
    return reader.messages()


class _Reader:
    """Reads how to answer.

    Attributes:
        extra, own, needed, repeated: as in `Incoming`.
    """

    def __init__(self, fields: Fields) -> None:
        self.extra: dict[str, Any] = {}
        self.own: dict[str, Any] = {}
        self.needed: list[str] = []
        self.repeated: list[str] = []
        self._fields = fields

    # ------------------------------------------------------------------------------------------ tools

    def tools(self) -> tuple[ToolSpec, ...]:
        tools: list[ToolSpec] = []
        for tool in self._fields.objects("tools"):
            kind = tool.required_text("type")
            if kind in _OWN_KINDS:
                tools.append(self._tool(tool, kind))
            else:  # one that the provider defines: only it knows what to do with it
                self.needed.append(f"{tool.path}: {kind}")
                tools.append(ToolSpec(name=kind, provider_data=tool.values()))
        return tuple(tools)

    def _tool(self, tool: Fields, kind: str) -> ToolSpec:
        name, description = tool.required_text("name"), tool.text("description") or ""
        if kind == "custom":
            return ToolSpec(name=name, description=description, kind="custom", provider_data=tool.rest())
        parameters, is_strict = tool.object("parameters"), tool.boolean("strict")
        if is_strict is None:  # which means more here than not to ask for it, so the tools go as they came
            self.own["tools"] = self._fields.any("tools")
        schema = {} if parameters is None else parameters.values()
        return ToolSpec(name=name, description=description, parameters=schema, is_strict=is_strict, provider_data=tool.rest())

    def choice(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
        value = self._fields.any("tool_choice")
        if value is None:
            return "auto", tools
        if isinstance(value, str):
            if value not in _MODES:
                raise self._fields.unknown("tool_choice", ", ".join(_MODES))
            return _MODES[value], tools
        choice = Fields(value, "tool_choice")
        kind = choice.required_text("type")
        if kind in _OWN_KINDS:
            return NamedTool(choice.required_text("name")), tools
        if kind == "allowed_tools":
            return self._allowed(choice, tools)
        self.needed.append(f"tool_choice: {kind}")
        self.own["tool_choice"] = value
        return "auto", tools

    def _allowed(self, allowed: Fields, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
        """Read a choice among some of the tools: the others are not offered, which means the same."""
        mode = allowed.required_text("mode")
        if mode not in _MODES or mode == "none":
            raise allowed.unknown("mode", "auto, required")
        names = {tool.text("name") or tool.required_text("type") for tool in allowed.objects("tools")}
        self.own["tool_choice"] = allowed.values()
        self.own["tools"] = self._fields.any("tools")  # where it can be said, the tools stay declared
        return _MODES[mode], tuple(tool for tool in tools if tool.name in names)

    # ------------------------------------------------------------------------------------------ the answer

    def output(self) -> OutputFormat | None:
        text = self._fields.object("text")
        if text is None:
            return None
        form = text.object("format")
        output = None if form is None else _format(form)
        if text.rest() or (form is not None and form.rest()):  # how long, or a description, which other wires have no place for
            self.extra["text"] = text.values()
        return output

    def settings(self) -> Settings:
        fields = self._fields
        include = fields.texts("include") or ()
        wants_logprobs = _LOGPROBS in include
        if set(include) - {_LOGPROBS, _SEALED}:
            self.extra["include"] = list(include)
        elif _SEALED in include:
            self.own["include"] = list(include)
        return Settings(
            max_tokens=fields.integer("max_output_tokens"),
            temperature=fields.number("temperature"),
            top_p=fields.number("top_p"),
            top_logprobs=fields.integer("top_logprobs"),
            logprobs=True if wants_logprobs else None,
            parallel_tool_calls=fields.boolean("parallel_tool_calls"),
            reasoning_effort=self._effort(),
        )

    def _effort(self) -> ReasoningEffort | None:
        reasoning = self._fields.object("reasoning")
        if reasoning is None:
            return None
        word = reasoning.text("effort")
        known: dict[str, ReasoningEffort] = {name: name for name in get_args(ReasoningEffort)}
        if reasoning.rest() or (word is not None and word not in known):
            self.extra["reasoning"] = reasoning.values()
            self.repeated.append("reasoning_effort")
        return None if word is None else known.get(word, "high")  # beyond high there is no neutral word


def _format(form: Fields) -> OutputFormat | None:
    kind = form.required_text("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return OutputFormat()
    if kind != "json_schema":
        raise form.unknown("type", "text, json_object, json_schema")
    name, schema, is_strict = form.required_text("name"), form.required_object("schema"), form.boolean("strict") or False
    return OutputFormat(name=name, schema=schema.values(), is_strict=is_strict)
