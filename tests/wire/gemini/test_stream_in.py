import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_runs import check_result, decoded, deltas_of
from gemini_bytes import CODE, CODE_RESULT, SAMPLES, array, call, candidate, event, piece, stop, stream, text
from headrace.decoding import decode_stream
from headrace.messages.parts import MediaPart, ProviderItem, ProviderToolPart, ReasoningPart, TextPart
from headrace.wire.gemini.stream_in import GeminiDecoder
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.options import NO_OPTIONS
from slicing import bytewise, slicings

PROTOCOL = "gemini"
sample = pytest.mark.parametrize("name", SAMPLES)


def run(*values, **options):
    return decode_stream(stream(*values), protocol=PROTOCOL, **options)


def read(body, **options):
    return decode_stream(body, protocol=PROTOCOL, **options)


# ---------------------------------------------------------------------------------------------- laws


@sample
def test_any_slicing_gives_the_same_chunks_and_the_message_is_their_sum(name):
    chunks, result = decoded(SAMPLES[name], protocol=PROTOCOL)
    check_result(chunks, result)
    again, same = decoded(bytewise(SAMPLES[name]), protocol=PROTOCOL)
    assert (deltas_of(again), same) == (deltas_of(chunks), result)


@sample
def test_both_ways_of_reading_say_the_same(name):
    chunks, result = decoded(SAMPLES[name], protocol=PROTOCOL)
    slow, same = decoded(SAMPLES[name], protocol=PROTOCOL, is_short_way_off=True)
    assert (deltas_of(slow), same) == (deltas_of(chunks), result)


@sample
def test_cut_anywhere_the_text_is_a_prefix_and_no_call_can_run_that_the_whole_has_not(name):
    whole = read(SAMPLES[name]).summary()
    calls = [(one["name"], one.get("arguments")) for one in whole["tool_calls"]]
    for at in range(len(SAMPLES[name])):
        part = check_result(*decoded(SAMPLES[name][:at], protocol=PROTOCOL))
        assert whole["text"].startswith(part["text"])
        assert all((one["name"], one["arguments"]) in calls for one in part["tool_calls"] if one["runnable"])


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@settings(max_examples=150, deadline=None)
def test_bytes_that_were_bent_never_raise_and_any_slicing_of_them_says_the_same(name, data):
    body = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                body[at] = data.draw(st.integers(0, 255))
            case "cut":
                del body[at : at + data.draw(st.integers(1, 30))]
                body = body or bytearray(b"x")
            case _:
                body[at:at] = data.draw(st.sampled_from([b"null", b'"', b"{", b"[", b"\r", b"\n\n", b"\xff", b"1e400", b'"\\ud800"']))
    chunks, result = decoded(bytes(body), protocol=PROTOCOL)
    check_result(chunks, result)
    again, same = decoded(data.draw(slicings(bytes(body))), protocol=PROTOCOL)
    assert (deltas_of(again), same) == (deltas_of(chunks), result)


# ---------------------------------------------------------------------------------------------- text and thinking


def test_pieces_of_a_kind_are_one_part():
    message = read(SAMPLES["thinking"]).message
    assert message.parts == (
        ReasoningPart("Let me see."),
        TextPart("It runs."),
        TextPart("", provider_data={"thoughtSignature": "U2ln"}),
    )
    assert (message.id, message.model, message.finish_reason, message.finish_reason_raw) == ("r-1", "m-1", "stop", "STOP")
    assert message.warnings == ()


def test_a_signature_stays_on_its_own_part_and_what_follows_begins_another():
    assert read(SAMPLES["signed"]).message.parts == (
        TextPart("Plain "),
        TextPart("signed", provider_data={"thoughtSignature": "QQ=="}),
        TextPart(" and plain again"),
        TextPart("", provider_data={"thoughtSignature": "Qg=="}),
    )


