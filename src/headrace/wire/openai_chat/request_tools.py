"""Tools and the choice among them, as Chat Completions has them.

The rule of this file: a choice is never weakened (`wire/tool_choice.py`), and a promise about arguments that a server does not give is said.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import JSON, dumps
from headrace.errors import UnsupportedError
from headrace.messages.request import Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import Profile
from headrace.wire.tool_choice import ToolForm, tool_members


def tool_fields(request: Request, profile: Profile, cache: EncodingCache, warnings: list[Warning]) -> dict[str, bytes]:
    """Return `tools`, `tool_choice` and `parallel_tool_calls`, encoded.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice, or no tools of that kind.
    """
    return tool_members(request, profile, cache, warnings, _FORM)


def _named(tool: ToolSpec) -> JSON:
    return {"type": tool.kind, tool.kind: {"name": tool.name}}


def _encode_tool(tool: ToolSpec, profile: Profile) -> Fragment:
    if tool.kind == "custom":
        if not profile.supports_custom_tools:
            raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
        custom: dict[str, Any] = {"name": tool.name}
        if tool.description:
            custom["description"] = tool.description
        return Fragment(dumps({"type": "custom", "custom": custom | _rest(tool, custom)}))
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    # A schema without properties is what servers expect of a tool without parameters; some refuse its absence.
    function["parameters"] = tool.parameters or {"type": "object", "properties": {}}
    notes: tuple[Note, ...] = ()
    if tool.is_strict is not None:
        if profile.supports_strict_tools:
            function["strict"] = tool.is_strict
        elif tool.is_strict:
            notes = (Note(None, f"tool {tool.name}: this provider does not promise strict arguments"),)
    return Fragment(dumps({"type": "function", "function": function | _rest(tool, function)}), notes)


def _rest(tool: ToolSpec, own: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.provider_data.items() if key not in own}


_FORM: Final = ToolForm(key=(), encode=_encode_tool, none="none", required="required", named=_named)
