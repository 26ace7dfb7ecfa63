from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.frames import SSE, Batch, Frame, NamedBatch, NumberedBatch
from memory import most_held
from slicing import bytewise, expanded, frames_of, sliced, slicings

NO_LIMIT = 1 << 40


def read(data, *, max_event_bytes=NO_LIMIT):
    return frames_of(SSE(max_event_bytes=max_event_bytes), [data])


def slow_lines(data):
    """The lines, byte by byte: where each begins, and the last one apart, since its end has not come."""
    lines, line, start, n = [], b"", 0, 0
    while n < len(data):
        if data[n : n + 1] in (b"\r", b"\n"):
            n += 2 if data[n : n + 2] == b"\r\n" else 1
            lines.append((start, line))
            line, start = b"", n
        else:
            line += data[n : n + 1]
            n += 1
    return lines, (start, line)


class SlowEvent:
    """An event that is being read, field by field."""

    def __init__(self):
        self.values, self.name, self.begin = [], "", None

    def field(self, at, text):
        head, colon, value = text.partition(b":")
        value = value.removeprefix(b" ")
        if head in (b"data", b"error") and (colon or head == b"data"):
            self.values.append(value)
            self.name = "error" if head == b"error" else self.name
        elif head == b"event" and not (self.name == "error" and self.values):
            self.name = value.decode("utf-8", "replace")
        if head in (b"data", b"event", b"id", b"retry") or (colon and head == b"error"):
            self.begin = at if self.begin is None else self.begin

    def frames(self, **marks):
        return [Frame(b"\n".join(self.values), self.begin, self.name or None, **marks)] if self.values else []


def slow_reference(data):
    """The grammar, written a second time from the specification, without a thought for speed."""
    lines, (start, rest) = slow_lines(data)
    events, one = [], SlowEvent()
    for at, text in lines:
        if text:
            one.field(at, text)
        else:
            events += one.frames()
            one = SlowEvent()
    if rest:
        one.field(start, rest)
    return events + one.frames(is_unterminated=True)


