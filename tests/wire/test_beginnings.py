"""How far a history was encoded: what is remembered gives what encoding the whole would give."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.request import Request
from headrace.wire.beginnings import Beginning, Beginnings, size_of
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.history import Pairing
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from headrace.wire.protocols import WIRES

ASKED = UserMessage("q")
PROFILES = [
    DEFAULT,
    DEFAULT.replace(supports_several_system_messages=False),
    DEFAULT.replace(needs_assistant_after_tool=True, call_id_pattern="[a-zA-Z0-9]{9}", call_id_length=9),
]
CALLS = st.builds(ToolCallPart, id=st.sampled_from("abc"), name=st.just("look"), arguments=st.just("{}"))
MESSAGES = st.one_of(
    st.just(ASKED),
    st.builds(UserMessage, st.sampled_from(["x", "y"]), name=st.sampled_from([None, "Ada"])),
    st.builds(SystemMessage, st.just("be brief")),
    st.builds(AssistantMessage, st.lists(CALLS, max_size=3)),
    st.builds(AssistantMessage, st.just("yes")),
    st.builds(ToolMessage, st.just("1"), call_id=st.sampled_from("abc")),
)


def encoded(messages, profile, cache=None):
    return encode_request(Request(model="m", messages=tuple(messages)), profile, cache=cache)


@given(st.lists(MESSAGES, min_size=1, max_size=12), st.lists(st.integers(0, 12), min_size=1), st.sampled_from(PROFILES))
def test_a_history_that_grows_shrinks_or_changes_is_encoded_as_a_whole_one(messages, lengths, profile):
    cache = EncodingCache()
    for length in lengths:
        beginning = [ASKED, *messages[:length]]
        assert encoded(beginning, profile, cache) == encoded(beginning, profile)


PROTOCOLS = [name for name, wire in WIRES.items() if wire.encodes]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(st.lists(MESSAGES, min_size=1, max_size=9), st.lists(st.integers(1, 10), min_size=1, max_size=6))
def test_on_every_wire_a_history_that_was_sent_before_is_encoded_as_a_whole_one(protocol, messages, lengths):
    encode, cache = WIRES[protocol].encode(), EncodingCache()
    for length in lengths:
        request = Request(model="m", messages=tuple([*messages, ASKED][:length]))
        if not any(isinstance(message, UserMessage) for message in request.messages):
            continue  # what may go without a user's word differs from wire to wire
        assert encode(request, DEFAULT, cache=cache) == encode(request, DEFAULT)


@given(st.lists(MESSAGES, max_size=8), st.lists(MESSAGES, max_size=8), st.lists(st.booleans(), max_size=12))
def test_two_talks_that_begin_alike_do_not_disturb_each_other(one, other, turns):
    cache, talks, lengths = EncodingCache(), ([ASKED, *one], [ASKED, *other]), [1, 1]
    for turn in turns:
        history = talks[turn][: lengths[turn]]
        lengths[turn] += 1
        assert encoded(history, DEFAULT, cache) == encoded(history, DEFAULT)


def beginning_of(message, size):
    wire = [b"x" * size]
    return Beginning((message,), DEFAULT, Pairing(DEFAULT), wire, (), size=size_of(wire))


def test_only_the_newest_are_remembered_within_the_bound():
    asked = [UserMessage(str(n)) for n in range(10)]
    beginnings = Beginnings(1000)
    for message in asked:
        beginnings.put(beginning_of(message, 250))
    assert [beginnings.take((message,), DEFAULT) is not None for message in asked] == [False] * 7 + [True] * 3
    assert beginnings.take((asked[9],), DEFAULT) is None


def test_a_beginning_counts_only_for_the_same_messages_and_the_same_profile():
    beginnings = Beginnings(1000)
    beginnings.put(beginning_of(ASKED, 1))
    assert beginnings.take((ASKED,), PROFILES[1]) is None
    beginnings.put(beginning_of(ASKED, 1))
    assert beginnings.take((), DEFAULT) is None
    assert beginnings.take((UserMessage("q"),), DEFAULT) is None
    assert beginnings.take((ASKED, UserMessage("more")), DEFAULT) is not None
    beginnings.put(beginning_of(ASKED, 1))
    assert beginnings.take((ASKED,), DEFAULT, "another form") is None


def cost_of_the_last_round(protocol, rounds):
    """Count the functions that are called to encode a history of so many rounds, when all but the last were encoded before."""
    encode, cache, calls = WIRES[protocol].encode(), EncodingCache(), 0
    talk = [ASKED]
    for n in range(rounds):
        talk += [AssistantMessage([ToolCallPart(id=f"c{n}", name="look")]), ToolMessage("1", call_id=f"c{n}")]

    def see(_frame, event, _arg):
        nonlocal calls
        calls += event == "call"

    for messages in (talk[:-4], talk[:-2], talk):
        request, calls, before = Request(model="m", messages=tuple(messages)), 0, sys.getprofile()
        sys.setprofile(see)
        try:
            encode(request, DEFAULT, cache=cache)
        finally:
            sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "protocol", ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "cohere-v2", "ollama", "gemini-interactions"]
)
def test_a_round_costs_the_same_however_long_the_talk_is(protocol):
    assert cost_of_the_last_round(protocol, 200) <= 1.1 * cost_of_the_last_round(protocol, 10)
