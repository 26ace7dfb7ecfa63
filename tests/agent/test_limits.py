"""The limits of a run: what is accepted, how they are said, and how use adds up."""

from __future__ import annotations

import math
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.limits import BUDGETS, NO_LIMITS, Meter, RunLimits, limit_words
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.messages.usage import Usage


def calls(*names, runnable=True):
    return tuple(ToolCallPart(id=f"c{n}", name=name, arguments="{}", runnable=runnable) for n, name in enumerate(names))


def answer(model="m", **usage):
    return AssistantMessage([TextPart("x")], model=model, usage=Usage(**usage) if usage else None)


# --------------------------------------------------------------------------------------------- the value


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"tool_calls": 0}, "limits.tool_calls"),
        ({"tool_calls": True}, "limits.tool_calls"),
        ({"tool_calls": 1.5}, "limits.tool_calls"),
        ({"tokens": -1}, "limits.tokens"),
        ({"tokens": "many"}, "limits.tokens"),
        ({"cost_usd": 0}, "limits.cost_usd"),
        ({"cost_usd": math.nan}, "limits.cost_usd"),
        ({"cost_usd": True}, "limits.cost_usd"),
        ({"time_s": -0.1}, "limits.time_s"),
        ({"time_s": math.inf}, "limits.time_s"),
        ({"time_s": "1"}, "limits.time_s"),
        ({"calls_per_tool": {"search": 0}}, "limits.calls_per_tool['search']"),
        ({"calls_per_tool": {"search": None}}, "limits.calls_per_tool['search']"),
        ({"calls_per_tool": ["search"]}, "limits.calls_per_tool"),
        ({"calls_per_tool": {7: 1}}, None),
    ],
)
def test_what_is_no_limit_is_refused_by_name(fields, argument):
    with pytest.raises(UsageError) as caught:
        RunLimits(**fields)
    if argument is not None:
        assert caught.value.argument == argument
        assert argument in str(caught.value)


def test_limits_come_from_a_mapping_and_know_their_fields():
    limits = RunLimits(tokens=5, calls_per_tool={"search": 2})
    assert RunLimits.of({"tokens": 5, "calls_per_tool": {"search": 2}}) == limits
    assert RunLimits.of(limits) is limits
    assert RunLimits.of(None) is NO_LIMITS
    with pytest.raises(UsageError, match="tool_calls, calls_per_tool, tokens, cost_usd, time_s") as caught:
        RunLimits.of({"dollars": 1})
    assert caught.value.argument == "limits.dollars"
    with pytest.raises(UsageError, match="not a RunLimits"):
        RunLimits.of(5)


def test_limits_cannot_be_changed_afterwards():
    mine = {"search": 2}
    limits = RunLimits(calls_per_tool=mine)
    mine["search"] = 99
    assert limits.calls_per_tool == {"search": 2}
    with pytest.raises(TypeError):
        limits.calls_per_tool["search"] = 3


@given(
    st.builds(
        RunLimits,
        tool_calls=st.none() | st.integers(1, 99),
        calls_per_tool=st.dictionaries(st.sampled_from("abc"), st.integers(1, 9)),
        tokens=st.none() | st.integers(1, 10**9),
        cost_usd=st.none() | st.floats(0.001, 100),
        time_s=st.none() | st.floats(0.001, 100),
    )
)
def test_limits_survive_json(limits):
    assert msgspec.json.decode(msgspec.json.encode(limits), type=RunLimits) == limits


@pytest.mark.parametrize(
    ("which", "limit", "words"),
    [
        ("rounds", 1, "the limit of 1 round"),
        ("rounds", 2, "the limit of 2 rounds"),
        ("tool_calls", 3, "the limit of 3 tool calls"),
        ("tokens", 1_000_000, "the limit of 1000000 tokens"),
        ("cost", 0.5, "the limit of $0.5"),
        ("time", 1.0, "the limit of 1 second"),
        ("time", 2.5, "the limit of 2.5 seconds"),
        ("time", None, "a limit"),
    ],
)
def test_a_limit_is_said_in_words(which, limit, words):
    assert limit_words(which, limit) == words


# --------------------------------------------------------------------------------------------- the meter


@pytest.mark.parametrize(
    ("fields", "use", "which"),
    [
        ({"max_rounds": 1}, lambda meter: meter.add_round(calls("a")), "rounds"),
        ({"limits": RunLimits(tool_calls=2)}, lambda meter: meter.add_round(calls("a", "b")), "tool_calls"),
        ({"limits": RunLimits(tokens=10)}, lambda meter: meter.add_answer(answer(input_tokens=7, output_tokens=3)), "tokens"),
        ({"limits": RunLimits(cost_usd=0.5), "price": lambda message: 0.5}, lambda meter: meter.add_answer(answer()), "cost"),
        ({"limits": RunLimits(time_s=10)}, lambda meter: setattr(meter, "elapsed_s", 10), "time"),
    ],
)
def test_each_budget_is_spent_when_it_is_used_up_and_not_before(fields, use, which):
    meter = Meter(**{"limits": NO_LIMITS, **fields})
    assert meter.spent is None
    use(meter)
    assert meter.spent == which
    assert str(limit_words(which, meter.limit_of(which))) in meter.reached(which)