def test_signed_thoughts_are_never_joined():
    result = run((text("a", "QQ==", thought=True), text("b", "Qg==", thought=True), {**text("", "Qw==", thought=True), "x": 1}), stop())
    assert result.message.parts == (
        ReasoningPart("a", signature="QQ=="),
        ReasoningPart("b", signature="Qg=="),
        ReasoningPart(signature="Qw==", provider_data={"x": 1}),
    )


def test_tags_of_thinking_are_split_on_request():
    result = run((text("<think>Hm"),), (text(".</think>So"),), stop(), options={"think_tags": True})
    assert (result.message.reasoning, result.message.text) == ("Hm.", "So")


def test_a_call_in_the_text_and_a_call_of_the_wire_are_two():
    inline = '<tool_call>{"name": "clock", "arguments": {}}</tool_call>'
    result = run((text(inline),), (call("other"),), stop(), options={"inline_tool_calls": True})
    assert [one.name for one in result.message.tool_calls] == ["other"]


# ---------------------------------------------------------------------------------------------- calls


def test_calls_without_ids_are_calls_of_their_own():
    summary = read(SAMPLES["calls"]).summary()
    assert [(one["id"], one["arguments"], one["runnable"]) for one in summary["tool_calls"]] == [
        ("call_1", {"city": "Oslo"}, True),
        ("call_2", {"city": "Lima"}, True),
    ]
    assert [one.provider_data for one in read(SAMPLES["calls"]).message.tool_calls] == [{"thoughtSignature": "Qw=="}, {}]
    assert (summary["finish_reason"], summary["finish_reason_raw"], summary["warnings"]) == ("tool_calls", "STOP", [])


def test_a_call_without_args_has_none():
    assert [(one.id, one.name, one.arguments) for one in read(SAMPLES["no args"]).message.tool_calls] == [
        ("call_1", "clock", "{}"),
        ("call_2", "clock", "{}"),
        ("x1", "other", "{}"),
    ]


def test_arguments_in_pieces_stream_as_text():
    chunks, result = decoded(SAMPLES["pieces"], protocol=PROTOCOL)
    pieces = [fragment.arguments for chunk in chunks for fragment in chunk.tool_calls if fragment.arguments]
    assert pieces == ['{"place":{"city":"Os', 'lo","days":[1,2', ']},"is_long":true,"rest":null}']
    [made] = result.message.tool_calls
    assert (made.parsed, made.runnable, made.provider_data) == (
        {"place": {"city": "Oslo", "days": [1, 2]}, "is_long": True, "rest": None},
        True,
        {"thoughtSignature": "RA=="},
    )


def test_a_call_that_nobody_closed_is_whole_when_the_answer_has_ended_well():
    [made] = read(SAMPLES["unclosed"]).message.tool_calls
    assert (made.arguments, made.runnable) == ('{"a":"x"}', True)


@pytest.mark.parametrize(
    ("last", "word"), [(("$.a", "x", True), "STOP"), (("$.a", "x"), "MAX_TOKENS"), (("a", 1), "STOP"), (("$.b[3]", 1), "STOP")]
)
def test_pieces_that_are_no_whole_object_never_run(last, word):
    [made] = run((call(willContinue=True),), (piece(last),), stop(word=word)).message.tool_calls
    assert (made.parsed, made.runnable) == (None, False)
    assert made.arguments.startswith("{")


def test_pieces_of_several_calls_find_theirs_by_id():
    result = run(
        (call("a", id="1", willContinue=True), call("b", id="2", willContinue=True)),
        (piece(("$.x", 1), id="1"), piece(("$.y", 2), id="2")),
        (piece(id="2", goes_on=False), piece(id="1", goes_on=False)),
        stop(),
    )
    assert [(one.id, one.name, one.parsed) for one in result.message.tool_calls] == [("1", "a", {"x": 1}), ("2", "b", {"y": 2})]


def test_a_name_that_is_said_with_each_piece_begins_no_new_call():
    result = run(
        (call(willContinue=True),), (piece(("$.a", 1), name="clock"),), (piece(goes_on=False),), (call(willContinue=True),), stop()
    )
    assert [one.parsed for one in result.message.tool_calls] == [{"a": 1}, {}]


