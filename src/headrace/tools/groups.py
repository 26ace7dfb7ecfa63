"""Groups of tools, switched on and off in the course of a run.

The rule of this file: which groups are on is a value, a frozenset of names, that whoever drives the run keeps; here it is worked out.
Tools without a group are always on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from headrace.errors import ToolError, UsageError
from headrace.tools.context import Context
from headrace.tools.options import ToolOptions
from headrace.tools.tool import Tool
from headrace.tools.toolset import Toolset

SWITCH_NAME: Final = "switch_tools"


def switched(active: Iterable[str], on: Iterable[str], off: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    """Return the groups that are on after a switch.

    Args:
        active: the groups that are on before it.
        on: those to switch on; one that is on stays on.
        off: those to switch off.
        known: all groups there are.

    Raises:
        ToolError: there is no such group, one is to be both on and off, or something is no name; its text helps the model.
    """
    names = tuple(known)
    wanted, unwanted = _names(on, "on"), _names(off, "off")
    for name in (*wanted, *unwanted):
        if name not in names:
            raise ToolError(f"There is no group {name!r}. The groups are: {', '.join(names) or 'none'}.")
    both = [name for name in wanted if name in unwanted]
    if both:
        raise ToolError(f"The group {both[0]!r} cannot be switched on and off at once.")
    return (frozenset(active) | frozenset(wanted)) - frozenset(unwanted)


def _names(given: object, which: str) -> tuple[str, ...]:
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    names = tuple(cast("Iterable[object]", given)) if isinstance(given, Iterable) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise ToolError(f"{which} must be a list of names of groups; {name!r} is none.")
    return cast("tuple[str, ...]", names)


def switch_tool(toolset: Toolset, descriptions: Mapping[str, str] | None = None) -> Tool[..., Any]:
    """Return a tool, `switch_tools`, with which the model switches the groups of a toolset on and off; its result says what is on.

    Args:
        toolset: the tools; it must have groups.
        descriptions: what a group is for, by name; a group without one is described by its tools.

    Raises:
        UsageError: the toolset has no groups, or a description is for none of them.
    """
    groups = toolset.groups
    if not groups:
        raise UsageError("no tool has a group: give some group=…", argument="toolset")
    described = dict(descriptions or {})
    strangers = [name for name in described if name not in groups]
    if strangers:
        raise UsageError(f"there is no group {strangers[0]!r}; the groups are: {', '.join(groups)}", argument="descriptions")
    lines = [f"- {name}: {described.get(name) or ', '.join(_members(toolset, name))}" for name in groups]

    async def switch_tools(context: Context[Any], on: Any = (), off: Any = ()) -> str:
        active = context.switch_groups(_names(on, "on"), _names(off, "off"))
        return switch_text(toolset, active)

    names = {"type": "array", "items": {"type": "string", "enum": list(groups)}}
    return Tool(
        name=SWITCH_NAME,
        description="\n".join(["Switch groups of tools on or off. Switch on what the task needs. The groups:", *lines]),
        parameters={"type": "object", "properties": {"on": names, "off": names}, "additionalProperties": False},
        function=switch_tools,
        options=ToolOptions(read_only=True, resource=SWITCH_NAME),
    )


def switch_text(toolset: Toolset, active: Iterable[str]) -> str:
    """Say which groups are on, with their tools, and which are off."""
    active = frozenset(active)
    on = [f"{name} ({', '.join(_members(toolset, name))})" for name in toolset.groups if name in active]
    off = [name for name in toolset.groups if name not in active]
    return f"On: {', '.join(on) or 'none'}. Off: {', '.join(off) or 'none'}."


def _members(toolset: Toolset, group: str) -> list[str]:
    return [tool.name for tool in toolset if tool.options.group == group]
