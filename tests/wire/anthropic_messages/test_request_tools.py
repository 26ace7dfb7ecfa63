from __future__ import annotations

import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, Request, Settings, ToolSpec
from headrace.wire.anthropic_messages.request_tools import closed, tool_fields
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.profile import Profile

F = ToolSpec(name="f", description="does", parameters={"properties": {"x": {"type": "string"}}})
G = ToolSpec(name="g")


def read(*tools, choice="auto", parallel=None, called=(), **switches):
    request = Request(
        model="m", messages=(UserMessage("x"),), tools=tools, tool_choice=choice, settings=Settings(parallel_tool_calls=parallel)
    )
    warnings = []
    fields = tool_fields(request, Profile(**switches), EncodingCache(), warnings, called=called)
    return {name: json.loads(value) for name, value in fields.items()}, [warning.detail for warning in warnings]


def test_a_schema_is_always_one_of_an_object():
    assert read(F, G)[0]["tools"] == [
        {"name": "f", "description": "does", "input_schema": {"type": "object", "properties": {"x": {"type": "string"}}}},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}},
    ]


def test_a_tool_that_the_provider_defines_goes_as_its_data_stands():
    tool = ToolSpec(name="web_search", description="not sent", provider_data={"type": "web_search_20250305", "max_uses": 3})
    assert read(tool)[0]["tools"] == [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]


def test_a_tool_of_free_text_is_not_there():
    with pytest.raises(UnsupportedError, match="free text"):
        read(ToolSpec(name="sh", kind="custom"))


class TestStrict:
    def test_a_promise_closes_the_schema(self):
        [tool] = read(ToolSpec(name="f", parameters=F.parameters, is_strict=True), supports_strict_tools=True)[0]["tools"]
        assert (tool["strict"], tool["input_schema"]["additionalProperties"]) == (True, False)

    def test_where_there_is_none_that_is_said(self):
        fields, [warning] = read(ToolSpec(name="f", is_strict=True))
        assert "strict" not in fields["tools"][0]
        assert "strict" in warning

    def test_objects_at_every_depth_are_closed_but_for_those_that_are_open(self):
        schema = {
            "type": "object",
            "properties": {"a": {"anyOf": [{"properties": {}}, {"type": "string"}]}, "b": {"properties": {}, "additionalProperties": True}},
        }
        assert closed(schema) == {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "a": {"anyOf": [{"properties": {}, "additionalProperties": False}, {"type": "string"}]},
                "b": {"properties": {}, "additionalProperties": True},
            },
        }


class TestTheChoice:
    @pytest.mark.parametrize(
        ("choice", "parallel", "expected"),
        [
            ("auto", None, None),
            ("auto", True, None),
            ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
            ("required", None, {"type": "any"}),
            ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
            ("none", None, {"type": "none"}),
            ("none", False, {"type": "none"}),
            (NamedTool("g"), None, {"type": "tool", "name": "g"}),
        ],
    )
    def test_each_has_its_word(self, choice, parallel, expected):
        fields, warnings = read(F, G, choice=choice, parallel=parallel)
        assert (fields.get("tool_choice"), warnings, len(fields["tools"])) == (expected, [], 2)

    def test_where_a_word_is_missing_it_is_said_in_another_way_or_it_is_an_error(self):
        assert read(F, choice="none", tool_choices=("auto",))[0] == {}
        named = read(F, G, choice=NamedTool("g"), tool_choices=("auto", "required"))[0]
        assert (named["tool_choice"], [tool["name"] for tool in named["tools"]]) == ({"type": "any"}, ["g"])
        for choice in ("required", NamedTool("g")):
            with pytest.raises(UnsupportedError):
                read(F, G, choice=choice, tool_choices=("auto",))

    def test_a_choice_of_what_is_not_there_is_wrong_use(self):
        for choice in (NamedTool("h"), "required"):
            with pytest.raises(UsageError, match="tool_choice"):
                read(*([F] if choice != "required" else []), choice=choice)

    def test_a_server_that_cannot_be_told_to_make_one_call_is_not(self):
        fields, [warning] = read(F, parallel=False, unsupported_settings=("parallel_tool_calls",))
        assert "tool_choice" not in fields
        assert "parallel_tool_calls" in warning


class TestToolsOfTheHistory:
    def test_they_are_declared_where_the_server_insists_and_may_not_be_called(self):
        expected = {"tools": [{"name": "f", "input_schema": {"type": "object"}}], "tool_choice": {"type": "none"}}
        assert read(called=["f", "f"], needs_declared_tools=True)[0] == expected

    def test_nothing_is_declared_elsewhere_or_where_nothing_was_called(self):
        assert read(called=["f"])[0] == read(needs_declared_tools=True)[0] == {}
