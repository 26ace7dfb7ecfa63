"""What the probes' questions are made of: tools, settings, small histories.

The rule of this file: everything is small, and at temperature 0, so that an examination costs little and is much the same each time.
"""

from __future__ import annotations

from typing import Any, Final

from headrace.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.request import Settings, ToolSpec

CITY_TIME: Final = ToolSpec(
    name="city_time",
    description="Get the current time in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"description": "The name of the city.", "type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
CITY_WEATHER: Final = ToolSpec(
    name="city_weather",
    description="Get the weather of today in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"description": "The name of the city.", "type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
RING: Final = ToolSpec(name="ring", description="Ring the bell.", parameters={"type": "object", "properties": {}})
WRITE: Final = ToolSpec(
    name="write_letter",
    description="Write a long letter of many sentences.",
    parameters={
        "type": "object",
        "properties": {"text": {"description": "The whole letter, at least ten sentences.", "type": "string", "minLength": 400}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


def briefly(max_tokens: int, **more: Any) -> Settings:
    """Return the settings of a question whose answer may have so many tokens."""
    return Settings(max_tokens=max_tokens, temperature=0.0, **more)


def after_a_call(call_id: str = "call_abc123", *, arguments: str = '{"city": "Paris"}', said: str = "") -> tuple[Message, ...]:
    """Return a history in which the time in Paris was asked for, called for, and given.

    Args:
        call_id: the call's id.
        arguments: the call's arguments, as text.
        said: what the model said before it called.
    """
    call = ToolCallPart(id=call_id, name=CITY_TIME.name, arguments=arguments)
    return (
        UserMessage("What time is it in Paris?"),
        AssistantMessage([said, call] if said else [call], finish_reason="tool_calls"),
        ToolMessage("It is 09:14 in Paris.", call_id=call_id, name=CITY_TIME.name),
    )
