"""An answer goes to one question; nothing is taken for a yes that is none."""

from __future__ import annotations

import pytest

from headrace.agent.approval import Answer, Approve, Deny, Pending
from headrace.errors import StateError, UsageError
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.surfaces.answers import Questions
from headrace.surfaces.content import result

CALL = ToolCallPart(id="c1", name="pay", arguments={"euros": 3})


def pending(kind, key="m/0"):
    return Pending(kind, key, CALL, digest=f"digest of {key}")


def decided(kind, payload):
    questions = Questions([pending(kind)])
    questions.decide(questions.take("digest of m/0", "x"), payload, "x")
    (reply,) = questions.replies
    assert reply.digest == "digest of m/0"
    return reply


def test_decisions():
    assert decided("approval", True).arguments is None
    assert decided("approval", {"approved": True, "edited_args": {"euros": 1}}).arguments == {"euros": 1}
    assert decided("approval", {"approved": False, "reason": "no"}).reason == "no"
    assert decided("external", {"anything": 1}).value == {"anything": 1}
    assert [type(decided("in_doubt", payload)) for payload in (True, False, {"result": 1})] == [Approve, Deny, Answer]


@pytest.mark.parametrize("payload", [None, "true", 1, 0, [], {}, {"approved": None}, {"approved": True, "arguments": "x"}, {"result": 1}])
def test_what_is_unclear_is_refused(payload):
    with pytest.raises(UsageError):
        decided("approval", payload)


def test_a_question_is_answered_once():
    questions = Questions([pending("approval"), pending("external", "m/1")])
    questions.take("digest of m/0", "x")
    with pytest.raises(StateError):
        questions.take("digest of m/0", "x")
    assert questions.external("m/0") is None
    assert questions.external("m/1") is not None
    assert questions.external("m/1") is None
    assert questions.external("nowhere") is None


def test_results_find_their_calls_by_id_or_key():
    for name in ("c1", "m/0"):
        questions = Questions([pending("external")])
        questions.results([result("other", "", []), result(name, "", [TextPart("5")]), result(name, "", [TextPart("6")])])
        assert [reply.value for reply in questions.replies] == [5]
    questions = Questions([pending("external")])
    questions.results([result("c1", "", [TextPart("no page")], is_error=True)])
    assert (questions.replies[0].value, questions.replies[0].is_error) == ("no page", True)
