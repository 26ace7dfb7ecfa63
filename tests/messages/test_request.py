"""Requests: checked when they are made, and never changed."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def test_a_tool_keeps_a_frozen_copy_of_its_schema():
    schema = {"type": "object", "properties": {}}
    tool = ToolSpec(name="f", parameters=schema, provider_data={"grammar": {"syntax": "lark"}})
    schema["properties"]["x"] = {}
    assert tool.parameters == {"type": "object", "properties": {}}
    for frozen in (tool.parameters, tool.provider_data["grammar"], OutputFormat(schema=SCHEMA).schema):
        with pytest.raises(TypeError):
            frozen["x"] = 1
    assert OutputFormat().schema is None


WRONG = {
    "tool without name": (ToolSpec, "ToolSpec.name", "Missing required argument"),
    "tool name": (lambda: ToolSpec(name=5), "ToolSpec.name", "Expected `str`"),
    "tool schema": (lambda: ToolSpec(name="f", parameters={"x": {1}}), "tool f: parameters.x", "is a set"),
    "tool schema list": (lambda: ToolSpec(name="f", parameters=[]), "ToolSpec.parameters", "Expected `object`"),
    "tool kind": (lambda: ToolSpec(name="f", kind="x"), "ToolSpec.kind", "Invalid enum value 'x'"),
    "named tool": (lambda: NamedTool(5), "NamedTool.name", "Expected `str`"),
    "output schema": (lambda: OutputFormat(schema={"x": b""}), "output schema.x", "is a bytes"),
    "output name": (lambda: OutputFormat(name=None), "OutputFormat.name", "Expected `str`"),
    "temperature": (lambda: Settings(temperature="hot"), "Settings.temperature", "Expected `float | null`"),
    "unknown setting": (lambda: Settings(top_k=5), "Settings.top_k", "Unexpected keyword argument 'top_k'"),
    "effort": (lambda: Settings(reasoning_effort="extreme"), "Settings.reasoning_effort", "Invalid enum value"),
    "stop": (lambda: Settings(stop=[5]), "Settings.stop[0]", "Expected `str`"),
    "extra body": (lambda: Settings(extra_body={"x": float("inf")}), "settings.extra_body.x", "is inf"),
    "setting of a mapping": (lambda: Settings.of({"max_tokens": "many"}), "settings.max_tokens", "Expected `int | null`"),
    "unknown setting of a mapping": (lambda: Settings.of({"top_k": 5}), "top_k", "a provider's own fields go into extra_body"),
    "messages": (lambda: Request(model="m", messages=["hi"]), "messages[0]", "is a str, not a Message"),
    "tools": (lambda: Request(model="m", messages=(), tools=[{"name": "f"}]), "tools[0]", "is a dict, not a ToolSpec"),
}


@pytest.mark.parametrize(("build", "argument", "why"), WRONG.values(), ids=WRONG)
def test_wrong_use_names_the_field(build, argument, why):
    with pytest.raises(UsageError) as caught:
        build()
    assert caught.value.argument == argument
    assert why in str(caught.value)


def test_settings_come_from_nothing_from_a_mapping_or_as_they_are():
    settings = Settings(temperature=1)
    assert Settings.of(settings) is settings
    assert Settings.of(None) == Settings.of({}) == Settings()
    assert Settings.of({"temperature": 1, "stop": ["a"]}) == Settings(temperature=1.0, stop=("a",))


def test_lists_in_settings_are_tuples():
    assert Settings(stop=["a"], modalities=["text"]).stop == ("a",)


def test_later_settings_win_where_they_say_something():
    first = Settings(temperature=0.5, max_tokens=10, extra_body={"a": 1, "b": 1}, extra_headers={"x": "1"})
    later = Settings(temperature=0, logprobs=False, extra_body={"b": 2})
    assert first.updated(later) == Settings(
        temperature=0, max_tokens=10, logprobs=False, extra_body={"a": 1, "b": 2}, extra_headers={"x": "1"}
    )
    assert first.updated(Settings()) == first
    assert Settings().updated(first) == first


def test_a_request_takes_lists_and_keeps_tuples():
    message, tool = UserMessage("a"), ToolSpec(name="f")
    history = [message]
    request = Request(model="m", messages=history, tools=[tool], tool_choice=NamedTool("f"))
    history.clear()
    assert (request.messages, request.tools) == ((message,), (tool,))
    with pytest.raises(AttributeError):
        request.model = "n"
