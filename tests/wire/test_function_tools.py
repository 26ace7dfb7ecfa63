import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, Request, Settings, ToolSpec
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.function_tools import choose, encoded_tools, warn_of_parallel_calls
from headrace.wire.profile import DEFAULT

F, G = ToolSpec(name="f"), ToolSpec(name="g")


def request(choice="auto", tools=(F, G), **fields):
    return Request(model="m", messages=(UserMessage("u"),), tools=tools, tool_choice=choice, **fields)


@pytest.mark.parametrize(
    ("choice", "words", "expected"),
    [
        ("auto", (), ((F, G), "auto")),
        ("none", ("none",), ((F, G), "none")),
        ("none", (), ((), "auto")),
        ("required", ("required",), ((F, G), "required")),
        (NamedTool("g"), ("required",), ((G,), "required")),
    ],
)
def test_a_choice_is_said_in_the_words_that_there_are(choice, words, expected):
    assert choose(request(choice), words) == expected


def test_none_without_tools_says_nothing():
    assert choose(request("none", ()), ("none",)) == ((), "auto")


@pytest.mark.parametrize(
    ("asked", "words", "error"),
    [
        (request("required", ()), ("required",), UsageError),
        (request(NamedTool("x")), ("required",), UsageError),
        (request("required"), ("none",), UnsupportedError),
        (request(NamedTool("f")), (), UnsupportedError),
    ],
)
def test_a_choice_is_never_weakened(asked, words, error):
    with pytest.raises(error):
        choose(asked, words)


def test_tools_are_encoded_once():
    cache, warnings = EncodingCache(), []
    tools = (ToolSpec(name="f", description="d", parameters={"type": "object"}, provider_data={"x": 1, "name": "no"}), G)
    first = encoded_tools(tools, DEFAULT, cache, warnings, protocol="p")
    assert json.loads(first) == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "x": 1}},
        {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}},
    ]
    misses = cache.misses
    assert (encoded_tools(tools, DEFAULT, cache, warnings, protocol="p"), cache.misses, warnings) == (first, misses, [])


def test_strict_arguments_are_promised_or_said_to_be_missing():
    strict, warnings = (ToolSpec(name="f", is_strict=True),), []
    encoded_tools(strict, DEFAULT, EncodingCache(), warnings, protocol="p")
    assert [warning.detail for warning in warnings] == ["tool f: no promise of strict arguments"]
    warnings.clear()
    encoded_tools(strict, DEFAULT.replace(supports_strict_tools=True), EncodingCache(), warnings, protocol="p")
    assert warnings == []


def test_a_tool_that_takes_free_text_is_refused():
    with pytest.raises(UnsupportedError, match="free text"):
        encoded_tools((ToolSpec(name="c", kind="custom"),), DEFAULT, EncodingCache(), [], protocol="p")


@pytest.mark.parametrize(("is_parallel", "tools", "count"), [(False, (F,), 1), (True, (F,), 0), (None, (F,), 0), (False, (), 0)])
def test_only_a_wish_for_single_calls_is_lost(is_parallel, tools, count):
    warnings = []
    warn_of_parallel_calls(request(tools=tools, settings=Settings(parallel_tool_calls=is_parallel)), warnings)
    assert len(warnings) == count
