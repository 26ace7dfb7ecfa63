import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import check_result, decoded
from headrace.messages.parts import OpaquePart, ReasoningPart, TextPart, ToolCallPart
from slicing import bytewise, slicings
from wire_bytes import cohere, cohere_block, cohere_call, cohere_message, cohere_stream, dumped

PLAN = [cohere_message("tool-plan-delta", tool_plan=piece) for piece in ("I will ", "look.")]
CITATION = {"start": 0, "end": 2, "text": "It", "sources": [{"type": "document", "id": "d"}], "type": "TEXT_CONTENT"}
SAMPLES = {
    "text": cohere_stream(*cohere_block(0, "text", "It", " is", " 5.")),
    "thinking": cohere_stream(*cohere_block(0, "thinking", "Hm", "."), *cohere_block(1, "text", "Yes \u00e9\U0001f600")),
    "plan": cohere_stream(*PLAN, *cohere_call(0, "clock"), *cohere_call(1, "add", '{"a"', ":1", "}"), finish="TOOL_CALL"),
    "thought and call": cohere_stream(*cohere_block(0, "thinking", "Hm"), *cohere_call(0, "add", "{}"), finish="TOOL_CALL"),
    "citations": cohere_stream(
        *cohere_block(0, "text", "It")[:-1], cohere_message("citation-start", 0, citations=CITATION), cohere("citation-end", 0)
    ),
    "length": cohere_stream(*PLAN, *cohere_call(0, "add", '{"a"')[:-1], finish="MAX_TOKENS"),
    "error": cohere_stream(*cohere_block(0, "text", "It"), finish="ERROR", error="model overloaded"),
    "no terminator": cohere_stream(*cohere_block(0, "text", "It"), is_done=False),
}


def read(body, **options):
    chunks, result = decoded(body, protocol="cohere-v2", **options)
    check_result(chunks, result)
    return result


def warned(result):
    return [warning.code for warning in result.warnings]


@pytest.mark.parametrize("name", SAMPLES)
def test_any_slicing_and_both_ways_give_the_same_chunks(name):
    body = SAMPLES[name]
    whole = decoded(body, protocol="cohere-v2")
    check_result(*whole)
    assert decoded(bytewise(body), protocol="cohere-v2") == whole
    assert decoded(body, protocol="cohere-v2", is_short_way_off=True) == whole


@given(st.data())
def test_random_slicings_give_the_same_chunks(data):
    body = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    assert decoded(data.draw(slicings(body)), protocol="cohere-v2") == decoded(body, protocol="cohere-v2")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_stream_has_a_prefix_of_the_text_and_no_call_that_the_whole_has_not(name):
    body = SAMPLES[name]
    whole = read(body)
    calls = [(call.name, call.parsed) for call in whole.message.tool_calls if call.runnable]
    for at in range(len(body)):
        part = read(body[:at])
        assert whole.message.text.startswith(part.message.text)
        assert whole.message.reasoning.startswith(part.message.reasoning)
        assert all((call.name, call.parsed) in calls for call in part.message.tool_calls if call.runnable)


def test_blocks_are_parts_in_the_order_in_which_they_opened():
    message = read(SAMPLES["thinking"]).message
    assert message.parts == (ReasoningPart("Hm."), TextPart("Yes \u00e9\U0001f600"))
    assert (message.id, message.finish_reason, message.finish_reason_raw) == ("m1", "stop", "COMPLETE")


def test_a_call_stands_where_it_came_although_its_number_starts_at_zero_again():
    body = cohere_stream(*cohere_block(0, "thinking", "a"), *cohere_block(1, "text", "b"), *cohere_call(0, "f", "{}"), finish="TOOL_CALL")
    assert [type(part) for part in read(body).message.parts] == [ReasoningPart, TextPart, ToolCallPart]


def test_two_blocks_of_one_kind_stay_two_parts():
    assert read(cohere_stream(*cohere_block(0, "text", "a"), *cohere_block(1, "text", "b"))).message.parts == (TextPart("a"), TextPart("b"))


