"""Settings, thinking and output form, as members of a Messages body.

The rule of this file: what shapes an answer (`profile.HINTS`) is left out with a warning where the wire or the server lacks it; what the
caller could not do without is an error. Thinking yields to what cannot stand beside it: a forced tool, a bound that leaves no room for it,
a round of tools that began without it.
"""

# Bodies and metadata are JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final

from headrace.errors import UnsupportedError
from headrace.messages.request import NamedTool, Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.anthropic_messages.request_tools import closed
from headrace.wire.profile import HINTS, Profile

_LEAST_BUDGET: Final = 1024
_LEAST_WITH_THINKING: Final = {"temperature": 1.0, "top_p": 0.95}
# Settings that this wire has no word for, and what each asks for where it asks for nothing.
_NOT_HERE: Final[dict[str, Any]] = {
    "n": 1,
    "seed": None,
    "frequency_penalty": None,
    "presence_penalty": None,
    "logprobs": False,
    "top_logprobs": 0,
    "modalities": ("text",),
}


def option_fields(request: Request, profile: Profile, warnings: list[Warning], *, is_in_round_without_thinking: bool) -> dict[str, Any]:
    """Return the body's members that say how to answer.

    Args:
        request: what is asked.
        profile: what the server takes.
        warnings: takes what was left out.
        is_in_round_without_thinking: the history ends in results of tools whose calls no thinking came before.

    Raises:
        UnsupportedError: the server lacks something that cannot be left out unnoticed.
    """
    return _Options(request, profile, warnings).fields(is_in_round_without_thinking=is_in_round_without_thinking)


class _Options:
    """Makes the members of one request."""

    def __init__(self, request: Request, profile: Profile, warnings: list[Warning]) -> None:
        self.request = request
        self.settings = request.settings
        self.profile = profile
        self.warnings = warnings

    def fields(self, *, is_in_round_without_thinking: bool) -> dict[str, Any]:
        for name, idle in _NOT_HERE.items():
            value = getattr(self.settings, name)
            if value is not None and value != idle:
                self._refuse(name)
        fields: dict[str, Any] = dict(self.profile.body)
        _lay_over(fields, self._effort(is_in_round_without_thinking=is_in_round_without_thinking))
        if self.request.output is not None:
            _lay_over(fields, {"output_config": {"format": self._format()}})
        thinking = self.settings.extra_body.get("thinking", fields.get("thinking"))
        budget = _budget(thinking)
        fields["max_tokens"] = self.settings.max_tokens or self.profile.default_max_tokens + budget
        is_thinking = isinstance(thinking, dict) and thinking.get("type") != "disabled"
        for name in _LEAST_WITH_THINKING:
            value = getattr(self.settings, name)
            if value is None:
                continue
            if name in self.profile.unsupported_settings:
                self._refuse(name)
            elif is_thinking and value < _LEAST_WITH_THINKING[name]:
                self._warn(f"settings.{name}: a model that thinks takes no {value}")
            else:
                fields[name] = value
        if self.settings.stop:
            fields["stop_sequences"] = list(self.settings.stop)
        fields["stream"] = self.request.is_streamed
        return fields

    def _warn(self, detail: str) -> None:
        self.warnings.append(Warning("dropped_for_provider", detail=detail))

    def _refuse(self, name: str) -> None:
        if name not in HINTS:
            raise UnsupportedError(f"settings.{name}: this provider has no such setting", argument=name)
        self._warn(f"settings.{name}: this provider has no such setting")

    # ------------------------------------------------------------------------------------------ thinking

    def _effort(self, *, is_in_round_without_thinking: bool) -> dict[str, Any]:
        effort = self.settings.reasoning_effort
        if effort is None:
            return {}
        efforts = self.profile.efforts
        if "reasoning_effort" in self.profile.unsupported_settings or not efforts:
            self._refuse("reasoning_effort")
            return {}
        if effort not in efforts:
            raise UnsupportedError(
                f"settings.reasoning_effort is {effort!r}; this provider has {', '.join(efforts)}", argument="reasoning_effort"
            )
        fields = dict(efforts[effort])
        thinking = fields.get("thinking")
        if not isinstance(thinking, dict) or thinking.get("type") == "disabled":
            return fields
        clash = self._clash(thinking, is_in_round_without_thinking=is_in_round_without_thinking)
        if clash is not None:
            del fields["thinking"]
            self._warn(f"settings.reasoning_effort: no thinking, since {clash}")
        elif "budget_tokens" in thinking and self.settings.max_tokens is not None:
            # The bound holds for thinking and answer together, so the answer gets at least half of it.
            fields["thinking"] = {**thinking, "budget_tokens": min(_budget(thinking), max(_LEAST_BUDGET, self.settings.max_tokens // 2))}
        return fields

    def _clash(self, thinking: dict[str, Any], *, is_in_round_without_thinking: bool) -> str | None:
        if self.request.tool_choice == "required" or isinstance(self.request.tool_choice, NamedTool):
            return "a tool is forced"
        if "budget_tokens" not in thinking:
            return None
        if self.settings.max_tokens is not None and self.settings.max_tokens <= _LEAST_BUDGET:
            return f"max_tokens ({self.settings.max_tokens}) leaves no room for it"
        return "the round of tools at the end began without any" if is_in_round_without_thinking else None

    # ------------------------------------------------------------------------------------------ output

    def _format(self) -> dict[str, Any]:
        output = self.request.output
        assert output is not None
        wanted = "json_object" if output.schema is None else "json_schema"
        if output.schema is None or wanted not in self.profile.output_formats:
            raise UnsupportedError(
                f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
            )
        return {"type": "json_schema", "schema": closed(output.schema) if output.is_strict else output.schema}


def _budget(thinking: Any) -> int:
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return budget if type(budget) is int else 0


def _lay_over(fields: dict[str, Any], more: dict[str, Any]) -> None:
    """Put members over others; of objects that both have, the members join."""
    for key, value in more.items():
        held = fields.get(key)
        fields[key] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value
