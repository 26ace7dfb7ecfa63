"""The report of a decoded stream, for people."""

from __future__ import annotations

from chat_bytes import DONE, call_stream, chunk, text_stream
from headrace.cli.report import message_report, report
from headrace.cli.segments import Segment, plain
from headrace.decoding import decode_stream
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, ProviderToolPart


def decoded(*events, **options):
    return decode_stream(b"".join(events), protocol="openai-chat", **options)


def test_a_whole_answer():
    assert plain(report(decoded(*text_stream("Hel", "lo")))).splitlines() == [
        "message     m-1 chatcmpl-7",
        "text        Hello",
        "finish      stop",
        "usage       3 tokens in, 2 out",
    ]


def test_further_lines_stand_under_the_first():
    assert "text        one\n            two\n" in plain(report(decoded(*text_stream("one\ntwo\n"))))


def test_a_call_that_may_run_says_so():
    segments = report(decoded(*call_stream("clock", '{"city":', '"Oslo"}')))
    assert 'call        clock {"city":"Oslo"}  runnable  call_a\n' in plain(segments)
    assert Segment("  runnable", "good") in segments


def test_a_call_that_must_not_run_says_why_with_its_raw_text():
    said = plain(report(decoded(*call_stream("clock", '{"ci')[:-2])))
    assert 'call        clock {"ci  not runnable: the stream failed: stream_truncated  call_a\n' in said
    assert "finish      none: the stream died\n" in said
    assert "warning     truncated_tool_arguments at event 1" in said
    assert "error       stream_truncated: " in said


def test_an_id_that_was_made_up_is_marked():
    first = {"index": 0, "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    assert "call_1 (made up)" in plain(report(decoded(chunk({"tool_calls": [first]}), chunk(finish="tool_calls"), DONE)))


def test_a_raw_finish_word_is_shown_where_it_differs():
    assert "finish      length (raw: max_tokens)\n" in plain(report(decoded(*text_stream("x", finish="max_tokens"))))


def test_several_choices_are_shown_one_by_one():
    both = [{"index": n, "delta": {"content": f"answer {n}"}, "finish_reason": "stop"} for n in (0, 1)]
    said = plain(report(decoded(chunk(choices=both), DONE)))
    assert said.index("choice 0") < said.index("answer 0") < said.index("choice 1") < said.index("answer 1")


def test_reasoning_and_refusal_are_shown():
    said = plain(report(decoded(chunk({"reasoning_content": "Hm."}), chunk({"refusal": "No."}), chunk(finish="stop"), DONE)))
    assert "reasoning   Hm.\nrefusal     No.\n" in said


def test_an_error_of_the_provider_is_shown_with_its_code():
    said = plain(report(decoded(b'{"error":{"message":"slow down","code":"rate_limited"}}', status=429)))
    assert "error       provider_error (rate_limited): slow down\n" in said


def test_a_title_stands_above_and_an_empty_line_below():
    said = plain(report(decoded(*text_stream("x")), title="a.sse"))
    assert said.startswith("a.sse\n")
    assert said.endswith("\n\n")


def test_a_message_alone_has_a_report_too():
    parts = ["Look.", MediaPart(kind="image", file_id="f"), ProviderToolPart(id="w", name="web_search", arguments='{"q": 1}')]
    message = AssistantMessage(parts, id="m1", finish_reason="stop")
    assert plain(message_report(message)).splitlines() == [
        "message     m1",
        "text        Look.",
        "media       image",
        'ran         web_search {"q": 1}',
        "finish      stop",
    ]