def test_the_tool_plan_is_no_text_and_no_reasoning():
    message = read(SAMPLES["plan"]).message
    assert (message.text, message.reasoning, message.metadata["tool_plan"]) == ("", "", "I will look.")


def test_a_call_without_arguments_has_an_empty_object_once_the_end_says_so():
    clock, add = read(SAMPLES["plan"]).message.tool_calls
    assert (clock.id, clock.parsed, clock.runnable, clock.arguments) == ("clock_1", {}, True, "")
    assert (add.id, add.parsed, add.runnable) == ("add_1", {"a": 1}, True)


def test_a_start_may_hold_the_whole_call():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    message = read(cohere_stream(cohere_message("tool-call-start", 0, tool_calls=call), finish="TOOL_CALL")).message
    assert [(one.id, one.parsed, one.runnable) for one in message.tool_calls] == [("c", {"a": 1}, True)]


def test_calls_that_all_have_the_number_zero_stay_apart():
    calls = [*cohere_call(0, "f", '{"a":1}', identifier="x"), *cohere_call(0, "f", '{"a":2}', identifier="y")]
    result = read(cohere_stream(*calls, finish="TOOL_CALL"))
    assert [(call.id, call.parsed) for call in result.message.tool_calls] == [("x", {"a": 1}), ("y", {"a": 2})]
    assert warned(result) == ["reused_tool_index"]


def test_arguments_that_length_cut_do_not_run():
    message = read(SAMPLES["length"]).message
    (call,) = message.tool_calls
    assert (message.finish_reason, call.runnable, call.parsed, call.arguments) == ("length", False, None, '{"a"')


def test_a_citation_stays_with_its_text_and_one_of_the_plan_beside_it():
    plan = {"start": 0, "end": 1, "text": "I", "type": "PLAN"}
    body = cohere_stream(
        *PLAN, cohere_message("citation-start", 0, citations=plan), *cohere_block(0, "text", "It"),
        cohere_message("citation-start", 1, citations={**CITATION, "content_index": 0}), cohere_message("citation-start", 2, citations=CITATION),
    )  # fmt: skip
    message = read(body).message
    (text,) = message.parts_of(TextPart)
    assert text.citations == ({**CITATION, "content_index": 0}, CITATION)
    assert message.metadata["citations"] == [plan]


def test_usage_is_what_was_counted_and_not_what_is_charged():
    usage = read(SAMPLES["text"]).message.usage
    assert usage.counts() == {
        "input_tokens": 30, "output_tokens": 20, "cache_read_tokens": 9, "cache_write_tokens": None, "reasoning_tokens": None,
    }  # fmt: skip
    assert usage.raw["billed_units"] == {"input_tokens": 3, "output_tokens": 2}


def test_an_error_at_the_end_is_the_providers():
    result = read(SAMPLES["error"])
    assert (result.error.kind, result.error.message, result.error.retryable) == ("provider_error", "model overloaded", True)
    assert (result.message.text, result.message.finish_reason, result.message.finish_reason_raw) == ("It", "error", "ERROR")


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"message":"invalid api token"}', "invalid api token", None),
        (b'{"id":"x","message":"too many requests","code":429}', "too many requests", "429"),
        (b"event: error\ndata: slow down\n\n", "slow down", None),
        (cohere("error", error={"message": "no", "code": "e1"}), "no", "e1"),
        (cohere("message-start", id="m")[:-2] + b"\n\n" + b'event: error\ndata: {"message":"no"}\n\n', "no", None),
    ],
)
def test_an_error_in_any_form_is_the_providers(body, message, code):
    error = read(body).error
    assert (error.kind, error.message, error.code) == ("provider_error", message, code)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "stream_truncated"),
        (b"data: [DONE]\n\n", "stream_truncated"),
        (SAMPLES["text"].split(b"event: message-end")[0], "stream_truncated"),
        (b"<html>", "not_event_stream"),
        (b'{"a":1}', "invalid_event"),
        (b"event: content-delta\ndata: {oops\n\n", "invalid_event"),
        (b"data: [1]\n\n", "invalid_event"),
        (b'data: {"type":"content-delta","x":' + b"[" * 300 + b"]" * 300 + b"}\n\n", "invalid_event"),
    ],
)
def test_what_is_no_whole_answer_is_said(body, kind):
    assert read(body).error.kind == kind


