"""Items take turns: one call after the other, and nobody waits for a call that says nothing."""

from headrace.wire.openai_responses.turns import Turns


def test_others_wait_while_a_call_speaks_and_come_in_the_order_in_which_they_began():
    turns = Turns()
    turns.begin("a")
    turns.speak("a")
    assert turns.may_go("a")
    assert not turns.may_go("b")
    assert [turns.hold("b", 1), turns.hold("c", 2), turns.hold("b", 3)] == [True, True, False]
    assert (turns.next(), turns.is_waiting("b"), turns.is_waiting("a")) == ([], True, False)
    turns.end("c")  # it is not the one that speaks
    assert turns.next() == []
    turns.end("a")
    assert not turns.may_go("b"), "what waits comes first"
    assert [turns.next(), turns.next(), turns.next()] == [[1, 3], [2], []]
    assert turns.may_go("b")


def test_a_call_that_has_said_nothing_keeps_nobody_waiting():
    turns = Turns()
    turns.begin("a")
    assert turns.may_go("b")
    turns.begin("b")
    turns.speak("b")
    assert not turns.may_go("a")


def test_at_the_end_nobody_waits():
    turns = Turns()
    turns.begin("a")
    turns.speak("a")
    turns.hold("b", 1)
    assert (turns.next(is_forced=True), turns.next(is_forced=True)) == ([1], [])
