"""Who is asked for a model, and in which order."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.server.gateway.config import Upstream
from headrace.server.gateway.routing import candidates, known_names, name_at


def up(name, weight=1.0, **models):
    return Upstream(
        name=name, protocol="openai-chat", base_url="http://h/v1", weight=weight, models={k.replace("_", "*"): v for k, v in models.items()}
    )


@pytest.mark.parametrize(
    ("models", "asked", "expected"),
    [
        ({}, "any", "any"),
        ({"a": "x"}, "a", "x"),
        ({"a": "x"}, "b", None),
        ({"t/*": "*"}, "t/one/two", "one/two"),
        ({"t/*": "y"}, "t/", "y"),
        ({"*-mini": "small-*"}, "b-mini", "small-b"),
        ({"a*a": "*"}, "a", None),
        ({"*": "z", "a": "x"}, "a", "x"),
        ({"a*": "1", "ab*": "2"}, "abc", "1"),
        ({"*": "*"}, "*", "*"),
    ],
)
def test_the_upstreams_name_of_a_model(models, asked, expected):
    assert name_at(models, asked) == expected


def test_only_those_who_have_the_model_are_asked():
    assert [(one.upstream.name, one.model) for one in candidates([up("a", m="x"), up("b"), up("c", k="y")], "m", lambda: 0.5)] == [
        ("a", "x"),
        ("b", "m"),
    ]


def test_the_first_to_be_asked_is_drawn_by_weight():
    chance = random.Random(7).random
    firsts = Counter(candidates([up("a", 3), up("b", 1), up("spare", 0)], "m", chance)[0].upstream.name for _ in range(4000))
    assert 2850 < firsts["a"] < 3150
    assert firsts["spare"] == 0


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.0]), min_size=1, max_size=6), st.randoms())
def test_everybody_who_has_the_model_is_in_the_order_once_and_spares_come_last(weights, chance):
    upstreams = [up(f"u{n}", weight) for n, weight in enumerate(weights)]
    order = [one.upstream for one in candidates(upstreams, "m", chance.random)]
    assert sorted(one.name for one in order) == sorted(one.name for one in upstreams)
    spares = [one for one in order if one.weight == 0]
    assert order[len(order) - len(spares) :] == spares == [one for one in upstreams if one.weight == 0]


def test_names_that_can_be_listed_are_those_without_a_pattern():
    assert known_names(up("a", m="x", _="y")) == ("m",)
