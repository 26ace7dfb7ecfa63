"""Settings, output form and streaming, as members of a Chat Completions body.

The rule of this file: what shapes an answer (`profile.HINTS`) is left out with a warning where a server lacks it; what the
caller could not do without (several answers, log-probabilities, a schema) is an error there.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.errors import UnsupportedError
from headrace.messages.request import OutputFormat, Request, Settings
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.profile import HINTS, Profile

# Settings whose name on the wire is their own. The others have a rule of their own below, or in request_tools.py.
_PLAIN: Final = (
    "temperature", "top_p", "frequency_penalty", "presence_penalty", "stop", "n", "logprobs", "top_logprobs", "modalities",
)  # fmt: skip
# What a setting asks for where it asks for nothing: leaving it out means the same.
_IDLE: Final[dict[str, Any]] = {"n": 1, "logprobs": False, "top_logprobs": 0, "stop": (), "modalities": ("text",)}


def option_fields(request: Request, profile: Profile, warnings: list[Warning]) -> dict[str, Any]:
    """Return the body's members that say how to answer.

    Raises:
        UnsupportedError: the server lacks something that cannot be left out unnoticed.
    """
    settings = request.settings
    fields: dict[str, Any] = {}
    if request.output is not None:
        fields["response_format"] = _response_format(request.output, profile)
    fields["stream"] = request.is_streamed
    if request.is_streamed and profile.supports_stream_usage:
        fields["stream_options"] = {"include_usage": True}
    if _is_asked("max_tokens", settings, profile, warnings):
        fields[profile.max_tokens_field] = settings.max_tokens
    for name in _PLAIN:
        if _is_asked(name, settings, profile, warnings):
            fields[name] = getattr(settings, name)
    if _is_asked("seed", settings, profile, warnings):
        fields[profile.seed_field] = settings.seed
    fields |= profile.body
    if _is_asked("reasoning_effort", settings, profile, warnings):
        fields |= _effort(str(settings.reasoning_effort), profile)
    return fields


def _is_asked(name: str, settings: Settings, profile: Profile, warnings: list[Warning]) -> bool:
    value = getattr(settings, name)
    if value is None:
        return False
    if name not in profile.unsupported_settings:
        return True
    if name in _IDLE and value == _IDLE[name]:
        return False
    if name not in HINTS:
        raise UnsupportedError(f"settings.{name}: this provider has no such setting", argument=name)
    warnings.append(Warning("dropped_for_provider", detail=f"settings.{name}: this provider has no such setting"))
    return False


def _effort(effort: str, profile: Profile) -> dict[str, Any]:
    if not profile.efforts:
        return {"reasoning_effort": effort}
    if effort not in profile.efforts:
        known = ", ".join(profile.efforts)
        raise UnsupportedError(f"settings.reasoning_effort is {effort!r}; this provider has {known}", argument="reasoning_effort")
    return profile.efforts[effort]


def _response_format(output: OutputFormat, profile: Profile) -> dict[str, Any]:
    wanted = "json_object" if output.schema is None else "json_schema"
    if wanted not in profile.output_formats:
        raise UnsupportedError(
            f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
        )
    if output.schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": output.name, "schema": output.schema, "strict": output.is_strict}}
