"""A client's body of `POST …/chat/completions`, in neutral words: the inverse of `request_out.py`.

The rule of this file: what has a neutral word becomes it; every other member is kept as it came, for a server that speaks the same
protocol. What is written by our own encoder and read here is written again as the same bytes.

Source: https://platform.openai.com/docs/api-reference/chat/create.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, get_args

import msgspec

from headrace.errors import UsageError
from headrace.messages.request import NamedTool, OutputFormat, ReasoningEffort, Request, Settings, ToolChoice, ToolMode, ToolSpec
from headrace.wire.openai_chat.message_in import read_message
from headrace.wire.openai_chat.request_messages import PROTOCOL
from headrace.wire.request_fields import Fields, read_body
from headrace.wire.server_side import AnswerOptions, Incoming

_NUMBERS: Final = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
_INTEGERS: Final = ("seed", "n", "top_logprobs")
_BOOLEANS: Final = ("parallel_tool_calls", "logprobs")
_MODES: Final[dict[str, ToolMode]] = {"auto": "auto", "none": "none", "required": "required"}
_TOOL_KINDS: Final = ("function", "custom")
_OF_THE_ANSWER: Final = ("include_usage", "include_obfuscation")


def read_request(body: bytes, *, model: str | None = None, is_streamed: bool | None = None, provider: str | None = None) -> Incoming:
    """Read a request; see `ReadRequest`.

    Raises:
        UsageError: it is no such request; `argument` is the path of what is wrong.
    """
    fields = read_body(body)
    name = fields.text("model") or model
    if not name:
        raise UsageError("model is missing", argument="model")
    messages = tuple(read_message(message, provider) for message in fields.objects("messages"))
    if not messages:
        raise UsageError("messages is missing or empty", argument="messages")
    for old in ("functions", "function_call"):
        if old in fields:
            raise UsageError(f"{old} is the form before tools, which is not taken; use tools and tool_choice", argument=old)
    extra: dict[str, Any] = {}
    tools = _tools(fields, extra)
    choice, tools = _choice(fields, tools, extra)
    output = _output(fields, extra)
    streamed = fields.boolean("stream")
    options = msgspec.structs.replace(_options(fields, extra), tool_names=frozenset(tool.name for tool in tools))
    settings = _settings(fields, extra)
    request = Request(
        model=name,
        messages=messages,
        tools=tools,
        tool_choice=choice,
        output=output,
        settings=settings,
        is_streamed=bool(is_streamed) if streamed is None else streamed,
    )
    return Incoming(protocol=PROTOCOL, request=request, options=options, extra={**extra, **fields.rest()})


# ---------------------------------------------------------------------------------------------- tools


def _tools(fields: Fields, extra: dict[str, Any]) -> tuple[ToolSpec, ...]:
    tools: list[ToolSpec] = []
    for tool in fields.objects("tools"):
        kind = tool.required_text("type")
        if kind in _TOOL_KINDS:
            tools.append(_tool(tool, kind))
        else:
            extra["tools"] = fields.any("tools")  # one that the provider defines: only it knows what to do with it
    return tuple(tools)


def _tool(tool: Fields, kind: str) -> ToolSpec:
    body = tool.required_object(kind)
    name, description = body.required_text("name"), body.text("description") or ""
    if kind == "custom":
        return ToolSpec(name=name, description=description, kind="custom", provider_data={**body.rest(), **tool.rest()})
    parameters, is_strict = body.object("parameters"), body.boolean("strict")
    return ToolSpec(
        name=name,
        description=description,
        parameters={} if parameters is None else parameters.values(),
        is_strict=is_strict,
        provider_data={**body.rest(), **tool.rest()},
    )


def _choice(fields: Fields, tools: tuple[ToolSpec, ...], extra: dict[str, Any]) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
    value = fields.any("tool_choice")
    if value is None:
        return "auto", tools
    if isinstance(value, str):
        if value not in _MODES:
            raise fields.unknown("tool_choice", ", ".join(_MODES))
        return _MODES[value], tools
    choice = Fields(value, "tool_choice")
    kind = choice.required_text("type")
    if kind in _TOOL_KINDS:
        return NamedTool(choice.required_object(kind).required_text("name")), tools
    if kind == "allowed_tools":
        return _allowed(choice.required_object("allowed_tools"), tools)
    extra["tool_choice"] = value
    return "auto", tools


def _allowed(allowed: Fields, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
    """Read a choice among some of the tools: the others are not offered, which means the same."""
    mode = allowed.required_text("mode")
    if mode not in _MODES or mode == "none":
        raise allowed.unknown("mode", "auto, required")
    names = {tool.required_object(tool.required_text("type")).required_text("name") for tool in allowed.objects("tools")}
    return _MODES[mode], tuple(tool for tool in tools if tool.name in names)


# ---------------------------------------------------------------------------------------------- the answer


def _output(fields: Fields, extra: dict[str, Any]) -> OutputFormat | None:
    form = fields.object("response_format")
    if form is None:
        return None
    kind = form.required_text("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return OutputFormat()
    if kind != "json_schema":
        raise form.unknown("type", "text, json_object, json_schema")
    body = form.required_object("json_schema")
    name, schema = body.required_text("name"), body.object("schema")
    is_strict = body.boolean("strict") or False
    if body.rest():  # a description, which other wires have no place for
        extra["response_format"] = form.values()
    return OutputFormat(name=name, schema={} if schema is None else schema.values(), is_strict=is_strict)


def _options(fields: Fields, extra: dict[str, Any]) -> AnswerOptions:
    options = fields.object("stream_options")
    if options is None:
        return AnswerOptions(includes_usage=False)
    includes_usage, _ = (options.boolean(name) for name in _OF_THE_ANSWER)
    if options.rest():
        extra["stream_options"] = {"include_usage": True, **options.rest()}
    return AnswerOptions(includes_usage=bool(includes_usage))


def _settings(fields: Fields, extra: dict[str, Any]) -> Settings:
    values: dict[str, Any] = {
        "max_tokens": _smaller(fields.integer("max_completion_tokens"), fields.integer("max_tokens")),
        **{name: fields.number(name) for name in _NUMBERS},
        **{name: fields.integer(name) for name in _INTEGERS},
        **{name: fields.boolean(name) for name in _BOOLEANS},
        "stop": (fields.text("stop") or "",) if isinstance(fields.values().get("stop"), str) else fields.texts("stop"),
        "modalities": fields.texts("modalities"),
    }
    effort = fields.text("reasoning_effort")
    if effort is not None and effort not in get_args(ReasoningEffort):
        extra["reasoning_effort"] = effort  # a word of the provider's own
    else:
        values["reasoning_effort"] = effort
    return Settings(**values)


def _smaller(one: int | None, other: int | None) -> int | None:
    """Return the bound that both names set: of two different ones the smaller keeps both."""
    return other if one is None else one if other is None else min(one, other)
