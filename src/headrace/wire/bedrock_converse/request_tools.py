"""Tools and the choice among them, as Converse has them.

The rule of this file: a choice is never weakened, except that this wire cannot say `none`: then no tools are declared. But where the
history holds calls the wire insists on their tools, so they stay declared and the caller is told that calls may come.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.request import NamedTool, Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.bedrock_converse.request_media import CACHE_MARKS, cache_point
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import Profile

_NO_PARAMETERS: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_SYSTEM_TOOL: Final = "systemTool"


def tool_config(
    request: Request, profile: Profile, cache: EncodingCache, warnings: list[Warning], *, called: Sequence[str]
) -> bytes | None:
    """Return `toolConfig`, encoded, or None if there is none.

    Args:
        request: what is asked.
        profile: what the server takes.
        cache: remembers encoded tools.
        warnings: takes what was left out.
        called: the names of the tools that the history holds calls of.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice, or no tools of that kind.
    """
    choice = _choice(request, profile)
    tools = request.tools if request.tool_choice != "none" else ()
    if request.tool_choice == "none" and request.tools and called:
        tools = request.tools
        warnings.append(Warning("dropped_for_provider", detail="tool_choice 'none': this wire cannot say it while the history holds calls"))
    encoded: list[bytes] = []
    for tool in tools:
        fragment = cache.find(tool, profile, (_SYSTEM_TOOL,))
        if fragment is None:
            fragment = cache.store(tool, profile, (_SYSTEM_TOOL,), _encode_tool(tool, profile))
        warnings += [Warning("dropped_for_provider", detail=note.text) for note in fragment.notes]
        encoded.append(fragment.body)
    known = {tool.name for tool in tools}
    encoded += [_undeclared(name) for name in dict.fromkeys(called) if name not in known]
    if request.settings.parallel_tool_calls is False and tools:
        warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))
    if not encoded:
        return None
    end = b"" if choice is None else b',"toolChoice":' + dumps(choice)
    return b'{"tools":[' + b",".join(encoded) + b"]" + end + b"}"


def _choice(request: Request, profile: Profile) -> dict[str, Any] | None:
    """Return the choice; None sends none, which means that the model decides."""
    choice, tools, words = request.tool_choice, request.tools, profile.tool_choices
    if isinstance(choice, NamedTool):
        if all(tool.name != choice.name for tool in tools):
            raise UsageError(f"tool_choice names the tool {choice.name!r}, which is not among the tools", argument="tool_choice")
        if "named" not in words:
            raise UnsupportedError(f"this provider cannot be made to call the tool {choice.name!r}", argument="tool_choice")
        return {"tool": {"name": choice.name}}
    if choice != "required":
        return None
    if not tools:
        raise UsageError("tool_choice is 'required', but there are no tools", argument="tool_choice")
    if "required" not in words:
        raise UnsupportedError("this provider cannot be made to call a tool (tool_choice 'required')", argument="tool_choice")
    return {"any": {}}


def _encode_tool(tool: ToolSpec, profile: Profile) -> Fragment:
    data = tool.provider_data
    point = cache_point(data)
    end = b"" if point is None else b"," + dumps(point)
    if isinstance(data.get(_SYSTEM_TOOL), dict):
        return Fragment(dumps({_SYSTEM_TOOL: data[_SYSTEM_TOOL]}) + end)
    if tool.kind == "custom":
        raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
    spec: dict[str, Any] = {"name": tool.name}
    if tool.description:
        spec["description"] = tool.description
    spec["inputSchema"] = {"json": tool.parameters or _NO_PARAMETERS}
    notes: tuple[Note, ...] = ()
    if tool.is_strict and profile.supports_strict_tools:
        spec["strict"] = True
    elif tool.is_strict:
        notes = (Note(None, f"tool {tool.name}: this provider does not promise strict arguments"),)
    spec |= {key: value for key, value in data.items() if key not in spec and key not in CACHE_MARKS}
    return Fragment(dumps({"toolSpec": spec}) + end, notes)


def _undeclared(name: str) -> bytes:
    """Return a tool that the history called and that is not offered any more: the wire wants each of them declared."""
    return dumps({"toolSpec": {"name": name, "inputSchema": {"json": _NO_PARAMETERS}}})
