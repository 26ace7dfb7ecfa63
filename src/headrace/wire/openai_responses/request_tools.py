"""Tools and the choice among them, as the Responses protocol has them.

The rule of this file: a choice is never weakened (`wire/tool_choice.py`), and a promise about arguments that a server does not give is said.

A tool whose `provider_data` has a `type` is one of the provider's own (`web_search`, `mcp`, …) and is declared by that data alone.
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
    kind = _own_type(tool)
    return {"type": kind} if kind else {"type": tool.kind, "name": tool.name}


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


_FORM: Final = ToolForm(key=("openai-responses", "tool"), encode=_encode, none="none", required="required", named=_named)