def test_args_and_pieces_of_one_call_are_one_object():
    result = run((call(args={"a": 1}, willContinue=True),), (piece(("$.b", 2), goes_on=False),), stop())
    assert [one.parsed for one in result.message.tool_calls] == [{"a": 1, "b": 2}]


def test_a_close_without_a_call_says_nothing_and_data_alone_joins_the_call_before():
    assert run((piece(goes_on=False), text("a")), stop()).message.parts == (TextPart("a"),)
    [made] = run((call(),), ({**piece(goes_on=False), "thoughtSignature": "QQ=="},), stop()).message.tool_calls
    assert made.provider_data == {"thoughtSignature": "QQ=="}


def test_a_call_without_a_name_is_kept_and_cannot_run():
    result = run(({"functionCall": {"args": {"a": 1}, "future": 1}},), stop())
    [made] = result.message.tool_calls
    assert (made.name, made.runnable, made.provider_data) == ("", False, {"functionCall": {"future": 1}})
    assert [one.code for one in result.warnings] == ["missing_tool_name"]


@pytest.mark.parametrize(("args", "raw"), [('{"a": 1}', '{"a": 1}'), ([1], "[1]"), ("no", "no")])
def test_args_of_another_kind_stay_as_they_came(args, raw):
    assert run((call(args=args),), stop()).message.tool_calls[0].arguments == raw


# ---------------------------------------------------------------------------------------------- other parts


def test_what_the_provider_ran_is_one_part_with_its_result_behind_it():
    message = read(SAMPLES["code"], provider="acme").message
    assert message.parts[1] == ProviderToolPart(
        name="code_execution",
        arguments='{"language":"PYTHON","code":"print(6 * 7)"}',
        parsed={"language": "PYTHON", "code": "print(6 * 7)"},
        result={"outcome": "OUTCOME_OK", "output": "42\n"},
        provider="acme",
        provider_data={"parts": [CODE, CODE_RESULT]},
    )
    assert (message.text, message.provider) == ("First: It is 42.", "acme")


def test_a_result_that_is_not_next_or_of_another_call_stands_by_itself():
    def tool(kind, id_, **fields):
        return {kind: {"id": id_, "toolType": "WEB", **fields}}

    result = run(
        (CODE, text("so"), CODE_RESULT), (tool("toolCall", "1", args={"q": 1}), tool("toolResponse", "2", response={"r": 2})), stop()
    )
    tools = result.message.parts_of(ProviderToolPart)
    assert [(one.id, one.name, one.arguments[:2], one.result) for one in tools] == [
        ("", "code_execution", '{"', None),
        ("", "code_execution", "", {"outcome": "OUTCOME_OK", "output": "42\n"}),
        ("1", "WEB", '{"', None),
        ("2", "WEB", "", {"r": 2}),
    ]


def test_media_come_whole_and_speech_in_pieces():
    assert read(SAMPLES["media"]).message.parts == (
        MediaPart(kind="image", data=b"icon", media_type="image/png"),
        MediaPart(kind="document", url="https://x/y.mp4"),
    )
    assert read(SAMPLES["speech"]).message.parts == (MediaPart(kind="audio", data=b"\x00\x01\x02" * 3, media_type="audio/L16;rate=24000"),)


def test_data_beside_a_medium_stay_with_it():
    result = run(
        ({"inlineData": {"mimeType": "audio/wav", "data": "AAEC", "displayName": "hm"}, "thought": True, "thoughtSignature": "QQ=="},),
        stop(),
    )
    assert result.message.parts == (
        MediaPart(
            kind="audio",
            data=b"\x00\x01\x02",
            media_type="audio/wav",
            name="hm",
            provider_data={"thought": True, "thoughtSignature": "QQ=="},
        ),
    )


