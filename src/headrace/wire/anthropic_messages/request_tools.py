"""Tools and the choice among them, as the Messages protocol has them.

The rule of this file: a choice is never weakened (`wire/tool_choice.py`); where no tool may be called, those that were called are declared
for servers that ask for it.

A tool whose `provider_data` has a `type` is one that the provider defines (`web_search_20250305`, say): it goes as its data stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace._json import JSON, dumps
from headrace.errors import UnsupportedError
from headrace.messages.request import Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import Profile
from headrace.wire.tool_choice import ToolForm, choose_in_words, encode_tools


def tool_fields(
    request: Request, profile: Profile, cache: EncodingCache, warnings: list[Warning], *, called: Sequence[str]
) -> dict[str, bytes]:
    """Return `tools` and `tool_choice`, encoded.

    Args:
        request: what is asked.
        profile: what the server takes.
        cache: remembers encoded tools.
        warnings: takes what was left out.
        called: the names of the tools that the history called.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice, or no tools of that kind.
    """
    tools, choice = choose_in_words(request, profile, _FORM)
    if not tools:
        return _stand_ins(called) if profile.needs_declared_tools else {}
    fields = {"tools": encode_tools(tools, profile, cache, warnings, _FORM)}
    if request.settings.parallel_tool_calls is False and (choice is None or choice["type"] != "none"):
        if "parallel_tool_calls" in profile.unsupported_settings:
            warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))
        else:
            choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    if choice is not None:
        fields["tool_choice"] = dumps(choice)
    return fields


def _stand_ins(called: Sequence[str]) -> dict[str, bytes]:
    """Declare the tools that the history called and forbid to call them: some servers refuse calls of tools that they do not know."""
    names = dict.fromkeys(called)
    if not names:
        return {}
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    return {"tools": dumps(tools), "tool_choice": b'{"type":"none"}'}


def _named(tool: ToolSpec) -> JSON:
    return {"type": "tool", "name": tool.name}


def _encode_tool(tool: ToolSpec, profile: Profile) -> Fragment:
    data = tool.provider_data
    if isinstance(data.get("type"), str) and data["type"] != "custom":
        return Fragment(dumps({"type": data["type"], "name": tool.name} | data))
    if tool.kind == "custom":
        raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
    fields: dict[str, Any] = {"name": tool.name}
    if tool.description:
        fields["description"] = tool.description
    schema: Mapping[str, Any] = {"type": "object"} | (tool.parameters or {"properties": {}})
    notes: tuple[Note, ...] = ()
    if tool.is_strict and profile.supports_strict_tools:
        schema = closed(schema)
        fields["strict"] = True
    elif tool.is_strict:
        notes = (Note(None, f"tool {tool.name}: this provider does not promise strict arguments"),)
    fields["input_schema"] = schema
    return Fragment(dumps(fields | {key: value for key, value in data.items() if key not in fields}), notes)


def closed(schema: JSON) -> JSON:
    """Return a schema in which objects say that they have no further properties, as a promise to keep to a schema needs."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    inner: dict[str, Any] = {key: closed(value) for key, value in schema.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(inner.get("properties"), dict) and inner.get("type", "object") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


_FORM: Final = ToolForm(key=("messages",), encode=_encode_tool, none={"type": "none"}, required={"type": "any"}, named=_named)