def test_the_end_is_the_end_also_when_the_connection_broke_after_it():
    chunks, result = decoded(SAMPLES["no terminator"], protocol="cohere-v2", complete=False)
    assert (result.error, result.message.text) == (None, "It")
    assert chunks[-1].deltas[-1].is_terminated


def test_a_terminator_alone_ends_a_stream_that_said_something():
    result = read(b"".join(cohere_block(0, "text", "It")) + b"data: [DONE]\n\n")
    assert (result.error, result.message.finish_reason, warned(result)) == (None, "stop", ["finish_reason_missing"])


def test_a_whole_answer_is_read_as_that_answer():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    content = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "It"}]
    message = {"role": "assistant", "content": content, "tool_plan": "Plan.", "tool_calls": [call], "citations": [CITATION]}
    body = dumped({"id": "m1", "finish_reason": "TOOL_CALL", "message": message, "usage": {"tokens": {"input_tokens": 1}}})
    result = read(body, provider="acme")
    got = result.message
    assert got.parts[:2] == (ReasoningPart("Hm"), TextPart("It", citations=(CITATION,)))
    assert [(one.id, one.parsed, one.runnable) for one in got.tool_calls] == [("c", {"a": 1}, True)]
    assert (got.id, got.provider, got.metadata["tool_plan"], got.usage.input_tokens) == ("m1", "acme", "Plan.", 1)
    assert (result.error, got.finish_reason, warned(result)) == (None, "tool_calls", [])


def test_a_content_that_is_a_text_is_read_too():
    assert read(dumped({"id": "m", "finish_reason": "COMPLETE", "message": {"content": "It"}})).message.text == "It"


def test_what_is_not_understood_is_kept():
    block = {"type": "image", "url": "u"}
    body = cohere_stream(
        cohere("debug", prompt="p"),
        cohere_message("content-start", 0, content=block),
        cohere_message("content-start", 1, content={"type": "text", "text": "a", "mood": "good"}),
        cohere_message("content-delta", 1, content=5),
        cohere_message("tool-call-start", 0, tool_calls="odd"),
        cohere_message("tool-call-start", 0, tool_calls={"id": "c", "x": 1, "function": {"name": "f", "arguments": "{}", "y": 2}}),
        cohere("content-delta", 1, delta={"message": {"content": {"text": "b"}}, "z": 3}, logprobs={"token_ids": [1], "logprobs": [-0.5]}),
        finish="TOOL_CALL",
    )
    message = read(body).message
    assert message.parts[0] == OpaquePart(block)
    assert message.text == "ab"
    assert message.tool_calls[0].provider_data == {"x": 1, "function": {"y": 2}}
    assert message.logprobs == {"token_ids": [1], "logprobs": [-0.5]}
    fields = message.metadata["provider_fields"]
    assert fields["event.debug"]["prompt"] == "p"
    assert (fields["content.mood"], fields["message.tool_calls"], fields["delta.z"]) == ("good", "odd", 3)


def test_a_message_that_begins_anew_voids_what_came_before():
    body = cohere_stream(*PLAN, *cohere_block(0, "text", "old")).replace(b"data: [DONE]\n\n", b"")
    result = read(body + cohere_stream(*cohere_block(0, "text", "new"), identifier="m2"))
    assert (result.message.text, result.message.id, result.message.metadata) == ("new", "m2", {})
    assert warned(result) == ["restarted_message"]


