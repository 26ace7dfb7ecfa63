"""What a run has used, added up for its result and its limits."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.agent import events
from headrace.agent.limits import Meter, RunLimits
from headrace.agent.spending import Spending
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage

AT = datetime(2026, 1, 1, tzinfo=UTC)


def used(tokens):
    return Usage(input_tokens=tokens, output_tokens=0)


def ended(run_id, tokens):
    return events.RunEnded(9, run_id, 1, AT, "completed", None, used(tokens))


def meter():
    return Meter(RunLimits(tokens=1000), price=lambda message: message.usage.total_tokens / 100)


def test_what_is_kept_is_counted_by_the_meter_itself_from_the_messages():
    counted = meter()
    spending = Spending(counted)
    spending.add(used(5))
    spending.add(None)
    assert spending.total == used(5)
    assert counted.tokens == 0


def test_what_is_not_kept_is_told_to_the_meter():
    counted = meter()
    spending = Spending(counted)
    spending.add_beside(AssistantMessage("x", usage=used(5)))
    spending.add_beside(AssistantMessage("y", usage=used(0)))
    assert spending.total == used(5)
    assert (counted.tokens, counted.beside_tokens) == (5, 5)
    assert (counted.cost_usd, counted.beside_cost_usd) == (0.05, 0.05)


def test_a_sub_agent_that_waits_and_ends_is_counted_once():
    counted = meter()
    spending = Spending(counted)
    for tokens in (10, 25):
        spending.add_sub(ended("r1", tokens))
    spending.add_sub(ended("r2", 1))
    assert spending.sub == {"r1": used(25), "r2": used(1)}
    assert counted.tokens == 26


def test_the_costs_of_a_sub_agent_count_answer_by_answer_however_deep():
    counted = meter()
    spending = Spending(counted)
    answer = events.RoundEnded(5, "r", 1, AT, AssistantMessage("x", usage=used(200)), used(200), True)
    spending.add_sub(answer)
    spending.add_sub(events.SubRun(6, "r", 1, AT, "k", events.SubRun(7, "q", 1, AT, "k", answer)))
    spending.add_sub(events.RoundEnded(5, "r", 1, AT, None, None, True))
    assert counted.cost_usd == 4
    assert counted.tokens == 0


def test_tokens_of_sub_agents_of_sub_agents_come_with_those_of_the_outer_one():
    counted = meter()
    Spending(counted).add_sub(events.SubRun(6, "r", 1, AT, "k", ended("inner", 10)))
    assert counted.tokens == 0


def test_it_goes_on_with_what_was_used_before():
    spending = Spending(meter(), used(3), {"r1": used(10)})
    spending.add_sub(ended("r1", 12))
    assert spending.total == used(15)
