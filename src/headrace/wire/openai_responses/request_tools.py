"""Tools and the choice among them, as the Responses protocol has them.

The rule of this file: a choice is never weakened. Where a server lacks a word for it, it is said in another way that means the same (no
tools instead of `none`; only the one tool, required, instead of its name), or it is an error.

A tool whose `provider_data` has a `type` is one of the provider's own (`web_search`, `mcp`, …) and is declared by that data alone.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.request import NamedTool, Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import Profile

_KEY: Final = ("openai-responses", "tool")


def tool_fields(request: Request, profile: Profile, cache: EncodingCache, warnings: list[Warning]) -> dict[str, bytes]:
    """Return `tools`, `tool_choice` and `parallel_tool_calls`, encoded.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice, or no tools of that kind.
    """
    tools, choice = _choose(request, profile)
    if not tools:
        return {}
    encoded: list[bytes] = []
    for tool in tools:
        fragment = cache.find(tool, profile, _KEY) or cache.store(tool, profile, _KEY, _encode(tool, profile))
        warnings += [Warning("dropped_for_provider", detail=note.text) for note in fragment.notes]
        encoded.append(fragment.body)
    fields = {"tools": b"[" + b",".join(encoded) + b"]"}
    if choice is not None:
        fields["tool_choice"] = dumps(choice)
    is_parallel = request.settings.parallel_tool_calls
    if is_parallel is not None:
        if "parallel_tool_calls" not in profile.unsupported_settings:
            fields["parallel_tool_calls"] = dumps(is_parallel)
        elif not is_parallel:
            warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))
    return fields


def _choose(request: Request, profile: Profile) -> tuple[tuple[ToolSpec, ...], Any]:
    """Return the tools to declare and the choice to send; None sends none, which means `auto`."""
    choice, tools, words = request.tool_choice, request.tools, profile.tool_choices
    if isinstance(choice, NamedTool):
        return _choose_named(choice, tools, profile)
    if choice == "none":
        return (tools, "none") if "none" in words else ((), None)
    if choice == "required":
        if not tools:
            raise UsageError("tool_choice is 'required', but there are no tools", argument="tool_choice")
        if "required" not in words:
            raise UnsupportedError("this provider cannot be made to call a tool (tool_choice 'required')", argument="tool_choice")
        return tools, "required"
    return tools, None


def _choose_named(choice: NamedTool, tools: tuple[ToolSpec, ...], profile: Profile) -> tuple[tuple[ToolSpec, ...], Any]:
    named = next((tool for tool in tools if tool.name == choice.name), None)
    if named is None:
        raise UsageError(f"tool_choice names the tool {choice.name!r}, which is not among the tools", argument="tool_choice")
    if "named" in profile.tool_choices:
        kind = _own_type(named)
        return tools, {"type": kind} if kind else {"type": named.kind, "name": named.name}
    if "required" in profile.tool_choices:
        return (named,), "required"
    raise UnsupportedError(f"this provider cannot be made to call the tool {choice.name!r}", argument="tool_choice")


def _own_type(tool: ToolSpec) -> str:
    kind = tool.provider_data.get("type")
    return kind if isinstance(kind, str) else ""


def _encode(tool: ToolSpec, profile: Profile) -> Fragment:
    if _own_type(tool):
        return Fragment(dumps(tool.provider_data))
    form: dict[str, Any] = {"type": tool.kind, "name": tool.name}
    if tool.description:
        form["description"] = tool.description
    if tool.kind == "custom":
        if not profile.supports_custom_tools:
            raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
        return Fragment(dumps({**tool.provider_data, **form}))
    form["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    notes: tuple[Note, ...] = ()
    if profile.supports_strict_tools:
        # Left out, this protocol (unlike Chat Completions) makes a schema strict, and each parameter a required one.
        form["strict"] = bool(tool.is_strict)
    elif tool.is_strict:
        notes = (Note(None, f"tool {tool.name}: this provider does not promise strict arguments"),)
    return Fragment(dumps({**tool.provider_data, **form}), notes)
