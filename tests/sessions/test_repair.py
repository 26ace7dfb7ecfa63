"""What is loaded is a legal history, and what was done for that is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.codec import encode_message
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart, ToolResultPart
from headrace.sessions.repair import repaired
from legal_history import problems

ASKED = UserMessage("what is 1 + 2?", id="asked")
ONE = AssistantMessage([ToolCallPart(id="a", name="add")], id="one", run_id="r")
TWO = AssistantMessage([ToolCallPart(id="a", name="add"), ToolCallPart(id="b", name="multiply")], id="two")
DONE = AssistantMessage("3", id="done")


def result(call_id, text="3", **fields):
    return ToolResultPart(call_id=call_id, name="add", parts=(TextPart(text),), **fields)


def results(*call_ids, id="results"):  # noqa: A002 - the field's name
    return ToolMessage([result(call_id) for call_id in call_ids], id=id)


def load(*messages):
    return repaired([message if isinstance(message, bytes) else encode_message(message) for message in messages])


def kinds(loaded):
    return [(repair.kind, repair.row) for repair in loaded.repairs]


@pytest.mark.parametrize("history", [[], [ASKED], [ASKED, DONE], [ASKED, ONE, results("a"), DONE], [ASKED, TWO, results("a", "b"), DONE]])
def test_a_legal_history_comes_out_as_it_is(history):
    loaded = load(*history)
    assert loaded.messages == tuple(history)
    assert loaded.repairs == ()


@pytest.mark.parametrize(
    "row", [b"", b"{", b"null", b'{"role":"oracle"}', b'{"role":"user","parts":[{"type":"tool_call","name":"x"}]}', b"\xff"]
)
def test_what_cannot_be_read_is_left_out(row):
    loaded = load(ASKED, row, DONE)
    assert loaded.messages == (ASKED, DONE)
    assert kinds(loaded) == [("unreadable", 1)]


def test_a_call_without_a_result_gets_one():
    loaded = load(ASKED, TWO, results("b"), DONE)
    asked, called, answer, done = loaded.messages
    assert (asked, called, done) == (ASKED, TWO, DONE)
    assert [(one.call_id, one.state) for one in answer.results] == [("a", "interrupted"), ("b", "success")]
    assert answer.id == "results"
    assert kinds(loaded) == [("unanswered", 1)]


def test_calls_at_the_end_get_a_message_of_results():
    loaded = load(ASKED, TWO)
    assert [one.state for one in loaded.messages[2].results] == ["interrupted", "interrupted"]
    assert loaded.messages[2].created_at == TWO.created_at
    assert kinds(loaded) == [("unanswered", 1), ("unanswered", 1)]


def test_a_result_without_a_call_is_left_out():
    loaded = load(results("x", id="stray"), ASKED, ONE, ToolMessage([result("y"), result("a")], id="results"), DONE)
    assert [message.id for message in loaded.messages] == ["asked", "one", "results", "done"]
    assert [one.call_id for one in loaded.messages[2].results] == ["a"]
    assert kinds(loaded) == [("orphan_result", 0), ("orphan_result", 3)]


def test_a_second_result_is_left_out():
    loaded = load(ASKED, ONE, ToolMessage([result("a", "first"), result("a", "second")], id="results"), results("a", id="third"), DONE)
    assert loaded.messages[2].results == (result("a", "first"),)
    assert [message.id for message in loaded.messages] == ["asked", "one", "results", "done"]
    assert kinds(loaded) == [("orphan_result", 2), ("orphan_result", 3)]


def test_results_come_in_the_order_of_their_calls():
    loaded = load(ASKED, TWO, results("b", "a"), DONE)
    assert [one.call_id for one in loaded.messages[2].results] == ["a", "b"]
    assert kinds(loaded) == [("moved_result", 1)]


def test_results_in_several_messages_become_one():
    loaded = load(ASKED, TWO, results("a", id="first"), results("b", id="second"), DONE)
    assert [message.id for message in loaded.messages] == ["asked", "two", "first", "done"]
    assert [one.call_id for one in loaded.messages[2].results] == ["a", "b"]
    assert kinds(loaded) == [("moved_result", 1)]


def test_a_result_that_came_later_is_put_behind_its_call():
    more = UserMessage("still there?", id="more")
    loaded = load(ASKED, ONE, more, results("a"), DONE)
    assert [message.id for message in loaded.messages] == ["asked", "one", "one_results", "more", "done"]
    assert loaded.messages[2].results == (result("a"),)
    assert kinds(loaded) == [("moved_result", 1)]


def test_a_message_that_stands_there_twice_is_left_out_once():
    loaded = load(ASKED, DONE, ASKED, DONE)
    assert loaded.messages == (ASKED, DONE)
    assert kinds(loaded) == [("doubled", 2), ("doubled", 3)]


def test_every_message_has_an_id_of_its_own():
    other = UserMessage("more", id="asked")
    nameless = encode_message(UserMessage("no name", id="x")).replace(b'"id":"x",', b"")
    loaded = load(ASKED, DONE, other, other.replace(parts="even more"), nameless)
    assert [message.id for message in loaded.messages] == ["asked", "done", "asked_2", "asked_3", "row_4"]
    assert kinds(loaded) == [("renamed", 2), ("renamed", 3), ("renamed", 4)]
    assert "another message has the id 'asked'" in loaded.repairs[0].text


ids = st.sampled_from(["a", "b", "c"])
calls = st.lists(ids, min_size=1, max_size=3, unique=True).map(lambda names: [ToolCallPart(id=name, name="add") for name in names])
parts = st.lists(ids.map(result), min_size=1, max_size=3)
pieces = (
    st.builds(UserMessage, st.just("hello"), id=ids)
    | st.builds(AssistantMessage, calls, id=ids)
    | st.builds(AssistantMessage, st.just("hi"), id=ids)
    | st.builds(ToolMessage, parts, id=ids)
    | st.sampled_from([b"{", b'{"role":"oracle"}'])
)


@given(st.lists(pieces, max_size=8))
def test_whatever_was_kept_comes_out_legal_and_stays_so(history):
    loaded = load(*history)
    assert problems(loaded.messages) == []
    again = load(*loaded.messages)
    assert again.messages == loaded.messages
    assert again.repairs == ()
    assert load(*history) == loaded
    if not loaded.repairs:
        assert list(loaded.messages) == history


@given(st.lists(pieces, max_size=8))
def test_no_call_and_no_words_are_lost(history):
    loaded = load(*history)
    readable = [message for message in history if not isinstance(message, bytes)]
    kept = [message.replace(id=None) for message in loaded.messages if not isinstance(message, ToolMessage)]
    doubled = sum(repair.kind == "doubled" for repair in loaded.repairs)
    assert len(kept) + doubled >= sum(not isinstance(message, ToolMessage) for message in readable)
