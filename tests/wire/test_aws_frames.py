"""The AWS event stream: checked against AWS's own reader, cut and broken everywhere."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aws_bytes import aws_event, aws_exception, aws_frame, header
from headrace.decoding import decode_stream
from headrace.wire.aws_frames import AwsBatch, AwsFrames, FrameError, parse_headers
from headrace.wire.frames import Frame
from slicing import bytewise, expanded, slicings

THREE = aws_event("messageStart", {"role": "assistant"}) + aws_event("contentBlockDelta", {"delta": {"text": "hé"}}) + aws_event("x", {})


def framed(*pieces, limit=1 << 20):
    framer = AwsFrames(max_event_bytes=limit)
    runs = [run for piece in pieces for run in framer.feed(piece)] + framer.close()
    return [frame for run in runs for frame in ([run] if isinstance(run, Frame) else run.frames())], framer


def headers_of_all_types():
    return b"".join(
        [
            header("yes", 0, b""),
            header("no", 1, b""),
            header("byte", 2, struct.pack(">b", -2)),
            header("short", 3, struct.pack(">h", -300)),
            header("int", 4, struct.pack(">i", 70_000)),
            header("long", 5, struct.pack(">q", 1 << 40)),
            header("bytes", 6, struct.pack(">H", 3) + b"\x00\x01\xff"),
            header("text", 7, struct.pack(">H", 3) + "hé".encode()),
            header("time", 8, struct.pack(">q", 1_700_000_000_000)),
            header("uuid", 9, bytes(range(16))),
        ]
    )


def test_frames_come_out_with_their_names_and_places():
    frames, framer = framed(THREE)
    assert [frame.event for frame in frames] == ["messageStart", "contentBlockDelta", "x"]
    assert [frame.data for frame in frames] == [b'{"role":"assistant"}', '{"delta":{"text":"hé"}}'.encode(), b"{}"]
    assert frames[1].offset == len(aws_event("messageStart", {"role": "assistant"}))
    assert framer.kind == "events"


@given(slicings(THREE))
def test_any_slicing_gives_the_same_frames(pieces):
    assert framed(*pieces)[0] == framed(THREE)[0]


def test_our_reading_of_headers_is_that_of_aws():
    eventstream = pytest.importorskip("botocore.eventstream", reason="the development group is missing: pip install botocore")
    theirs = eventstream.EventStreamHeaderParser().parse(headers_of_all_types())
    ours = parse_headers(headers_of_all_types())
    assert {**ours, "uuid": ours["uuid"].bytes} == theirs
    assert ours["uuid"] == UUID(bytes=bytes(range(16)))
    assert datetime.fromtimestamp(ours["time"] / 1000, UTC).year == 2023


@given(st.lists(st.tuples(st.text("abc:-", min_size=1, max_size=20), st.text(max_size=40), st.binary(max_size=200)), max_size=6))
def test_our_frames_are_those_of_aws(events):
    eventstream = pytest.importorskip("botocore.eventstream", reason="the development group is missing: pip install botocore")
    body = b"".join(aws_frame({":message-type": "event", ":event-type": name, ":other": more}, payload) for name, more, payload in events)
    theirs = eventstream.EventStreamBuffer()
    theirs.add_data(body)
    assert [(frame.event, frame.data) for frame in framed(body)[0]] == [
        (message.headers[":event-type"], message.payload) for message in theirs
    ]


def test_each_flipped_byte_is_noticed():
    for at in range(len(THREE)):
        broken = THREE[:at] + bytes([THREE[at] ^ 0x20]) + THREE[at + 1 :]
        frames, framer = framed(broken)
        is_noticed = framer.exceeded or framer.kind == "other" or any(f.kind == "broken" or f.is_unterminated for f in frames)
        assert is_noticed, at
        assert framed(*bytewise(broken))[0] == frames, at


def test_a_frame_that_is_cut_comes_out_as_cut():
    for at in range(1, len(THREE)):
        whole = [frame for frame in framed(THREE)[0] if frame.offset < at]
        frames, _ = framed(THREE[:at])
        assert frames[:-1] == whole[:-1], at
        assert frames[-1] == whole[-1] or frames[-1] == Frame(b"", whole[-1].offset, is_unterminated=True), at


@pytest.mark.parametrize(("name", "at"), [("prelude", 9), ("trailer", -1), ("payload", -10)])
def test_a_wrong_checksum_ends_the_reading(name, at):
    frame = bytearray(aws_event("messageStart", {"role": "assistant"}))
    frame[at] ^= 1
    frames, _ = framed(bytes(frame) + THREE)
    assert [frame.kind for frame in frames] == ["broken"], name
    assert b"checksum" in frames[0].data
    assert decode_stream(bytes(frame) + THREE, protocol="bedrock-converse").error.kind == "invalid_event"


def test_a_frame_of_four_gigabytes_is_refused_by_its_prelude_alone():
    start = struct.pack(">II", 0xFFFFFFFF, 32)
    framer = AwsFrames(max_event_bytes=1 << 24)
    assert len(framer.feed(THREE)) == 3
    assert framer.feed(start + struct.pack(">I", zlib.crc32(start))) == []
    assert framer.exceeded
    assert framer.feed(b"x" * 100) == []
    assert framer.close() == []
    result = decode_stream(start + struct.pack(">I", zlib.crc32(start)), protocol="bedrock-converse")
    assert (result.error.kind, result.error.which) == ("limit_exceeded", "event_bytes")


def test_the_bound_counts_the_payload_alone():
    assert framed(aws_frame({":event-type": "e" * 200}, b"x" * 100), limit=100)[0][0].data == b"x" * 100
    _, framer = framed(aws_frame({":event-type": "e"}, b"x" * 101), limit=100)
    assert framer.exceeded


@pytest.mark.parametrize(
    ("total", "headers"), [(15, 0), (40, 30), (1 << 20, 200_000), (0, 0)], ids=["too short", "headers too long", "huge headers", "empty"]
)
def test_a_prelude_that_cannot_be_is_broken(total, headers):
    start = struct.pack(">II", total, headers)
    frames, _ = framed(start + struct.pack(">I", zlib.crc32(start)) + b"\0" * 40)
    assert [frame.kind for frame in frames] == ["broken"]


@pytest.mark.parametrize(
    "headers",
    [b"\x05ab", b"\x02ab", b"\x02ab\x0a", b"\x02ab\x07\x00", b"\x02ab\x07\x00\x09abc", b"\x02ab\x09\x00", b"\x02ab\x04\x00"],
    ids=["name", "no type", "unknown type", "half a length", "short text", "short id", "short number"],
)
def test_headers_that_break_their_format_are_broken(headers):
    with pytest.raises(FrameError):
        parse_headers(headers)
    assert [frame.kind for frame in framed(aws_frame(headers, b"{}"))[0]] == ["broken"]


def test_of_a_header_that_comes_twice_the_first_one_counts():
    assert parse_headers(header("a", 0, b"") + header("a", 1, b"")) == {"a": True}


def test_exceptions_and_errors_are_told_apart_from_events():
    error = aws_frame({":message-type": "error", ":error-code": "InternalError", ":error-message": "it broke"}, b"")
    silent = aws_frame({":message-type": "error"}, b"why")
    other = aws_frame(header(":message-type", 6, b"\x00\x01x") + header(":event-type", 0, b""), b"{}")
    frames, _ = framed(aws_exception("throttlingException", {"message": "slow"}) + error + silent + other)
    assert [(frame.kind, frame.event, frame.data) for frame in frames] == [
        ("exception", "throttlingException", b'{"message":"slow"}'),
        ("error", "InternalError", b"it broke"),
        ("error", None, b"why"),
        ("event", None, b"{}"),
    ]


@pytest.mark.parametrize("body", [b'{"message":"no"}', b' [{"a":1}]', b'\xef\xbb\xbf{"a":12}', b"{}"])
def test_a_body_of_json_is_one_frame(body):
    for pieces in ([body], bytewise(body)):
        frames, framer = framed(*pieces)
        assert [(frame.is_body, frame.data) for frame in frames] == [(True, body[body.index(body.strip(b"\xef\xbb\xbf ")[:1]) :])]
        assert framer.kind == "json"


@pytest.mark.parametrize("body", [b"<html><body>Bad gateway</body></html>", b"upstream connect error", b"no", b"<"])
def test_a_page_or_plain_words_are_of_another_kind(body):
    for pieces in ([body], bytewise(body)):
        frames, framer = framed(*pieces)
        assert (frames, framer.kind) == ([], "other")
        assert framer.beginning == body.decode()


def test_plain_events_are_read_as_such():
    frames, framer = framed(b'event: messageStop\ndata: {"stopReason":"end_turn"}\n\n')
    assert [(frame.event, frame.data) for frame in frames] == [("messageStop", b'{"stopReason":"end_turn"}')]
    assert framer.kind == "events"


def test_nothing_is_of_no_kind():
    frames, framer = framed()
    assert (frames, framer.kind, framer.beginning) == ([], "unknown", "")


def test_a_body_of_json_is_bounded():
    _, framer = framed(b'{"a":"' + b"x" * 200, limit=100)
    assert framer.exceeded


def test_many_kinds_of_headers_do_not_fill_the_memory():
    body = b"".join(aws_event(f"event{n}", {}) for n in range(200))
    frames, framer = framed(body)
    assert [frame.event for frame in frames] == [f"event{n}" for n in range(200)]
    assert len(framer._heads) <= 64


def test_events_with_the_same_headers_come_as_a_run_that_knows_its_places():
    body = aws_event("a", {"n": 1}) + aws_event("a", {"n": 22}) + aws_event("b", {}) + aws_event("a", {})
    runs = AwsFrames(max_event_bytes=1 << 20).feed(body)
    assert [(type(run), run.event, run.datas) for run in runs] == [
        (AwsBatch, "a", [b'{"n":1}', b'{"n":22}']),
        (AwsBatch, "b", [b"{}"]),
        (AwsBatch, "a", [b"{}"]),
    ]
    assert runs[0].offset_of(1) == runs[0].frames()[1].offset == len(aws_event("a", {"n": 1}))


def test_many_sizes_of_frames_do_not_fill_the_memory():
    framer = AwsFrames(max_event_bytes=1 << 20)
    frames = expanded(framer.feed(b"".join(aws_frame(b"", b"x" * n) for n in range(1500))))
    assert [len(frame.data) for frame in frames] == list(range(1500))
    assert len(framer._preludes) <= 1024


@pytest.mark.parametrize("at", [0, 8, 11, 12, 20, -1])
def test_a_frame_like_the_one_before_is_checked_no_less(at):
    good = aws_event("a", {"n": 1})
    bad = bytearray(good)
    bad[at] ^= 1
    kinds = [frame.kind for frame in expanded(AwsFrames(max_event_bytes=1 << 30).feed(good * 2 + bytes(bad)))]
    assert kinds == ["event", "event", "broken"]
