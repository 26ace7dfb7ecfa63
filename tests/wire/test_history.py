import pytest

from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import OpaquePart, ToolCallPart, ToolResultPart
from headrace.wire.history import pair
from headrace.wire.profile import DEFAULT, Profile

NINE = Profile(call_id_pattern="[A-Za-z0-9]{9}", call_id_length=9)


def call(id_, name="f"):
    return ToolCallPart(id=id_, name=name)


def said(*calls):
    return AssistantMessage(list(calls))


def result(id_, text, name=""):
    return ToolResultPart(call_id=id_, name=name, parts=text)


def seen(history):
    """The history as (role, [(wire id, result text or None)])."""
    return [(turn.message.role, [(one.wire_id, one.result and one.result.text) for one in turn.calls]) for turn in history.turns]


def test_calls_get_their_results_in_the_order_of_the_calls():
    history = pair(
        [SystemMessage("s"), UserMessage("u"), said(call("a"), call("b")), ToolMessage([result("b", "2"), result("a", "1")])], DEFAULT
    )
    assert seen(history) == [("system", []), ("user", []), ("assistant", [("a", "1"), ("b", "2")])]
    assert history.strays == ()


def test_a_call_without_a_result_says_so():
    assert seen(pair([said(call("a"))], DEFAULT)) == [("assistant", [("a", None)])]


def test_a_result_that_comes_after_the_user_spoke_on_moves_to_its_call():
    history = pair([said(call("a")), UserMessage("still there?"), ToolMessage("1", call_id="a")], DEFAULT)
    assert seen(history) == [("assistant", [("a", "1")]), ("user", [])]


def test_results_without_a_call_and_second_results_are_strays():
    history = pair(
        [ToolMessage("0", call_id="a"), said(call("a")), ToolMessage([result("a", "1"), result("a", "2"), OpaquePart({"type": "x"})])],
        DEFAULT,
    )
    assert seen(history) == [("assistant", [("a", "1")])]
    assert [(stray.index, stray.part) for stray in history.strays] == [(0, 0), (2, 1), (2, 2)]
    assert "nobody made" in history.strays[0].why
    assert "further result" in history.strays[1].why


def test_an_id_that_comes_again_in_a_later_turn_is_renamed_with_its_result():
    history = pair([said(call("a")), ToolMessage("1", call_id="a"), said(call("a")), ToolMessage("2", call_id="a")], DEFAULT)
    assert seen(history) == [("assistant", [("a", "1")]), ("assistant", [("a_2", "2")])]


def test_a_result_belongs_to_the_latest_turn_with_its_id():
    history = pair([said(call("a")), said(call("a")), ToolMessage([result("a", "1"), result("a", "2")])], DEFAULT)
    assert seen(history) == [("assistant", [("a", None)]), ("assistant", [("a_2", "1")])]
    assert len(history.strays) == 1


def test_equal_ids_in_one_message_pair_by_name_and_then_by_order():
    calls = said(call("a", "f"), call("a", "g"), call("a", "f"))
    history = pair([calls, ToolMessage([result("a", "of g", "g"), result("a", "first f"), result("a", "second f", "f")])], DEFAULT)
    assert seen(history) == [("assistant", [("a", "first f"), ("a_2", "of g"), ("a_3", "second f")])]


def test_a_made_up_id_never_meets_one_that_is_there():
    history = pair([said(call("a"), call("a_2"), call("a"), call("a_2"))], DEFAULT)
    ids = [one.wire_id for one in history.turns[0].calls]
    assert ids == ["a", "a_2", "a_3", "a_2_2"]


def test_calls_without_an_id_get_one():
    history = pair([said(call(""), call("")), ToolMessage([result("", "1"), result("", "2")])], DEFAULT)
    assert seen(history) == [("assistant", [("call", "1"), ("call_2", "2")])]


def test_an_id_that_the_server_would_refuse_becomes_one_that_fits_the_same_each_time():
    messages = [said(call("call_0123456789"), call("abc123DEF")), ToolMessage("1", call_id="call_0123456789")]
    first, second = pair(messages, NINE), pair([*messages, UserMessage("more")], NINE)
    ids = [one.wire_id for one in first.turns[0].calls]
    assert ids[1] == "abc123DEF"
    assert NINE.fits_call_id(ids[0])
    assert [one.wire_id for one in second.turns[0].calls] == ids
    assert first.turns[0].calls[0].result.text == "1"


def test_repeated_ids_that_do_not_fit_become_different_ones():
    history = pair([said(*[call("functions.f:0") for _ in range(50)])], NINE)
    ids = [one.wire_id for one in history.turns[0].calls]
    assert len(set(ids)) == 50
    assert all(map(NINE.fits_call_id, ids))


@pytest.mark.parametrize("names", [["f"] * 20_000, [f"f{n}" for n in range(20_000)]])
def test_very_many_calls_of_one_id_are_paired_in_one_pass(names):
    calls = said(*[call("a", name) for name in names])
    results = ToolMessage([result("a", str(n), name) for n, name in enumerate(names)])
    paired = pair([calls, results], DEFAULT).turns[0].calls
    assert [one.result.text for one in paired] == [str(n) for n in range(20_000)]