def test_nothing_is_spent_without_limits():
    meter = Meter(NO_LIMITS, max_rounds=0)
    meter.add_answer(answer(input_tokens=10**12))
    meter.add_round(calls("a", "a"))
    meter.elapsed_s = 1e9
    assert meter.spent is None
    assert meter.time_left_s is None
    assert meter.used_up_tools == ()
    assert [meter.limit_of(which) for which in BUDGETS] == [None] * 5
    assert meter.reached(None) == "a limit is reached"


def test_just_below_a_limit_nothing_is_spent():
    meter = Meter(RunLimits(tool_calls=2, tokens=10, cost_usd=1, time_s=5), max_rounds=2, price=lambda message: 0.99)
    meter.add_answer(answer(input_tokens=9))
    meter.add_round(calls("a"))
    meter.elapsed_s = 4.99
    assert meter.spent is None
    assert meter.time_left_s == pytest.approx(0.01)


def test_where_several_are_used_up_the_first_in_order_is_named():
    meter = Meter(RunLimits(tool_calls=1, tokens=1, cost_usd=1, time_s=1), max_rounds=1, price=lambda message: 2)
    seen = []
    meter.elapsed_s = 2
    seen.append(meter.spent)
    meter.add_answer(answer(model="m"))
    seen.append(meter.spent)
    meter.add_answer(answer(output_tokens=1))
    seen.append(meter.spent)
    meter.add_round(calls("a"))
    seen.append(meter.spent)
    assert seen == ["time", "cost", "tokens", "rounds"]
    assert meter.time_left_s == 0


def test_an_answer_without_a_count_uses_no_tokens_and_gives_none_back():
    meter = Meter(RunLimits(tokens=1))
    meter.add_answer(answer())
    meter.add_answer(answer(reasoning_tokens=50))
    meter.add_answer(answer(input_tokens=-50))
    assert (meter.tokens, meter.spent) == (0, None)


@pytest.mark.parametrize("price", [None, math.nan, math.inf, -1.0])
def test_an_unknown_price_counts_as_nothing_and_the_model_is_named(price):
    meter = Meter(RunLimits(cost_usd=1), price=lambda message: price)
    meter.add_answer(answer(model="mine"))
    meter.add_answer(answer(model="mine"))
    meter.add_answer(answer(model=None))
    assert meter.cost_usd == 0
    assert meter.unpriced == {"mine", "a model without a name"}


def test_calls_of_a_tool_beyond_its_limit_are_told_and_the_tool_is_named_once():
    meter = Meter(RunLimits(calls_per_tool={"search": 2, "look": 1}))
    meter.add_answer(answer())
    assert meter.add_round(calls("search", "add")) == ("", "")
    assert meter.tools_spent == ()
    meter.add_answer(answer())
    beyond = meter.add_round(calls("search", "search", "add", "search"))
    assert [bool(words) for words in beyond] == [False, True, False, True]
    assert beyond[1] == "the limit of 2 calls of search is reached; answer with what you have or use other tools"
    assert meter.tools_spent == ("search",)
    assert meter.used_up_tools == ("search",)
    meter.add_answer(answer())
    beyond = meter.add_round(calls("search", "look", "look"))
    assert "1 call of look" in beyond[2]
    assert meter.tools_spent == ("look",)
    assert meter.used_up_tools == ("search", "look")
    meter.add_answer(answer())
    assert meter.tools_spent == ()
    assert meter.spent is None


def test_calls_that_cannot_run_use_up_the_limit_of_all_calls_but_not_that_of_their_tool():
    meter = Meter(RunLimits(tool_calls=4, calls_per_tool={"search": 2}))
    assert meter.add_round(calls("search", "search", "search", runnable=False)) == ("", "", "")
    assert (meter.tool_calls, meter.calls_of["search"]) == (3, 0)
    beyond = meter.add_round(calls("search", "search"))
    assert beyond == ("", "the limit of 4 tool calls is reached")
    assert (meter.calls_of["search"], meter.tools_spent) == (1, ())


@given(
    st.lists(st.sampled_from(["search", "look"]), max_size=6),
    st.lists(st.sampled_from(["search", "look"]), max_size=6),
    st.sampled_from(
        [{}, {"tool_calls": 3}, {"calls_per_tool": {"search": 2}}, {"tool_calls": 4, "calls_per_tool": {"search": 1, "look": 2}}]
    ),
)
def test_what_has_room_while_an_answer_streams_is_what_is_not_beyond_a_limit_when_it_has_ended(before, asked, fields):
    meter, seen = Meter(RunLimits(**fields)), Counter()
    meter.add_round(calls(*before))
    has_room = []
    for name in asked:
        has_room.append(meter.has_room(name, seen))
        seen[name] += 1
    assert has_room == [not why for why in meter.add_round(calls(*asked))]


def test_what_is_used_beside_the_messages_counts_and_never_comes_back():
    meter = Meter(RunLimits(tokens=10, cost_usd=1), price=lambda message: 0.25)
    meter.add_beside(4, 0.5)
    meter.add_beside(-3)
    meter.add_answer(answer(input_tokens=2, output_tokens=0))
    assert (meter.tokens, meter.beside_tokens) == (6, 4)
    assert (meter.cost_usd, meter.beside_cost_usd) == (0.75, 0.5)
    assert meter.spent is None
    meter.add_beside(4)
    assert meter.spent == "tokens"
