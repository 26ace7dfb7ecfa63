"""Answers on the command line, for a run that waits."""

from __future__ import annotations

import pytest

from headrace.agent.approval import Pending, digest_of
from headrace.cli.answers import Answers, bare_words, how_to_answer, replies_of, waiting_lines
from headrace.errors import UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.tool import tool
from headrace.tools.toolset import Toolset


@tool
def delete(path: str) -> str:
    """Delete."""
    return path


@tool(external=True)
def sense(room: str) -> int:
    """Sense."""


TOOLS = Toolset([delete, sense])


def waiting(n, name="delete", kind="approval", arguments='{"path":"a"}'):
    call = ToolCallPart(id=f"c{n}", name=name, arguments=arguments)
    return Pending(kind, f"m/{n}", call, digest_of(f"m/{n}", call), f"{name} waits")


FIRST, SECOND = waiting(0), waiting(1)
OUTSIDE = waiting(2, "sense", "external", '{"room":"attic"}')
ALL = (FIRST, SECOND, OUTSIDE)


def replies(pending=ALL, **options):
    return replies_of(Answers(**options), pending, tool_of=TOOLS.get)


def test_a_call_is_named_by_its_key_or_its_number():
    assert replies(approve=("m/1",)) == replies(approve=("2",)) == [SECOND.approve()]


def test_all_means_every_call_that_takes_such_an_answer():
    assert replies(approve=("all",)) == [FIRST.approve(), SECOND.approve()]
    assert replies(reject=("all=not today",)) == [question.deny("not today") for question in ALL]


def test_different_answers_go_together():
    given = replies(approve=('1={"path":"b=c"}',), reject=("2=because",), answer=("3=21",))
    assert given == [FIRST.approve({"path": "b=c"}), SECOND.deny("because"), OUTSIDE.answer(21)]


def test_a_result_may_be_an_error():
    assert replies(answer=("3=!no sensor",)) == [OUTSIDE.answer("no sensor", is_error=True)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"approve": ("9",)}, r"--approve '9': no such call waits; those that do: 1 \(m/0\), 2 \(m/1\), 3 \(m/2\)"),
        ({"approve": ("1",), "reject": ("m/0",)}, "answered already"),
        ({"approve": ("all", "1")}, "answered already"),
        ({"answer": ("all=3",)}, "'all': no such call"),
        ({"answer": ("3",)}, "KEY=VALUE"),
        ({"answer": ("3=warm",)}, "--answer 3: The answer does not fit"),
        ({"answer": ("1=3",)}, "--answer 1: waits for approval: delete .*: give --approve KEY"),
        ({"approve": ("3",)}, "--approve 3: waits for a result from elsewhere: sense .*: give --answer KEY=VALUE"),
        ({"approve": ("1={}",)}, "--approve 1: delete: The arguments do not fit"),
        ({"approve": ("1=nothing",)}, "no JSON"),
    ],
)
def test_an_answer_that_does_not_fit_is_wrong_use(options, words):
    with pytest.raises(UsageError, match=words):
        replies(**options)


def test_answers_are_true_when_something_was_said():
    assert not Answers()
    assert Answers(reject=("1",))


def test_what_waits_is_listed_with_numbers_keys_and_reasons():
    assert waiting_lines((FIRST, OUTSIDE)) == [
        '1. waits for approval: delete {"path":"a"}',
        "   key m/0 · delete waits",
        '2. waits for a result from elsewhere: sense {"room":"attic"}',
        "   key m/2 · sense waits",
    ]


def test_what_can_be_answered_is_said_by_what_waits():
    assert how_to_answer((FIRST,)) == "--approve KEY (or all), --reject KEY=REASON"
    assert how_to_answer((OUTSIDE,)) == "--answer KEY=VALUE"
    assert how_to_answer(ALL) == "--approve KEY (or all), --reject KEY=REASON, --answer KEY=VALUE"


def test_the_place_of_an_answer_among_several_is_left_out():
    assert bare_words(UsageError("answers[0]: no")) == "no"
    assert bare_words(UsageError("something else")) == "something else"
