"""What a call works on."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.resource import resource_of
from headrace.tools.tool import Tool, tool


def write(path: str, text: str = "", encoding: str | None = None): ...
def move(source: str, target: str = "attic"): ...


def call(arguments, **fields):
    return ToolCallPart(id="c", name="t", arguments=arguments, **fields)


def of(function, resource, arguments, edited=None):
    return resource_of(tool(resource=resource)(function), call(arguments), edited)


def test_a_template_is_filled_from_the_arguments():
    assert of(write, "file:{path}", {"path": "a", "text": "b"}) == "file:a"
    assert of(write, "disk", {"path": "a"}) == "disk"
    assert of(write, None, {"path": "a"}) is None


def test_edited_arguments_stand_in_for_the_calls_own():
    assert of(write, "file:{path}", {"path": "a"}, {"path": "b"}) == "file:b"


def test_an_argument_that_is_left_out_counts_as_its_default():
    assert of(move, "{source}>{target}", {"source": "a"}) == of(move, "{source}>{target}", {"source": "a", "target": "attic"}) == "a>attic"
    schema = {"properties": {"path": {"type": "string", "default": "x"}, "other": True}}
    by_hand = Tool(name="t", function=write, parameters=schema, resource="{path}")
    assert resource_of(by_hand, call({})) == "x"
    assert resource_of(by_hand.replace(resource="{other}"), call({})) is None


def test_one_that_is_missing_or_null_means_no_resource():
    assert of(write, "{path}:{encoding}", {"path": "a"}) is None
    assert of(write, "{path}:{encoding}", {"path": "a", "encoding": None}) is None
    assert of(write, "file:{path}", {}) is None


def test_a_function_of_the_arguments():
    def folder(arguments):
        return arguments["path"].rpartition("/")[0] or None

    assert of(write, folder, {"path": "a/b"}) == "a"
    assert of(write, folder, {"path": "b"}) is None


def test_what_the_function_raises_is_raised_only_if_the_arguments_fit():
    def broken(arguments):
        return 1 / len(arguments["text"])

    assert of(write, broken, {"path": 3}) is None  # the call's own result says what is wrong
    with pytest.raises(ZeroDivisionError):
        of(write, broken, {"path": "a", "text": ""})


def test_a_function_that_gives_no_text_is_wrong():
    with pytest.raises(TypeError, match="the resource of write is 3, neither a text nor None"):
        of(write, lambda arguments: 3, {"path": "a"})


def test_a_call_that_must_not_run_works_on_nothing():
    made = tool(resource=lambda arguments: 1 / 0)(write)
    assert resource_of(made, call({"path": "a"}, runnable=False)) is None
    assert resource_of(made, call('{"path"')) is None


def test_a_name_that_no_call_can_fill_in_is_told_when_the_tool_is_made():
    with pytest.raises(UsageError, match="names no parameter 'paht'; there are: path, text, encoding") as caught:
        tool(resource="file:{paht}")(write)
    assert caught.value.argument == "resource"
    with pytest.raises(UsageError, match="there are: none"):
        Tool(name="t", external=True, parameters={}, resource="{path}")
