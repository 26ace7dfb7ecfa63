"""A view is legal to send whatever was done to it, stays within its bounds, costs the same each round, and goes on elsewhere."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemini_histories import HISTORIES
from headrace.agent.context.compaction import Summary
from headrace.agent.context.estimate import estimate_tokens
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.view import View
from headrace.errors import StateError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.messages.request import ToolSpec
from talks import answer, not_sendable, talks, text, tool_round, user

SMALL = ContextPolicy(max_tokens=2_000)
SYSTEM = SystemMessage("Be brief.", id="s")
LONG_SUMMARY = text(3_000)
SUMMARY = Summary(goal="Sell the house.", next_step="Ask Ada.")


def view_of(history, policy=None, **fields):
    view = View(policy, **fields)
    view.extend(history)
    return view


def ids(view):
    return [message.id for message in view.messages]


def long_talk(turns, tokens=100):
    return [message for n in range(turns) for message in (user(n, tokens), answer(n, tokens))]


def run_of_rounds(rounds, *sizes):
    return [user(0), *(message for n in range(1, rounds + 1) for message in tool_round(n, *sizes))]


# --- growing


def test_by_default_everything_is_sent_as_it_is():
    history = [SYSTEM, *long_talk(200)]
    view = view_of(history)
    assert view.messages == tuple(history)
    assert all(sent is kept for sent, kept in zip(view.messages, history, strict=True))
    assert not view.needs_compaction
    assert view.plan() is None
    assert view.window() is None


def test_the_tokens_are_those_of_the_messages_and_the_tools():
    tools = [ToolSpec(name="look", description=text(50))]
    history = [SYSTEM, *long_talk(3)]
    view = view_of(history, tools=tools)
    assert view.tokens == estimate_tokens(history) + estimate_tokens(tools)
    assert len(view) == len(history)


def test_the_estimate_is_corrected_by_what_the_provider_reports():
    view = view_of(long_talk(5))
    estimate = view.tokens
    view.learn(2 * estimate)
    assert view.tokens == 2 * estimate
    view.append(user(9, 100))
    assert view.tokens == pytest.approx(2 * (estimate + estimate_tokens(user(9, 100))), abs=1)


@pytest.mark.parametrize(("reported", "factor"), [(None, 1), (0, 1), (10**9, 4), (1, 0.25)])
def test_a_report_that_makes_no_sense_does_little_harm(reported, factor):
    view = view_of(long_talk(5))
    estimate = view.tokens
    view.learn(reported)
    assert view.tokens == round(estimate * factor)


def test_a_small_request_teaches_nothing():
    view = view_of([user(1)])
    estimate = view.tokens
    view.learn(400)  # mostly what the provider adds by itself
    assert view.tokens == estimate


# --- getting shorter


def test_a_summary_takes_the_place_of_the_beginning():
    history = [SYSTEM, *long_talk(12)]
    view = view_of(history, SMALL)
    assert view.needs_compaction
    plan = view.plan()
    done = view.compact(plan, SUMMARY)
    system, note, *rest = view.messages
    assert system is SYSTEM
    assert (note.role, note.origin, note.reminder_kind) == ("user", "framework", "summary")
    assert SUMMARY.text in note.text
    assert rest[0].id == "u10"
    assert rest == history[21:]
    assert (done.messages_before, done.messages_after) == (25, len(view))
    assert (done.tokens_before, done.tokens_after) == (estimate_tokens(history), view.tokens)
    assert done.detail == "20 messages left out, with a summary"
    assert not view.needs_compaction


def test_the_request_for_the_summary_holds_what_goes_and_not_what_stays():
    view = view_of([SYSTEM, *long_talk(12)], SMALL)
    asked = view.plan().request[-1].text
    assert "Question 0." in asked
    assert "Answer 9." in asked
    assert "Question 10." not in asked
    assert "Be brief." not in asked


def test_the_next_summary_carries_the_earlier_one_on():
    view = view_of(long_talk(12), SMALL)
    view.compact(view.plan(), SUMMARY)
    view.extend(message for n in range(20, 32) for message in (user(n, 100), answer(n, 100)))
    plan = view.plan()
    assert f"<earlier_summary>\n{SUMMARY.text}" in plan.request[-1].text
    view.compact(plan, "New.")
    assert [message.text for message in view.messages if message.reminder_kind] == [
        "The conversation before this was left out. A summary of it:\n\nNew."
    ]


@pytest.mark.parametrize("failed", [None, "", " \n", Summary()])
def test_without_a_summary_a_note_says_that_something_is_missing(failed):
    view = view_of(long_talk(12), SMALL)
    done = view.compact(view.plan(), failed)
    note = view.messages[0]
    assert (note.origin, note.reminder_kind) == ("framework", "window")
    assert "left out" in note.text
    assert done.detail.endswith("left out, without a summary")


def test_a_summary_from_before_stays_when_the_next_one_fails():
    view = view_of(long_talk(12), SMALL)
    view.compact(view.plan(), SUMMARY)
    for again in (1, 2):
        view.extend(message for n in range(20) for message in (user(100 * again + n, 100), answer(100 * again + n, 100)))
        view.compact(view.plan(), None)
    note = view.messages[0]
    assert note.reminder_kind == "summary"
    assert SUMMARY.text in note.text
    assert note.text.count("between this summary and the messages below") == 1


def test_a_window_asks_no_model():
    history = long_talk(12)
    view = view_of(history, ContextPolicy(max_tokens=2_000, summarize=False))
    assert view.plan().request == ()
    done = view.window()
    assert done.detail == "20 messages left out"
    assert view.messages[0].reminder_kind == "window"
    assert view.messages[1:] == tuple(history[20:])


def test_a_cut_within_a_turn_keeps_the_question_and_whole_rounds():
    view = view_of([SYSTEM, *run_of_rounds(12, 100, 50)], SMALL)
    view.compact(view.plan(), SUMMARY)
    kept = ids(view)
    assert kept[:3] == ["s", "r11/summary", "u0"]
    assert kept[3:] == ["r11", "r11/results", "r12", "r12/results"]
    assert not not_sendable(view.messages)
    # and again: the question stays however often the turn is cut
    view.extend(message for n in range(13, 25) for message in tool_round(n, 100, 50))
    view.compact(view.plan(), SUMMARY)
    assert ids(view)[2] == "u0"
    # until a new turn makes it old
    view.extend([answer(30, 100), user(31, 500), *tool_round(32, 300, 300), *tool_round(33, 10)])
    view.compact(view.plan(), SUMMARY)
    assert "u0" not in ids(view)


def test_a_question_that_is_too_long_is_cut_to_its_ends():
    view = view_of([user(0, 1_500), *(message for n in range(1, 5) for message in tool_round(n, 60))], SMALL)
    view.compact(view.plan(), SUMMARY)
    question = view.messages[1]
    assert question.id == "u0"
    assert question.text.startswith("Question 0. word")
    assert "characters left out here" in question.text
    assert estimate_tokens(question) <= 300
    assert view.tokens <= 1_600


def test_a_round_that_is_too_long_by_itself_has_its_results_cut():
    history = [user(0), *tool_round(1, 5_000, 30, 9_000)]
    view = view_of(history, SMALL)
    plan = view.plan()
    assert plan.request == ()
    done = view.compact(plan)
    assert [message.id for message in view.messages] == [message.id for message in history]
    assert "results cut" in done.detail
    assert view.tokens <= 1_600
    sizes = [estimate_tokens(result) for result in view.messages[2].results]
    assert sizes[1] == estimate_tokens(history[2].results[1])
    assert sizes[0] == pytest.approx(sizes[2], abs=20)
    assert history[2].results[0].text == text(5_000)  # the history is not changed


def test_messages_are_counted_where_their_number_is_bounded():
    view = view_of(long_talk(10, 5), ContextPolicy(max_messages=20, summarize=False))
    assert not view.needs_compaction
    view.append(user(99))
    assert view.needs_compaction
    view.window()
    assert ids(view) == ["u8/summary", "u8", "a8", "u9", "a9", "u99"]
    assert len(view) <= 20 * 0.3 + 2
    assert not not_sendable(view.messages)


def test_keep_messages_says_how_many_stay():
    view = view_of(long_talk(10, 5), ContextPolicy(max_messages=15, keep_messages=4, summarize=False))
    view.window()
    assert ids(view) == ["u8/summary", "u8", "a8", "u9", "a9"]


def test_after_the_provider_said_too_long_half_is_aimed_at():
    view = view_of(long_talk(50))
    before = view.tokens
    assert view.plan() is None
    plan = view.plan(is_recovery=True)
    assert estimate_tokens(plan.request) <= before / 2
    view.compact(plan, SUMMARY)
    assert view.tokens <= before / 2
    assert not not_sendable(view.messages)


def test_what_cannot_be_made_shorter_is_told_and_not_asked_again_until_it_has_grown():
    view = view_of([user(0, 5_000)], SMALL)
    assert view.needs_compaction
    assert view.plan() is None
    assert view.plan(is_recovery=True) is None
    assert not view.needs_compaction
    view.append(answer(1, 700))
    assert view.needs_compaction


def test_messages_may_come_between_a_plan_and_its_summary():
    view = view_of(long_talk(12), SMALL)
    plan = view.plan()
    view.append(user(50))
    view.compact(plan, SUMMARY)
    assert ids(view)[-1] == "u50"


def test_a_plan_is_of_use_once():
    view = view_of(long_talk(12), SMALL)
    plan = view.plan()
    view.extend(long_talk(12))
    view.compact(view.plan(), SUMMARY)
    with pytest.raises(StateError, match="make a new plan"):
        view.compact(plan, SUMMARY)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.sampled_from([1, 60, 300]))
def test_a_call_that_waits_for_its_result_is_never_parted_from_it(before, between, after, tokens):
    waiting = AssistantMessage([ToolCallPart(id="w", name="look", arguments={})], id="w")
    late = ToolMessage([ToolResultPart(call_id="w", parts="late")], id="late")
    talk = [
        *long_talk(before, tokens),
        *(user(100, tokens), waiting),
        *(user(101 + n, tokens) for n in range(between)),
        *(late, answer(200)),
        *(user(300 + n, tokens) for n in range(after)),
    ]
    view = View(SMALL)
    for message in talk:
        view.append(message)
        plan = view.plan(is_recovery=True)
        if plan is not None:
            view.compact(plan, SUMMARY)
    assert ("w" in ids(view)) == ("late" in ids(view))


# --- laws

STEPS = st.lists(st.sampled_from(["", "", "", "summary", "window", "recovery", "state", "learn"]), min_size=1, max_size=30)
POLICIES = st.builds(
    ContextPolicy,
    max_tokens=st.none() | st.sampled_from([300, 1_000, 2_000]),
    max_messages=st.none() | st.sampled_from([3, 8]),
    keep=st.sampled_from([0.05, 0.3, 0.6]),
    summarize=st.booleans(),
)


def step(view, name, history, policy):
    """Do one thing to a view; return the view to go on with."""
    match name:
        case "state":
            again = View.from_state(json.loads(json.dumps(view.state)), history, policy)
            assert again.messages == view.messages
            assert (again.tokens, again.state) == (view.tokens, view.state)
            return again
        case "learn":
            view.learn(view.tokens + 7)
        case "summary" | "window" | "recovery":
            plan = view.plan(is_recovery=name == "recovery")
            if plan is not None:
                done = view.compact(plan, None if name == "window" else "What was said.")
                assert done.messages_after == len(view) == len(view.messages)
        case _:
            pass
    return view


@given(talks(), POLICIES, STEPS)
def test_whatever_is_done_the_view_is_legal_and_ends_like_the_history(history, policy, steps):
    view = View(policy)
    for n, message in enumerate(history):
        view.append(message)
        view = step(view, steps[n % len(steps)], history[: n + 1], policy)
        if not (isinstance(message, AssistantMessage) and message.tool_calls):
            assert not not_sendable(view.messages)
        assert view.messages[-1].id == message.id
        assert view.tokens == round(estimate_tokens(view.messages) * view.state.get("factor", 1))
    if isinstance(history[0], SystemMessage):
        assert view.messages[0] is history[0]
    sent = [message.id for message in view.messages if not message.id.endswith("/summary")]
    assert sent == [message.id for message in history if message.id in sent]


@given(talks(), POLICIES, STEPS)
def test_the_words_that_began_the_turn_are_never_lost(history, policy, steps):
    view = View(policy)
    asked = None
    for n, message in enumerate(history):
        view.append(message)
        asked = message if isinstance(message, UserMessage) and message.origin == "user" else asked
        view = step(view, steps[n % len(steps)], history[: n + 1], policy)
        assert asked is None or asked.id in ids(view)
    assert asked is not None


@given(talks(with_media=False))
def test_one_compaction_is_enough_to_be_within_the_bound(history):
    view = View(SMALL)
    for message in history:
        view.append(message)
        if isinstance(message, (UserMessage, ToolMessage)) and view.needs_compaction:
            view.compact(view.plan(), LONG_SUMMARY)
            assert view.tokens <= 1_600


@given(HISTORIES, POLICIES, STEPS)
def test_any_history_legal_or_not_can_be_viewed(history, policy, steps):
    view = View(policy)
    for n, message in enumerate(history):
        view.append(message)
        view = step(view, steps[n % len(steps)], history[: n + 1], policy)
    assert not history or view.messages[-1].id == history[-1].id


# --- state


def cut_view():
    history = [SYSTEM, *run_of_rounds(12, 100, 50)]
    view = view_of(history, SMALL)
    view.learn(view.tokens + 100)
    view.compact(view.plan(), SUMMARY)
    return view, history


def test_a_view_goes_on_in_another_process():
    view, history = cut_view()
    state = json.loads(json.dumps(view.state))
    more = [answer(50), user(51, 400), *tool_round(52, 2_000)]
    again = View.from_state(state, [*history, *more], SMALL)
    view.extend(more)
    assert again.messages == view.messages
    view.compact(view.plan(), "Later.")
    again.compact(again.plan(), "Later.")
    assert again.messages == view.messages
    assert again.state == view.state


def test_a_view_that_was_never_cut_is_the_history():
    history = long_talk(3)
    assert View.from_state(view_of(history).state, history).messages == tuple(history)
    assert View.from_state({"version": 1}, history).messages == tuple(history)
    assert View.from_state({}, history).messages == tuple(history)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "has version 2"),
        ({"first_kept": "x"}, "cannot be read"),
        ({"caps": 5}, "cannot be read"),
        ({"first_kept": 10_000}, "which this history does not have"),
        ({"first_kept": -1}, "which this history does not have"),
        ({"first_kept_id": "other"}, "which this history does not have"),
        ({"question": 10_000}, "which this history does not have"),
    ],
)
def test_a_state_of_another_history_or_version_is_refused(change, said):
    view, history = cut_view()
    with pytest.raises(UsageError, match=said):
        View.from_state(view.state | change, history, SMALL)


# --- cost


def calls_of(work):
    """Count the functions that are called, Python's and C's."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def one_round(view, n):
    """What an agent asks of its view in a round."""
    call, results = tool_round(n, 20)

    def work():
        view.append(call)
        view.append(results)
        view.learn(view.tokens + 1)
        if view.needs_compaction:
            view.compact(view.plan(), SUMMARY)

    return work


def test_a_round_costs_the_same_however_long_the_talk_is():
    view = view_of([user(0)], ContextPolicy(max_tokens=10**9))
    costs = [calls_of(one_round(view, n)) for n in range(1, 1_001)]
    assert sum(costs[-300:]) <= 1.05 * sum(costs[100:400])


def test_with_compactions_the_cost_of_rounds_does_not_grow_either():
    view = view_of([user(0)], SMALL)
    costs = [calls_of(one_round(view, n)) for n in range(1, 1_001)]
    assert sum(costs[-300:]) <= 1.2 * sum(costs[100:400])
    assert max(costs) > 10 * min(costs)  # there were compactions
