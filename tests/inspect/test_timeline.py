"""The machine that watches a stream: its rows, where deltas went, what caused warnings; and the laws that it keeps."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gemini_bytes
import messages_bytes
import responses_bytes
import stream_samples
from chat_bytes import DONE, chunk
from headrace.decoding import SUPPORTED, decode_stream
from headrace.errors import UsageError
from headrace.inspect.document import dumps_document
from headrace.inspect.html import html_report
from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.text import text_report
from headrace.inspect.timeline import inspect_stream
from headrace.inspect.values import Bounds
from headrace.messages.warning import CODES
from inspect_samples import SAMPLES, piece
from stream_samples import call, calls

WIRES = {
    "openai-chat": stream_samples.SAMPLES,
    "anthropic-messages": messages_bytes.SAMPLES,
    "openai-responses": responses_bytes.SAMPLES,
    "gemini": gemini_bytes.SAMPLES,
}
STREAMS = [pytest.param(protocol, body, id=f"{protocol} {name}") for protocol, samples in WIRES.items() for name, body in samples.items()]


def check(seen, body):
    """What holds for every inspection of a body."""
    end = 0
    for row in seen.rows:
        assert end <= row.bytes.offset <= row.bytes.offset + row.bytes.length <= len(body)
        end = row.bytes.offset + row.bytes.length
        assert set(row.warnings) <= set(range(len(seen.warnings)))
    assert [row.event for row in seen.rows if row.event is not None] == list(range(seen.facts.events))
    refs = {part.ref for part in seen.parts}
    assert {said.part for row in seen.rows for said in row.deltas} <= {None, *refs}
    for cause in seen.warnings:
        assert cause.bytes.length > 0
        assert cause.bytes.offset + cause.bytes.length <= len(body)
        assert cause.row is not None
        assert cause.part is None or cause.part in refs
    json.loads(dumps_document(seen))
    html_report(seen).encode()
    "".join(word.text for word in text_report(seen)).encode()


@pytest.mark.parametrize(("protocol", "body"), STREAMS)
def test_what_a_stream_came_to_is_what_the_decoder_says(protocol, body):
    seen = inspect_stream(body, protocol=protocol)
    assert seen.summary == decode_stream(body, protocol=protocol).summary()
    assert len(seen.parts) == sum(len(message.parts) for message in seen.result.choices)
    assert len(seen.warnings) == len(seen.result.warnings)
    check(seen, body)


@pytest.mark.parametrize(("protocol", "body"), STREAMS)
def test_the_fragments_of_a_text_are_the_text(protocol, body):
    for part in inspect_stream(body, protocol=protocol).parts:
        if part.kind in {"text", "reasoning", "refusal"} and part.fragments:
            assert "".join(fragment.text for fragment in part.fragments) == part.text


@pytest.mark.parametrize(("protocol", "body"), STREAMS)
def test_a_warning_names_the_row_of_its_event(protocol, body):
    seen = inspect_stream(body, protocol=protocol)
    for warning, cause in zip(seen.result.warnings, seen.warnings, strict=True):
        if warning.offset is not None and cause.code not in {"possible_inline_tool_call", "leaked_special_tokens"}:
            row = seen.rows[cause.row]
            assert row.bytes.offset <= warning.offset < row.bytes.offset + max(1, row.bytes.length)


@st.composite
def reads_of(draw, size):
    """Reads that cut a body anywhere, at times that go on."""
    starts = sorted({0, *draw(st.lists(st.integers(0, max(0, size)), max_size=8))})
    times = sorted(draw(st.lists(st.floats(0, 1e7), min_size=len(starts), max_size=len(starts))))
    return tuple(zip(starts, times, strict=True))


def test_reads_that_came_at_hardly_different_times_have_a_plot():
    sample = next(iter(SAMPLES.values()))()
    seen = inspect_capture(msgspec.structs.replace(sample, reads=((0, 0.0), (len(sample.body) // 2, 5e-324))))
    assert sum(point.count for point in seen.plot) == len(inspect_capture(sample).rows)


@given(data=st.data())
def test_the_law_of_slicing_however_it_was_read_only_the_times_differ(data):
    sample = data.draw(st.sampled_from(list(SAMPLES.values())))()
    reads = data.draw(reads_of(len(sample.body)))
    plain = inspect_capture(msgspec.structs.replace(sample, reads=()))
    seen = inspect_capture(msgspec.structs.replace(sample, reads=reads))
    untimed = [msgspec.structs.replace(row, at_ms=None, after_ms=None) for row in seen.rows]
    assert untimed == list(plain.rows)
    assert (seen.parts, seen.warnings, seen.summary) == (plain.parts, plain.warnings, plain.summary)
    times = [row.at_ms for row in seen.rows]
    assert times == sorted(times)
    check(seen, sample.body)


@given(body=st.binary(max_size=300), protocol=st.sampled_from(SUPPORTED), status=st.sampled_from([None, 200, 429, 500]))
@example(b"", "openai-chat", None)
@example(b"\xef\xbb\xbf\n\n: x\n\ndata: [DONE]\n\ndata: y", "openai-chat", None)
@example(b"<html>", "anthropic-messages", 502)
@example(b"[[[[", "gemini", None)
@example(b"\0\0\0\x10", "bedrock-converse", None)
def test_no_bytes_make_it_raise(body, protocol, status):
    seen = inspect_stream(body, protocol=protocol, status=status)
    assert seen.summary == decode_stream(body, protocol=protocol, status=status or 200).summary()
    check(seen, body)


@given(data=st.data())
def test_no_bent_stream_makes_it_raise(data):
    protocol = data.draw(st.sampled_from(list(WIRES)))
    body = bytearray(data.draw(st.sampled_from(list(WIRES[protocol].values()))))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(body)))
        body[at : at + data.draw(st.integers(0, 9))] = data.draw(
            st.sampled_from([b"", b"\n\n", b"\r", b"\xff", b": c\n\n", b'"\\ud800"', b"data: {}\n\n"])
        )
    complete = data.draw(st.booleans())
    check(inspect_stream(bytes(body), protocol=protocol, is_complete=complete), bytes(body))


BY_CODE = {
    "arguments_not_string": calls(call(0, "a", "f", {"x": 1})),
    "missing_tool_index": calls(call(None, "a", "f", "{}")),
    "missing_tool_id": calls(call(0, None, "f", "{}")),
    "missing_tool_name": calls(call(0, "a", None, "{}")),
    "repeated_tool_name": calls(call(0, "a", "f", '{"x"')) + calls(call(0, None, "f", ":1}")),
    "invalid_tool_arguments": calls(call(0, "a", "f", '{"x":,}')),
    "truncated_tool_arguments": calls(call(0, "a", "f", '{"x": "y')),
    "arguments_not_object": calls(call(0, "a", "f", "[1]")),
    "lenient_json": calls(call(0, "a", "f", '{"x": "a\nb"}')),
    "trailing_garbage": calls(call(0, "a", "f", '{"x": 1}</tool_call>')),
    "placeholder_arguments_dropped": calls(call(0, "a", "f", "{}")) + calls(call(0, None, None, '{"x": 1}')),
    "duplicate_arguments_dropped": calls(call(0, "a", "f", '{"x": 1}')) + calls(call(0, None, None, '{"x": 1}')),
    "duplicate_tool_id": calls(call(0, "a", "f", '{"x": 1}')) + calls(call(1, "a", "g", '{"y": 1}')),
    "reused_tool_index": calls(call(0, "a", "f", '{"x": 1}')) + calls(call(0, "b", "g", '{"y": 1}')),
    "changing_tool_id": calls(call(0, "a", "f", '{"x"')) + calls(call(0, "b", None, ": 1}")),
    "possible_inline_tool_call": chunk({"content": "So <tool"}) + chunk({"content": "_call>{}"}),
    "leaked_special_tokens": chunk({"content": "So <|im"}) + chunk({"content": "_end|>"}),
    "early_finish_reason": chunk({"content": "a"}, finish="stop") + chunk({"content": "b"}),
    "invalid_utf8": b'data: {"choices":[{"index":0,"delta":{"content":"a\xff"}}]}\n\n',
    "finish_reason_missing": chunk({"content": "a"}),
}


@pytest.mark.parametrize("code", BY_CODE)
def test_every_kind_of_warning_has_the_bytes_that_caused_it(code):
    assert code in CODES
    body = (
        BY_CODE[code]
        + (b"" if code == "finish_reason_missing" else chunk(finish="tool_calls" if code in BY_CODE and "tool" in code else "stop"))
        + DONE
    )
    seen = inspect_stream(body, protocol="openai-chat")
    cause = next(one for one in seen.warnings if one.code == code)
    assert 0 < cause.bytes.length <= len(body)
    check(seen, body)


@pytest.mark.parametrize("code", ["possible_inline_tool_call", "leaked_special_tokens"])
def test_a_mark_in_the_text_is_found_in_all_the_events_that_hold_it(code):
    body = chunk({"content": "first"}) + BY_CODE[code] + chunk({"content": " and so on"}, finish="stop") + DONE
    cause = next(one for one in inspect_stream(body, protocol="openai-chat").warnings if one.code == code)
    assert cause.rows == (1, 2)
    assert (cause.bytes.offset, cause.bytes.length) == (body.index(b"data:", 10), len(BY_CODE[code]))


def test_a_fault_of_a_calls_arguments_was_caused_by_all_its_fragments():
    body = piece('{"x"', 0, id="a", name="f") + piece(":", 0) + piece(",}", 0) + chunk(finish="tool_calls") + DONE
    seen = inspect_stream(body, protocol="openai-chat")
    (cause,) = seen.warnings
    assert (cause.code, cause.rows, cause.row, cause.part) == ("invalid_tool_arguments", (0, 1, 2), 2, "0.0")
    assert seen.parts[0].warnings == (0,)
    assert [row.warnings for row in seen.rows[:4]] == [(0,), (0,), (0,), ()]


def test_calls_that_come_interleaved_have_their_own_fragments():
    text, first, second = inspect_capture(SAMPLES["parallel-calls"]()).parts
    assert text.text == "I read the gauge and set the gate."
    assert [fragment.row for fragment in first.fragments] == [4, 6, 8, 10, 12, 14]
    assert [fragment.row for fragment in second.fragments] == [5, 7, 9, 11, 13, 15]
    assert "".join(fragment.text for fragment in first.fragments) == first.text == '{"river": "Iller", "at": "upper weir"}'
    assert first.call.is_runnable


def test_arguments_that_were_repaired_show_what_they_were_read_as():
    calls_of = {part.call.id: part.call for part in inspect_capture(SAMPLES["broken-arguments"]()).parts if part.call is not None}
    assert calls_of["call_d"].read_as == '{"level_m":1.8}'
    assert [calls_of[name].read_as for name in ("call_a", "call_b", "call_c")] == [None, None, None]


def test_the_times_of_events_are_those_of_the_reads_that_held_their_last_byte():
    one, two = chunk({"content": "a"}), chunk({"content": "b"}, finish="stop")
    reads = ((0, 100.0), (len(one) - 1, 400.0), (len(one) + 5, 2600.0))
    seen = inspect_stream(one + two, protocol="openai-chat", reads=reads)
    assert [row.at_ms for row in seen.rows] == [400.0, 2600.0, 2600.0]
    facts = seen.facts
    assert (facts.first_byte_ms, facts.first_content_ms, facts.duration_ms) == (100.0, 400.0, 2600.0)
    assert (facts.gap_median_ms, facts.gap_max_ms, facts.reads) == (1250.0, 2200.0, 3)


def test_long_silences_are_stalls_and_short_ones_are_none():
    facts = inspect_capture(SAMPLES["long-with-stalls"]()).facts
    assert [round(stall.took_ms) for stall in facts.stalls] == [2400, 2500, 3100]
    assert facts.comments == 3
    assert inspect_capture(SAMPLES["parallel-calls"]()).facts.stalls == ()


def test_speed_is_the_tokens_over_the_time_from_the_first_content_to_the_last():
    one, two = chunk({"content": "a"}), chunk({"content": "b"}, finish="stop")
    usage = chunk(choices=[], usage={"prompt_tokens": 1, "completion_tokens": 50, "total_tokens": 51})
    reads = ((0, 1000.0), (len(one), 3000.0), (len(one + two), 9000.0))
    assert inspect_stream(one + two + usage, protocol="openai-chat", reads=reads).facts.tokens_per_s == 25.0


def test_comments_have_rows_of_their_own_each_with_its_time():
    one = chunk({"content": "a"})
    body = one + b": a\n\n: b\n\n" + chunk(finish="stop")
    reads = ((0, 1.0), (len(one), 2.0), (len(one) + 5, 3.0), (len(one) + 10, 4.0))
    seen = inspect_stream(body, protocol="openai-chat", reads=reads)
    assert [(row.kind, row.bytes.text, row.at_ms) for row in seen.rows[1:3]] == [("comment", ": a", 2.0), ("comment", ": b", 3.0)]
    assert seen.facts.comments == 2


def test_what_comes_after_the_end_was_not_read():
    seen = inspect_stream(chunk({"content": "a"}, finish="stop") + DONE + chunk({"content": "b"}), protocol="openai-chat")
    assert [row.kind for row in seen.rows] == ["event", "event", "unread", "end"]
    assert seen.parts[0].text == "a"


def test_an_error_and_an_event_that_was_cut_are_marked():
    rows = inspect_capture(SAMPLES["cut-with-error"]()).rows
    assert [row.kind for row in rows[-3:]] == ["error", "unfinished", "end"]


def test_an_event_that_breaks_the_stream_is_marked():
    rows = inspect_stream(chunk({"content": "a"}) + b"data: {nonsense\n\n", protocol="openai-chat").rows
    assert [row.kind for row in rows] == ["event", "broken", "end"]


def test_an_answer_with_an_error_status_is_one_row():
    seen = inspect_stream(b'{"error": {"message": "slow down"}}', protocol="openai-chat", status=429)
    assert [row.kind for row in seen.rows] == ["body", "end"]
    assert seen.result.error.message == "slow down"


def test_a_message_that_began_anew_leaves_void_deltas():
    start = messages_bytes.start()
    body = start + messages_bytes.text(0, "lost") + start + messages_bytes.text(0, "kept") + messages_bytes.ended() + messages_bytes.STOP
    seen = inspect_stream(body, protocol="anthropic-messages")
    texts = {said.text: (said.part, said.is_void) for row in seen.rows for said in row.deltas if said.type == "text" and said.text}
    assert texts == {"lost": (None, True), "kept": ("0.0", False)}
    assert [part.text for part in seen.parts] == ["kept"]


def test_what_is_kept_of_a_huge_stream_is_bounded_and_what_was_left_out_is_said():
    body = b"".join(calls(call(n, None, "f", '{"x": "' + "y" * 900 + '"}')) for n in range(60)) + chunk(finish="tool_calls") + DONE
    few = Bounds(max_rows=10, max_excerpt_bytes=50, max_fragments=5, max_text=20, max_points=7, max_warnings=4, max_said=10)
    seen = inspect_stream(body, protocol="openai-chat", bounds=few)
    assert (len(seen.rows), seen.facts.rows, seen.facts.rows_cut) == (10, 63, 53)
    assert [row.row for row in seen.rows] == [*range(5), *range(58, 63)]
    assert all(len(row.bytes.text) <= 50 for row in seen.rows)
    assert seen.rows[0].bytes.cut_bytes == seen.rows[0].bytes.length - 50
    assert len(seen.plot) <= 7
    assert sum(point.count for point in seen.plot) == 63
    assert (len(seen.warnings), seen.facts.warnings) == (4, 60)
    assert seen.notes[-2:] == ("53 rows in the middle are counted but not shown", "56 more warnings are counted but not shown")
    assert (seen.parts[0].text, seen.parts[0].text_cut) == ('{"x": "' + "y" * 13, 889)


def test_wrong_use_is_told():
    with pytest.raises(UsageError, match="there is no protocol 'x'"):
        inspect_stream(b"", protocol="x")
