"""The gate, as a pure function: what is done with a call, by what everybody says of it."""

from __future__ import annotations

import pytest

from headrace.agent.approval import Answer, Approve, Deny, digest_of
from headrace.agent.gate import Answered, Go, Refused, Waits, decide
from headrace.agent.hooks import Ask, Veto
from headrace.agent.permission.judging import Permissions
from headrace.agent.steps import PlannedCall
from headrace.messages.parts import TextPart, ToolCallPart, ToolResultPart
from headrace.tools.options import Check
from headrace.tools.tool import Tool

CALL = ToolCallPart(id="a", name="act", arguments={"what": "x"}, runnable=True)
PLANNED = PlannedCall(0, CALL)
KEY = "m/0"


def make(**options):
    return Tool(name="act", function=lambda what: what, parameters={"type": "object"}, **options)


def gate(*replies, permissions=None, started_after=None, hook=None, **options):
    return decide(
        PLANNED, make(**options), KEY, permissions or Permissions(), run_id="r", replies=replies, started_after=started_after, hook=hook
    )


def text_of(decision):
    assert isinstance(decision, Refused)
    return decision.result.parts[0].text


def test_a_call_that_nobody_has_anything_against_goes():
    assert gate() == Go(PLANNED)


def test_a_tool_that_needs_approval_waits_and_a_yes_lets_it_go():
    waits = gate(needs_approval=True)
    assert isinstance(waits, Waits)
    assert (waits.pending.kind, waits.pending.call, waits.pending.call_key) == ("approval", CALL, KEY)
    assert waits.pending.digest == digest_of(KEY, CALL, run_id="r")
    assert gate(waits.pending.approve(), needs_approval=True) == Go(PLANNED)
    assert gate(waits.pending.approve({"what": "y"}), needs_approval=True) == Go(PLANNED, {"what": "y"})


def test_a_no_stands_above_all_else():
    assert text_of(gate(Deny(KEY, "no"), permissions=Permissions("bypass"))) == "A person denied this call. Reason: no"
    assert text_of(gate(Deny(KEY))) == "A person denied this call."
    assert gate(Deny(KEY)).result.metadata == {"denied_by": "person"}
    assert text_of(gate(Approve(KEY), Deny(KEY), external=True, needs_approval=True)) == "A person denied this call."


def test_a_yes_does_not_clear_a_deny_rule():
    permissions = Permissions().with_rules("deny act(what=y)")
    decision = gate(Approve(KEY, {"what": "y"}), permissions=permissions, needs_approval=True)
    assert "denied by rule" in text_of(decision)
    assert decision.result.state == "denied"
    assert decision.result.metadata == {"denied_by": "rule"}


def test_a_check_is_asked_about_edited_arguments():
    def check(arguments):
        return Check("deny", "never y") if arguments["what"] == "y" else Check("ask")

    assert "never y" in text_of(gate(Approve(KEY, {"what": "y"}), check=check))
    assert gate(Approve(KEY), check=check) == Go(PLANNED)
    assert isinstance(gate(check=check), Waits)


def test_an_external_call_waits_for_its_value():
    waits = gate(external=True)
    assert (waits.pending.kind, waits.pending.call) == ("external", CALL)
    answer = waits.pending.answer({"n": 1})
    assert gate(answer, external=True) == Answered(PLANNED, answer)


def test_an_external_call_that_needs_approval_asks_two_questions_that_differ():
    first = gate(external=True, needs_approval=True).pending
    second = gate(first.approve(), external=True, needs_approval=True).pending
    assert (first.kind, second.kind) == ("approval", "external")
    assert first.digest != second.digest
    edited = gate(first.approve({"what": "y"}), external=True, needs_approval=True).pending
    assert edited.call.parsed == {"what": "y"}
    answer = edited.answer(1)
    assert gate(first.approve({"what": "y"}), answer, external=True, needs_approval=True) == Answered(PLANNED, answer, {"what": "y"})