@pytest.mark.parametrize(
    "part", ['{"newThing":  {"x": 1.0}}', '{"inlineData": {"data": "!"}}', '{"inlineData": {}}', '{"fileData": {"x": 1}}']
)
def test_a_part_that_is_not_understood_is_kept_as_the_bytes_that_came(part):
    body = event('{"candidates": [{"content": {"parts": [{"text": "a"}, ' + part + ']}, "finishReason": "STOP"}]}')
    assert read(body, provider="acme").message.parts == (
        TextPart("a"),
        ProviderItem(provider="acme", protocol="gemini", raw=part.encode()),
    )


def test_a_part_of_a_broken_event_is_kept_as_it_would_be_written():
    body = event('{"candidates": [{"content": {"parts": {"new": "\\ud800"}}, "finishReason": "STOP"}]}')
    [item] = read(body).message.parts
    assert json.loads(item.raw) == {"new": "\ufffd"}


def test_fields_that_are_not_understood_are_kept():
    message = read(SAMPLES["odd"]).message
    assert message.text == "ab"
    assert message.metadata == {"newField": [1], "provider_fields": {"part.int": 7}}


# ---------------------------------------------------------------------------------------------- the end


def test_a_prompt_that_was_blocked_is_an_answer_that_was_filtered():
    summary = read(SAMPLES["blocked"]).summary()
    assert (summary["finish_reason"], summary["finish_reason_raw"], summary["error"]) == ("content_filter", "SAFETY", None)
    assert summary["usage"]["input_tokens"] == 7
    assert summary["usage"]["output_tokens"] is None


def test_what_was_said_of_a_prompt_that_passed_is_kept():
    feedback = {"safetyRatings": [{"category": "C"}]}
    result = run(
        {**candidate(text("a")), "promptFeedback": feedback}, {**stop(), "promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}}
    )
    assert (result.message.finish_reason, result.message.metadata["promptFeedback"]["blockReason"]) == ("stop", "BLOCK_REASON_UNSPECIFIED")


def test_a_call_that_the_provider_could_not_read_is_an_error_of_its_own():
    result = read(SAMPLES["malformed"])
    assert (result.error.kind, result.error.message, result.message.finish_reason) == ("malformed_function_call", "no such call", "error")
    assert run(stop(word="MALFORMED_FUNCTION_CALL")).error.message


def test_the_last_word_counts_and_a_decisive_one_always():
    assert [warning.code for warning in read(SAMPLES["two ends"]).warnings] == ["early_finish_reason", "multiple_finish_reasons"]
    for words, counts in ((("STOP", "NEW"), "NEW"), (("SAFETY", "STOP"), "SAFETY"), (("STOP", "MAX_TOKENS"), "MAX_TOKENS")):
        assert run(*[stop(text("a"), word=word) for word in words]).message.finish_reason_raw == counts


def test_a_word_that_was_early_is_said_once():
    codes = [warning.code for warning in run(stop(text("a")), stop(text("b")), stop(text("c"))).warnings]
    assert codes == ["early_finish_reason", "multiple_finish_reasons"]


def test_content_behind_the_last_finish_word_means_that_the_stream_was_cut():
    result = run(stop(text("a")), (text("b"),), (text("c"),))
    assert (result.error.kind, result.message.finish_reason) == ("stream_truncated", None)
    assert run(stop(text("a")), (text("", "QQ=="),)).error is None


def test_an_error_inside_the_stream_keeps_what_had_come():
    result = read(SAMPLES["error"])
    assert (result.error.kind, result.error.code, result.error.message, result.error.retryable) == ("provider_error", "503", "busy", True)
    assert (result.message.text, result.message.finish_reason) == ("Half", "error")


@pytest.mark.parametrize(
    "body",
    [
        event({"error": "busy"}),
        event({"message": "busy", "status": "UNAVAILABLE"}),
        b'event: error\ndata: {"error": {"message": "busy"}}\n\n',
        b"event: error\ndata: busy\n\n",
        b'[{"error": {"code": 503, "message": "busy"}}]',
        b'{"error": {"code": 503, "message": "busy"}}',
    ],
)
def test_every_form_of_an_error_is_one(body):
    assert (read(body).error.kind, read(body).error.message) == ("provider_error", "busy")


def test_an_error_without_words_is_one():
    assert read(b"event: error\n\n" + stream(stop())).error is None  # no data: no event
    assert read(b"event: error\ndata:\n\n").error.kind == "provider_error"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "stream_truncated"),
        (b"[]", "stream_truncated"),
        (b"[1]", "invalid_event"),
        (b"data: 7\n\n", "invalid_event"),
        (b"data: {oops}\n\n", "invalid_event"),
        (b'{"a": 1}', "invalid_event"),
        (b"<html>", "not_event_stream"),
        (event('{"x": [' + "[" * 300 + "]" * 300 + "]}"), "invalid_event"),
        (event('{"newField": ' + "[" * 245 + "]" * 245 + "}"), "invalid_event"),
        (event('{"usageMetadata": {"promptTokenCount": 1' + "0" * 5000 + "}}"), "invalid_event"),
    ],
)
def test_a_body_that_is_no_answer_is_an_error(body, kind):
    assert read(body).error.kind == kind


