"""What a conversation used."""

from __future__ import annotations

import pytest

from headrace.agent.agent import Agent
from headrace.cli.spending import NOTHING, Spent, cost_of, price_for, spent_of
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.usage import Usage
from headrace.models.scripted import ScriptedModel

ANSWER = AssistantMessage(["hi"], usage=Usage(input_tokens=3, output_tokens=1))


def test_sums_add_rounds_tokens_and_money():
    spent = Spent(1, Usage(input_tokens=3), 0.5) + Spent(2, Usage(input_tokens=4, output_tokens=1), 0.25)
    assert spent == Spent(3, Usage(input_tokens=7, output_tokens=1), 0.75)
    assert spent.words == "3 rounds · 7 tokens in, 1 out · $0.7500"


def test_a_cost_that_is_not_known_makes_the_sum_unknown_not_smaller():
    assert (Spent(1, Usage(), 0.5) + Spent(1, Usage(), None)).cost_usd is None
    costs = iter([0.5, None])
    assert cost_of((ANSWER, ANSWER), lambda _message: next(costs)) is None


def test_only_answers_cost():
    assert cost_of((UserMessage("hi"), ANSWER, ANSWER), lambda _message: 0.25) == 0.5


def test_nothing_was_used_at_the_start():
    assert NOTHING.words == "0 rounds"


async def test_a_run_is_counted_with_all_its_rounds():
    result = await Agent(ScriptedModel(ANSWER)).run("?")
    assert spent_of(result, lambda _message: 0.001).words == "1 round · 3 tokens in, 1 out · $0.0010"


def test_a_listed_model_has_a_price_and_another_one_has_none():
    pytest.importorskip("genai_prices", reason="needs the extra prices")
    asked = AssistantMessage(["hi"], model="gpt-4o", provider="openai", usage=Usage(input_tokens=1_000_000, output_tokens=0))
    assert price_for("openai:gpt-4o")(asked) > 0
    assert price_for("openai-chat:mine")(ANSWER) is None
