"""What must hold for any Responses body: every sample cut, sliced and broken."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import check_result, decoded
from responses_bytes import SAMPLES
from slicing import bytewise, slicings

PROTOCOL = "openai-responses"
each_sample = pytest.mark.parametrize("body", SAMPLES.values(), ids=SAMPLES)
bodies = st.sampled_from(list(SAMPLES.values()))
_VALUE = re.compile(rb'(?<=:)(?:"[^"\\]*"|-?\d+|\[\]|null)')
ODD = (
    b"null",
    b"{}",
    b"[]",
    b'""',
    b"-1",
    b"1e400",
    b'"\\ud83d"',
    b'{"type":"x"}',
    b"[[{}]]",
    b'"completed"',
    b"99999999999999999999",
    b"true",
)


def run(pieces, **options):
    chunks, result = decoded(pieces, protocol=PROTOCOL, **options)
    return chunks, result, check_result(chunks, result)


@each_sample
def test_however_the_network_cut_it_the_result_is_the_same(body):
    chunks, result, _ = run(body)
    again, other, _ = run(bytewise(body))
    assert (again, other) == (chunks, result)


@each_sample
def test_the_short_way_and_the_general_one_say_the_same(body):
    assert run(body, is_short_way_off=True) == run(body)


@each_sample
def test_a_cut_body_runs_no_call_that_the_whole_has_not_and_its_text_is_a_beginning(body):
    _, _, whole = run(body)
    calls = [(call["id"], call.get("arguments"), call.get("input")) for call in whole["tool_calls"] if call["runnable"]]
    step = 1 if len(body) < 1600 else 5  # every byte of the short ones
    for end in range(0, len(body), step):
        _, result, part = run(body[:end])
        assert whole["text"].startswith(part["text"])
        assert whole["reasoning"].startswith(part["reasoning"])
        assert (result.error is not None) or part["text"] == whole["text"]
        for call in part["tool_calls"]:
            assert not call["runnable"] or (call["id"], call.get("arguments"), call.get("input")) in calls


@given(bodies.flatmap(lambda body: st.tuples(st.just(body), slicings(body))))
def test_any_slicing_gives_the_same(case):
    body, pieces = case
    assert run(pieces)[:2] == run(body)[:2]


@given(bodies, st.data())
def test_bent_bodies_never_raise_and_both_ways_say_the_same(body, data):
    for _ in range(data.draw(st.integers(1, 4))):
        places = list(_VALUE.finditer(body))
        if places and data.draw(st.booleans()):
            place = data.draw(st.sampled_from(places))
            body = body[: place.start()] + data.draw(st.sampled_from(ODD)) + body[place.end() :]
        else:
            events = body.split(b"\n\n")
            at, other = (data.draw(st.integers(0, len(events) - 1)) for _ in range(2))
            events.insert(other, events.pop(at) if data.draw(st.booleans()) else events[at])
            body = b"\n\n".join(events)
    chunks, result, _ = run(body)
    assert run(body, is_short_way_off=True)[:2] == (chunks, result)
    assert run(bytewise(body))[:2] == (chunks, result)


@given(st.lists(st.sampled_from([event for body in SAMPLES.values() for event in body.split(b"\n\n")]), max_size=12))
def test_events_in_any_order_never_raise(events):
    run(b"\n\n".join(events) + b"\n\n")