@pytest.mark.parametrize(
    ("what", "data", "expected"),
    [
        ("one line", b"data: a\n\n", [Frame(b"a", 0)]),
        ("no space", b"data:a\n\n", [Frame(b"a", 0)]),
        ("two spaces, of which one is framing", b"data:  a\n\n", [Frame(b" a", 0)]),
        ("a tab is no framing", b"data:\ta\n\n", [Frame(b"\ta", 0)]),
        ("a colon in the value", b"data: a: b\n\n", [Frame(b"a: b", 0)]),
        ("no colon is an empty value", b"data\n\n", [Frame(b"", 0)]),
        ("several lines are joined", b"data: a\ndata: b\ndata:\ndata: c\n\n", [Frame(b"a\nb\n\nc", 0)]),
        ("a line separator of Unicode ends nothing", b"data: a\xe2\x80\xa8b\n\n", [Frame(b"a\xe2\x80\xa8b", 0)]),
        ("neither do form feed and NEL", b"data: a\x0cb\xc2\x85c\n\n", [Frame(b"a\x0cb\xc2\x85c", 0)]),
        ("CR LF", b"data: a\r\n\r\ndata: b\r\n\r\n", [Frame(b"a", 0), Frame(b"b", 11)]),
        ("CR", b"data: a\r\rdata: b\r\r", [Frame(b"a", 0), Frame(b"b", 9)]),
        ("line ends mixed", b"data: a\r\ndata: b\rdata: c\n\r\n", [Frame(b"a\nb\nc", 0)]),
        ("a name", b"event: ping\ndata: {}\n\n", [Frame(b"{}", 0, "ping")]),
        ("a name behind the data", b"data: {}\nevent: ping\n\n", [Frame(b"{}", 0, "ping")]),
        ("an empty name is none", b"event:\ndata: a\n\n", [Frame(b"a", 0)]),
        ("the last name counts", b"event: a\nevent: b\ndata: x\n\n", [Frame(b"x", 0, "b")]),
        ("a name that is no UTF-8", b"event: \xff\ndata: x\n\n", [Frame(b"x", 0, "\ufffd")]),
        ("a name ends with its event", b"event: a\ndata: x\n\ndata: y\n\n", [Frame(b"x", 0, "a"), Frame(b"y", 18)]),
        ("a name without data is no event", b"event: a\n\ndata: x\n\n", [Frame(b"x", 10)]),
        ("an error line", b'error: {"code": 500}\n\n', [Frame(b'{"code": 500}', 0, "error")]),
        ("an error line keeps its name", b"error: a\nevent: b\n\n", [Frame(b"a", 0, "error")]),
        ("the word error alone is no line of it", b"error\n\ndata: x\n\n", [Frame(b"x", 7)]),
        ("id and retry", b"id: 7\nretry: 10\ndata: x\n\n", [Frame(b"x", 0)]),
        ("comments", b": hello\n\n:\ndata: x\n: in between\ndata: y\n\n", [Frame(b"x\ny", 11)]),
        ("unknown fields", b"date: a\ndata: x\nDATA: y\n\n", [Frame(b"x", 8)]),
        ("a field of spaces", b" data: a\n\ndata: x\n\n", [Frame(b"x", 10)]),
        ("many blank lines", b"\n\n\ndata: x\n\n\n\ndata: y\n\n", [Frame(b"x", 3), Frame(b"y", 14)]),
        ("empty data", b"data:\n\ndata: \n\n", [Frame(b"", 0), Frame(b"", 7)]),
        ("no blank line at the end", b"data: x\n", [Frame(b"x", 0, is_unterminated=True)]),
        ("no line end at the end", b"data: x\n\ndata: y", [Frame(b"x", 0), Frame(b"y", 9, is_unterminated=True)]),
        ("CR at the end", b"data: x\r", [Frame(b"x", 0, is_unterminated=True)]),
        ("only a name at the end", b"data: x\n\nevent: y", [Frame(b"x", 0)]),
        ("a mark of byte order that is not at the start", b"data: \xef\xbb\xbfx\n\n", [Frame(b"\xef\xbb\xbfx", 0)]),
        ("nothing", b"", []),
    ],
)
def test_the_grammar(what, data, expected):
    assert read(data) == expected, what
    assert slow_reference(data) == expected, what
    assert frames_of(SSE(max_event_bytes=NO_LIMIT), bytewise(data)) == expected, what


FIELDS = [b"data: a", b"data:b", b"data", b"data: ", b'data: {"x": 1}', b": c", b":", b"event: e", b"event:", b"event: error", b"error: z"]
LINES = st.sampled_from([*FIELDS, b"error", b"id: 1", b"retry: 5", b"foo: bar", b"dat", b" data: x", b"data: \xc3\xa9\xff", b""])
ENDS = st.sampled_from([b"\n", b"\n", b"\n\n", b"\r\n", b"\r", b"\r\r", b"\n\r\n", b""])
BODIES = st.lists(st.tuples(LINES, ENDS), max_size=14).map(lambda pairs: b"".join(line + end for line, end in pairs)) | st.text(
    "\n\rdate: vrno", max_size=40
).map(str.encode)


@given(st.data())
def test_any_slicing_of_any_bytes_gives_the_frames_of_the_slow_reference(data):
    body = data.draw(BODIES | st.binary(max_size=30))
    expected = slow_reference(body)
    assert read(body) == expected
    assert frames_of(SSE(max_event_bytes=NO_LIMIT), bytewise(body)) == expected
    assert frames_of(SSE(max_event_bytes=NO_LIMIT), data.draw(slicings(body))) == expected


@given(st.data())
def test_a_limit_is_passed_at_the_same_event_however_the_bytes_were_cut(data):
    body, limit = data.draw(BODIES), data.draw(st.integers(1, 24))

    def outcome(pieces):
        framer = SSE(max_event_bytes=limit)
        return frames_of(framer, pieces), framer.exceeded

    whole = outcome([body])
    assert outcome(bytewise(body)) == whole
    assert outcome(data.draw(slicings(body))) == whole


