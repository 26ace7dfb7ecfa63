"""The law of slicing for all framers at once: the same bytes give the same frames and the same of everything that a framer says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aws_bytes import aws_event, aws_exception, aws_frame
from headrace.wire.aws_frames import AwsFrames
from headrace.wire.body import Body
from headrace.wire.frames import SSE
from headrace.wire.json_array import ArrayOrBody
from headrace.wire.lines import LineBody, Lines
from slicing import bytewise, frames_of, slicings

FRAMERS = {
    "events": SSE,
    "events with names": lambda max_event_bytes: SSE(max_event_bytes=max_event_bytes, has_names=True),
    "a body": Body,
    "a body with names": lambda max_event_bytes: Body(max_event_bytes=max_event_bytes, has_names=True),
    "lines": Lines,
    "a body of lines": LineBody,
    "an array": ArrayOrBody,
    "frames": AwsFrames,
}
BLANKS = [b"\xef\xbb\xbf", b"\xef", b"\xef\xbb", b"\n", b"\r", b"\r\n", b" ", b"\t", b"\n\n", b"\r\n\r\n"]
JSON = [b"{", b"[", b"<", b"}", b"]", b",", b'"', b"\\", b'{"a":1}', b'{"a":1}\n', b"{\n", b'{"a":"x\n']
NAMED = b"event: e\ndata: x\n\n"
NUMBERED = b"id:1\nevent:result\n:HTTP_STATUS/200\ndata:x\n\n"
EVENTS = [b"data: x", b"data:", b"event: e", b"error: z", b": c", b"id: 1", b"foo", b":", b":HTTP_STATUS/429", NAMED, NUMBERED]
RUNS = [b"data: a\n\n", b"data: a\r\n\r\n", b":HTTP_STATUS/429\ndata: a\n\n"]
TOKENS = st.lists(st.sampled_from([*BLANKS, *JSON, *EVENTS, *RUNS, b"\0"]), max_size=10).map(b"".join)
BODIES = TOKENS | st.text('{"a:}\n <d[],\r', max_size=30).map(str.encode) | st.binary(max_size=14)
BROKEN = aws_frame(b"", b"{}")[:-1] + b"\0"
BINARY = [
    aws_frame(b"", b"{}"),
    aws_frame(b"", b"x" * 30),
    aws_event("a", {}),
    aws_exception("b", {}),
    BROKEN,
    aws_frame(b"\1", b""),
    b"\0",
    b"{",
]


def outcome(framer, pieces):
    """All that a framer says of these reads; how many lines it counted matters only as far as there were any."""
    frames = frames_of(framer, pieces)
    said = [getattr(framer, name, None) for name in ("exceeded", "kind")]
    counts = [bool(getattr(framer, name, 0)) for name in ("known_lines", "unknown_lines")]
    return frames, said, counts, said[1] == "other" and framer.beginning


@pytest.mark.parametrize("name", FRAMERS)
@given(st.data())
def test_any_slicing_of_any_bytes_under_any_limit_says_the_same(name, data):
    binary = st.lists(st.sampled_from(BINARY), max_size=6).map(b"".join)
    body = data.draw(BODIES | binary if name == "frames" else BODIES)
    limit = data.draw(st.integers(1, 30) | st.just(1000))
    whole = outcome(FRAMERS[name](max_event_bytes=limit), [body])
    assert outcome(FRAMERS[name](max_event_bytes=limit), bytewise(body)) == whole
    assert outcome(FRAMERS[name](max_event_bytes=limit), data.draw(slicings(body))) == whole


@pytest.mark.parametrize(
    ("name", "body", "limit", "cuts"),
    [
        ("a body of lines", b" {:::::\n", 5, [7]),
        ("a body", b"\xef\xbbx", 1, [2]),
        ("an array", b"   [1]", 2, [3]),
        ("events", b":HTTP_STATUS/429\ndata: a\n\n", 1000, [17]),
    ],
)
def test_cuts_that_once_said_another_thing(name, body, limit, cuts):
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert outcome(FRAMERS[name](max_event_bytes=limit), pieces) == outcome(FRAMERS[name](max_event_bytes=limit), [body])