def test_usage_that_cannot_be_kept_fails_the_stream_at_its_end():
    result = read(stream(stop(text("a"))).replace(b'"totalTokenCount": 16', b'"deep": ' + b"[" * 245 + b"]" * 245))
    assert (result.error.kind, result.message.text) == ("invalid_event", "a")


def test_id_and_model_may_come_late_or_never():
    plain = {"candidates": [{"content": {"parts": [text("a")]}}]}
    message = run(plain, plain, {**plain, "modelVersion": "m-2"}, plain, {**plain, "responseId": "r-2"}, plain, stop()).message
    assert (message.text, message.model, message.id) == ("a" * 6, "m-2", "r-2")
    chunks, _ = decoded(stream(*[plain] * 5, stop()), protocol=PROTOCOL)
    assert len(chunks) == 7


def test_a_body_of_another_kind_is_an_error_also_where_nobody_said_so():
    decoder = GeminiDecoder(limits=DEFAULT_LIMITS, options=NO_OPTIONS)
    decoder.close("other", complete=True)
    assert decoder.output.error.kind == "not_event_stream"


def test_a_terminator_of_a_gateway_ends_the_stream():
    result = read(stream((text("a"),)) + b"data: [DONE]\n\n" + stream((text("b"),)))
    assert (result.message.text, result.message.finish_reason, result.error) == ("a", "stop", None)
    late, same = decoded([event(candidate(text("a"))) + b": x\n\n", b"data: [DONE]\n\n: x\n\n" + event(stop())], protocol=PROTOCOL)
    assert (same.message.text, len(late)) == ("a", 2)


def test_without_the_end_of_the_transport_a_finish_word_is_not_enough():
    _, result = decoded(SAMPLES["text"], protocol=PROTOCOL, complete=False)
    assert (result.error.kind, result.message.text) == ("stream_truncated", "Two mills run.")


# ---------------------------------------------------------------------------------------------- bodies of other kinds


def test_an_array_is_read_element_by_element():
    body = SAMPLES["array"]
    first = body.index(b",\r\n{")
    chunks, result = decoded([body[: first + 1], body[first + 1 :]], protocol=PROTOCOL)
    assert chunks[0].text == "Two"
    assert (result.message.text, result.error, result.message.finish_reason) == ('Two mills\n[{"\\.', None, "stop")


def test_an_array_that_was_cut_is_a_cut_stream_though_a_finish_word_came():
    result = read(SAMPLES["cut array"])
    assert (result.error.kind, result.message.text) == ("stream_truncated", "Two mills")


def test_an_array_of_arrays_is_no_answer():
    assert read(array([], 7)).error.kind == "invalid_event"


def test_a_whole_answer_is_read_as_that_answer():
    summary = read(SAMPLES["answer"]).summary()
    assert (summary["text"], summary["tool_calls"][0]["arguments"], summary["finish_reason"]) == ("Whole.", {"a": 1}, "tool_calls")
    assert decode_stream(json.dumps(candidate(text("Whole."))).encode(), protocol=PROTOCOL).message.finish_reason == "stop"