def test_plain_events_come_as_one_batch_that_knows_where_each_begins():
    body = b"data: one\n\ndata: \n\ndata: three\n\n"
    (batch,) = SSE(max_event_bytes=NO_LIMIT).feed(body)
    assert isinstance(batch, Batch)
    assert batch.datas == [b"one", b"", b"three"]
    assert [body[batch.offset_of(n) :].startswith(b"data: " + data) for n, data in enumerate(batch.datas)] == [True] * 3
    assert batch.offset_of(2, known=1, at=11) == batch.offset_of(2) == 19


@pytest.mark.parametrize("rest", [b"", b"data: cut"])
def test_plain_events_that_end_with_cr_lf_come_as_one_batch_too(rest):
    body = b"data: one\r\n\r\ndata: \r\n\r\ndata: three\r\n\r\n"
    framer = SSE(max_event_bytes=NO_LIMIT, offset=5)
    batch, *others = framer.feed(body + rest) + framer.close()
    assert batch.datas == [b"one", b"", b"three"]
    assert [frame.offset - 5 for frame in batch.frames()] == [0, 13, 23]
    assert [(frame.data, frame.offset - 5) for frame in others] == ([(rest.split(b"data: ")[1].strip(), len(body))] if rest else [])


@pytest.mark.parametrize("body", [b"data: a\r\n\r\ndata: b\n\r\n\r\n", b"data: a\r\n\r\nid: 1\r\n\r\n", b"data: a\rb\r\n\r\n"])
def test_events_with_ends_of_several_kinds_come_one_by_one(body):
    assert all(isinstance(frame, Frame) for frame in SSE(max_event_bytes=NO_LIMIT).feed(body))


@pytest.mark.parametrize("cut", [b"da", b"data: a", b"data: a\n", b"event: x\ndata: a\n", b"event: x\nda"])
def test_behind_an_event_whose_first_lines_had_come_the_rest_is_a_batch_again(cut):
    body = (b"event: x\n" if cut.startswith(b"e") else b"") + b"data: a\n\n" + b"data: b\n\n" * 9
    framer = SSE(max_event_bytes=NO_LIMIT)
    frames = framer.feed(cut) + framer.feed(body[len(cut) :])
    assert isinstance(frames[-1], Batch)
    assert len(frames[-1].datas) >= 9
    assert expanded(frames) == slow_reference(body)


def test_a_framer_that_starts_inside_a_body_counts_from_there():
    framer = SSE(max_event_bytes=NO_LIMIT, offset=3)
    assert expanded(framer.feed(b"data: a\n\ndata: b\r\n\r\n") + framer.close()) == [Frame(b"a", 3), Frame(b"b", 12)]


def test_lines_that_are_no_fields_are_counted():
    framer = SSE(max_event_bytes=NO_LIMIT)
    framer.feed(b"Bad gateway\n<hr>\nid: 1\n: x\n")
    assert (framer.unknown_lines, framer.known_lines) == (2, 2)


def test_the_beginning_of_a_field_at_the_end_counts_against_nobody():
    framer = SSE(max_event_bytes=NO_LIMIT)
    framer.feed(b": x\n\ndat")
    framer.close()
    assert framer.unknown_lines == 0


