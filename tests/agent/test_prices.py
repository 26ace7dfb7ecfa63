"""What an answer cost: our counts against the prices that the package lists, worked out by hand."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from headrace.agent.limits import RunLimits
from headrace.agent.loop import Loop
from headrace.agent.prices import listed_prices, price_of
from headrace.agent.steps import Rules
from headrace.errors import MissingExtraError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart
from headrace.messages.usage import Usage
from headrace.providers.catalogue import BY_NAME
from headrace.providers.prices import PRICE_LISTS

data = pytest.importorskip("genai_prices.data", reason="the extra is missing: pip install 'headrace[prices]'")

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LISTED = [
    ("openai", "gpt-4o", "openai"),
    ("anthropic", "claude-sonnet-4-20250514", "anthropic"),
    ("google", "gemini-2.0-flash", "google"),
    ("bedrock", "us.anthropic.claude-sonnet-4-20250514-v1:0", "aws"),
    ("moonshot", "kimi-k2-0905-preview", "moonshotai"),
    ("openrouter-responses", "openai/gpt-4o", "openrouter"),
]


def listed(provider, model):
    """The prices of a model as they stand in the list, per million tokens."""
    (record,) = [one for one in data.providers if one.id == provider]
    prices = record.find_model(model, all_providers=data.providers).get_prices(AT)
    found = {}
    for name in ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"):
        price = getattr(prices, name)
        found[name] = price if price is None or isinstance(price, Decimal) else price.base  # the first tier
    return found


def cost(usage, *, input_mtok, output_mtok, cache_read_mtok, cache_write_mtok):
    """By hand: what was cached has a price of its own if there is one, and all else is plain input and output."""
    read, write = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    plain = (usage.input_tokens or 0) - read - write
    total = plain * input_mtok + (usage.output_tokens or 0) * output_mtok
    total += read * (input_mtok if cache_read_mtok is None else cache_read_mtok)
    total += write * (input_mtok if cache_write_mtok is None else cache_write_mtok)
    return float(total) / 1_000_000


@pytest.mark.parametrize(("provider", "model", "price_list"), LISTED)
@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=1200, output_tokens=340),
        Usage(input_tokens=1200, output_tokens=340, cache_read_tokens=1000),
        Usage(input_tokens=1200, output_tokens=340, cache_read_tokens=500, cache_write_tokens=600, reasoning_tokens=100),
        Usage(output_tokens=7),
        Usage(input_tokens=7),
        Usage(input_tokens=0, output_tokens=0),
    ],
)
def test_a_listed_model_costs_what_the_list_says(provider, model, price_list, usage):
    expected = cost(usage, **listed(price_list, model))
    assert (expected > 0) == (usage.total_tokens > 0)
    assert price_of(model, provider, usage, at=AT) == pytest.approx(expected, rel=1e-9)


def test_a_price_changes_with_the_time_of_the_call():
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    changing = [
        (record.id, model, dates)
        for record in data.providers
        for model in record.models
        if isinstance(model.prices, list)
        and len(dates := [day for one in model.prices if (day := getattr(one.constraint, "start_date", None))]) == 1
    ]
    assert changing
    mine = {theirs: ours for ours, theirs in PRICE_LISTS.items()}
    prices = set()
    for name, model, (day,) in changing:
        if name in mine:
            before = price_of(model.id, mine[name], usage, at=datetime(2020, 1, 1, tzinfo=UTC))
            after = price_of(model.id, mine[name], usage, at=datetime(day.year, day.month, day.day, 1, tzinfo=UTC))
            prices.add(before == after)
    assert False in prices


@pytest.mark.parametrize(
    ("model", "provider", "usage"),
    [
        ("no-such-model", "openai", Usage(input_tokens=1)),
        ("gpt-4o", "my-own-gateway:8000", Usage(input_tokens=1)),
        ("gpt-4o", "openai.example.com", Usage(input_tokens=1)),  # a name that only looks like one of the list
        ("gpt-4o", "ollama", Usage(input_tokens=1)),
        ("gpt-4o", "scripted", Usage(input_tokens=1)),
        ("gpt-4o", "", Usage(input_tokens=1)),
        ("no-such-model", None, Usage(input_tokens=1)),
        (None, "openai", Usage(input_tokens=1)),
        ("", "openai", Usage(input_tokens=1)),
        ("gpt-4o", "openai", None),
        ("gpt-4o", "openai", Usage()),
        ("gpt-4o", "openai", Usage(input_tokens=-5)),
    ],
)
def test_what_is_not_listed_or_not_counted_has_no_price(model, provider, usage):
    assert price_of(model, provider, usage) is None


def test_without_a_provider_the_one_of_the_models_name_counts():
    usage = Usage(input_tokens=100, output_tokens=10)
    assert price_of("gpt-4o", None, usage, at=AT) == price_of("gpt-4o", "openai", usage, at=AT)


def test_a_report_in_which_a_part_is_more_than_the_whole_still_has_a_price():
    odd = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=1000, reasoning_tokens=50)
    whole = Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=1000, reasoning_tokens=50)
    assert price_of("gpt-4o", "openai", odd, at=AT) == price_of("gpt-4o", "openai", whole, at=AT) > 0


def test_every_provider_of_the_table_is_in_the_catalogue_and_has_a_list():
    assert set(PRICE_LISTS) <= {provider.id for provider in BY_NAME.values()}
    assert set(PRICE_LISTS.values()) <= {provider.id for provider in data.providers}


def test_the_model_that_was_asked_counts_where_the_answer_names_none_that_is_listed():
    usage = Usage(input_tokens=100, output_tokens=10)
    expected = price_of("gpt-4o", "openai", usage, at=AT)
    said = {"provider": "openai", "usage": usage, "created_at": AT}
    for model_id in ("openai:gpt-4o", "openai/gpt-4o", "gpt-4o"):
        price = listed_prices(model_id)
        assert price(AssistantMessage([TextPart("x")], **said)) == expected
        assert price(AssistantMessage([TextPart("x")], model="a-deployment", **said)) == expected
    other = listed_prices("openai:gpt-4o")(AssistantMessage([TextPart("x")], model="gpt-4o-mini", **said))
    assert other == price_of("gpt-4o-mini", "openai", usage, at=AT) != expected
    assert listed_prices()(AssistantMessage([TextPart("x")], **said)) is None


def test_a_loop_adds_up_what_its_answers_cost_and_names_the_models_that_it_cannot_price():
    loop = Loop(Rules(limits=RunLimits(cost_usd=1.0), price=listed_prices()))
    usage = Usage(input_tokens=100_000, output_tokens=10)
    one = price_of("gpt-4o", "openai", usage, at=AT)
    for model in ("gpt-4o", "gpt-4o", "home-made"):
        loop.feed(AssistantMessage([TextPart("x")], model=model, provider="openai", usage=usage, created_at=AT))
    assert loop.used.cost_usd == pytest.approx(2 * one)
    assert loop.unpriced == {"home-made"}


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingExtraError, match=r"headrace\[prices\]"):
        listed_prices()
    with pytest.raises(MissingExtraError, match=r"headrace\[prices\]"):
        price_of("gpt-4o", "openai", Usage(input_tokens=1))