# ---------------------------------------------------------------------------------------------- in doubt


def test_a_call_that_may_have_run_is_in_doubt_unless_its_tool_is_idempotent():
    waits = gate(started_after=0)
    assert waits.pending.kind == "in_doubt"
    assert "may have had its effect" in waits.pending.reason
    assert gate(started_after=0, idempotent=True) == Go(PLANNED)


def test_a_yes_from_before_it_started_does_not_let_it_run_again():
    before = Approve(KEY, {"what": "y"})
    waits = gate(before, started_after=1, needs_approval=True)
    assert waits.pending.kind == "in_doubt"
    assert gate(before, waits.pending.approve(), started_after=1, needs_approval=True) == Go(PLANNED, {"what": "y"})
    again = gate(before, waits.pending.approve(), started_after=2, needs_approval=True)
    assert again.pending.kind == "in_doubt"
    assert again.pending.digest != waits.pending.digest


def test_a_call_in_doubt_can_be_answered_or_given_up():
    answer = Answer(KEY, "it had run")
    assert gate(answer, started_after=0) == Answered(PLANNED, answer)
    given_up = gate(Deny(KEY, "leave it"), started_after=0)
    assert given_up.result.state == "in_doubt"
    assert text_of(given_up) == "It is not known whether this call had an effect; it was given up. leave it"


@pytest.mark.parametrize("mode", ["bypass", "default"])
def test_no_mode_and_no_rule_clears_a_doubt(mode):
    assert gate(started_after=0, permissions=Permissions(mode).with_rules("allow act")).pending.kind == "in_doubt"


# ---------------------------------------------------------------------------------------------- hooks


def test_hooks_give_results_vetoes_and_other_arguments():
    result = ToolResultPart(call_id="a", name="act", parts=(TextPart("cached"),))
    assert gate(hook=result) == Refused(PLANNED, result)
    assert text_of(gate(hook=Veto("not today"))) == "Not allowed: not today"
    assert gate(hook={"what": "z"}) == Go(PLANNED, {"what": "z"})


def test_a_persons_arguments_win_over_a_hooks_and_both_are_judged():
    assert gate(Approve(KEY, {"what": "y"}), hook={"what": "z"}, needs_approval=True) == Go(PLANNED, {"what": "y"})
    assert "denied by rule" in text_of(gate(hook={"what": "z"}, permissions=Permissions().with_rules("deny act(what=z)")))


def test_a_hook_can_have_a_person_asked_and_no_rule_clears_that():
    waits = gate(hook=Ask("look at it"), permissions=Permissions("bypass").with_rules("allow act"))
    assert (waits.pending.kind, waits.pending.reason, waits.pending.suggestions) == ("approval", "look at it", ())
    assert gate(waits.pending.approve(), hook=Ask("look at it")) == Go(PLANNED)
    assert "denied by rule" in text_of(gate(hook=Ask("look"), permissions=Permissions().with_rules("deny act")))


def test_a_yes_is_to_what_was_shown_and_not_to_what_a_hook_makes_of_the_call_later():
    waits = gate(hook={"what": "y"}, needs_approval=True)
    assert waits.pending.call.parsed == {"what": "y"}
    yes = waits.pending.approve()
    assert gate(yes, hook={"what": "y"}, needs_approval=True) == Go(PLANNED, {"what": "y"})
    again = gate(yes, hook={"what": "z"}, needs_approval=True)
    assert again.pending.call.parsed == {"what": "z"}
    assert again.pending.digest != waits.pending.digest
    assert gate(yes, again.pending.approve(), hook={"what": "z"}, needs_approval=True) == Go(PLANNED, {"what": "z"})


def test_what_was_answered_counts_even_if_a_hook_would_veto_it_now():
    answer = Answer(KEY, 1)
    assert gate(answer, hook=Veto("late"), external=True) == Answered(PLANNED, answer)
