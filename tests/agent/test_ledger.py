"""The ledger: history and events are written together, by hand and without a model."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.agent import events
from headrace.agent.fold import fold
from headrace.agent.given import steering
from headrace.agent.ledger import Ledger
from headrace.agent.steps import Finish, Rules, RunTools
from headrace.errors import ConnectionLostError
from headrace.messages.deltas import Ended, FinishDelta, TextDelta, ToolCallFragment, UsageDelta
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import TextPart, ToolResultPart
from headrace.messages.usage import Usage

AT = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = UserMessage("go")


def ledger(**rules):
    made = Ledger("r", Rules(tools=("add",), **rules))
    made.at = AT
    made.begin((ASKED,))
    return made


def answer(book, *deltas, message_id="m"):
    """An answer comes and is whole."""
    book.start_round("model", message_id)
    book.blocks.feed((*deltas, FinishDelta("stop"), Ended(is_terminated=True)))
    return book.blocks.snapshot()


def call(call_id):
    return ToolCallFragment(id=call_id, name="add", arguments="{}")


def test_an_answer_gets_the_run_s_names_and_keeps_the_wire_s_id_beside_them():
    book = ledger()
    came = answer(book, TextDelta("hi"), UsageDelta(Usage(output_tokens=2))).replace(id="wire-1", metadata={"k": 1})
    book.end_answer(came, is_steered=False)
    assert book.last == book.messages[-1]
    assert (book.last.id, book.last.run_id, book.last.created_at, book.last.generate_reason) == ("m", "r", AT, "completed")
    assert book.last.metadata == {"k": 1, "response_id": "wire-1"}
    assert book.usage == Usage(output_tokens=2)
    assert book.has_answered
    assert book.round == 1
    assert fold(book.made) == tuple(book.messages)


def test_an_answer_with_other_parts_than_came_is_kept_as_it_came():
    book = ledger()
    answer(book, TextDelta("hi"))
    book.end_answer(AssistantMessage([TextPart("hi"), TextPart("more")], finish_reason="stop"), is_steered=False)
    assert book.last.parts == (TextPart("hi"),)
    assert fold(book.made) == tuple(book.messages)


def test_words_that_wait_make_an_answer_not_final_unless_the_run_ends_anyway():
    book = ledger()
    book.end_answer(answer(book, TextDelta("hi")), is_steered=True)
    assert not book.has_answered
    book = ledger(max_rounds=1)
    book.end_answer(answer(book, call("a")), is_steered=False)
    book.close_calls()
    book.end_answer(answer(book, TextDelta("hi"), message_id="m2"), is_steered=True)
    assert book.has_answered


def test_results_are_kept_in_the_order_of_the_calls_and_missing_ones_are_made():
    book = ledger()
    book.end_answer(answer(book, call("a"), call("b"), call("c"), ToolCallFragment(id="d", name="nope", arguments="{}")), is_steered=False)
    book.tool_started(2)
    book.tool_output(2, TextPart("x"))
    book.tool_ended(2, ToolResultPart(call_id="c", parts="done"))
    book.tool_started(0)
    book.close_calls()
    results = book.messages[-1].results
    assert [(result.call_id, result.state) for result in results] == [
        *(("a", "interrupted"), ("b", "interrupted"), ("c", "success"), ("d", "error"))
    ]
    assert "while it ran" in results[0].text
    assert "before it was run" in results[1].text
    assert fold(book.made) == tuple(book.messages)
    assert not isinstance(book.loop.next, RunTools)
    before = list(book.messages)
    book.close_calls()
    assert book.messages == before


def test_an_answer_that_broke_off_is_marked_and_of_nothing_nothing_is_kept():
    book = ledger()
    book.start_round("model", "m")
    book.blocks.feed((TextDelta("half"),))
    book.break_off(book.blocks.snapshot(), "error", ConnectionLostError("gone"))
    assert book.last.metadata["error"] == {"kind": "connection_lost", "message": "gone"}
    assert book.last.generate_reason == "error"
    book = ledger()
    book.start_round("model", "m")
    book.break_off(AssistantMessage.assemble(usage=Usage(input_tokens=3)), "interrupted")
    assert book.messages == [ASKED]
    assert book.last is None
    assert book.usage == Usage(input_tokens=3)


def test_a_forced_answer_that_broke_off_is_judged_by_the_loop_and_kept_even_if_empty():
    book = ledger(max_rounds=1)
    book.end_answer(answer(book, call("a")), is_steered=False)
    book.close_calls()
    book.start_round("model", "m2")
    book.break_off(book.blocks.snapshot(), None, ConnectionLostError("gone"))
    assert book.loop.next == Finish("max_rounds")
    assert book.last.generate_reason == "max_rounds"
    assert [event.which for event in book.made if isinstance(event, events.LimitReached)] == ["rounds"]


def test_words_that_steer_become_a_message_and_a_message_stays():
    assert steering(ASKED, lambda: "x", AT) is ASKED
    made = steering("now", lambda: "x", AT)
    assert (made.text, made.id, made.created_at) == ("now", "x", AT)
