"""The stream of Chat Completions that leaves is what the vendor would send, piece for piece as it came."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from answers_out import chunk, ended, events, pieces, written
from chat_bytes import call_stream, text_stream
from decoding_runs import decoded
from headrace.decoding import decode_stream
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import (
    CitationDelta,
    Ended,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, ProviderItem, ReasoningPart, TextPart, ToolCallPart, make
from headrace.messages.usage import Usage
from headrace.wire.openai_chat.stream_out import StreamOut, refuse
from headrace.wire.server_side import Head, fault_of

PROTOCOL = "openai-chat"
START = MessageStart("up-1", "m-1", datetime(2026, 2, 2, tzinfo=UTC))


def choices(body):
    """Delta and finish reason of each choice of each event."""
    return [(choice["delta"], choice["finish_reason"]) for event in events(body) if event != "[DONE]" for choice in event["choices"]]


def deltas(*chunks, **options):
    """The deltas that go out for these chunks, without the role and without the end."""
    body = written(PROTOCOL, [*chunks, ended()], **options)
    return [delta for delta, word in choices(body) if word is None][1:]


# --- the frame -----------------------------------------------------------------------------------------


def test_an_answer_has_its_role_first_its_finish_reason_last_usage_once_and_a_terminator():
    some = [chunk(START), chunk(TextDelta("Hi ")), chunk(TextDelta("you.")), chunk(UsageDelta(Usage(input_tokens=3, output_tokens=2)))]
    head = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1769990400, "model": "m-1"}
    body = [
        ([{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}], None),
        ([{"delta": {"content": "Hi "}, "finish_reason": None}], None),
        ([{"delta": {"content": "you."}, "finish_reason": None}], None),
        ([{"delta": {}, "finish_reason": "stop"}], None),
        ([], {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}),
    ]
    wanted = [{**head, "choices": [{"index": 0, "logprobs": None, **one} for one in some], "usage": usage} for some, usage in body]
    assert events(written(PROTOCOL, [*some, ended()])) == [*wanted, "[DONE]"]


def test_a_piece_leaves_when_it_came():
    chunks, _ = decoded(b"".join(text_stream("a", "b", "c")), protocol=PROTOCOL)
    sent, _ = pieces(PROTOCOL, chunks)
    assert [len(choices(piece)) for piece in sent] == [1, 1, 1, 1, 0, 0, 0, 1]
    chunks, _ = decoded(b"".join(call_stream("clock", '{"a"', ":1}")), protocol=PROTOCOL)
    sent, _ = pieces(PROTOCOL, chunks)
    assert [len(choices(piece)) for piece in sent] == [2, 1, 1, 0, 0, 1]


def test_usage_goes_only_to_who_asked_for_it():
    body = written(PROTOCOL, [chunk(TextDelta("a"), UsageDelta(Usage(input_tokens=3))), ended()], includes_usage=False)
    assert b"usage" not in body
    assert body.endswith(b"data: [DONE]\n\n")


def test_every_count_that_was_said_is_told_and_no_other():
    whole = Usage(input_tokens=30, output_tokens=20, cache_read_tokens=9, cache_write_tokens=4, reasoning_tokens=11)
    assert events(written(PROTOCOL, [chunk(UsageDelta(whole)), ended()]))[-2]["usage"] == {
        "prompt_tokens": 30,
        "completion_tokens": 20,
        "total_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 9, "cache_write_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 11},
    }
    part = written(PROTOCOL, [chunk(UsageDelta(Usage(output_tokens=2))), ended()])
    assert events(part)[-2]["usage"] == {"completion_tokens": 2}


def test_an_id_that_is_one_of_the_protocol_stays_as_it_is():
    out = StreamOut(Head(id="chatcmpl-9", model="m"))
    assert events(out.feed(chunk(TextDelta("a"))))[0]["id"] == "chatcmpl-9"


@pytest.mark.parametrize(
    ("word", "sent"),
    [
        ("stop", "stop"), ("end_turn", "stop"), ("max_tokens", "length"), ("SAFETY", "content_filter"), ("refusal", "content_filter"),
        ("pause_turn", "stop"), ("novel", "stop"), ("MAX_TOKENS", "length"),
    ],
)  # fmt: skip
def test_a_finish_reason_is_one_of_the_protocol(word, sent):
    assert choices(written(PROTOCOL, [chunk(TextDelta("a")), ended(word)]))[-1] == ({}, sent)


def test_several_choices_each_have_their_role_and_their_end():
    body = written(
        PROTOCOL,
        [
            chunk(TextDelta("a", choice=1), TextDelta("b")),
            chunk(TextDelta("c", choice=1)),
            chunk(FinishDelta("length", choice=1), FinishDelta("stop"), Ended(None, is_terminated=True)),
        ],
    )
    result = decode_stream(body, protocol=PROTOCOL)
    assert [(one.text, one.finish_reason) for one in result.choices] == [("b", "stop"), ("ac", "length")]
    roles = [choice["index"] for event in events(body)[:-1] for choice in event["choices"] if "role" in choice["delta"]]
    assert sorted(roles) == [0, 1]


# --- what is said ------------------------------------------------------------------------------------


def test_thinking_goes_before_the_text_that_came_with_it():
    assert deltas(chunk(ReasoningDelta("Hm."), TextDelta("Yes."))) == [{"reasoning_content": "Hm.", "content": "Yes."}]


def test_thinking_that_came_behind_a_text_goes_behind_it():
    assert deltas(chunk(TextDelta("Yes."), ReasoningDelta("Hm."))) == [{"content": "Yes."}, {"reasoning_content": "Hm."}]


def test_what_proves_thinking_goes_along_at_the_end():
    some = [chunk(ReasoningDelta("Is it ", 0)), chunk(ReasoningDelta("late?", 1)), chunk(ReasoningDelta("", 1, signature="si")), chunk(ReasoningDelta("", 1, signature="g"))]  # fmt: skip
    assert deltas(*some, chunk(TextDelta("Yes.", 2)))[-1] == {
        "reasoning_details": [
            {"type": "reasoning.text", "format": "headrace-1", "index": 0, "length": 6},
            {"type": "reasoning.text", "format": "headrace-1", "index": 1, "length": 5, "signature": "sig"},
        ]
    }


def test_details_of_a_provider_go_at_once_and_as_they_came():
    detail = {"type": "reasoning.summary", "summary": "Hm.", "index": 0}
    assert deltas(chunk(ReasoningDelta("Hm.", details=(detail,)))) == [{"reasoning_content": "Hm.", "reasoning_details": [detail]}]


def test_a_refusal_has_its_own_field_and_logprobs_stand_beside_their_text():
    assert deltas(chunk(RefusalDelta("No."))) == [{"refusal": "No."}]
    logprobs = {"content": [{"token": "a", "logprob": -0.5, "bytes": None, "top_logprobs": []}], "refusal": None}
    body = written(PROTOCOL, [chunk(TextDelta("a"), LogprobsDelta(logprobs)), ended()])
    assert [choice["logprobs"] for event in events(body)[:-1] for choice in event["choices"]] == [None, logprobs, None]


def test_sounds_images_citations_and_json():
    assert deltas(chunk(MediaDelta("audio", b"hi", "Hi", "audio_1")), chunk(MediaDelta("audio", b"ho"))) == [
        {"audio": {"id": "audio_1", "data": "aGk=", "transcript": "Hi"}},
        {"audio": {"data": "aG8="}},
    ]
    image = MediaPart(kind="image", data=b"hi", media_type="image/png")
    assert deltas(chunk(PartDelta(image))) == [{"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}]
    citation = {"type": "url_citation", "url_citation": {"url": "https://x", "title": "X", "start_index": 0, "end_index": 1}}
    assert deltas(chunk(TextDelta("a"), CitationDelta(citation))) == [{"content": "a", "annotations": [citation]}]
    assert deltas(chunk(PartDelta(make(JsonPart, value={"a": 1})))) == [{"content": '{"a":1}'}]


def test_what_has_no_place_here_is_left_out_and_said_once_a_part():
    found = chunk(ProviderToolFragment("s1", "web_search", "{}", [1], "mill", 0))
    item = chunk(PartDelta(make(ProviderItem, provider="mill", protocol="x", raw=b"{}"), 1))
    cited = chunk(TextDelta("a", 2), CitationDelta({"type": "char_location"}, 2), CitationDelta({"type": "char_location"}, 2))
    sent, out = pieces(PROTOCOL, [found, item, cited, ended()])
    assert [delta for delta, _ in choices(b"".join(sent))][1:] == [{"content": "a"}, {}]
    assert [(warning.code, warning.part, warning.detail) for warning in out.repairs] == [
        ("dropped_for_client", 0, "a ProviderToolPart"),
        ("dropped_for_client", 1, "a ProviderItem"),
        ("dropped_for_client", 2, "citations of another form"),
    ]


def test_half_a_character_in_chunks_made_by_hand_is_written_as_a_mark():
    body = written(PROTOCOL, [AssistantMessageChunk("\ud83d", finish_reason="stop")])
    assert decode_stream(body, protocol=PROTOCOL).message.text == "\ufffd"


# --- calls -------------------------------------------------------------------------------------------


def calls(*chunks, **options):
    return [delta["tool_calls"] for delta in deltas(*chunks, **options)]


def test_a_call_begins_with_its_index_id_and_name():
    assert calls(chunk(ToolCallFragment("a", "clock", "", 3)), chunk(ToolCallFragment(None, None, '{"x"', 3)), chunk(ToolCallFragment(None, None, ":1}", 3))) == [
        [{"index": 0, "id": "a", "type": "function", "function": {"name": "clock", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"x"'}}],
        [{"index": 0, "function": {"arguments": ":1}"}}],
    ]  # fmt: skip


def test_a_whole_call_is_one_fragment():
    assert calls(chunk(ToolCallFragment("a", "clock", {"x": 1}, is_id_optional=True))) == [
        [{"index": 0, "id": "a", "type": "function", "function": {"name": "clock", "arguments": '{"x":1}'}}]
    ]


def test_indexes_are_dense_in_the_order_in_which_calls_began():
    some = [
        chunk(ToolCallFragment("b", "g", '{"y"', 7)),
        chunk(ToolCallFragment("a", "f", "{", 2)),
        chunk(ToolCallFragment(None, None, "}", 2)),
        chunk(ToolCallFragment(None, None, ":1}", 7)),
    ]
    indexes = [(item["index"], item["function"]["arguments"]) for items in calls(*some) for item in items]
    assert indexes == [(0, '{"y"'), (0, ":1}"), (1, "{}")]


def test_a_call_waits_for_its_name_and_id():
    some = [
        chunk(ToolCallFragment(None, None, '{"x":', 0)),
        chunk(ToolCallFragment("a", None, "1", 0)),
        chunk(ToolCallFragment(None, "f", "}", 0)),
    ]
    sent, out = pieces(PROTOCOL, [*some, ended("tool_calls")])
    assert [len(choices(piece)) for piece in sent] == [1, 0, 1, 0, 1]
    (call,) = decode_stream(b"".join(sent), protocol=PROTOCOL).message.tool_calls
    assert (call.id, call.name, call.arguments, call.runnable) == ("a", "f", '{"x":1}', True)
    assert "held_tool_call" in [warning.code for warning in out.repairs]


def test_an_id_that_never_came_is_made_when_the_next_part_begins_and_said():
    some = [chunk(ToolCallFragment(None, "f", '{"x":1}', 0)), chunk(ToolCallFragment("call_1", "g", "{}", 1))]
    sent, out = pieces(PROTOCOL, [*some, ended("tool_calls")])
    assert [call.id for call in decode_stream(b"".join(sent), protocol=PROTOCOL).message.tool_calls] == ["call_1", "call_2"]
    assert [warning.detail for warning in out.repairs if warning.code == "made_tool_id"] == ["call_1", "call_2"]


def test_ids_are_made_by_who_asked_to():
    ids = iter(["", "x1", "x2"])
    some = [
        chunk(ToolCallFragment(None, "f", {"a": 1}, is_id_optional=True)),
        chunk(ToolCallFragment(None, "g", {"a": 2}, is_id_optional=True)),
    ]
    sent, _ = pieces(PROTOCOL, [*some, ended()], new_id=lambda: next(ids) or next(ids))
    assert [call.id for call in decode_stream(b"".join(sent), protocol=PROTOCOL).message.tool_calls] == ["x1", "x2"]


def test_a_name_that_grows_goes_on_growing():
    assert calls(chunk(ToolCallFragment("a", "get_", None, 0)), chunk(ToolCallFragment(None, "time", "{}", 0)))[1:] == [
        [{"index": 0, "function": {"name": "time"}}],
        [{"index": 0, "function": {"arguments": "{}"}}],
    ]


def test_data_of_a_provider_on_a_call_goes_along():
    (items,) = calls(chunk(ToolCallFragment("a", "f", '{"x":1}', 0, provider_data={"extra_content": {"sig": "s"}, "id": "no"})))
    assert items[0]["extra_content"] == {"sig": "s"}
    assert items[0]["id"] == "a"


def test_a_free_text_call_is_of_its_own_type():
    assert calls(chunk(ToolCallFragment("a", "shell", "l", 0, "custom")), chunk(ToolCallFragment(None, None, "s", 0))) == [
        [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "shell", "input": "l"}}],
        [{"index": 0, "custom": {"input": "s"}}],
    ]


def test_arguments_that_the_wire_settles_at_the_end_go_out_then():
    some = [chunk(ToolCallFragment("a", "f", '{"x"', 0, None, 4)), chunk(ToolCallSettled(4, None, '{"x":1}'))]
    assert [item["function"]["arguments"] for items in calls(*some) for item in items] == ['{"x"', ":1}"]


def test_a_call_that_came_as_a_whole_part_goes_at_the_end():
    call = make(ToolCallPart, id="a", name="f", arguments='{"x":1}', kind="provider")
    (items,) = calls(chunk(PartDelta(call, 3)))
    assert items == [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}]


# --- what is broken ------------------------------------------------------------------------------------


def last(body):
    return events(body)[-1]


def test_a_call_that_was_cut_off_ends_by_length_whatever_the_word():
    body = written(PROTOCOL, [chunk(ToolCallFragment("a", "f", '{"x": "on', 0)), ended("tool_calls")])
    assert choices(body)[-1] == ({}, "length")
    (call,) = decode_stream(body, protocol=PROTOCOL).message.tool_calls
    assert (call.arguments, call.runnable) == ('{"x": "on', False)


@pytest.mark.parametrize("arguments", ['{"x": oops}', "[1]", "seven"])
def test_a_call_that_cannot_be_run_is_an_error(arguments):
    body = written(PROTOCOL, [chunk(ToolCallFragment("a", "f", arguments, 0)), ended("tool_calls")])
    error = last(body)["error"]
    assert (error["type"], error["code"], error["param"]) == ("server_error", "malformed_function_call", None)
    assert "'f'" in error["message"]
    assert not any(word for _, word in choices(body[: body.rindex(b"data:")]))


def test_a_call_without_a_name_is_an_error():
    assert (
        "without a name" in last(written(PROTOCOL, [chunk(ToolCallFragment("a", None, "{}", 0)), ended("tool_calls")]))["error"]["message"]
    )


def test_an_error_of_the_stream_is_an_event_and_the_end():
    error = StreamError("provider_error", "busy", "529", retryable=True)
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a"), UsageDelta(Usage(output_tokens=1))), ended(None, error), chunk(TextDelta("b"))])
    body = b"".join(sent)
    assert last(body) == {"error": {"message": "busy", "type": "server_error", "param": None, "code": "529"}}
    assert events(body)[-2]["usage"] == {"completion_tokens": 1}
    assert b"[DONE]" not in body
    assert (out.is_over, out.close()) == (True, b"")


def test_a_finish_word_that_means_failure_is_an_error():
    body = written(PROTOCOL, [chunk(ToolCallFragment("a", "f", "{}", 0)), ended("insufficient_system_resource")])
    assert last(body)["error"]["code"] == "insufficient_system_resource"


@pytest.mark.parametrize("word", ["tool_calls", "length"])
def test_a_whole_object_that_has_left_and_was_not_meant_is_an_error_whatever_the_word(word):
    some = [chunk(ToolCallFragment("a", "f", '{"x":1}', 0, None, 4)), chunk(ToolCallFragment(None, None, '{"x":', 0, None, 4))]
    assert "cannot be run" in last(written(PROTOCOL, [*some, ended(word)]))["error"]["message"]


def test_a_call_that_turns_into_one_of_another_kind_is_an_error():
    some = [chunk(ToolCallFragment("a", "f", '{"x"', 0)), chunk(ToolCallFragment("a", None, ":1}", 0, "custom"))]
    sent, out = pieces(PROTOCOL, [*some, ended("tool_calls")])
    assert "cannot be run" in last(b"".join(sent))["error"]["message"]
    assert "changed_after_sending" in [warning.code for warning in out.repairs]


def test_a_call_that_came_anew_before_it_went_out_goes_out_as_it_came():
    anew = PartDelta(make(ToolCallPart, id="q", name="h", arguments='{"x":1}'), 4)
    assert calls(chunk(ToolCallFragment(None, None, "{", 0, None, 4)), chunk(anew)) == [
        [{"index": 0, "id": "q", "type": "function", "function": {"name": "h", "arguments": '{"x":1}'}}]
    ]


def test_a_stream_that_just_stops_is_an_error():
    assert last(written(PROTOCOL, [chunk(TextDelta("a"))]))["error"]["code"] == "stream_truncated"
    assert last(written(PROTOCOL, [chunk(TextDelta("a"))], StreamError("provider_error", "gone", "x")))["error"]["message"] == "gone"
    assert last(written(PROTOCOL, []))["error"]["code"] == "stream_truncated"


def test_chunks_made_by_hand_end_with_their_finish_reason():
    assert written(PROTOCOL, [AssistantMessageChunk("Hi", finish_reason="stop")]).endswith(b"[DONE]\n\n")


def test_an_answer_that_begins_anew_is_an_error_once_something_was_passed_on():
    fresh = written(PROTOCOL, [chunk(START), chunk(Restarted()), chunk(TextDelta("a")), ended()])
    assert decode_stream(fresh, protocol=PROTOCOL).message.text == "a"
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), chunk(Restarted(), TextDelta("b")), chunk(TextDelta("c"))])
    assert "began anew" in last(sent[1])["error"]["message"]
    assert sent[2:] == [b"", b""]
    assert out.is_over


def test_repairs_are_those_of_the_stream_and_our_own():
    body = b"".join(call_stream("f", '{"x":1}</tool_call>', id=None, finish="stop"))
    chunks, result = decoded(body, protocol=PROTOCOL)
    sent, out = pieces(PROTOCOL, chunks)
    codes = [warning.code for warning in out.repairs]
    assert codes == [*(warning.code for warning in result.warnings), "held_tool_call", "made_tool_id"]
    again = decode_stream(b"".join(sent), protocol=PROTOCOL)
    assert again.message.tool_calls[0].arguments == '{"x":1}'
    assert not again.warnings


# --- whole answers and refusals ------------------------------------------------------------------------


def test_a_whole_answer_is_one_object():
    call = ToolCallPart(id="a", name="f", arguments='{"x" : 1}')
    message = AssistantMessage.assemble(
        [ReasoningPart("Hm.", signature="s"), TextPart("I "), TextPart("look."), call], finish_reason="tool_calls", usage=Usage(input_tokens=1, output_tokens=2), model="m-1"
    )  # fmt: skip
    body = StreamOut(Head(id="7", model="m", created_s=5)).whole(message)
    assert json.loads(body) == {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 5,
        "model": "m-1",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "I look.",
                    "refusal": None,
                    "reasoning_content": "Hm.",
                    "reasoning_details": [{"type": "reasoning.text", "format": "headrace-1", "index": 0, "length": 3, "signature": "s"}],
                    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x" : 1}'}}],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }
    again = decode_stream(body, protocol=PROTOCOL)
    assert (again.message.text, again.message.tool_calls[0].arguments, again.error) == ("I look.", '{"x" : 1}', None)


def test_a_whole_answer_has_all_its_choices_and_media():
    sound = MediaPart(kind="audio", data=b"hi", transcript="Hi", provider_data={"id": "audio_1"})
    first = AssistantMessage.assemble([sound, MediaPart(kind="image", url="https://x/y.png")], finish_reason="stop")
    second = AssistantMessage.assemble(
        [make(ToolCallPart, id="a", name="now", arguments="", parsed={}, runnable=True)], finish_reason="tool_calls"
    )
    one, two = (choice["message"] for choice in json.loads(StreamOut(Head(id="7", model="m")).whole(first, second))["choices"])
    assert one["audio"] == {"id": "audio_1", "data": "aGk=", "transcript": "Hi"}
    assert one["images"] == [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    assert (one["content"], two["tool_calls"][0]["function"]["arguments"]) == (None, "{}")


def test_a_whole_answer_with_a_fault_is_known_before_it_is_written():
    def made(word, **fields):
        return AssistantMessage.assemble([make(ToolCallPart, id="a", name="f", **fields)], finish_reason=word)

    assert fault_of(AssistantMessage.assemble([TextPart("a")], finish_reason="stop")) is None
    assert fault_of(made("tool_calls", arguments="{}", parsed={}, runnable=True)) is None
    assert fault_of(made("length", arguments='{"x')) is None
    assert fault_of(made("tool_calls", arguments="{oops}")).kind == "malformed_function_call"
    assert fault_of(AssistantMessage.assemble([], finish_reason="error")).kind == "provider_error"
    cut = decode_stream(b"".join(call_stream("f", '{"x": "on')), protocol=PROTOCOL).message
    assert fault_of(cut) is None
    assert json.loads(StreamOut(Head(id="7", model="m")).whole(cut))["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("kind", "type_", "code"),
    [("invalid_request", "invalid_request_error", None), ("authentication", "invalid_request_error", "invalid_api_key"), ("rate_limit", "rate_limit_error", "rate_limit_exceeded")],
)  # fmt: skip
def test_a_refusal_is_an_error_object(kind, type_, code):
    status, body = refuse(418, kind, "No tea.", argument="messages[0]")
    assert status == 418
    assert json.loads(body) == {"error": {"message": "No tea.", "type": type_, "param": "messages[0]", "code": code}}
