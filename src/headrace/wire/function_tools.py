"""Tools in the form `{"type": "function", "function": …}`, and the choice among them, for wires that lack words for it.

The rule of this file: a choice is never weakened. Where a wire has no word for it, it is said in another way that means the same (no tools
instead of `none`; only the one tool, required, instead of its name), or it is an error.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headrace._json import dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.request import NamedTool, Request, ToolMode, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import Profile


def choose(request: Request, words: Collection[str]) -> tuple[tuple[ToolSpec, ...], ToolMode]:
    """Return the tools to declare and the choice to say among the wire's words.

    Args:
        request: what is asked.
        words: which of `none` and `required` the wire has; it never has a word for a tool's name.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the wire has no way to say the choice.
    """
    choice, tools = request.tool_choice, request.tools
    if isinstance(choice, NamedTool):
        tools = tuple(tool for tool in tools if tool.name == choice.name)[:1]
        if not tools:
            raise UsageError(f"tool_choice names the tool {choice.name!r}, which is not among the tools", argument="tool_choice")
        choice = "required"
    if choice == "none":
        return (tools, "none") if "none" in words and tools else ((), "auto")
    if choice == "required":
        if not tools:
            raise UsageError("tool_choice is 'required', but there are no tools", argument="tool_choice")
        if "required" not in words:
            raise UnsupportedError("this provider cannot be made to call a tool", argument="tool_choice")
    return tools, choice


def encoded_tools(tools: Collection[ToolSpec], profile: Profile, cache: EncodingCache, warnings: list[Warning], *, protocol: str) -> bytes:
    """Return the tools as a JSON list.

    Raises:
        UnsupportedError: one takes free text, which no wire of this form has.
    """
    bodies: list[bytes] = []
    for tool in tools:
        key = (protocol, "tool")
        fragment = cache.find(tool, profile, key)
        if fragment is None:
            fragment = cache.store(tool, profile, key, _encode(tool, profile))
        warnings += [Warning("dropped_for_provider", detail=note.text) for note in fragment.notes]
        bodies.append(fragment.body)
    return b"[" + b",".join(bodies) + b"]"


def warn_of_parallel_calls(request: Request, warnings: list[Warning]) -> None:
    """Say that the wire cannot be told to make one call at a time."""
    if request.tools and request.settings.parallel_tool_calls is False:
        warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))


def _encode(tool: ToolSpec, profile: Profile) -> Fragment:
    if tool.kind == "custom":
        raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    function |= {key: value for key, value in tool.provider_data.items() if key not in function}
    notes = (
        () if not tool.is_strict or profile.supports_strict_tools else (Note(None, f"tool {tool.name}: no promise of strict arguments"),)
    )
    return Fragment(dumps({"type": "function", "function": function}), notes)
