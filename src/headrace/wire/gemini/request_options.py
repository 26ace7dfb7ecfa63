"""Tools, settings and output form, as members of a generateContent body.

The rule of this file: what shapes an answer (`profile.HINTS`) is left out with a warning where the server lacks it; what the caller could
not do without is an error. A choice of tools is never weakened.

Source: https://ai.google.dev/api/generate-content#generationconfig.
"""

# Bodies are JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.request import NamedTool, Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import Profile
from headrace.wire.setting_fields import effort_fields, setting_fields

_SETTINGS: Final = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "seed": "seed",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "stop": "stopSequences",
    "n": "candidateCount",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
    "modalities": "responseModalities",
}
_BUDGETS: Final = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24576}
_EFFORTS: Final[dict[str, dict[str, Any]]] = {
    "none": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    **{
        effort: {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": tokens}}}
        for effort, tokens in _BUDGETS.items()
    },
}
"""What every model understands that can think; newer ones have levels, which the profile names."""


def option_fields(request: Request, profile: Profile, warnings: list[Warning]) -> dict[str, Any]:
    """Return the body's members that say how to answer.

    Raises:
        UnsupportedError: the server lacks something that cannot be left out unnoticed.
    """
    config = setting_fields(request.settings, profile, _SETTINGS, warnings)
    if "responseModalities" in config:
        config["responseModalities"] = [word.upper() for word in config["responseModalities"]]
    if request.output is not None:
        wanted = "json_object" if request.output.schema is None else "json_schema"
        if wanted not in profile.output_formats:
            raise UnsupportedError(
                f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
            )
        config["responseMimeType"] = "application/json"
        if request.output.schema is not None:
            config["responseJsonSchema"] = request.output.schema
    fields = _joined({"generationConfig": config} if config else {}, profile.body)
    if request.settings.reasoning_effort is not None and "reasoning_effort" in profile.unsupported_settings:
        warnings.append(Warning("dropped_for_provider", detail="settings.reasoning_effort: this model does not think"))
        return fields
    return _joined(fields, effort_fields(request.settings, profile, _EFFORTS))


def _joined(fields: dict[str, Any], more: Mapping[str, JSON]) -> dict[str, Any]:
    """Lay members over others; objects are joined by key."""
    joined = dict(fields)
    for name, value in more.items():
        before = joined.get(name)
        joined[name] = _joined(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return joined


# ---------------------------------------------------------------------------------------------- tools


def tool_fields(request: Request, profile: Profile, cache: EncodingCache, warnings: list[Warning]) -> dict[str, bytes]:
    """Return `tools` and `toolConfig`, encoded.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice, or no tools of that kind.
    """
    choice, tools = request.tool_choice, request.tools
    mode, named = _mode(request, profile)
    if not tools or (choice == "none" and mode is None):
        return {}
    declared: list[bytes] = []
    for tool in tools:
        fragment = cache.find(tool, profile, "gemini")
        if fragment is None:
            fragment = cache.store(tool, profile, "gemini", _declaration(tool))
        warnings += [Warning("dropped_for_provider", detail=note.text) for note in fragment.notes]
        declared.append(fragment.body)
    fields = {"tools": b'[{"functionDeclarations":[' + b",".join(declared) + b"]}]"}
    if mode is not None:
        allowed = {} if named is None else {"allowedFunctionNames": [named]}
        fields["toolConfig"] = dumps({"functionCallingConfig": {"mode": mode, **allowed}})
    if request.settings.parallel_tool_calls is False:
        warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))
    return fields


def _mode(request: Request, profile: Profile) -> tuple[str | None, str | None]:
    """Return the mode to send (None: the server's own, which is `auto`), and the one tool that is allowed."""
    choice, words = request.tool_choice, profile.tool_choices
    if isinstance(choice, NamedTool):
        if all(tool.name != choice.name for tool in request.tools):
            raise UsageError(f"tool_choice names the tool {choice.name!r}, which is not among the tools", argument="tool_choice")
        if "named" not in words:
            raise UnsupportedError(f"this provider cannot be made to call the tool {choice.name!r}", argument="tool_choice")
        return "ANY", choice.name
    if choice == "required":
        if not request.tools:
            raise UsageError("tool_choice is 'required', but there are no tools", argument="tool_choice")
        if "required" not in words:
            raise UnsupportedError("this provider cannot be made to call a tool (tool_choice 'required')", argument="tool_choice")
        return "ANY", None
    return ("NONE" if choice == "none" and "none" in words else None), None


def _declaration(tool: ToolSpec) -> Fragment:
    if tool.kind == "custom":
        raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parametersJsonSchema"] = tool.parameters
    function |= {key: value for key, value in tool.provider_data.items() if key not in function}
    notes = (Note(None, f"tool {tool.name}: this provider does not promise strict arguments"),) if tool.is_strict else ()
    return Fragment(dumps(function), notes)
