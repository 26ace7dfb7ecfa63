"""Results for calls that failed or never ran."""

from __future__ import annotations

import pytest

from headrace.agent.results import MAX_ERROR_CHARS, MAX_NAMES, describe, error_result, not_runnable_result, unknown_tool_result
from headrace.errors import ToolError
from headrace.messages.parts import ToolCallPart


class UnreadableError(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (ToolCallPart(id="1", name=""), "it names no tool"),
        (ToolCallPart(id="1", name="f", arguments='{"a": '), "its arguments are not JSON"),
        (ToolCallPart(id="1", name="f", arguments="[1]"), "its arguments are a JSON array; they must be one JSON object"),
        (ToolCallPart(id="1", name="f", arguments='"a"'), "its arguments are a JSON string"),
        (ToolCallPart(id="1", name="f", arguments="1"), "its arguments are a JSON number"),
        (ToolCallPart(id="1", name="f", arguments="null"), "its arguments are a JSON null"),
        (ToolCallPart(id="1", name="f", arguments=" "), "its arguments did not arrive"),
        (ToolCallPart(id="1", name="f", arguments={"a": 1}, runnable=False), "the answer that it came in broke off"),
        (ToolCallPart(id="1", name="f", arguments='{"a": 1}', parsed=None, runnable=False), "the answer that it came in broke off"),
        (ToolCallPart(id="1", name="f", kind="custom", arguments="free"), "free text"),
        (ToolCallPart(id="1", name="f", kind="custom", arguments="fr", runnable=False), "it did not arrive whole"),
    ],
)
def test_a_call_that_must_not_run_says_why(call, words):
    result = not_runnable_result(call)
    assert (result.call_id, result.name, result.state) == (call.id, call.name, "error")
    assert result.text.startswith("The call was not run: ")
    assert words in result.text


def test_an_unknown_tool_gets_the_names_of_those_there_are():
    result = unknown_tool_result(ToolCallPart(id="1", name="whether"), ["weather", "time"])
    assert (result.state, result.text) == ("error", "There is no tool 'whether'. The tools are: weather, time.")
    assert unknown_tool_result(ToolCallPart(id="1", name="f"), []).text.endswith("The tools are: none.")
    assert unknown_tool_result(ToolCallPart(id="1", name="f"), ["t"] * (MAX_NAMES + 3)).text.endswith("t and 3 more.")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("no such city"), "no such city"),
        (ToolError(), "the tool failed"),
        (KeyError("a"), "KeyError: 'a'"),
        (ValueError(), "ValueError"),
        (UnreadableError(), "UnreadableError: (its text cannot be read)"),
        (ExceptionGroup("two", [ValueError("a"), ToolError("b")]), "ExceptionGroup: two (2 sub-exceptions); ValueError: a; b"),
    ],
)
def test_what_was_raised_is_said_without_a_traceback(error, text):
    assert describe(error) == text


def test_a_long_error_is_cut_and_the_authors_own_text_much_later():
    assert describe(ValueError("x" * 10_000)) == f"ValueError: {'x' * (MAX_ERROR_CHARS - 12)}… ({10_012 - MAX_ERROR_CHARS} more characters)"
    assert describe(ToolError("x" * 10_000)) == "x" * 10_000
    assert describe(ToolError("x" * 1_000_000)) == f"{'x' * 100_000}… (900000 more characters)"


def test_half_a_surrogate_pair_in_an_error_does_no_harm():
    assert error_result(ToolCallPart(id="1", name="f"), "a\ud83d").text == "a\ufffd"