# ---------------------------------------------------------------------------------------------- several, usage, citations


def test_several_candidates_are_choices_each_with_its_own_end():
    result = read(SAMPLES["several"])
    assert [(one.text, one.finish_reason) for one in result.choices] == [("A", "length"), ("Bb", "stop")]


def test_candidates_without_numbers_are_told_apart_by_their_places():
    result = run(
        {
            "candidates": [
                {"content": {"parts": [text("A")]}, "finishReason": "STOP"},
                {"content": {"parts": [text("B")]}, "finishReason": "STOP"},
            ]
        }
    )
    assert [one.text for one in result.choices] == ["A", "B"]


def test_more_candidates_than_there_may_be_end_the_stream():
    many = {"candidates": [{"index": n, "content": {"parts": []}} for n in range(4)]}
    assert run(many, limits={"max_parts": 3}).error.which == "parts"
    assert run({"candidates": many["candidates"][1:]}, {"promptFeedback": {"a": 1}}, limits={"max_parts": 3}).error.which == "parts"


def test_usage_replaces_and_thoughts_count_as_output():
    usage = run({**candidate(text("a")), "usageMetadata": {"promptTokenCount": 1, "toolUsePromptTokenCount": 3}}, stop()).message.usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (10, 9, 5)


def test_the_ratings_that_came_last_are_kept():
    message = read(SAMPLES["ratings"]).message
    assert message.metadata["safetyRatings"] == [{"category": "C", "probability": "3"}]
    assert (message.text, message.usage.input_tokens) == ("0 1 2 3 ", 7)


def test_ratings_that_stay_the_same_are_read_once_and_ratings_that_cannot_be_kept_end_the_stream():
    same = {**candidate(text("a"), index=0, safetyRatings=[1])}
    result = run(same, same, same, {**candidate(text("b"), index=0, safetyRatings=[2])}, stop())
    assert (result.message.text, result.message.metadata) == ("aaab", {"safetyRatings": [2]})
    general = {**candidate(text("c"), index=0, safetyRatings=[3], newField=1)}
    assert run(same, same, general, same, stop()).message.metadata == {"safetyRatings": [1], "newField": 1}
    deep = json.loads("[" * 245 + "]" * 245)
    assert run(same, {**candidate(text("a"), index=0, safetyRatings=deep)}, stop()).error.kind == "invalid_event"


def test_what_supports_the_text_is_cited_once():
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://x"}}, {"web": {"uri": "https://y"}}],
        "groundingSupports": [{"segment": {"endIndex": 1}, "groundingChunkIndices": [1, 9]}, {"segment": {"endIndex": 2}}],
    }
    cited = {"citationSources": [{"uri": "https://z"}]}
    message = run((text("ab"),), stop(groundingMetadata=grounding, citationMetadata=cited), stop(groundingMetadata=grounding)).message
    assert message.first(TextPart).citations == (
        {"uri": "https://z"},
        {"segment": {"endIndex": 1}, "groundingChunkIndices": [1, 9], "groundingChunks": [{"web": {"uri": "https://y"}}]},
        {"segment": {"endIndex": 2}},
    )
    assert message.metadata["groundingMetadata"] == grounding
    assert run(stop(citationMetadata=cited)).message.metadata == {"citationMetadata": cited}


def test_log_probabilities_are_joined():
    results = [{"chosenCandidates": [{"token": word, "logProbability": -0.5}]} for word in ("a", "b")]
    message = run(candidate(text("a"), logprobsResult=results[0]), stop(text("b"), logprobsResult=results[1])).message
    assert [one["token"] for one in message.logprobs["chosenCandidates"]] == ["a", "b"]


def test_the_time_of_creation_is_kept():
    created = run({**candidate(text("a")), "createTime": "2026-05-04T20:01:02.264968Z"}, stop()).message.created_at
    assert created.isoformat() == "2026-05-04T20:01:02.264968+00:00"
