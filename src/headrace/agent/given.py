"""What a caller gives an agent, checked: each argument as the value that runs work with, or an error that names it.

The rule of this file: nothing is opened and nothing is sent here.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from headrace.agent.context.offload import reading_tool
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.limits import Price, RunLimits
from headrace.agent.output.spec import OutputParts, output_of
from headrace.agent.permission.judging import Mode, Permissions
from headrace.agent.prices import listed_prices
from headrace.agent.steps import Rules, Wanted
from headrace.errors import UsageError
from headrace.messages.fields import Content
from headrace.messages.message import Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import TextPart
from headrace.models.answer import ModelLike
from headrace.models.model import Model
from headrace.tools.groups import switch_tool
from headrace.tools.source import ToolSource
from headrace.tools.tool import Tool
from headrace.tools.toolset import Toolset


class Answering(msgspec.Struct, frozen=True):
    """The type of the answer, and what it adds to each model call; both None for text."""

    wanted: Wanted | None = None
    parts: OutputParts | None = None

    @classmethod
    def of(cls, output_type: object, model: ModelLike, tools: Toolset, *, has_sources: bool) -> Answering:
        """Compile the type, and choose how it is asked for by what the model's server has."""
        spec, has_tools = output_of(output_type), bool(len(tools)) or has_sources
        if spec is None:
            return cls()
        check_answer_names(spec.tool_names, tools)
        profile = getattr(model, "profile", None)
        mode = spec.mode_for(profile, has_tools=has_tools)
        return cls(Wanted(spec, mode), spec.request_parts(mode, profile, has_tools=has_tools))

    @property
    def instructions(self) -> str:
        """What the instructions say of it."""
        return "" if self.parts is None else self.parts.instructions


def model_of(model: object) -> ModelLike:
    """Return a model, made from its id if need be."""
    if isinstance(model, str):
        return Model(model)
    if not callable(getattr(model, "stream", None)):
        raise UsageError(f"model is a {type(model).__name__}; give a Model, or a model's id", argument="model")
    return cast("ModelLike", model)


def sorted_tools(tools: object) -> tuple[Toolset, tuple[ToolSource, ...]]:
    """Return the tools that are here, and the sources of those that live elsewhere."""
    if isinstance(tools, Toolset):
        return tools, ()
    if callable(tools) or isinstance(tools, Tool):
        name = tools.name if isinstance(tools, Tool) else getattr(tools, "__name__", "tool")
        raise UsageError(f"tools is one tool; give a list: tools=[{name}]", argument="tools")
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise UsageError(
            f"tools is a {type(tools).__name__}; give a list of functions, tools, toolsets and sources of tools", argument="tools"
        )
    given = list[Any](tools)  # pyright: ignore[reportUnknownArgumentType] - it is looked at one by one
    sources = [one for one in given if callable(getattr(one, "open", None)) and hasattr(one, "toolset")]
    return Toolset(one for one in given if one not in sources), tuple(sources)


def check_kind(name: str, value: object, kind: type[object], *, is_optional: bool = False) -> None:
    """Refuse what is no value of a class."""
    if not isinstance(value, kind) and not (value is None and is_optional):
        also = ", or None" if is_optional else ""
        raise UsageError(f"{name} is a {type(value).__name__}; give a {kind.__name__}{also}", argument=name)


def check_methods(name: str, value: object, methods: tuple[str, ...]) -> None:
    """Refuse what lacks a method that runs call."""
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing:
        raise UsageError(f"{name} is a {type(value).__name__} without {' and '.join(missing)}", argument=name)


def groups_of(groups: object, tools: Toolset, *, has_sources: bool) -> frozenset[str] | None:
    """Return the groups that are on; None: all, and nothing is switched. Those of sources are known when a run begins, and checked then."""
    if groups is None:
        return None
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise UsageError(f"groups is {groups!r}; give a list of names of groups", argument="groups")
    names = frozenset(cast("Iterable[str]", groups))
    for name in () if has_sources else sorted(names - set(tools.groups), key=str):
        raise UsageError(f"there is no group {name!r}; the groups are: {', '.join(tools.groups) or 'none'}", argument="groups")
    return names


def offered_tools(tools: Toolset, policy: ContextPolicy, *, has_groups: bool) -> Toolset:
    """Return the tools, and those of the framework's own that go with them.

    Where there are sources, the tool that switches groups is made when they are open (`offering.py`), since it names them all.
    """
    extra: list[Tool[..., Any]] = [] if policy.offload is None else [reading_tool(policy.offload)]
    if has_groups:
        extra.append(switch_tool(tools))
    return Toolset([tools, *extra]) if extra else tools


def check_answer_names(names: Iterable[str], tools: Toolset) -> None:
    """Check that no tool is called as one that gives the answer."""
    for name in names:
        if tools.get(name) is not None:
            help_ = "rename it, or name the answer: OutputSpec.of(…, name=…)"
            raise UsageError(
                f"tools has a tool {name!r}, which is what the tool that gives the answer is called: {help_}", argument="tools"
            )


