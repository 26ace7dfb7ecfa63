"""What is sent of a run: without bounds nothing is counted; with them the view is caught up, goes on elsewhere, and survives other places."""

from __future__ import annotations

import json

import pytest

from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.reminders import ReminderRules
from headrace.agent.sending import Sending
from headrace.messages.message import AssistantMessage, SystemMessage
from headrace.messages.request import ToolSpec
from headrace.messages.usage import Usage
from talks import answer, not_sendable, text, tool_round, user

SYSTEM = SystemMessage("Be brief.", id="s")
SMALL = ContextPolicy(max_tokens=1_000, summarize=False)
RULES = ReminderRules(limits_at=None, silence_s=None)
TALK = [message for n in range(12) for message in (user(n, 60), answer(n, 60))]


def sending_of(policy=SMALL, before=(), rules=RULES, tools=()):
    return Sending(policy, rules, tools, before)


def window(sending):
    plan = sending.plan()
    assert plan is not None
    return sending.compact(plan, None)


def test_without_bounds_everything_is_sent_and_no_state_is_kept_of_it():
    sending = sending_of(ContextPolicy(), [SYSTEM, *TALK])
    last = user(20)
    sending.catch_up([last])
    assert sending.messages == (SYSTEM, *TALK, last)
    assert not sending.needs_compaction
    assert sending.plan() is None
    assert "view" not in sending_of(ContextPolicy()).state


def test_what_the_run_adds_is_taken_once():
    sending = sending_of(ContextPolicy())
    added = [user(1)]
    sending.catch_up(added)
    sending.catch_up(added)
    added += tool_round(2, 5)
    sending.catch_up(added)
    assert sending.messages == tuple(added)


def test_the_estimate_learns_from_each_answer_before_it_is_appended():
    policy = ContextPolicy(max_tokens=3_000, summarize=False)
    sending = sending_of(policy, TALK)
    assert not sending.needs_compaction
    sending.catch_up([user(50), AssistantMessage("Yes.", id="a50", usage=Usage(input_tokens=2_900, output_tokens=2))])
    assert sending.needs_compaction


def test_tools_that_come_later_count():
    sending = sending_of(before=TALK[:6])
    assert not sending.needs_compaction
    heavy = (ToolSpec(name="look", description=text(800)),)
    sending.offered(heavy)
    assert sending.needs_compaction
    sending.offered(())
    assert not sending.needs_compaction


def test_tools_that_come_later_count_in_a_view_that_is_made_for_a_recovery():
    sending = sending_of(ContextPolicy(summarize=False), TALK)
    sending.offered((ToolSpec(name="look", description=text(800)),))
    plan = sending.plan(is_recovery=True)
    done = sending.compact(plan, None)
    assert done.tokens_before > 2_000
    assert not not_sendable(sending.messages)


def test_it_goes_on_elsewhere_with_the_same_view():
    added = [user(30), *tool_round(31, 20)]
    sending = sending_of(before=[SYSTEM, *TALK])
    sending.catch_up(added)
    window(sending)
    state = json.loads(json.dumps(sending.state))
    again = sending_of(before=[SYSTEM, *TALK])
    again.restore(state, added)
    assert again.messages == sending.messages
    assert again.state == sending.state
    more = [*added, answer(32), user(33)]
    sending.catch_up(more)
    again.catch_up(more)
    assert again.messages == sending.messages


@pytest.mark.parametrize("was", [(), (SYSTEM,)], ids=["instructions are new", "instructions are gone"])
def test_where_the_places_have_changed_the_view_is_made_anew(was):
    is_now = () if was else (SYSTEM,)
    added = [user(30), *tool_round(31, 20)]
    sending = sending_of(before=[*was, *TALK])
    sending.catch_up(added)
    window(sending)
    again = sending_of(before=[*is_now, *TALK])
    again.restore(json.loads(json.dumps(sending.state)), added)
    assert again.messages == (*is_now, *TALK, *added)
    assert again.needs_compaction


def test_a_state_of_an_agent_that_had_no_bounds_is_taken_by_one_that_has():
    added = [user(30)]
    sending = sending_of(ContextPolicy(), TALK)
    sending.catch_up(added)
    again = sending_of(before=TALK)
    again.restore(json.loads(json.dumps(sending.state)), added)
    assert again.messages == (*TALK, *added)
    assert again.needs_compaction


def test_the_next_run_leaves_out_what_the_run_before_did():
    sending = sending_of(before=[SYSTEM, *TALK])
    assert sending.kept_view is None
    window(sending)
    more = [user(40), answer(41)]
    sending.catch_up(more)
    again = Sending(ContextPolicy(), RULES, (), [SYSTEM, *TALK, *more], view=sending.kept_view)
    assert again.messages == sending.messages


@pytest.mark.parametrize(
    "before", [TALK[2:], [SYSTEM, *TALK], [*TALK[:4], *TALK[6:]], []], ids=["cut", "with instructions", "a hole", "empty"]
)
def test_of_a_conversation_that_has_changed_everything_is_sent(before):
    sending = sending_of(before=TALK)
    window(sending)
    assert Sending(ContextPolicy(), RULES, (), before, view=sending.kept_view).messages == tuple(before)
