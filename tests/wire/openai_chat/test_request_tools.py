import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, Request, Settings, ToolSpec
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT, Profile

CLOCK = ToolSpec(name="clock", description="Tells the time.", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
SQL = ToolSpec(name="sql", kind="custom", description="Runs SQL.", provider_data={"format": {"type": "text"}})
WIRE_CLOCK = {
    "type": "function",
    "function": {
        "name": "clock",
        "description": "Tells the time.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def encode(profile=DEFAULT, *, tools=(CLOCK,), choice="auto", **settings):
    request = Request(model="m", messages=(UserMessage("hi"),), tools=tools, tool_choice=choice, settings=Settings(**settings))
    encoded = encode_request(request, profile)
    return json.loads(encoded.body), [warning.detail for warning in encoded.warnings]


def test_tools_are_declared_with_their_schema():
    body, warnings = encode()
    assert body["tools"] == [WIRE_CLOCK]
    assert "tool_choice" not in body
    assert warnings == []


def test_a_tool_without_parameters_has_an_empty_schema():
    body, _ = encode(tools=(ToolSpec(name="now"),))
    assert body["tools"][0]["function"] == {"name": "now", "parameters": {"type": "object", "properties": {}}}


def test_without_tools_nothing_is_said_of_them():
    body, _ = encode(tools=(), choice="none", parallel_tool_calls=True)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


@pytest.mark.parametrize("choice", ["none", "required"])
def test_a_choice_is_said_with_the_tools_declared(choice):
    body, _ = encode(choice=choice)
    assert (body["tools"], body["tool_choice"]) == ([WIRE_CLOCK], choice)


def test_where_none_cannot_be_said_the_tools_stay_at_home():
    body, _ = encode(Profile(tool_choices=("auto",)), choice="none")
    assert not {"tools", "tool_choice"} & set(body)


def test_a_named_tool_is_asked_for_by_its_kind():
    profile = Profile(supports_custom_tools=True)
    assert encode(choice=NamedTool("clock"))[0]["tool_choice"] == {"type": "function", "function": {"name": "clock"}}
    body, _ = encode(profile, tools=(CLOCK, SQL), choice=NamedTool("sql"))
    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "sql"}}


def test_where_a_name_cannot_be_said_the_tool_is_the_only_one_and_required():
    other = ToolSpec(name="other")
    body, _ = encode(Profile(tool_choices=("auto", "required")), tools=(other, CLOCK), choice=NamedTool("clock"))
    assert (body["tools"], body["tool_choice"]) == ([WIRE_CLOCK], "required")


@pytest.mark.parametrize("choice", ["required", NamedTool("clock")])
def test_a_choice_that_the_server_cannot_be_told_is_an_error(choice):
    with pytest.raises(UnsupportedError) as caught:
        encode(Profile(tool_choices=("auto", "none")), choice=choice)
    assert caught.value.argument == "tool_choice"


@pytest.mark.parametrize(("tools", "choice"), [((), "required"), ((CLOCK,), NamedTool("cloak"))])
def test_a_choice_of_a_tool_that_is_not_there_is_wrong_use(tools, choice):
    with pytest.raises(UsageError, match="tool_choice"):
        encode(tools=tools, choice=choice)


def test_parallel_calls_are_spoken_of_where_the_server_listens():
    assert encode(parallel_tool_calls=False)[0]["parallel_tool_calls"] is False
    deaf = Profile(unsupported_settings=("parallel_tool_calls",))
    body, [warning] = encode(deaf, parallel_tool_calls=False)
    assert "parallel_tool_calls" not in body
    assert "parallel_tool_calls" in warning
    assert encode(deaf, parallel_tool_calls=True)[1] == []


def test_strict_arguments_are_asked_for_where_the_server_promises_them():
    strict = ToolSpec(name="clock", is_strict=True)
    assert encode(Profile(supports_strict_tools=True), tools=(strict,))[0]["tools"][0]["function"]["strict"] is True
    body, [warning] = encode(tools=(strict,))
    assert "strict" not in body["tools"][0]["function"]
    assert "clock" in warning
    assert encode(tools=(ToolSpec(name="clock", is_strict=False),))[1] == []


def test_a_tool_of_free_text_has_its_own_shape_or_is_an_error():
    body, _ = encode(Profile(supports_custom_tools=True), tools=(SQL, ToolSpec(name="x", kind="custom")))
    assert body["tools"] == [
        {"type": "custom", "custom": {"name": "sql", "description": "Runs SQL.", "format": {"type": "text"}}},
        {"type": "custom", "custom": {"name": "x"}},
    ]
    with pytest.raises(UnsupportedError, match="sql"):
        encode(tools=(SQL,))


def test_a_tools_own_provider_fields_go_along():
    tool = ToolSpec(name="clock", provider_data={"cache": True, "name": "not this"})
    assert encode(tools=(tool,))[0]["tools"][0]["function"] == {
        "name": "clock",
        "parameters": {"type": "object", "properties": {}},
        "cache": True,
    }
