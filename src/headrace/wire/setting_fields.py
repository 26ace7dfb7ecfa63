"""Settings as members of a body, for wires that have their own names for them.

The rule of this file: what shapes an answer (`profile.HINTS`) is left out with a warning where a wire or server lacks it; what the caller
could not do without (several answers, log-probabilities) is an error there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.errors import UnsupportedError
from headrace.messages.request import Settings
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.profile import HINTS, Profile

_ELSEWHERE: Final = frozenset({"extra_body", "extra_headers", "parallel_tool_calls", "reasoning_effort"})
# What a setting asks for where it asks for nothing: leaving it out means the same.
_IDLE: Final[dict[str, Any]] = {"n": 1, "logprobs": False, "top_logprobs": 0, "stop": (), "modalities": ("text",)}


def setting_fields(settings: Settings, profile: Profile, names: Mapping[str, str], warnings: list[Warning]) -> dict[str, Any]:
    """Return the settings that were made, by their names on the wire.

    Args:
        settings: the settings; the effort and parallel calls are the encoder's own matter.
        profile: what the server lacks.
        names: for each setting that the wire has: its name there.
        warnings: takes what was left out.

    Raises:
        UnsupportedError: something was asked for that cannot be left out unnoticed.
    """
    fields: dict[str, Any] = {}
    for setting in settings.__struct_fields__:
        value = getattr(settings, setting)
        if value is None or setting in _ELSEWHERE:
            continue
        if setting in names and setting not in profile.unsupported_settings:
            fields[names[setting]] = value
        elif setting in HINTS:
            warnings.append(Warning("dropped_for_provider", detail=f"settings.{setting}: this provider has no such setting"))
        elif setting not in _IDLE or value != _IDLE[setting]:
            raise UnsupportedError(f"settings.{setting}: this provider has no such setting", argument=setting)
    return fields


def effort_fields(settings: Settings, profile: Profile, usual: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the members that ask for an effort: the profile's own, else the wire's usual ones; none where no effort was asked for.

    Raises:
        UnsupportedError: there is no such effort here.
    """
    effort = settings.reasoning_effort
    if effort is None:
        return {}
    efforts: Mapping[str, Mapping[str, Any]] = profile.efforts or usual
    if effort not in efforts:
        raise UnsupportedError(
            f"settings.reasoning_effort is {effort!r}; this provider has {', '.join(efforts)}", argument="reasoning_effort"
        )
    return dict(efforts[effort])