def test_halves_of_characters_in_neighbouring_pieces_are_one_character():
    def halved(kind, name):
        return [
            b"event: " + kind + b'\ndata: {"type":"' + kind + b'","index":0,"delta":{"message":{' + name.replace(b"#", half) + b"}}}\n\n"
            for half in (b"\\ud83d", b"\\ude00")
        ]

    body = cohere_stream(
        *halved(b"tool-plan-delta", b'"tool_plan":"#"'), *cohere_block(0, "text")[:1], *halved(b"content-delta", b'"content":{"text":"#"}'),
        *cohere_call(0, "f", '{"a":"')[:-1], *halved(b"tool-call-delta", b'"tool_calls":{"function":{"arguments":"#"}}'),
        cohere_message("tool-call-delta", 0, tool_calls={"function": {"arguments": '"}'}}), finish="TOOL_CALL",
    )  # fmt: skip
    result = read(body)
    assert (result.message.metadata["tool_plan"], result.message.text) == ("\U0001f600", "\U0001f600")
    assert result.message.tool_calls[0].parsed == {"a": "\U0001f600"}
    assert warned(result) == []


@pytest.mark.parametrize(("end", "text"), [(b"", None), (cohere("message-end", delta={"finish_reason": "COMPLETE"}), "\ufffd")])
def test_half_a_character_at_the_end_of_the_plan_is_replaced_or_left_out_where_the_stream_was_cut(end, text):
    half = b'event: tool-plan-delta\ndata: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"\\ud83d"}}}\n\n'
    result = read(half + end)
    assert result.message.metadata.get("tool_plan") == text
    assert "invalid_utf8" in warned(result)


def test_half_a_character_amid_the_plan_is_replaced():
    half = b'event: tool-plan-delta\ndata: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"\\ud83dx"}}}\n\n'
    assert read(cohere_stream(half)).message.metadata["tool_plan"] == "\ufffdx"


@pytest.mark.parametrize("arguments", [{"a": 1}, 5])
def test_arguments_that_are_no_text_are_read_or_refused(arguments):
    call = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    result = read(cohere_stream(cohere_message("tool-call-start", 0, tool_calls=call), finish="TOOL_CALL"))
    assert "arguments_not_string" in warned(result)
    (call,) = result.message.tool_calls
    assert (call.parsed, call.runnable) == ((arguments, True) if isinstance(arguments, dict) else (None, False))


@pytest.mark.parametrize(
    "event",
    [
        cohere("tool-call-end", 3),
        cohere("tool-call-end"),
        cohere_message("content-delta", 7, content={"text": ""}),
        cohere("content-delta", 0),
        cohere("content-delta", 0, delta={"message": 5}),
        cohere("content-delta", 0, delta={"message": {"content": {"text": 5, "thinking": []}}}),
        cohere("content-delta", 0, delta={"message": {"content": {}, "tool_plan": "x"}}),
        cohere("tool-call-delta", delta={"message": {"tool_calls": {"function": {"arguments": ""}}}}),
        cohere("tool-plan-delta", delta={"message": {"tool_plan": ["x"]}}),
        cohere("nonsense", delta={"message": {"content": {"text": "x"}}}),
        b'event: content-delta\ndata: {"type":{"a":1},"index":0}\n\n',
        b": ping\n\n",
        b"event: ping\ndata: {}\n\n",
    ],
)
def test_odd_events_change_no_answer(event):
    result = read(cohere_stream(*cohere_block(0, "text", "It"), event))
    assert (result.message.text, result.error) == ("It", None)


def test_a_piece_counts_whatever_its_event_is_called():
    event = b'event: content-delta\ndata: {"type":"tool-plan-delta","delta":{"message":{"content":{"text":"x"}}}}\n\n'
    assert read(cohere_stream(*cohere_block(0, "text", "It"), event)).message.text == "Itx"


def test_events_without_a_name_are_read_by_their_type():
    body = SAMPLES["thinking"].replace(b"event: content-delta\n", b"").replace(b"event: message-start\n", b"")
    assert read(body).message.parts == read(SAMPLES["thinking"]).message.parts


def test_past_a_limit_nothing_more_is_read():
    result = read(SAMPLES["plan"], limits={"max_tool_calls": 1})
    assert (result.error.kind, result.error.which) == ("limit_exceeded", "tool_calls")


def test_think_tags_in_a_block_are_split_on_request():
    result = read(cohere_stream(*cohere_block(0, "text", "<thi", "nk>a</think>b")), options={"think_tags": True})
    assert (result.message.text, result.message.reasoning) == ("b", "a")
