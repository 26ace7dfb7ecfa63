"""Answers against questions: which fit, and what is said of those that do not."""

from __future__ import annotations

import pytest

from headrace.agent.approval import Answer, Approve, Deny, Pending
from headrace.agent.replies import checked_replies
from headrace.errors import StateError, UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.tool import tool


@tool
def act(n: int) -> list[str]:
    """Act."""
    return [str(n)]


def question(key="m/0", kind="approval", path=(), digest="d"):
    return Pending(kind, key, ToolCallPart(id="a", name="act", arguments={"n": 1}), digest, path=path)


def check(given, *pending, **options):
    return checked_replies(given, pending or (question(),), tool_of={"act": act}.get, **options)


def test_answers_come_back_in_the_order_in_which_they_were_given():
    given = [Deny("m/1", digest="d"), Approve("m/0", digest="d")]
    assert check(given, question(), question("m/1")) == tuple(given)
    assert check(iter(given), question(), question("m/1")) == tuple(given)
    assert check(Deny("m/0", digest="d")) == (Deny("m/0", digest="d"),)
    assert check([]) == ()


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        ("approval", [Approve, Deny], [Answer]),
        ("external", [Answer, Deny], [Approve]),
        ("in_doubt", [Approve, Deny], []),
    ],
)
def test_each_question_takes_the_answers_of_its_kind(kind, fits, does_not):
    for reply in fits:
        value = Answer("m/0", ["x"], digest="d") if reply is Answer else reply("m/0", digest="d")
        assert check([value], question(kind=kind)) == (value,)
    for reply in does_not:
        with pytest.raises(StateError, match=f"answers\\[0\\] is an? {reply.__name__}"):
            check([reply("m/0")], question(kind=kind))
    if kind == "in_doubt":
        assert check([Answer("m/0", ["x"])], question(kind=kind))


def test_an_answer_without_a_digest_is_bound_to_the_question_that_it_fits():
    assert check([Approve("m/0"), Deny("m/1")], question(digest="x"), question("m/1", digest="y")) == (
        Approve("m/0", digest="x"),
        Deny("m/1", digest="y"),
    )


def test_a_value_is_checked_unless_it_is_an_error_or_goes_to_the_tool_or_inside():
    with pytest.raises(UsageError, match=r"answers\[0\]: The answer does not fit what act returns"):
        check([Answer("m/0", 1)], question(kind="external"))
    assert check([Answer("m/0", "why", is_error=True)], question(kind="external"))
    assert check([Answer("m/0", 1)], question(kind="external"), suspended={"m/0"})
    assert check([Answer("m/0", 1)], question(kind="external", path=("o/0",)))


def test_each_answer_is_refused_with_its_own_words():
    with pytest.raises(StateError, match="'m/9' was answered before"):
        check([Approve("m/9")], answered=["m/9"])
    with pytest.raises(StateError, match="no call 'm/8' waits in this run; those that wait: 'm/0'"):
        check([Approve("m/8")])
    with pytest.raises(StateError, match="those that wait: none"):
        checked_replies([Approve("m/8")], (), tool_of={}.get)
    with pytest.raises(StateError, match="a second time"):
        check([Approve("m/0"), Approve("m/0")])
    with pytest.raises(StateError, match="its digest differs"):
        check([Approve("m/0", digest="e")])


@pytest.mark.parametrize("given", [None, 1, "m/0", b"", {"call_key": "m/0"}])
def test_what_is_no_list_of_answers_is_refused(given):
    with pytest.raises(UsageError, match="give a list of Approve, Deny and Answer"):
        check(given)


def test_answers_can_have_other_names_in_errors():
    with pytest.raises(StateError, match=r"^answers\[4\]: no call 'x' waits") as caught:
        check([Approve("x")], names=["answers[4]"])
    assert caught.value.argument == "answers[4]"
