"""The calls of a round that have no result in the history yet."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.agent.approval import Approve, Pending
from headrace.agent.open_calls import OpenCalls
from headrace.agent.run_state import Waiting
from headrace.messages.parts import ToolCallPart, ToolResultPart

AT = datetime(2026, 1, 1, tzinfo=UTC)


def question(call_key):
    return Pending("approval", call_key, ToolCallPart(id="c", name="pay", arguments={}), "d")


def test_only_new_questions_of_a_call_that_waits_again_are_asked():
    calls = OpenCalls()
    one, two = question("m/0/a"), question("m/0/b")
    assert calls.wait(0, Waiting((one,), is_suspended=True)) == (one,)
    assert calls.wait(0, Waiting((one, two), is_suspended=True)) == (two,)
    calls.go_on(0)
    assert calls.pending == ()
    assert calls.wait(0, Waiting((two,), is_suspended=True)) == ()


def test_questions_stand_in_the_order_of_the_calls():
    calls = OpenCalls()
    for place in (2, 0):
        calls.wait(place, Waiting((question(f"m/{place}"),)))
    assert [pending.call_key for pending in calls.pending] == ["m/0", "m/2"]


def test_the_yes_that_let_a_call_start_stays_and_answers_to_what_it_asked_are_handed_on_once():
    calls = OpenCalls()
    yes = Approve("m/0")
    calls.replies.append(yes)
    calls.start(0, "m/0")
    assert calls.started == {0: 1}
    calls.wait(0, Waiting((question("m/0"), question("n/0")), is_suspended=True))
    assert calls.is_under_way(0)
    answers = [Approve("n/0"), Approve("m/0")]
    calls.replies += answers
    assert calls.take_replies(0, "m/0", ["m/0", "n/0"]) == tuple(answers)
    assert calls.take_replies(0, "m/0", ["m/0", "n/0"]) == ()
    assert calls.replies == [yes]


def test_a_result_ends_what_waits():
    calls = OpenCalls()
    calls.wait(0, Waiting((question("m/0"),)))
    assert not calls.is_under_way(0)
    calls.end(0, ToolResultPart(call_id="c", name="pay", parts=()), AT)
    assert calls.is_under_way(0)
    assert (calls.pending, calls.results_at) == ((), AT)
