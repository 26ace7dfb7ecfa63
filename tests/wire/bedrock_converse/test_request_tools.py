"""Tools and the choice among them."""

from __future__ import annotations

import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, Request, Settings, ToolSpec
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_tools import tool_config
from headrace.wire.encoding_cache import EncodingCache

CLOCK = ToolSpec(name="clock", description="Tells the time.", parameters={"type": "object", "properties": {"z": {"type": "string"}}})
BARE = {"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object", "properties": {}}}}}
CLOCK_BLOCK = {"toolSpec": {"name": "clock", "description": "Tells the time.", "inputSchema": {"json": CLOCK.parameters}}}


def config(*tools, called=(), profile=BEDROCK, **fields):
    warnings = []
    encoded = tool_config(
        Request(model="m", messages=(UserMessage("x"),), tools=tools, **fields), profile, EncodingCache(), warnings, called=called
    )
    return None if encoded is None else json.loads(encoded), [warning.detail for warning in warnings]


def test_tools_are_declared_with_their_schema():
    assert config(CLOCK, ToolSpec(name="add")) == ({"tools": [CLOCK_BLOCK, BARE]}, [])
    assert config() == (None, [])


@pytest.mark.parametrize(("choice", "wanted"), [("required", {"any": {}}), (NamedTool("clock"), {"tool": {"name": "clock"}})])
def test_a_choice_has_its_word(choice, wanted):
    assert config(CLOCK, tool_choice=choice)[0]["toolChoice"] == wanted


def test_none_declares_no_tools_unless_the_history_needs_them():
    assert config(CLOCK, tool_choice="none") == (None, [])
    declared, warnings = config(CLOCK, tool_choice="none", called=["clock"])
    assert declared == {"tools": [CLOCK_BLOCK]}
    assert warnings == ["tool_choice 'none': this wire cannot say it while the history holds calls"]


def test_a_tool_that_was_called_and_is_offered_no_more_is_declared():
    assert config(CLOCK, called=["add", "clock", "add"])[0] == {"tools": [CLOCK_BLOCK, BARE]}
    assert config(called=["add"])[0] == {"tools": [BARE]}


@pytest.mark.parametrize(
    ("choice", "tools", "words", "error"),
    [
        ("required", (), ("required",), UsageError),
        (NamedTool("x"), (CLOCK,), ("named",), UsageError),
        ("required", (CLOCK,), ("auto",), UnsupportedError),
        (NamedTool("clock"), (CLOCK,), ("auto",), UnsupportedError),
    ],
)
def test_a_choice_that_cannot_be_said_is_an_error(choice, tools, words, error):
    with pytest.raises(error):
        config(*tools, tool_choice=choice, profile=BEDROCK.replace(tool_choices=words))


def test_a_tool_of_the_system_goes_by_its_own_form():
    grounding = ToolSpec(name="nova_grounding", provider_data={"systemTool": {"name": "nova_grounding"}})
    assert config(grounding)[0] == {"tools": [{"systemTool": {"name": "nova_grounding"}}]}


def test_free_text_tools_are_refused_and_strict_ones_are_said_where_there_are_none():
    with pytest.raises(UnsupportedError):
        config(ToolSpec(name="shell", kind="custom"))
    strict = ToolSpec(name="add", is_strict=True, provider_data={"mood": 1})
    assert config(strict)[0]["tools"][0]["toolSpec"] == {**BARE["toolSpec"], "strict": True, "mood": 1}
    assert config(strict, profile=BEDROCK.replace(supports_strict_tools=False))[1] == [
        "tool add: this provider does not promise strict arguments"
    ]


def test_one_call_at_a_time_cannot_be_asked_for():
    assert config(CLOCK, settings=Settings(parallel_tool_calls=False))[1] == ["settings.parallel_tool_calls: this provider cannot be told"]
    assert config(CLOCK, settings=Settings(parallel_tool_calls=True))[1] == []
