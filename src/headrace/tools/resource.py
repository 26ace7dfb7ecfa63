"""What one call of a tool works on. Pure.

The rule of this file: two calls that give the same text keep their order and never overlap; None is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from headrace._json import JSON
from headrace.errors import UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.checks import check_arguments
from headrace.tools.template import filled
from headrace.tools.tool import Tool


def resource_of(tool: Tool[..., Any], call: ToolCallPart, arguments: Mapping[str, JSON] | None = None) -> str | None:
    """Return what a call works on, or None: the tool names nothing, an argument that it names is missing or null, or the call cannot run.

    Args:
        tool: the tool that the call names.
        call: the call.
        arguments: what it runs with instead of its own arguments, if somebody has edited them.

    Raises:
        Exception: what the tool's own function raised although the arguments fit the tool.
        TypeError: it gave something other than a text or None.
    """
    named = tool.options.resource
    values = call.parsed if arguments is None else arguments
    if named is None or values is None or not call.runnable:
        return None
    if isinstance(named, str):
        return filled(named, lambda name: values[name] if name in values else _default(tool, name))
    try:
        resource: object = named(values)
    except Exception:
        if _is_fit(tool, values):
            raise
        return None  # the call will not run: its result says what is wrong with the arguments, which helps more
    if resource is not None and not isinstance(resource, str):
        raise TypeError(f"the resource of {tool.name} is {resource!r}, neither a text nor None")
    return resource


def _default(tool: Tool[..., Any], name: str) -> JSON:
    field: Any = tool.parameters["properties"].get(name)
    return cast("JSON", field.get("default")) if isinstance(field, dict) else None  # pyright: ignore[reportUnknownMemberType]


def _is_fit(tool: Tool[..., Any], arguments: Mapping[str, JSON]) -> bool:
    try:
        check_arguments(tool, arguments)
    except UsageError:
        return False
    return True
