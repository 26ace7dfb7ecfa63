"""Calls leave one after the other, however they came, and a name leaves whole where it is known what it may be."""

from __future__ import annotations

import pytest

from answers_out import HEAD, chunk, ended, events
from headrace.messages.deltas import ToolCallFragment
from headrace.wire.openai_chat.stream_out import StreamOut
from headrace.wire.server_side import AnswerOptions


def fragment(index, arguments=None, call_id=None, name=None, kind=None):
    return chunk(ToolCallFragment(call_id, name, arguments, index, kind))


def sent(*chunks, tools=None):
    """What leaves of calls for each chunk and at the end: index, name, arguments."""
    out = StreamOut(HEAD, AnswerOptions(tool_names=tools))
    return [said(piece) for piece in [*(out.feed(item) for item in chunks), out.feed(ended("tool_calls")) + out.close()]]


def said(piece):
    several = [event for event in events(piece) if event != "[DONE]"]
    items = [item for event in several for choice in event["choices"] for item in choice["delta"].get("tool_calls", ())]
    return [
        (item["index"], body.get("name", ""), body.get("arguments", body.get("input", "")))
        for item in items
        for body in [item[item.get("type") or ("custom" if "custom" in item else "function")]]
    ]


def test_what_comes_of_another_call_waits_until_the_first_has_ended():
    assert sent(
        fragment(1, '{"x":', "b", "g"), fragment(0, '{"y":', "a", "f"), fragment(0, "2"), fragment(1, "1}"), fragment(0, "}")
    ) == [[(0, "g", '{"x":')], [], [], [(0, "", "1}"), (1, "f", '{"y":2')], [(1, "", "}")], []]  # fmt: skip


def test_a_call_without_arguments_keeps_nobody_waiting_that_has_some():
    assert sent(fragment(0, "", "a", "f"), fragment(1, "", "b", "g"), fragment(1, "{"), fragment(1, "}")) == [
        [(0, "f", "")], [], [(1, "g", "{")], [(1, "", "}")], [(0, "", "{}")],
    ]  # fmt: skip


def test_a_call_that_never_ends_keeps_the_others_until_the_answer_has_ended():
    assert sent(fragment(0, '{"x":', "a", "f"), fragment(1, "{}", "b", "g"), fragment(2, "{}", "c", "h"))[:3] == [
        [(0, "f", '{"x":')],
        [],
        [],
    ]
    assert sent(fragment(0, '{"x":', "a", "f"), fragment(1, "{ }", "b", "g"))[-1] == [(1, "g", "{ }")]


def test_nobody_waits_for_free_text():
    assert sent(fragment(0, "ls", "a", "sh", "custom"), fragment(1, "{ }", "b", "g")) == [[(0, "sh", "ls")], [(1, "g", "{ }")], []]


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        ({"get_time"}, [[], [(0, "get_time", "{ }")], []]),  # the first piece is no tool's name, so more of it is to come
        ({"get_", "get_time"}, [[], [(0, "get_time", "{ }")], []]),  # it may be one, and may not
        (set(), [[], [(0, "get_time", "{ }")], []]),
        (None, [[(0, "get_", "")], [(0, "time", "{ }")], []]),
    ],
)
def test_a_name_that_may_grow_waits_for_the_arguments(tools, wanted):
    got = sent(fragment(0, None, "a", "get_"), fragment(0, "{ }", None, "time"), tools=None if tools is None else frozenset(tools))
    assert [[item for item in items if item != (0, "", "")] for items in got] == wanted


def test_a_name_of_a_declared_tool_goes_at_once():
    assert sent(fragment(0, "", "a", "f"), fragment(0, "{ }"), tools=frozenset({"f", "g"})) == [[(0, "f", "")], [(0, "", "{ }")], []]
