"""The next-step table of the agent, row by row, and its laws over random runs."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.agent.limits import RunLimits
from headrace.agent.loop import Loop, next_step
from headrace.agent.steps import AddReminder, CallModel, Fail, Finish, Rules, RunTools
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.messages.usage import Usage
from legal_history import problems

RULES = Rules(tools=("add", "look"))
ASKED = UserMessage("hello")


def call(call_id="c1", name="add", arguments="{}", **fields):
    return ToolCallPart(id=call_id, name=name, arguments=arguments, **fields)


def answer(*parts, finish="stop", **fields):
    return AssistantMessage(list(parts), finish_reason=finish, **fields)


def results(*pairs):
    return ToolMessage([ToolResultPart(call_id=one, name="add", parts="ok", state=state) for one, state in pairs])


def tool_rounds(n, calls=1):
    history = [ASKED]
    for k in range(n):
        ids = [f"c{k}_{i}" for i in range(calls)]
        history += [answer(*(call(one) for one in ids), finish="tool_calls"), results(*((one, "success") for one in ids))]
    return history


def reason_of(history, rules=RULES):
    """The reason that the last answer gets."""
    loop = Loop(rules)
    for message in history[:-1]:
        loop.feed(message)
    return loop.judge(history[-1])


@pytest.mark.parametrize("history", [[], [ASKED], [SystemMessage("x"), ASKED], [*tool_rounds(3)], [answer(TextPart("x")), ASKED]])
def test_without_an_answer_or_after_results_the_model_is_called(history):
    assert next_step(history, RULES) == CallModel(is_forced=False)


@pytest.mark.parametrize(
    "part",
    [
        TextPart("done"),
        RefusalPart("no"),
        MediaPart(kind="audio", data=b"x"),
        JsonPart({"a": 1}),
        ProviderToolPart(name="web_search"),
        ProviderItem(provider="p", protocol="q", raw=b"{}"),
        OpaquePart({"type": "new"}),
    ],
)
@pytest.mark.parametrize("finish", ["stop", "other", None])
def test_an_answer_with_substance_and_no_call_is_final(part, finish):
    history = [ASKED, answer(part, finish=finish)]
    assert next_step(history, RULES) == Finish("completed")
    assert reason_of(history) == "completed"


@pytest.mark.parametrize("finish", ["tool_calls", "length", "stop", "other", "pause"])
def test_runnable_calls_run_and_others_get_error_results_and_another_round_follows(finish):
    asked = answer(TextPart("let me see"), call("a"), call("b", arguments="{", runnable=False), call("c", name="nope"), finish=finish)
    step = next_step([ASKED, asked], RULES)
    assert isinstance(step, RunTools)
    assert [planned.place for planned in step.calls] == [0, 1, 2]
    assert step.calls[0].refusal is None
    assert step.calls[1].refusal.state == "error"
    assert "JSON" in step.calls[1].refusal.text
    assert "add, look" in step.calls[2].refusal.text
    assert reason_of([ASKED, asked]) == "tool_calls"
    assert next_step([ASKED, asked, results(("a", "success"), ("b", "error"), ("c", "error"))], RULES) == CallModel()


@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_only_calls_that_cannot_run_get_error_results_and_another_round_follows(finish):
    asked = answer(call("a", arguments='{"x": 1', runnable=False), call("b", name="", runnable=False), finish=finish)
    step = next_step([ASKED, asked], RULES)
    assert [planned.refusal.state for planned in step.calls] == ["error", "error"]
    assert next_step([ASKED, asked, results(("a", "error"), ("b", "error"))], RULES) == CallModel()


def test_results_that_are_there_are_not_asked_for_again_and_equal_ids_are_answered_in_order():
    asked = answer(call("a"), call("a", arguments='{"n": 2}'), call("b"), finish="tool_calls")
    step = next_step([ASKED, asked, results(("a", "success"))], RULES)
    assert [planned.place for planned in step.calls] == [1, 2]


def test_length_without_calls_ends():
    history = [ASKED, answer(TextPart("half a sen"), finish="length")]
    assert next_step(history, RULES) == Finish("length")
    assert reason_of(history) == "length"
    assert next_step([ASKED, answer(ReasoningPart("hm"), finish="length")], RULES) == Finish("length")


def test_a_filtered_answer_runs_no_call_and_ends():
    asked = answer(TextPart("x"), call("a"), finish="content_filter")
    step = next_step([ASKED, asked], RULES)
    assert [planned.refusal.state for planned in step.calls] == ["not_run"]
    assert next_step([ASKED, asked, results(("a", "not_run"))], RULES) == Finish("content_filter")
    assert next_step([ASKED, answer(finish="content_filter")], RULES) == Finish("content_filter")
    assert reason_of([ASKED, asked]) == "content_filter"


def test_a_pause_calls_again_with_the_content_unchanged_up_to_a_cap():
    rules = Rules(max_pauses=2)
    paused = answer(TextPart("searching"), finish="pause")
    assert next_step([ASKED, paused], rules) == CallModel()
    assert reason_of([ASKED, paused], rules) is None
    assert next_step([ASKED, paused, paused], rules) == CallModel()
    assert next_step([ASKED, paused, paused, paused], rules) == Finish("limit")
    assert reason_of([ASKED, paused, paused, paused], rules) == "limit"
    assert next_step([ASKED, paused, paused, answer(TextPart("done"))], rules) == Finish("completed")


def test_pauses_are_counted_in_a_row():
    rules = Rules(tools=("add",), max_pauses=1)
    paused = answer(TextPart("searching"), finish="pause")
    history = [ASKED, paused, answer(call("a"), finish="tool_calls"), results(("a", "success")), paused]
    assert next_step(history, rules) == CallModel()


@pytest.mark.parametrize("parts", [(), (TextPart(" \n"),), (ReasoningPart("thinking"),)])
def test_an_empty_answer_gets_one_reminder_and_then_ends_as_it_is(parts):
    empty = answer(*parts)
    step = next_step([ASKED, empty], RULES)
    assert isinstance(step, AddReminder)
    assert step.kind == "empty_response"
    assert reason_of([ASKED, empty]) is None
    reminder = UserMessage(step.text, origin="framework", reminder_kind=step.kind)
    assert next_step([ASKED, empty, reminder], RULES) == CallModel()
    assert next_step([ASKED, empty, reminder, empty], RULES) == Finish("completed")
    assert reason_of([ASKED, empty, reminder, empty]) == "completed"
    assert next_step([ASKED, empty, reminder, answer(TextPart("ok"))], RULES) == Finish("completed")


def test_when_every_call_was_denied_another_round_follows_or_the_run_ends():
    asked = answer(call("a"), call("b"), finish="tool_calls")
    denied = [ASKED, asked, results(("a", "denied"), ("b", "denied"))]
    partly = [ASKED, asked, results(("a", "denied"), ("b", "success"))]
    strict = Rules(tools=("add",), stop_on_denial=True)
    assert next_step(denied, RULES) == CallModel()
    assert next_step(denied, strict) == Finish("all_denied")
    assert next_step(partly, strict) == CallModel()


def test_an_answer_that_ended_with_an_error_fails_after_its_calls_are_closed():
    broken = answer(TextPart("x"), call("a"), finish="error")
    step = next_step([ASKED, broken], RULES)
    assert [planned.refusal.state for planned in step.calls] == ["not_run"]
    assert next_step([ASKED, broken, results(("a", "not_run"))], RULES) == Fail(broken)
    assert reason_of([ASKED, broken]) == "error"
    marked = answer(TextPart("x"), finish=None, generate_reason="error")
    assert next_step([ASKED, marked], RULES) == Fail(marked)


def test_an_interrupted_answer_ends_after_its_calls_are_closed():
    broken = answer(TextPart("x"), call("a", runnable=False), finish=None, generate_reason="interrupted")
    step = next_step([ASKED, broken], RULES)
    assert [planned.refusal.state for planned in step.calls] == ["interrupted"]
    assert next_step([ASKED, broken, results(("a", "interrupted"))], RULES) == Finish("interrupted")


@pytest.mark.parametrize(("limit", "rounds", "is_forced"), [(2, 1, False), (2, 2, True), (1, 1, True), (0, 50, False), (None, 50, False)])
def test_so_many_tool_rounds_run_in_full_and_then_the_model_must_answer(limit, rounds, is_forced):
    rules = Rules(tools=("add",), max_rounds=limit)
    assert next_step(tool_rounds(rounds), rules) == CallModel(is_forced=is_forced)


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "error", "pause", None])
@pytest.mark.parametrize("parts", [(), (TextPart("so far"),), (ReasoningPart("hm"),)])
def test_the_forced_answer_ends_the_run_whatever_it_is(finish, parts):
    history = [*tool_rounds(2), answer(*parts, finish=finish)]
    rules = Rules(tools=("add",), max_rounds=2)
    assert next_step(history, rules) == Finish("max_rounds")
    assert reason_of(history, rules) == "max_rounds"


def test_calls_in_the_forced_answer_are_not_run():
    rules = Rules(tools=("add",), max_rounds=2)
    forced = answer(TextPart("x"), call("late"), finish="tool_calls")
    step = next_step([*tool_rounds(2), forced], rules)
    assert [(planned.refusal.state, "2 rounds" in planned.refusal.text) for planned in step.calls] == [("not_run", True)]
    assert next_step([*tool_rounds(2), forced, results(("late", "not_run"))], rules) == Finish("max_rounds")


def test_calls_beyond_the_limit_are_not_run_and_the_model_must_answer():
    rules = Rules(tools=("add",), limits=RunLimits(tool_calls=3))
    asked = answer(*(call(f"x{n}") for n in range(4)), finish="tool_calls")
    step = next_step([*tool_rounds(1), asked], rules)
    assert [planned.refusal and planned.refusal.state for planned in step.calls] == [None, None, "not_run", "not_run"]
    done = [*tool_rounds(1), asked, results(*((f"x{n}", "success") for n in range(4)))]
    assert next_step(done, rules) == CallModel(is_forced=True)
    assert next_step([*done, answer(TextPart("ok"))], rules) == Finish("limit")
    forced = [*done, answer(call("late"), finish="tool_calls")]
    assert "3 tool calls" in next_step(forced, rules).calls[0].refusal.text


# ---------------------------------------------------------------------------------------------- limits

ASKS = answer(TextPart("let me see"), call("a"), finish="tool_calls", usage=Usage(input_tokens=60, output_tokens=40))
ROUND = [ASKED, ASKS, results(("a", "success"))]
LIMITED = [
    (Rules(tools=("add",), max_rounds=1), "rounds", "max_rounds", "1 round", 0),
    (Rules(tools=("add",), limits=RunLimits(tool_calls=1)), "tool_calls", "limit", "1 tool call", 0),
    (Rules(tools=("add",), limits=RunLimits(tokens=100)), "tokens", "limit", "100 tokens", 0),
    (Rules(tools=("add",), limits=RunLimits(cost_usd=0.25), price=lambda message: 0.25), "cost", "limit", "$0.25", 0),
    (Rules(tools=("add",), limits=RunLimits(time_s=30)), "time", "limit", "30 seconds", 30),
]
BY_BUDGET = pytest.mark.parametrize("row", LIMITED, ids=[row[1] for row in LIMITED])


@BY_BUDGET
def test_when_a_budget_is_used_up_the_model_must_answer(row):
    rules, which, _, _, elapsed_s = row
    loop = Loop(rules)
    for message in ROUND:
        loop.feed(message)
    loop.elapsed_s = elapsed_s
    assert loop.spent == which
    assert loop.limit_of(which) > 0
    assert loop.next == next_step(ROUND, rules, elapsed_s=elapsed_s) == CallModel(is_forced=True)


@BY_BUDGET
@pytest.mark.parametrize("parts", [(), (TextPart("so far"),), (TextPart("x"), call("late"), call("later"))])
def test_the_answer_that_a_budget_forced_ends_the_run_and_runs_nothing(row, parts):
    rules, _, reason, words, elapsed_s = row
    loop = Loop(rules)
    for message in ROUND:
        loop.feed(message)
    loop.elapsed_s = elapsed_s
    forced = answer(*parts)
    assert loop.judge(forced) == reason
    forced = forced.replace(generate_reason=reason)
    loop.feed(forced)
    assert loop.is_final
    if loop.has_open_calls:
        refused = [planned.refusal for planned in loop.next.calls]
        assert {(one.state, one.text) for one in refused} == {("not_run", f"Not run: the limit of {words} is reached.")}
        loop.feed(results(("late", "not_run"), ("later", "not_run")))
    assert loop.next == Finish(reason)


@pytest.mark.parametrize("row", [row for row in LIMITED if row[1] in ("tokens", "cost")], ids=["tokens", "cost"])
def test_calls_whose_asking_used_the_tokens_or_the_money_up_still_run(row):
    loop = Loop(row[0])
    loop.feed(ASKED)
    loop.feed(ASKS)
    assert loop.spent == row[1]
    assert [planned.refusal for planned in loop.next.calls] == [None]


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_an_answer_that_itself_uses_a_budget_up_is_not_changed_by_it(finish):
    rules = Rules(limits=RunLimits(tokens=100))
    done = answer(TextPart("done"), finish=finish, usage=Usage(output_tokens=500))
    reason = "completed" if finish == "stop" else "length"
    assert reason_of([ASKED, done], rules) == reason
    assert next_step([ASKED, done], rules) == Finish(reason)


@pytest.mark.parametrize("halting", [answer(TextPart("searching"), finish="pause"), answer()])
def test_after_a_pause_or_an_empty_answer_that_used_a_budget_up_the_model_must_answer(halting):
    loop = Loop(Rules(limits=RunLimits(tokens=1)))
    loop.feed(ASKED)
    loop.feed(halting.replace(usage=Usage(output_tokens=1)))
    if isinstance(loop.next, AddReminder):
        loop.feed(UserMessage(loop.next.text, origin="framework", reminder_kind=loop.next.kind))
    assert loop.next == CallModel(is_forced=True)
    assert loop.judge(answer(TextPart("done"))) == "limit"


def test_when_the_time_is_up_calls_that_have_not_started_are_not_run():
    loop = Loop(Rules(tools=("add",), limits=RunLimits(time_s=1.5)))
    loop.feed(ASKED)
    loop.feed(answer(call("a"), call("b"), finish="tool_calls"))
    loop.elapsed_s = 1.0
    assert [planned.refusal for planned in loop.next.calls] == [None, None]
    assert loop.time_left_s == 0.5
    loop.elapsed_s = 1.5
    assert {planned.refusal.text for planned in loop.next.calls} == {"Not run: the limit of 1.5 seconds is reached."}
    assert loop.time_left_s == 0
    loop.feed(results(("a", "not_run"), ("b", "not_run")))
    assert loop.next == CallModel(is_forced=True)


def test_an_answer_is_judged_by_what_was_used_up_when_it_was_asked_for_also_later():
    rules = Rules(tools=("add",), limits=RunLimits(time_s=10))
    loop = Loop(rules)
    loop.feed(ASKED)
    assert loop.next == CallModel(is_forced=False)
    asked = answer(call("a"), finish="tool_calls")
    asked = asked.replace(generate_reason=loop.judge(asked))
    loop.feed(asked)
    loop.elapsed_s = 99
    assert loop.next == next_step([ASKED, asked], rules, elapsed_s=99)
    history = [ASKED, asked, results(("a", "success"))]
    loop = Loop(rules)
    loop.elapsed_s = 99
    for message in history:
        loop.feed(message)
    assert loop.rounds == 1
    assert loop.next == CallModel(is_forced=True)


def test_a_forced_answer_that_was_stored_stays_one_whatever_the_limits_are_now():
    stored = [ASKED, answer(call("a"), finish="tool_calls", generate_reason="limit")]
    step = next_step(stored, RULES)
    assert [(planned.refusal.state, planned.refusal.text) for planned in step.calls] == [("not_run", "Not run: a limit is reached.")]
    assert next_step([*stored, results(("a", "not_run"))], RULES) == Finish("limit")
    by_rounds = [ASKED, answer(call("a"), finish="tool_calls", generate_reason="max_rounds"), results(("a", "not_run"))]
    assert next_step(by_rounds, Rules(max_rounds=9)) == Finish("max_rounds")
    lowered = Rules(tools=("add",), max_rounds=1)
    going_on = [*ROUND, answer(call("b"), finish="tool_calls", generate_reason="tool_calls")]
    assert [planned.refusal for planned in next_step(going_on, lowered).calls] == [None]
    assert next_step([*going_on, results(("b", "success"))], lowered) == CallModel(is_forced=True)


def test_a_tool_beyond_its_limit_is_not_run_while_others_are_and_the_run_goes_on():
    rules = Rules(tools=("add", "look"), limits=RunLimits(calls_per_tool={"look": 1}))
    loop = Loop(rules)
    loop.feed(ASKED)
    loop.feed(answer(call("a", "look"), call("b", "add"), call("c", "look"), finish="tool_calls"))
    assert [planned.refusal and planned.refusal.state for planned in loop.next.calls] == [None, None, "not_run"]
    assert loop.next.calls[2].refusal.text == (
        "Not run: the limit of 1 call of look is reached; answer with what you have or use other tools."
    )
    assert (loop.tools_spent, loop.used_up_tools, loop.spent) == (("look",), ("look",), None)
    loop.feed(results(("a", "success"), ("b", "success"), ("c", "not_run")))
    assert loop.next == CallModel(is_forced=False)
    loop.offered = ("add",)  # it need not be offered any longer, and a call of it is told why all the same
    loop.feed(answer(call("d", "look"), call("e", "nope"), finish="tool_calls"))
    assert ["limit of 1 call" in planned.refusal.text for planned in loop.next.calls] == [True, False]
    assert loop.next.calls[1].refusal.text == "There is no tool 'nope'. The tools are: add."
    assert loop.tools_spent == ()


def test_what_is_offered_may_change_between_rounds():
    loop = Loop(RULES)
    loop.feed(ASKED)
    loop.offered = ("look", "new")
    loop.feed(answer(call("a", "new"), call("b", "add"), finish="tool_calls"))
    assert [planned.refusal and planned.refusal.text for planned in loop.next.calls] == [
        None,
        "There is no tool 'add'. The tools are: look, new.",
    ]


def test_a_limit_on_cost_needs_a_price():
    with pytest.raises(UsageError, match="cost_usd") as caught:
        Rules(limits=RunLimits(cost_usd=1))
    assert caught.value.argument == "limits.cost_usd"


def test_words_that_steer_lead_to_another_round_also_after_an_answer():
    assert next_step([ASKED, answer(TextPart("done")), UserMessage("and now?")], RULES) == CallModel()


def test_the_loop_says_whether_the_last_answer_ends_the_run():
    loop = Loop(RULES)
    assert (loop.is_final, loop.is_answered) == (False, False)
    loop.feed(answer(call("a"), finish="tool_calls"))
    assert (loop.is_final, loop.is_answered, loop.has_open_calls) == (False, False, True)
    loop.feed(results(("a", "success")))
    loop.feed(answer(TextPart("done")))
    assert (loop.is_final, loop.is_answered, loop.has_open_calls) == (True, True, False)
    loop.feed(answer(finish="content_filter"))
    assert (loop.is_final, loop.is_answered) == (True, False)


# ---------------------------------------------------------------------------------------------- random runs

CALLS = st.lists(st.tuples(st.sampled_from(["add", "look", "nope", ""]), st.sampled_from(["{}", '{"a": 1}', "{", "[]", ""])), max_size=4)
PARTS = st.lists(st.sampled_from([TextPart("x"), TextPart(" "), ReasoningPart("r"), RefusalPart("no"), JsonPart(1)]), max_size=3)
USAGE = st.none() | st.builds(Usage, input_tokens=st.integers(0, 50), output_tokens=st.integers(0, 50))
FINISH = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "pause", "error", "other", None])


def price(message):
    """A price that follows from the answer, and is sometimes not known."""
    tokens = message.usage.total_tokens if message.usage else 0
    return None if tokens % 7 == 3 else tokens / 100


LIMITS = st.builds(
    RunLimits,
    tool_calls=st.sampled_from([None, None, 1, 5]),
    calls_per_tool=st.dictionaries(st.sampled_from(["add", "look", "nope"]), st.integers(1, 3)),
    tokens=st.sampled_from([None, None, 1, 150]),
    cost_usd=st.sampled_from([None, None, 0.01, 1.5]),
    time_s=st.sampled_from([None, None, 1.0, 6.0]),
)


class RandomRun(RuleBasedStateMachine):
    """A model that answers anything and tools that end anyhow; the shell does what the loop says."""

    @initialize(
        rounds=st.sampled_from([None, 0, 1, 3]),
        limits=LIMITS,
        denial=st.booleans(),
    )
    def begin(self, rounds, limits, denial):
        self.rules = Rules(tools=("add", "look"), max_rounds=rounds, limits=limits, price=price, stop_on_denial=denial, max_pauses=3)
        self.loop = Loop(self.rules)
        self.history = []
        self.ran = Counter()
        self.made = 0
        self.forced = 0
        self.keep(UserMessage("go"))

    def keep(self, message):
        self.history.append(message)
        self.loop.feed(message)

    def is_next(self, kind):
        return isinstance(self.loop.next, kind)

    @precondition(lambda self: self.is_next(CallModel))
    @rule(parts=PARTS, calls=CALLS, finish=FINISH, usage=USAGE)
    def model_answers(self, parts, calls, finish, usage):
        self.forced += self.loop.next.is_forced
        content = list(parts)
        for name, arguments in calls:
            self.made += 1
            content.append(ToolCallPart(id=f"c{self.made}", name=name, arguments=arguments))
        message = AssistantMessage(content, finish_reason=finish, usage=usage)
        reason = self.loop.judge(message)
        assert (reason == "tool_calls") <= bool(calls)
        self.keep(message.replace(generate_reason=reason))

    @precondition(lambda self: self.is_next(RunTools))
    @rule(data=st.data())
    def tools_end(self, data):
        outcomes = []
        for planned in self.loop.next.calls:
            if planned.refusal is not None:
                outcomes.append(planned.refusal)
                continue
            assert planned.call.runnable
            assert planned.call.name in self.rules.tools
            self.ran[planned.call.name] += 1
            state = data.draw(st.sampled_from(["success", "error", "denied", "timed_out"]))
            outcomes.append(ToolResultPart(call_id=planned.call.id, parts="ok", state=state))
        self.keep(ToolMessage(outcomes))

    @precondition(lambda self: self.is_next(AddReminder))
    @rule()
    def remind(self):
        step = self.loop.next
        self.keep(UserMessage(step.text, origin="framework", reminder_kind=step.kind))

    @rule(seconds=st.sampled_from([0.25, 1.0, 2.0]))
    def time_goes_on(self, seconds):
        self.loop.elapsed_s += seconds

    @precondition(lambda self: self.is_next(Finish | Fail))
    @rule()
    def steer_or_stop(self):
        if self.loop.is_answered:
            self.keep(UserMessage("go on"))

    @invariant()
    def the_history_alone_says_the_same(self):
        if hasattr(self, "history"):
            assert next_step(self.history, self.rules, elapsed_s=self.loop.elapsed_s) == self.loop.next

    @invariant()
    def whenever_no_tool_is_due_the_history_is_legal(self):
        if hasattr(self, "history") and not self.is_next(RunTools):
            assert problems(self.history) == []

    @invariant()
    def the_limits_hold(self):
        if hasattr(self, "history"):
            limits = self.rules.limits
            assert limits.tool_calls is None or self.ran.total() <= limits.tool_calls
            assert all(self.ran[name] <= limit for name, limit in limits.calls_per_tool.items())
            if self.rules.max_rounds:
                assert self.loop.rounds <= self.rules.max_rounds
            assert self.forced <= 1
            assert sum(message.reminder_kind == "empty_response" for message in self.history) <= 1


TestRandomRun = RandomRun.TestCase


ASKING = st.lists(
    st.tuples(st.lists(st.sampled_from(["add", "look", "nope"]), min_size=1, max_size=3), st.integers(1, 60)), min_size=1, max_size=6
)


@given(limits=LIMITS, rounds=st.sampled_from([None, 2]), asking=ASKING)
def test_a_run_with_any_limit_ends_in_a_bounded_number_of_rounds(limits, rounds, asking):
    """The model never stops calling tools; each answer has at least a token, costs at least a cent and takes at least a second."""
    rules = Rules(tools=("add", "look"), max_rounds=rounds, limits=limits, price=lambda message: message.usage.total_tokens / 100)
    bounds = [rounds, limits.tool_calls, limits.tokens, limits.cost_usd and limits.cost_usd * 100, limits.time_s]
    bound = min((math.ceil(bound) for bound in bounds if bound is not None), default=None)
    many = 20 if bound is None else bound + 1  # a limit of single tools bounds those alone
    loop = Loop(rules)
    loop.feed(ASKED)
    reasons = []
    while not isinstance(step := loop.next, Finish) and len(reasons) <= many:
        if isinstance(step, RunTools):
            loop.feed(ToolMessage([one.refusal or ToolResultPart(call_id=one.call.id, parts="ok") for one in step.calls]))
            continue
        names, tokens = asking[len(reasons) % len(asking)]
        calls = (call(f"c{len(reasons)}_{n}", name) for n, name in enumerate(names))
        asked = answer(*calls, finish="tool_calls", usage=Usage(output_tokens=tokens))
        reasons.append(loop.judge(asked))
        loop.feed(asked.replace(generate_reason=reasons[-1]))
        loop.elapsed_s += 1
    if bound is None:
        assert reasons == ["tool_calls"] * (many + 1)
    else:
        assert loop.next == Finish(reasons[-1])
        assert set(reasons[:-1]) == {"tool_calls"}
        assert reasons[-1] in ("max_rounds", "limit")


def test_words_of_a_hook_after_an_answer_lead_to_another_round_and_count_as_one():
    more = UserMessage("More.", origin="framework", reminder_kind="go_on")
    history = [ASKED, answer(TextPart("one")), more]
    assert next_step(history, RULES) == CallModel()
    assert next_step([*history, answer(TextPart("two")), more], Rules(max_rounds=2)) == CallModel(is_forced=True)
    steering = UserMessage("More.")
    assert next_step([ASKED, answer(TextPart("one")), steering, answer(TextPart("two")), steering], Rules(max_rounds=2)) == CallModel()


def test_what_no_message_tells_counts_when_the_driver_says_it():
    loop = Loop(Rules(limits=RunLimits(tokens=100)))
    loop.feed(ASKED)
    loop.used.add_beside(99)
    assert loop.next == CallModel()
    loop.used.add_beside(1)
    assert loop.next == CallModel(is_forced=True)
