"""A client's body of `POST …/messages`, in neutral words: the inverse of `request_out.py`.

The rule of this file: what has a neutral word becomes it; every other member is kept as it came, for a server that speaks the same
protocol. How much to think is both: kept, and as an effort for servers that have another way to say it.

Source: https://platform.claude.com/docs/en/api/messages.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final, get_args

from headrace.errors import UsageError
from headrace.messages.message import Message
from headrace.messages.request import NamedTool, OutputFormat, ReasoningEffort, Request, Settings, ToolChoice, ToolSpec
from headrace.wire.anthropic_messages.blocks import PROTOCOL
from headrace.wire.anthropic_messages.message_in import read_message, read_system
from headrace.wire.raw_blocks import raw_contents
from headrace.wire.request_fields import Fields, read_body
from headrace.wire.server_side import Incoming

_CHOICES: Final[dict[str, ToolChoice]] = {"auto": "auto", "any": "required", "none": "none"}
_BUDGETS: Final[tuple[tuple[int, ReasoningEffort], ...]] = ((2048, "low"), (8192, "medium"))
"""Up to how many tokens to think with an effort reaches; beyond all it is high."""


def read_request(body: bytes, *, model: str | None = None, is_streamed: bool | None = None, provider: str | None = None) -> Incoming:
    """Read a request; see `ReadRequest`.

    Raises:
        UsageError: it is no such request; `argument` is the path of what is wrong.
    """
    fields = read_body(body)
    name = fields.text("model") or model
    if not name:
        raise UsageError("model is missing", argument="model")
    messages: list[Message] = list(read_system(fields))
    raws = raw_contents(body)
    has_any = False
    for n, message in enumerate(fields.objects("messages")):
        has_any = True
        messages += read_message(message, raws[n] if n < len(raws) else (), provider)
    if not has_any:
        raise UsageError("messages is missing or empty", argument="messages")
    extra: dict[str, Any] = {}
    tools = _tools(fields, extra)
    choice, is_parallel = _choice(fields, extra)
    output, effort = _output(fields, extra)
    effort = effort or _thinking(fields, extra)
    streamed = fields.boolean("stream")
    settings = Settings(
        max_tokens=fields.integer("max_tokens"),
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        stop=fields.texts("stop_sequences"),
        parallel_tool_calls=is_parallel,
        reasoning_effort=effort,
    )
    request = Request(
        model=name,
        messages=tuple(messages),
        tools=tools,
        tool_choice=choice,
        output=output,
        settings=settings,
        is_streamed=bool(is_streamed) if streamed is None else streamed,
    )
    repeated = () if effort is None else ("reasoning_effort",)
    return Incoming(protocol=PROTOCOL, request=request, extra={**extra, **fields.rest()}, repeated=repeated)


def _tools(fields: Fields, extra: dict[str, Any]) -> tuple[ToolSpec, ...]:
    tools: list[ToolSpec] = []
    for tool in fields.objects("tools"):
        kind = tool.text("type")
        if kind not in (None, "custom"):
            extra["tools"] = fields.any("tools")  # one that the provider defines: only it knows what to do with it
            continue
        name, description = tool.required_text("name"), tool.text("description") or ""
        schema, is_strict = tool.required_object("input_schema"), tool.boolean("strict")
        tools.append(
            ToolSpec(name=name, description=description, parameters=schema.values(), is_strict=is_strict, provider_data=tool.rest())
        )
    return tuple(tools)


def _choice(fields: Fields, extra: dict[str, Any]) -> tuple[ToolChoice, bool | None]:
    choice = fields.object("tool_choice")
    if choice is None:
        return "auto", None
    kind, is_alone = choice.required_text("type"), choice.boolean("disable_parallel_tool_use")
    is_parallel = False if is_alone else None
    if kind == "tool":
        name = choice.required_text("name")
        if "tools" in extra and all(tool["name"] != name for tool in extra["tools"] if "type" not in tool):
            extra["tool_choice"] = choice.values()
            return "auto", is_parallel
        return NamedTool(name), is_parallel
    if kind not in _CHOICES:
        raise choice.unknown("type", "auto, any, tool, none")
    return _CHOICES[kind], is_parallel


def _output(fields: Fields, extra: dict[str, Any]) -> tuple[OutputFormat | None, ReasoningEffort | None]:
    config = fields.object("output_config")
    if config is None:
        return None, None
    form, word = config.object("format"), config.text("effort")
    output = None
    if form is not None:
        kind = form.required_text("type")
        if kind != "json_schema":
            raise form.unknown("type", "json_schema")
        output = OutputFormat(schema=form.required_object("schema").values())
    if word is not None or config.rest() or (form is not None and form.rest()):
        extra["output_config"] = config.values()
    known: dict[str, ReasoningEffort] = {name: name for name in get_args(ReasoningEffort)}
    return output, None if word is None else known.get(word, "high")  # beyond high there is no neutral word


def _thinking(fields: Fields, extra: dict[str, Any]) -> ReasoningEffort | None:
    thinking = fields.object("thinking")
    if thinking is None:
        return None
    kind = thinking.required_text("type")
    extra["thinking"] = thinking.values()
    if kind != "enabled":
        return None
    budget = thinking.integer("budget_tokens") or 0
    for bound, effort in _BUDGETS:
        if budget <= bound:
            return effort
    return "high"
