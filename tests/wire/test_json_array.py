import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.frames import Frame
from headrace.wire.json_array import ArrayOrBody
from memory import most_held
from slicing import bytewise, frames_of, slicings

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def read(pieces, max_event_bytes=1 << 40):
    framer = ArrayOrBody(max_event_bytes=max_event_bytes)
    return frames_of(framer, pieces), framer


@given(st.lists(VALUES, max_size=5), st.sampled_from(["", "\n ", "\ufeff", "\ufeff \r\n"]), st.sampled_from([None, 1]), st.data())
def test_each_element_is_a_frame_with_its_place_however_the_bytes_were_cut(values, before, indent, data):
    body = (before + json.dumps(values, indent=indent, ensure_ascii=False)).encode("utf-8", "replace")
    frames, framer = read([body])
    assert [json.loads(frame.data) for frame in frames] == json.loads(body.decode("utf-8-sig"))
    assert all(body[frame.offset :].startswith(frame.data) for frame in frames)
    assert framer.kind == "json"
    assert read(bytewise(body))[0] == read(data.draw(slicings(body)))[0] == frames


def test_an_element_comes_as_soon_as_it_ends():
    framer = ArrayOrBody(max_event_bytes=100)
    assert [framer.feed(piece) for piece in (b"[", b'{"a"', b":1}", b" ,", b"{}", b"]")] == [
        [],
        [],
        [],
        [Frame(b'{"a":1}', 1)],
        [],
        [Frame(b"{}", 10)],
    ]
    assert framer.close() == []


@pytest.mark.parametrize(
    ("body", "rest"), [(b"[", b""), (b"[{}", b"{}"), (b"[{},", b""), (b'[{}, {"a": "]', b'{"a": "]'), (b'[["\\', b'["\\')]
)
def test_an_array_that_was_cut_off_says_so(body, rest):
    frames, framer = read([body])
    assert frames[-1].data == rest
    assert (frames[-1].is_unterminated, frames[-1].is_body, framer.kind) == (True, True, "json")


def test_what_stands_behind_the_array_is_a_frame_of_its_own():
    assert read([b"[1] \n"])[0] == [Frame(b"1", 1)]
    assert read([b"[1] oops"])[0] == [Frame(b"1", 1), Frame(b"oops", 3)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"data: 1\n\n", "events"), (b'{"a": 1}', "json"), (b"<html>", "other"), (b"  \n", "unknown"), (b"\xef\xbb", "other")],
)
def test_any_other_body_is_framed_as_ever(body, kind):
    for pieces in ([body], bytewise(body)):
        frames, framer = read(pieces)
        assert (framer.kind, len(frames)) == (kind, 1 if kind in ("events", "json") else 0)
    assert read([b"<html>"])[1].beginning == "<html>"


@pytest.mark.parametrize(
    "body", [b"[" + b"1" * 11, b"[" + b"1" * 11 + b"]", b'["' + b"\\\\" * 6, b"data: " + b"1" * 20, b"{" + b" " * 20, b" " * 20]
)
def test_an_element_past_the_bound_ends_it(body):
    for pieces in ([body], bytewise(body)):
        frames, framer = read(pieces, max_event_bytes=10)
        assert framer.exceeded
        assert frames == []
        assert framer.feed(b"[1]") == []


@pytest.mark.parametrize("piece", [b" ", b'"\\"', b"[", b"1"])
def test_many_small_pieces_cost_memory_and_time_of_their_bytes_alone(piece):
    framer = ArrayOrBody(max_event_bytes=1 << 20)
    framer.feed(b"[[")
    assert most_held(framer.feed, piece, times=20_000) < 20_000 * len(piece) * 2 + 20_000
