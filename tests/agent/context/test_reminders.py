"""Reminders are due once an occasion, and say what happened."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.context.reminders import ReminderRules, Reminders
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart, ToolResultPart
from talks import talks

T0 = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


def at(minutes):
    return T0 + timedelta(minutes=minutes)


def feed_round(reminders, *calls, **fields):
    """A round of calls, each given as (name, arguments, state)."""
    parts = [ToolCallPart(id=f"c{n}", name=name, arguments=arguments) for n, (name, arguments, _) in enumerate(calls)]
    reminders.feed(AssistantMessage(parts, **fields))
    reminders.feed(ToolMessage([ToolResultPart(call_id=f"c{n}", name=call[0], state=call[2]) for n, call in enumerate(calls)], **fields))


FAILS = ("add", {"a": 1, "b": 2}, "error")


def kinds(reminders, **values):
    return [reminder.kind for reminder in reminders.due(**values)]


def test_a_call_that_fails_three_times_in_a_row_is_told_and_again_at_six():
    reminders, told = Reminders(), []
    for n in range(1, 8):
        feed_round(reminders, FAILS)
        told += [(n, reminder.text) for reminder in reminders.due()]
        assert reminders.due() == ()
    assert [n for n, _ in told] == [3, 6]
    assert "add" in told[0][1]
    assert "3 times in a row" in told[0][1]


def test_the_same_arguments_in_another_order_are_the_same_call():
    reminders = Reminders()
    for arguments in ('{"a":1,"b":2}', '{"b": 2, "a": 1}', {"a": 1, "b": 2}):
        feed_round(reminders, ("add", arguments, "error"))
    assert kinds(reminders) == ["repeated_failing_call"]


@pytest.mark.parametrize(
    "between",
    [
        ("add", {"a": 1, "b": 2}, "success"),
        ("add", {"a": 9, "b": 2}, "error"),
        ("look", {"a": 1, "b": 2}, "error"),
        ("edit", {}, "success"),
    ],
)
def test_another_call_or_a_success_between_ends_the_row(between):
    reminders = Reminders()
    for call in (FAILS, FAILS, between, FAILS, FAILS):
        feed_round(reminders, call)
    assert kinds(reminders) == []


def test_other_calls_of_the_same_round_do_not_end_the_row_and_equal_calls_count_each():
    reminders = Reminders()
    feed_round(reminders, FAILS, ("look", {}, "success"))
    feed_round(reminders, FAILS, FAILS)
    assert kinds(reminders) == ["repeated_failing_call"]


@pytest.mark.parametrize(("state", "counts"), [("timed_out", True), ("denied", False), ("interrupted", False), ("not_run", False)])
def test_what_a_person_or_a_limit_stopped_is_no_failure(state, counts):
    reminders = Reminders()
    for _ in range(3):
        feed_round(reminders, ("add", {}, state))
    assert bool(kinds(reminders)) is counts


def test_arguments_that_are_no_json_are_compared_as_text():
    reminders = Reminders()
    for _ in range(3):
        feed_round(reminders, ("add", "{", "error"))
    assert kinds(reminders) == ["repeated_failing_call"]


def test_the_time_is_told_once_after_a_long_silence():
    reminders = Reminders()
    reminders.feed(UserMessage("hello", created_at=at(0)))
    reminders.feed(AssistantMessage("hi", created_at=at(1)))
    reminders.feed(UserMessage("and now?", created_at=at(66)))
    (reminder,) = reminders.due(now=at(66))
    assert reminder.kind == "time"
    assert reminder.text == "It is now 2026-05-01 10:06 UTC; 1 h 5 min have passed since the message before."
    assert kinds(reminders, now=at(66)) == []
    assert kinds(reminders, now=at(97)) == ["time"]


def test_a_silence_that_the_model_has_answered_after_is_over():
    reminders = Reminders()
    for message in (UserMessage("a", created_at=at(0)), UserMessage("b", created_at=at(90)), AssistantMessage("c", created_at=at(91))):
        reminders.feed(message)
    assert kinds(reminders, now=at(92)) == []


@pytest.mark.parametrize(("minutes", "said"), [(29, 0), (30, 0), (31, 1)])
def test_a_tool_that_took_long_counts_as_silence(minutes, said):
    reminders = Reminders()
    reminders.feed(UserMessage("a", created_at=at(0)))
    assert len(reminders.due(now=at(minutes))) == said


def test_without_times_nothing_is_said_of_them():
    reminders = Reminders()
    reminders.feed(UserMessage.assemble(()))
    assert kinds(reminders, now=at(0)) == []
    assert kinds(reminders) == []


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        ({"rounds": (24, 25)}, "one round"),
        ({"rounds": (23, 25)}, None),
        ({"rounds": (25, 25)}, None),
        ({"rounds": (0, 1)}, None),
        ({"rounds": (99, None)}, None),
        ({"rounds": (5, 0)}, None),
        ({"tokens": (80, 100)}, "80 of 100 tokens"),
        ({"tokens": (79, 100)}, None),
        ({"cost_usd": (0.9, 1.0)}, "0.9 of 1 US dollars"),
        ({"time_s": (100, 100)}, None),
        ({"tool_calls": (9, 10)}, "9 of 10 tool calls"),
        ({"pages": (9, 10)}, "9 of 10 pages"),
    ],
)
def test_a_limit_that_is_near_is_told_once(spent, said):
    reminders = Reminders()
    found = reminders.due(spent=spent)
    assert [reminder.kind for reminder in found] == (["limits_near"] if said else [])
    assert said is None or said in found[0].text
    assert reminders.due(spent=spent) == ()


def test_two_limits_are_told_in_one_message():
    (reminder,) = Reminders().due(spent={"tokens": (90, 100), "time_s": (9, 10)})
    assert "90 of 100 tokens are used up, 9 of 10 seconds are used up" in reminder.text


def test_what_is_switched_off_is_not_told():
    reminders = Reminders(ReminderRules(failures=None, silence_s=None, limits_at=None))
    reminders.feed(UserMessage("a", created_at=at(0)))
    for _ in range(3):
        feed_round(reminders, FAILS, created_at=at(0))
    assert reminders.due(now=at(500), spent={"tokens": (99, 100), "rounds": (24, 25)}) == ()


def test_a_reminder_is_a_message_of_the_framework():
    (reminder,) = Reminders().due(spent={"tokens": (90, 100)})
    message = reminder.message(new_id="x", now=at(0))
    assert (message.origin, message.reminder_kind, message.id, message.created_at) == ("framework", "limits_near", "x", at(0))
    assert message.text == reminder.text


def test_what_was_told_is_not_told_again_elsewhere():
    history, reminders = [], Reminders()
    for _ in range(3):
        history += [
            AssistantMessage([ToolCallPart(id="c", name="add", arguments={})]),
            ToolMessage([ToolResultPart(call_id="c", name="add", state="error")]),
        ]
    for message in history:
        reminders.feed(message)
    spent = {"tokens": (90, 100)}
    assert len(reminders.due(spent=spent)) == 2
    again = Reminders.from_state(json.loads(json.dumps(reminders.state)), history)
    assert again.due(spent=spent) == ()
    assert again.state == reminders.state
    assert len(Reminders.from_state({}, history).due(spent=spent)) == 2


def test_what_the_user_says_ends_the_row_of_failures():
    call = AssistantMessage([ToolCallPart(id="c", name="open", arguments={"door": 2})])
    locked = ToolMessage("it is locked", call_id="c", name="open", state="error")
    reminders = Reminders()
    for message in (call, locked, call, locked, call, locked, AssistantMessage("I cannot."), UserMessage("I unlocked it, try again.")):
        reminders.feed(message)
    assert reminders.due() == ()
    for message in (call, locked, call, locked):
        reminders.feed(message)
    assert reminders.due() == ()
    reminders.feed(call)
    reminders.feed(locked)
    assert [reminder.kind for reminder in reminders.due()] == ["repeated_failing_call"]


def test_a_silence_before_an_answer_is_not_told_after_it_when_the_run_goes_on_elsewhere():
    start = datetime(2026, 3, 1, 10, tzinfo=UTC)
    asked = UserMessage("go on", created_at=start)
    now = start + timedelta(hours=2)
    reminders = Reminders()
    reminders.feed(asked)
    assert [reminder.kind for reminder in reminders.due(now=now)] == ["time"]
    answered = AssistantMessage("working", created_at=now)
    reminders.feed(answered)
    assert reminders.due(now=now) == ()
    assert Reminders.from_state(reminders.state, [asked, answered]).due(now=now) == ()


@given(talks(), st.integers(0, 200))
def test_any_talk_can_be_followed(history, minutes):
    reminders = Reminders()
    for message in history:
        reminders.feed(message)
    now = history[-1].created_at + timedelta(minutes=minutes)
    assert kinds(reminders, now=now) == (["time"] if minutes > 30 else [])
    assert Reminders.from_state(reminders.state, history).state == reminders.state


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"failures": 1}, "failures"),
        ({"failures": True}, "failures"),
        ({"silence_s": 0}, "silence_s"),
        ({"limits_at": 1.5}, "limits_at"),
        ({"limits_at": "x"}, "limits_at"),
        ({"keep_reminders": 1}, "keep_reminders"),
    ],
)
def test_a_wrong_rule_is_told_by_name(fields, name):
    with pytest.raises(UsageError, match=name) as caught:
        ReminderRules(**fields)
    assert caught.value.argument == name