def rules_of(
    tools: Toolset,
    answering: Answering,
    model: ModelLike,
    *,
    limits: RunLimits | Mapping[str, Any] | None,
    price: Price | None,
    knows_all: bool,
    max_rounds: int | None,
    max_tool_calls: int | None,
    stop_on_denial: bool,
) -> Rules:
    """Return what a run may do; `knows_all` if all tools are known by now."""
    check_count("max_rounds", max_rounds, least=0)
    check_count("max_tool_calls", max_tool_calls, least=1)
    checked = RunLimits.of(limits)
    if checked.tool_calls is None and max_tool_calls is not None:  # its short name; what `limits` says counts
        checked = msgspec.structs.replace(checked, tool_calls=max_tool_calls)
    if price is not None and not callable(price):
        raise UsageError(f"price is a {type(price).__name__}; give a function from an answer to US dollars", argument="price")
    for name in checked.calls_per_tool if knows_all else ():
        if name not in tools.names:
            known = ", ".join(tools.names) or "none"
            raise UsageError(f"limits.calls_per_tool names {name!r}; the tools are: {known}", argument="limits.calls_per_tool")
    return Rules(
        wanted=answering.wanted,
        tools=tools.names,
        max_rounds=max_rounds,
        limits=checked,
        price=None if checked.cost_usd is None else price or listed_prices(model.id),
        stop_on_denial=stop_on_denial,
    )


def checked_timeout(timeout_s: float | None) -> float | None:
    """Return how long a tool may take."""
    given: object = timeout_s
    if given is not None and not (isinstance(given, (int, float)) and given > 0):
        raise UsageError(f"tool_timeout_s is {timeout_s!r}; it is a number of seconds above 0, or None", argument="tool_timeout_s")
    return timeout_s


def instructions_of(instructions: object, more: str) -> SystemMessage | None:
    """Return the system prompt, with what the type of the answer adds."""
    if instructions is None or instructions == "":
        return SystemMessage(more) if more else None
    if isinstance(instructions, SystemMessage):
        return instructions.replace(parts=(*instructions.parts, TextPart(f"\n\n{more}"))) if more else instructions
    if not isinstance(instructions, str):
        raise UsageError(f"instructions is a {type(instructions).__name__}, not text", argument="instructions")
    return SystemMessage(f"{instructions}\n\n{more}" if more else instructions)


def history_of(history: object) -> tuple[Message, ...]:
    """Return what came before as messages."""
    if isinstance(history, (str, Message)) or not isinstance(history, Iterable):
        raise UsageError(f"history is a {type(history).__name__}, not a list of messages", argument="history")
    messages = tuple(cast("Iterable[object]", history))
    for n, message in enumerate(messages):
        if not isinstance(message, Message):
            raise UsageError(f"history[{n}] is a {type(message).__name__}, not a message", argument=f"history[{n}]")
    return cast("tuple[Message, ...]", messages)


def checked_input(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the input of a run, in which every call has its result: it becomes a part of a history that is kept.

    Raises:
        UsageError: a call has none in the message after it.
    """
    for n, message in enumerate(messages):
        follower = messages[n + 1] if n + 1 < len(messages) else None
        results = follower.results if isinstance(follower, ToolMessage) else ()
        missing = Counter(call.id for call in message.tool_calls) - Counter(result.call_id for result in results)
        if missing:
            raise UsageError(
                f"input[{n}] calls tools, and the message after it has no result for {', '.join(map(repr, missing))}: give the results, or "
                "give such messages as history=; a run that waits for them is gone on with by agent.resume",
                argument=f"input[{n}]",
            )
    return messages


def permissions_of(permissions: object) -> Permissions:
    """Return permissions, made from a mode if need be."""
    match permissions:
        case None:
            return Permissions()
        case Permissions():
            return permissions
        case str():
            return Permissions(mode=cast("Mode", permissions))
        case _:
            raise UsageError(f"permissions is a {type(permissions).__name__}; give Permissions(…) or a mode", argument="permissions")


def check_count(name: str, value: object, *, least: int, is_optional: bool = True) -> None:
    """Refuse what is no whole number, or too small."""
    if value is None and is_optional:
        return
    if type(value) is not int or value < least:
        what = f"a whole number from {least} up" + (", or None" if is_optional else "")
        raise UsageError(f"{name} is {value!r}; it is {what}", argument=name)


def steering(content: Content | UserMessage, made_id: Callable[[], str], at: datetime) -> UserMessage:
    """Return words that steer as a message; a message stays as it is."""
    message = content if isinstance(content, UserMessage) else UserMessage(content, id=made_id(), created_at=at)
    if not message.parts:
        raise UsageError("the words that steer are empty; give a text, parts or a message", argument="content")
    return message


def new_id() -> str:
    """Return an id that nobody has."""
    return uuid.uuid4().hex


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)
