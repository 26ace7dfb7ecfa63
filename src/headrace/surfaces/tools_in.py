"""The tools that a client declares: it runs them itself, so to a run they are external.

The rule of this file: a tool whose name or schema we cannot take is refused with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from headrace.errors import UsageError
from headrace.messages.request import ToolSpec
from headrace.tools.tool import Tool

_ANY_OBJECT: Final[dict[str, Any]] = {"type": "object"}


def external_tool(name: str, description: str, parameters: Mapping[str, Any] | None, path: str) -> Tool[..., Any]:
    """Return a tool that the client runs.

    Args:
        name: its name.
        description: what it does.
        parameters: the JSON Schema of its arguments; None or an empty one: any object.
        path: where it stands in the request.

    Raises:
        UsageError: we cannot take it.
    """
    try:
        return Tool(name=name, description=description, parameters=dict(parameters or _ANY_OBJECT), external=True)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", argument=path) from error


def external_tools(specs: Iterable[ToolSpec]) -> tuple[Tool[..., Any], ...]:
    """Return the tools of a request of the wire.

    Raises:
        UsageError: we cannot take one; one that takes free text, for instance.
    """
    tools: list[Tool[..., Any]] = []
    for n, spec in enumerate(specs):
        if spec.kind != "function":
            raise UsageError(f"tools[{n}] takes free text; a run's external tools take JSON", argument=f"tools[{n}]")
        tools.append(external_tool(spec.name, spec.description, spec.parameters, f"tools[{n}]"))
    return tuple(tools)