class TestLimits:
    def test_an_event_of_exactly_the_limit_passes_and_one_byte_more_does_not(self):
        for size, is_over in ((20, False), (21, True)):
            body = b"data: before\n\ndata: " + b"x" * (size - 6) + b"\n\n"
            for pieces in ([body], bytewise(body), sliced(body, 5)):
                framer = SSE(max_event_bytes=20)
                frames = frames_of(framer, pieces)
                assert framer.exceeded is is_over
                assert [frame.data for frame in frames] == [b"before", b"x" * 14][: 1 if is_over else 2]

    def test_many_small_lines_of_one_event_count_together(self):
        body = b"data: a\n" * 4
        for pieces in ([body], bytewise(body)):
            framer = SSE(max_event_bytes=28)
            assert frames_of(framer, pieces) == [Frame(b"a\na\na\na", 0, is_unterminated=True)]
            framer = SSE(max_event_bytes=27)
            assert frames_of(framer, pieces) == []
            assert framer.exceeded

    def test_a_batch_larger_than_the_limit_is_fine_where_each_event_is_small(self):
        framer = SSE(max_event_bytes=10)
        assert len(frames_of(framer, [b"data: a\n\n" * 50])) == 50
        assert not framer.exceeded

    @pytest.mark.parametrize("line", [b": comment", b"unknown", b"event: name"])
    def test_a_huge_line_of_any_kind_is_too_much(self, line):
        for pieces in ([line + b"x" * 100 + b"\n"], bytewise(line + b"x" * 100), [line + b"x" * 100 + b"\r\n"]):
            framer = SSE(max_event_bytes=50)
            frames_of(framer, pieces)
            assert framer.exceeded

    def test_after_it_nothing_comes_out_and_nothing_is_held(self):
        framer = SSE(max_event_bytes=10)
        framer.feed(b"data: " + b"x" * 20)
        assert framer.feed(b"\n\ndata: a\n\n") == []
        assert framer.close() == []

    @pytest.mark.parametrize(
        ("what", "piece"),
        [
            ("one huge line", b"x" * 7),
            ("many lines of data", b"data: ab\ndata: cd\n"),
            ("many empty lines of data", b"data:\n" * 8),
            ("many pieces with CR", b"data: ab\r\n"),
            ("names over and over", b"event: a\n"),
        ],
    )
    def test_an_event_without_end_in_small_pieces_holds_little_more_than_the_limit(self, what, piece):
        limit = 1 << 16
        framer = SSE(max_event_bytes=limit)
        framer.feed(b"data: ")
        held = most_held(framer.feed, piece, times=4 * limit // len(piece), is_over=lambda: framer.exceeded)
        assert framer.exceeded is not what.startswith("names")
        assert held < 1.5 * limit + 10_000


class CountedBytes(bytes):
    """Bytes that count how often they are searched, and how far."""

    searched = 0

    def find(self, *args):
        type(self).searched += len(self) - (args[1] if len(args) > 1 else 0)
        return bytes.find(self, *args)

    def rfind(self, *args):
        type(self).searched += len(self) - (args[1] if len(args) > 1 else 0)
        return bytes.rfind(self, *args)

    def __contains__(self, item):
        type(self).searched += len(self)
        return bytes.__contains__(self, item)


@pytest.mark.parametrize("pieces", [10, 1000])
def test_within_one_huge_event_each_byte_is_searched_a_fixed_number_of_times(pieces):
    CountedBytes.searched = 0
    framer = SSE(max_event_bytes=NO_LIMIT)
    total = 0
    framer.feed(b"data: ")
    for _ in range(pieces):
        piece = CountedBytes(b"x" * 1000)
        framer.feed(piece)
        total += len(piece)
    (frame,) = expanded(framer.feed(CountedBytes(b"\n\n")))
    assert len(frame.data) == total
    assert CountedBytes.searched <= 2 * total + 10


NAMED = b"event: a\ndata: {}\n\nevent: \ndata: x\n\nevent: error\ndata: \n\n"


class TestEventsWithNames:
    @given(st.data())
    def test_a_run_of_them_says_what_the_frames_of_each_say(self, data):
        pieces = st.sampled_from(
            [b"event: a\ndata: {}\n\n", b"event: \xff\ndata: \n\n", b"event: b\n", b"data: x\n\n", b": c\n", b"\n", b"\r\n", b"event:d\n"]
        )
        body = data.draw(st.lists(pieces | st.binary(max_size=4), max_size=12).map(b"".join))
        expected = frames_of(SSE(max_event_bytes=NO_LIMIT), [body])
        assert frames_of(SSE(max_event_bytes=NO_LIMIT, has_names=True), data.draw(slicings(body))) == expected
        assert frames_of(SSE(max_event_bytes=NO_LIMIT, has_names=True), [body]) == expected

    def test_they_come_as_one_batch_with_their_names(self):
        [batch] = SSE(max_event_bytes=NO_LIMIT, has_names=True, offset=5).feed(NAMED)
        assert isinstance(batch, NamedBatch)
        assert (batch.names, batch.datas) == ([b"a", b"", b"error"], [b"{}", b"x", b""])
        assert batch.frames() == [Frame(b"{}", 5, "a"), Frame(b"x", 24), Frame(b"", 41, "error")]

    def test_without_being_asked_for_they_come_one_by_one(self):
        assert all(isinstance(frame, Frame) for frame in SSE(max_event_bytes=NO_LIMIT).feed(NAMED))

    def test_what_stands_between_two_runs_breaks_neither(self):
        body = NAMED + b": a comment\n\n" + NAMED + b"id: 7\nevent: z\ndata: 1\ndata: 2\n\n" + NAMED + b"event: cut"
        kinds = [type(frame) for frame in SSE(max_event_bytes=NO_LIMIT, has_names=True).feed(body)]
        assert kinds == [NamedBatch, NamedBatch, Frame, NamedBatch]

    @pytest.mark.parametrize("size", [7, 8, 40])
    def test_the_bound_of_one_event_is_that_of_its_own_bytes(self, size):
        body = b"event: a\ndata: " + b"x" * 20 + b"\n\n"
        plain, named = (SSE(max_event_bytes=size, has_names=has_names) for has_names in (False, True))
        assert expanded(named.feed(body * 3)) == expanded(plain.feed(body * 3))
        assert named.exceeded == plain.exceeded


NUMBERED = b"id:1\nevent:result\n:HTTP_STATUS/200\ndata:{}\n\nid:22\nevent:result\n:HTTP_STATUS/200\ndata:xy\n\n"


class TestEventsWithAStatus:
    @pytest.mark.parametrize("comment", [b":HTTP_STATUS/429", b": HTTP_STATUS/429 "])
    def test_a_comment_gives_an_event_its_status(self, comment):
        assert read(b"id:1\n" + comment + b"\ndata:a\n\ndata:b\n\n") == [Frame(b"a", 0, status=429), Frame(b"b", 14 + len(comment))]

    @pytest.mark.parametrize("comment", [b":HTTP_STATUS/42", b":HTTP_STATUS/4290", b":x HTTP_STATUS/429", b"HTTP_STATUS/429"])
    def test_other_comments_give_none(self, comment):
        assert read(comment + b"\ndata:a\n\n")[0].status is None

    def test_a_status_without_an_event_is_no_events(self):
        assert read(b":HTTP_STATUS/429\n\ndata:a\n\n")[0].status is None

    @given(st.data())
    def test_a_run_of_them_says_what_the_frames_of_each_say(self, data):
        pieces = st.sampled_from(
            [
                b"id:1\nevent:result\n:HTTP_STATUS/200\ndata:{}\n\n", b"id:\nevent:result\n:HTTP_STATUS/200\ndata:x\n\n",
                b"id:2\nevent:error\n:HTTP_STATUS/400\ndata:x\n\n", b"id:1\nevent:result\n:HTTP_STATUS/200\ndata: x\n\n",
                b"id:3\n", b"data:x\n\n", b":HTTP_STATUS/500\n", b"\n", b"event: a\ndata: {}\n\n", b"\r\n",
            ]
        )  # fmt: skip
        body = data.draw(st.lists(pieces | st.binary(max_size=4), max_size=12).map(b"".join))
        expected = frames_of(SSE(max_event_bytes=NO_LIMIT), [body])
        assert frames_of(SSE(max_event_bytes=NO_LIMIT, has_names=True), data.draw(slicings(body))) == expected
        assert frames_of(SSE(max_event_bytes=NO_LIMIT, has_names=True), [body]) == expected

    def test_they_come_as_one_batch_with_their_numbers(self):
        [batch] = SSE(max_event_bytes=NO_LIMIT, has_names=True, offset=5).feed(NUMBERED)
        assert isinstance(batch, NumberedBatch)
        assert (batch.numbers, batch.datas) == ([b"1", b"22"], [b"{}", b"xy"])
        assert batch.frames() == [Frame(b"{}", 5, "result", status=200), Frame(b"xy", 49, "result", status=200)]

    @pytest.mark.parametrize("event", [NUMBERED, NAMED])
    def test_runs_that_are_larger_than_an_event_may_be_are_cut_and_each_byte_is_matched_once(self, event):
        whole = expanded(SSE(max_event_bytes=NO_LIMIT, has_names=True).feed(event * 2000))
        bounded = SSE(max_event_bytes=len(event) * 10, has_names=True).feed(event * 2000)
        assert expanded(bounded) == whole
        assert len(bounded) < 300
        assert all(isinstance(frame, Batch) for frame in bounded)
