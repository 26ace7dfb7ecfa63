from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.frames import Batch, Frame
from headrace.wire.lines import LineBody, Lines
from memory import most_held
from slicing import bytewise, frames_of, slicings


def read(pieces, *, limit=1 << 30, offset=0):
    framer = Lines(max_event_bytes=limit, offset=offset)
    return frames_of(framer, pieces), framer.exceeded


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', [Frame(b'{"a":1}', 0), Frame(b'{"b":2}', 8)]),
        (b'{"a":1}\r\n\r\n{"b":2}', [Frame(b'{"a":1}\r', 0), Frame(b'{"b":2}', 11, is_unterminated=True)]),
        (b"\n \n\t\n", []),
        (b"  ", []),
        (b"", []),
    ],
)
def test_each_line_that_is_not_blank_is_a_frame(data, expected):
    assert read([data]) == read(bytewise(data)) == (expected, False)


def test_offsets_count_from_where_it_started():
    assert read([b"\n1\n"], offset=5) == ([Frame(b"1", 6)], False)


@given(st.data())
def test_any_slicing_gives_the_same_lines_and_passes_the_limit_at_the_same_one(data):
    body = data.draw(st.text("\n\r ab", max_size=60).map(str.encode))
    limit = data.draw(st.integers(1, 12))
    whole = read([body], limit=limit)
    lines = body.split(b"\n")
    if all(len(line) <= limit for line in lines):
        assert [frame.data for frame in whole[0]] == [line for line in lines if line.strip()]
    else:
        assert whole[1]
    assert read(bytewise(body), limit=limit) == whole
    assert read(data.draw(slicings(body)), limit=limit) == whole


def test_a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not():
    assert read([b"12345\n"], limit=5) == ([Frame(b"12345", 0)], False)
    assert read([b"1\n123456\n2\n"], limit=5) == ([Frame(b"1", 0)], True)
    assert read([b"123456"], limit=5) == ([], True)


def test_after_the_limit_nothing_comes_out():
    framer = Lines(max_event_bytes=3)
    assert framer.feed(b"12345") == []
    assert framer.feed(b"\n1\n") == []
    assert framer.close() == []


def test_an_endless_line_in_small_pieces_holds_little_more_than_the_limit():
    limit = 1 << 16
    framer = Lines(max_event_bytes=limit)
    assert most_held(framer.feed, b"ab", times=limit, is_over=lambda: framer.exceeded) < 1.5 * limit + 10_000
    assert framer.exceeded


def test_lines_that_begin_an_object_come_together_and_know_where_they_begin():
    (batch,) = Lines(max_event_bytes=100, offset=5).feed(b'{"a":1}\n{"b":2}\n')
    assert isinstance(batch, Batch)
    assert batch.datas == [b'{"a":1}', b'{"b":2}']
    assert batch.offset_of(1) == 13
    assert Lines(max_event_bytes=100).feed(b'{"a":1}\n\n{"b":2}\n') == [Frame(b'{"a":1}', 0), Frame(b'{"b":2}', 9)]


def body_of(pieces, limit=1 << 20):
    body = LineBody(max_event_bytes=limit)
    frames = frames_of(body, pieces)
    return frames, body.kind, body.exceeded


PRINTED = b'{\n  "error": "no"\n}\n'


@pytest.mark.parametrize(
    ("data", "frames", "kind"),
    [
        (b'{"a":1}\n{"b":2}\n', [Frame(b'{"a":1}', 0), Frame(b'{"b":2}', 8)], "lines"),
        (b'\n {"a":1}\n{"b', [Frame(b'{"a":1}', 2), Frame(b'{"b', 10, is_unterminated=True)], "lines"),
        (b'{"a":1}', [Frame(b'{"a":1}', 0, is_unterminated=True)], "lines"),
        (b'{"a":"x\n', [Frame(b'{"a":"x', 0)], "lines"),
        (PRINTED, [Frame(PRINTED.rstrip(), 0, is_body=True)], "json"),
        (b"[1,\n2]", [Frame(b"[1,\n2]", 0, is_body=True)], "json"),
        (b"data: 1\n\n", [Frame(b"1", 0)], "events"),
        (b"<html>", [], "other"),
        (b"what?", [], "other"),
        (b" \n", [], "unknown"),
        (b"", [], "unknown"),
    ],
)
def test_a_body_that_should_be_lines_is_what_it_is(data, frames, kind):
    assert body_of([data]) == (frames, kind, False)
    assert body_of(bytewise(data)) == (frames, kind, False)


@given(st.data())
def test_any_slicing_of_a_body_gives_the_same(data):
    body = data.draw(st.text('{"a:}\n <d', max_size=40).map(str.encode))
    limit = data.draw(st.sampled_from([5, 12, 1000]))
    assert body_of(data.draw(slicings(body)), limit) == body_of([body], limit)


@pytest.mark.parametrize("data", [b'{"a":1234567}', b'{"a":1}\n{"a":1234567}\n', b" " * 12, b"[1234567890]"])
def test_a_body_past_the_limit_is_told(data):
    assert body_of(bytewise(data), 10)[2]


def test_the_beginning_is_shown():
    body = LineBody(max_event_bytes=10)
    body.feed(b"<html>")
    body.feed(b"\xff")
    assert body.beginning == "<html>\ufffd"


def test_an_endless_first_line_in_small_pieces_costs_and_holds_little():
    limit = 1 << 16
    body = LineBody(max_event_bytes=limit)
    body.feed(b"{")
    assert most_held(body.feed, b"ab", times=limit, is_over=lambda: body.exceeded) < 1.5 * limit + 10_000
    assert body.exceeded
    assert body.feed(b"\n") == body.close() == []
