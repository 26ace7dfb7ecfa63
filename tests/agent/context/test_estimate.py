"""Estimates add up, are near what tokenisers say, and cost one look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.context.estimate import estimate_tokens
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import MediaPart, ProviderItem, ProviderToolPart, ReasoningPart, ToolCallPart, ToolResultPart
from headrace.messages.request import ToolSpec
from message_strategies import messages, parts


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog. " * 20, 180, 260),
        ("今天天气很好我们去公园散步吧。" * 20, 240, 400),
        ("Съешь же ещё этих мягких французских булок. " * 20, 200, 600),
        ("\U0001f600" * 30, 30, 90),
    ],
)
def test_a_text_is_about_as_long_as_tokenisers_say(text, least, most):
    assert least <= estimate_tokens(text) <= most


def test_half_of_a_surrogate_pair_does_no_harm():
    assert estimate_tokens("\ud800") == 1


@given(st.lists(messages, max_size=2))
def test_a_list_is_the_sum_of_its_messages(several):
    assert estimate_tokens(several) == sum(estimate_tokens(message) for message in several)


@given(parts)
def test_every_part_has_an_estimate_and_none_is_below_zero(part):
    assert estimate_tokens(part) >= 0


@given(st.lists(st.text(max_size=20), max_size=5))
def test_more_text_is_never_fewer_tokens(texts):
    sizes = [estimate_tokens("".join(texts[:n])) for n in range(len(texts) + 1)]
    assert sizes == sorted(sizes)


def test_media_count_a_fixed_number_however_many_bytes_they_have():
    small, large = (MediaPart(kind="image", data=b"x" * size) for size in (1, 100_000))
    assert estimate_tokens(small) == estimate_tokens(large) == 1_200


def test_what_goes_to_the_model_beside_text_counts_too():
    assert estimate_tokens(ToolCallPart(name="f", arguments={"q": "x" * 300})) > 100
    assert estimate_tokens(ToolResultPart(call_id="c", parts="x" * 400)) > 100
    assert estimate_tokens(ProviderToolPart(name="search", result=["x" * 300])) > 100
    assert estimate_tokens(ProviderItem(provider="acme", protocol="p", raw=b"x" * 300)) >= 100
    assert estimate_tokens(ReasoningPart(encrypted="x" * 400)) == 75
    assert estimate_tokens(ReasoningPart(signature="x" * 400)) == 0
    assert estimate_tokens(ToolSpec(name="f", description="x" * 400, parameters={"type": "object"})) > 100
    assert estimate_tokens(UserMessage("hi", name="ann of the north")) > estimate_tokens(UserMessage("hi"))


def test_what_does_not_go_to_the_model_does_not_count():
    assert estimate_tokens(AssistantMessage("hi", metadata={"note": "x" * 400})) == estimate_tokens(AssistantMessage("hi"))
