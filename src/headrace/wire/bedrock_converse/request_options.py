"""Settings, thinking and output form, as members of a Converse body.

The rule of this file: what shapes an answer is left out with a warning where the wire lacks it; what the caller could not do without is an
error. Thinking yields to what cannot stand beside it: a forced tool, a bound that leaves no room for it.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

# Bodies are JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import dumps_text
from headrace.errors import UnsupportedError
from headrace.messages.request import NamedTool, OutputFormat, Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.profile import Profile
from headrace.wire.setting_fields import setting_fields

_NAMES: Final = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP", "stop": "stopSequences"}
_MODEL_FIELDS: Final = "additionalModelRequestFields"
_LEAST_BUDGET: Final = 1024


def option_fields(request: Request, profile: Profile, warnings: list[Warning]) -> dict[str, Any]:
    """Return the body's members that say how to answer.

    Raises:
        UnsupportedError: something was asked for that cannot be left out unnoticed.
    """
    fields: dict[str, Any] = {}
    inference = setting_fields(request.settings, profile, _NAMES, warnings)
    if inference:
        fields["inferenceConfig"] = inference
    lay_over(fields, profile.body)
    lay_over(fields, _effort(request, profile, warnings))
    if request.output is not None:
        lay_over(fields, {"outputConfig": {"textFormat": _text_format(request.output, profile)}})
    return fields


def lay_over(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put members over others; of objects that both have, the members join."""
    for key, value in more.items():
        held = fields.get(key)
        fields[key] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value


def _effort(request: Request, profile: Profile, warnings: list[Warning]) -> dict[str, Any]:
    """Return the members that ask for thinking: each family of models has its own, so they stand in the profile."""
    effort = request.settings.reasoning_effort
    if effort is None:
        return {}
    efforts = profile.efforts
    if not efforts or "reasoning_effort" in profile.unsupported_settings:
        warnings.append(Warning("dropped_for_provider", detail="settings.reasoning_effort: this provider has no such setting"))
        return {}
    if effort not in efforts:
        raise UnsupportedError(
            f"settings.reasoning_effort is {effort!r}; this provider has {', '.join(efforts)}", argument="reasoning_effort"
        )
    fields = dict(efforts[effort])
    own = fields.get(_MODEL_FIELDS)
    thinking = own.get("thinking") if isinstance(own, dict) else None
    if not isinstance(own, dict) or not isinstance(thinking, dict) or "budget_tokens" not in thinking:
        return fields
    limit = request.settings.max_tokens
    clash = (
        "a tool is forced"
        if request.tool_choice == "required" or isinstance(request.tool_choice, NamedTool)
        else f"max_tokens ({limit}) leaves no room for it"
        if limit is not None and limit <= _LEAST_BUDGET
        else None
    )
    if clash is not None:
        warnings.append(Warning("dropped_for_provider", detail=f"settings.reasoning_effort: no thinking, since {clash}"))
        return {}
    if limit is not None:  # the bound holds for thinking and answer together, so the answer gets at least half of it
        budget = min(thinking["budget_tokens"], max(_LEAST_BUDGET, limit // 2))
        fields[_MODEL_FIELDS] = {**own, "thinking": {**thinking, "budget_tokens": budget}}
    return fields


def _text_format(output: OutputFormat, profile: Profile) -> dict[str, Any]:
    if output.schema is None or "json_schema" not in profile.output_formats:
        wanted = "json object" if output.schema is None else "json schema"
        raise UnsupportedError(f"this provider cannot be held to a {wanted}; a tool with that schema can", argument="output")
    return {"type": "json_schema", "structure": {"jsonSchema": {"name": output.name, "schema": dumps_text(output.schema)}}}
