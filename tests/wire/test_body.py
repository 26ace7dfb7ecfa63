from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.body import Body
from headrace.wire.frames import Frame
from slicing import bytewise, frames_of, slicings

BOM = b"\xef\xbb\xbf"


def read(pieces, *, limit=1 << 30):
    body = Body(max_event_bytes=limit)
    frames = frames_of(body, pieces)
    return frames, body.kind, body.exceeded


@pytest.mark.parametrize(
    ("data", "expected", "kind"),
    [
        (b"data: a\n\n", [Frame(b"a", 0)], "events"),
        (BOM + b"data: a\n\n", [Frame(b"a", 3)], "events"),
        (BOM + b"\r\n\ndata: a\n\n", [Frame(b"a", 6)], "events"),
        (b"\n\n: hi\n\ndata: a\n\n", [Frame(b"a", 8)], "events"),
        (b" data: a\n\ndata: b\n\n", [Frame(b"b", 10)], "events"),
        (b" \n\tdata: a\n\ndata: b\n\n", [Frame(b"b", 12)], "events"),
        (b" \ndata: a\n\n", [Frame(b"a", 2)], "events"),
        (BOM + BOM + b"data: a\n\ndata: b\n\n", [Frame(b"b", 15)], "events"),
        (b'{"a": 1}\n', [Frame(b'{"a": 1}', 0, is_body=True)], "json"),
        (b'\n\n [{"a": 1}] ', [Frame(b'[{"a": 1}]', 3, is_body=True)], "json"),
        (BOM + b'{"a": 1}', [Frame(b'{"a": 1}', 3, is_body=True)], "json"),
        (b"\n<html>data: a\n\n</html>", [], "other"),
        (b"Bad gateway\n", [], "other"),
        (b"upstream: reset before headers", [], "other"),
        (BOM[:2], [], "other"),
        (b" \n\t ", [], "unknown"),
        (b"", [], "unknown"),
        (b": nothing but a comment\n\n", [], "events"),
    ],
)
def test_the_first_byte_that_is_no_space_decides(data, expected, kind):
    assert read([data]) == (expected, kind, False)
    assert read(bytewise(data)) == (expected, kind, False)


@given(st.data())
def test_any_slicing_of_any_bytes_gives_the_same_frames_the_same_kind_and_the_same_limit(data):
    pieces = st.sampled_from([BOM, b"\xef", b"\n", b"\r", b" ", b"\t", b"{", b"[", b"<", b"}", b"data: x", b":", b"event", b"\n\n"])
    body = data.draw(st.lists(pieces, max_size=10).map(b"".join) | st.binary(max_size=12))
    limit = data.draw(st.sampled_from([1, 2, 3, 5, 8, 1000]))
    whole = read([body], limit=limit)
    assert read(bytewise(body), limit=limit) == whole
    assert read(data.draw(slicings(body)), limit=limit) == whole


@pytest.mark.parametrize("blank", [b"", b"\n", b"   "])
def test_a_body_of_json_is_bounded(blank):
    body = blank + b'{"a":"b"}'
    for pieces in ([body], bytewise(body)):
        assert read(pieces, limit=9)[2] is False
        assert read(pieces, limit=8) == ([], "json", True)


def test_a_page_may_be_of_any_size_since_it_is_not_kept():
    assert read([b"<", *[b"x" * 100] * 10], limit=50) == ([], "other", False)


def test_blank_bytes_without_end_are_too_much():
    assert read([b"\n"] * 11, limit=10) == ([], "unknown", True)
    assert read([b"\n" * 11 + b"data: a\n\n"], limit=10) == ([], "unknown", True)


@pytest.mark.parametrize("data", [b"<html>\xc3\xa9", b"plain \xff words", b"data: x\n\n"])
def test_its_beginning_is_kept_for_error_messages_and_no_more_than_that(data):
    body = Body(max_event_bytes=1 << 20)
    for piece in bytewise(data + b"x" * 300):
        body.feed(piece)
    assert body.beginning == (data + b"x" * 300)[:200].decode("utf-8", "replace")
