"""The stream of generateContent that leaves is what the vendor would send: what is new in each event, whole calls, the finish reason and the usage last."""

from __future__ import annotations

import json

import pytest

from answers_out import HEAD, chunk, ended, events, passed_on, pieces, written
from chat_bytes import call_stream
from decoding_runs import decoded
from gemini_bytes import CODE, CODE_RESULT, SAMPLES
from headrace.decoding import decode_stream
from headrace.messages.deltas import (
    CitationDelta,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    PartDataDelta,
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
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    make,
)
from headrace.messages.usage import Usage
from headrace.wire.gemini.sealed_thoughts import unseal
from headrace.wire.gemini.stream_out import StreamOut, refuse
from headrace.wire.server_side import AnswerOptions, Head
from messages_bytes import SAMPLES as MESSAGES

PROTOCOL = "gemini"
EMPTY_END = {"text": ""}


def parts_of(body, index=0):
    """All parts of a candidate, without the empty one that stands in the last event."""
    found = [
        part
        for event in events(body)
        for candidate in event.get("candidates", [])
        if candidate["index"] == index
        for part in candidate["content"]["parts"]
    ]
    return [part for part in found if part != EMPTY_END]


def inner(*chunks, word="stop", **options):
    """The parts of an answer."""
    return parts_of(written(PROTOCOL, [*chunks, ended(word)], **options))


def call(name, args, id="a", **fields):  # noqa: A002 - the wire's word
    return {"functionCall": {"id": id, "name": name, "args": args}, **fields}


# --- the frame -----------------------------------------------------------------------------------------


def test_an_event_holds_what_is_new_and_the_last_one_the_reason_and_the_usage():
    usage = UsageDelta(Usage(input_tokens=30, output_tokens=20, cache_read_tokens=9, reasoning_tokens=11))
    body = written(PROTOCOL, [chunk(MessageStart("up-1", "m-1")), chunk(TextDelta("Hi ")), chunk(TextDelta("you."), usage), ended()])
    head = {"modelVersion": "m-1", "responseId": "7"}

    def event(text, **fields):
        return {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **fields}

    assert events(body) == [
        {"candidates": [event("Hi ")], **head},
        {"candidates": [event("you.")], **head},
        {
            "candidates": [event("", finishReason="STOP")],
            "usageMetadata": {
                "promptTokenCount": 30, "cachedContentTokenCount": 9, "candidatesTokenCount": 9, "thoughtsTokenCount": 11, "totalTokenCount": 50,
            },
            **head,
        },
    ]  # fmt: skip
    assert body.count(b"\r\n\r\n") == 3


def test_without_alt_sse_the_events_are_the_items_of_an_array():
    out = StreamOut(HEAD, AnswerOptions(is_array=True))
    sent = [out.feed(chunk(TextDelta("Hi "))), out.feed(chunk(TextDelta("you."))), out.feed(ended()), out.close()]
    assert out.media_type == "application/json"
    assert [sent[0][:1], sent[1][:3], sent[3][-1:]] == [b"[", b",\r\n", b"]"]
    body = b"".join(sent)
    assert [item["candidates"][0]["content"]["parts"] for item in json.loads(body)] == [[{"text": "Hi "}], [{"text": "you."}], [EMPTY_END]]
    assert decode_stream(body, protocol=PROTOCOL).message.text == "Hi you."
    failed = StreamOut(HEAD, AnswerOptions(is_array=True))
    assert json.loads(failed.close())[0]["error"]["status"] == "INTERNAL"


@pytest.mark.parametrize("name", SAMPLES)
def test_an_array_holds_what_the_events_hold(name):
    chunks, _ = decoded(SAMPLES[name], protocol=PROTOCOL)
    out = StreamOut(HEAD, AnswerOptions(is_array=True))
    body = b"".join(out.feed(item) for item in chunks) + out.close()
    assert json.loads(body) == events(written(PROTOCOL, chunks))


def test_a_piece_leaves_when_it_came_and_pieces_of_one_chunk_are_one_part():
    sent = passed_on(SAMPLES["text"], source=PROTOCOL, target=PROTOCOL)
    assert [parts_of(piece) for piece in sent] == [[{"text": "Two"}], [{"text": " mills"}], [{"text": " run."}], []]
    assert inner(chunk(TextDelta("a"), TextDelta("b"), ReasoningDelta("c"), ReasoningDelta("d"))) == [
        {"text": "ab"}, {"text": "cd", "thought": True},
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("error", "cut", "cut array")])
def test_its_own_streams_leave_as_they_came(name):
    chunks, result = decoded(SAMPLES[name], protocol=PROTOCOL)
    again = decode_stream(written(PROTOCOL, chunks), protocol=PROTOCOL)
    assert len(again.choices) == len(result.choices)
    for one, other in zip(again.choices, result.choices, strict=True):
        assert (one.text, one.reasoning, one.finish_reason, one.finish_reason_raw) == (
            other.text, other.reasoning, other.finish_reason, other.finish_reason_raw,
        )  # fmt: skip
        assert signed(one) == signed(other)
        for kind in (ProviderItem, ProviderToolPart, MediaPart):
            assert one.parts_of(kind) == other.parts_of(kind)
        calls = [[(call.name, call.parsed, call.runnable, call.provider_data) for call in message.tool_calls] for message in (one, other)]
        assert calls[0] == calls[1]
    assert (again.error and again.error.kind) == (result.error and result.error.kind)


def signed(message):
    """The texts that something stands beside."""
    return [(part.text, part.provider_data) for part in message.parts_of(TextPart) if part.provider_data]


@pytest.mark.parametrize(
    ("word", "sent"),
    [
        ("stop", "STOP"), ("length", "MAX_TOKENS"), ("refusal", "SAFETY"), ("RECITATION", "RECITATION"), ("pause_turn", "STOP"),
        ("LANGUAGE", "LANGUAGE"), ("novel", "OTHER"), ("tool_calls", "STOP"),
    ],
)  # fmt: skip
def test_a_finish_reason_is_one_of_the_protocol(word, sent):
    assert events(written(PROTOCOL, [chunk(TextDelta("a")), ended(word)]))[-1]["candidates"][0]["finishReason"] == sent


def test_a_prompt_that_was_blocked_has_no_candidate():
    (event,) = events(written(PROTOCOL, decoded(SAMPLES["blocked"], protocol=PROTOCOL)[0]))
    assert event["promptFeedback"] == {"blockReason": "SAFETY"}
    assert "candidates" not in event
    assert event["usageMetadata"]["promptTokenCount"] == 7


def test_several_candidates_have_their_indexes():
    chunks, _ = decoded(SAMPLES["several"], protocol=PROTOCOL)
    body = written(PROTOCOL, chunks)
    assert [parts_of(body, index) for index in (0, 1)] == [[{"text": "A"}], [{"text": "B"}, {"text": "b"}]]
    assert [candidate["finishReason"] for candidate in events(body)[-1]["candidates"]] == ["MAX_TOKENS", "STOP"]


# --- words and thinking --------------------------------------------------------------------------------


def test_what_proves_thinking_stands_behind_it_and_says_what_it_is_about():
    some = [chunk(ReasoningDelta("Hm", 0)), chunk(ReasoningDelta(".", 0, signature="si")), chunk(ReasoningDelta("", 0, signature="g"))]
    first, second, proof, text = inner(*some, chunk(TextDelta("Yes.", 1)))
    assert [first, second, text] == [{"text": "Hm", "thought": True}, {"text": ".", "thought": True}, {"text": "Yes."}]
    assert (proof["text"], proof["thought"], unseal(proof["thoughtSignature"])) == ("", True, (3, {"signature": "sig"}))


def test_thinking_that_is_only_sealed_is_an_empty_thought():
    parts = inner(chunk(ReasoningDelta("a", 0)), chunk(ReasoningDelta("", 1, encrypted="z")), chunk(ReasoningDelta("", 1, encrypted="z")))
    assert [unseal(part.get("thoughtSignature")) for part in parts] == [None, (0, {"encrypted": "zz"})]


def test_a_signature_that_comes_too_late_is_left_out_and_said():
    sent, out = pieces(PROTOCOL, [chunk(ReasoningDelta("Hm.")), chunk(TextDelta("a")), chunk(ReasoningDelta(signature="s")), ended()])
    assert b"thoughtSignature" not in b"".join(sent)
    assert [warning.detail for warning in out.repairs] == ["a signature that came after its thinking had ended"]


def test_signed_thinking_of_another_wire_leaves_whole():
    chunks, result = decoded(MESSAGES["thinking, text and a call"], protocol="anthropic-messages")
    proof = next(part for part in parts_of(written(PROTOCOL, chunks)) if "thoughtSignature" in part)
    (thought,) = result.message.parts_of(ReasoningPart)
    assert unseal(proof["thoughtSignature"]) == (len(thought.text), {"signature": thought.signature})


def test_what_stands_beside_a_text_goes_with_it_once():
    signature = PartDataDelta({"thoughtSignature": "QQ==", "id": "msg_1"}, "text", 0)
    assert inner(chunk(TextDelta("a", 0), signature), chunk(TextDelta("b", 0))) == [
        {"text": "a", "thoughtSignature": "QQ=="},
        {"text": "b"},
    ]
    assert inner(chunk(TextDelta("a", 0)), chunk(signature)) == [{"text": "a"}, {"text": "", "thoughtSignature": "QQ=="}]
    assert inner(chunk(signature)) == [{"text": "", "thoughtSignature": "QQ=="}]


def test_a_refusal_is_text():
    assert inner(chunk(RefusalDelta("No."))) == [{"text": "No."}]


# --- calls ---------------------------------------------------------------------------------------------


def test_a_call_waits_until_its_arguments_are_whole():
    some = [chunk(ToolCallFragment("a", "f", '{"x"', 0)), chunk(ToolCallFragment(None, None, ":1}", 0))]
    sent, _ = pieces(PROTOCOL, [*some, ended("tool_calls")])
    assert [parts_of(piece) for piece in sent] == [[], [call("f", {"x": 1})], [], []]


def test_calls_that_interleave_leave_each_when_it_is_whole():
    some = [
        chunk(ToolCallFragment("a", "f", '{"x"', 0), ToolCallFragment("b", "g", '{"y"', 1)),
        chunk(ToolCallFragment(None, None, ":2}", 1)),
        chunk(ToolCallFragment(None, None, ":1}", 0)),
    ]
    sent, _ = pieces(PROTOCOL, [*some, ended("tool_calls")])
    assert [parts_of(piece) for piece in sent[1:3]] == [[call("g", {"y": 2}, "b")], [call("f", {"x": 1})]]


def test_a_call_without_arguments_has_an_empty_object_and_free_text_is_the_input_of_one():
    assert inner(chunk(ToolCallFragment("a", "now", "", 0)), word="tool_calls") == [call("now", {})]
    settled = [chunk(ToolCallFragment("a", "now", None, 0, None, 0)), chunk(ToolCallSettled(0))]
    assert inner(*settled, word="tool_calls") == [call("now", {})]
    assert inner(chunk(ToolCallFragment("a", "sql", 'se"l', 0, "custom")), word="tool_calls") == [call("sql", {"input": 'se"l'})]


def test_arguments_over_several_lines_break_no_event():
    body = written(PROTOCOL, [chunk(ToolCallFragment("a", "f", '{\n "x": "a\\nb"\r\n}', 0)), ended("tool_calls")])
    assert parts_of(body) == [call("f", {"x": "a\nb"})]


def test_a_call_that_came_without_an_id_leaves_without_one_and_data_of_the_provider_go_along():
    data = {"thoughtSignature": "QQ==", "functionCall": {"novel": 1}, "status": "done"}
    fragment = ToolCallFragment(None, "f", {"x": 1}, is_id_optional=True, provider_data=data)
    sent, out = pieces(PROTOCOL, [chunk(fragment), ended("STOP")])
    assert parts_of(b"".join(sent)) == [{"functionCall": {"novel": 1, "name": "f", "args": {"x": 1}}, "thoughtSignature": "QQ=="}]
    assert "made_tool_id" not in [warning.code for warning in out.repairs]


def test_an_id_that_came_twice_is_another_one_the_second_time_and_that_is_said():
    sent, out = pieces(PROTOCOL, [chunk(ToolCallFragment("a", "f", '{"x":1}', 0, None, 0), ToolCallFragment("a", "g", '{"y":2}', 1, None, 1)), ended("tool_calls")])  # fmt: skip
    assert parts_of(b"".join(sent)) == [call("f", {"x": 1}), call("g", {"y": 2}, "call_1")]
    assert "made_tool_id" in [warning.code for warning in out.repairs]


# --- everything else -----------------------------------------------------------------------------------


def test_what_a_provider_ran_itself_is_there_as_it_came():
    body = written(PROTOCOL, decoded(SAMPLES["code"], protocol=PROTOCOL)[0])
    assert [part for part in parts_of(body) if "text" not in part] == [CODE, CODE_RESULT]


def test_what_a_call_of_the_providers_gave_may_come_later_and_the_call_is_told_once():
    some = [
        chunk(ProviderToolFragment("", "code_execution", "{}", None, None, 0, 0, {"parts": [CODE]})),
        chunk(TextDelta("a", 1)),
        chunk(ProviderToolFragment(result=[1], part=0, provider_data={"parts": [CODE, CODE_RESULT]})),
    ]
    assert inner(*some) == [CODE, {"text": "a"}, CODE_RESULT]


def test_media_stand_in_the_answer():
    parts = [
        MediaPart(kind="image", data=b"icon", media_type="image/png"),
        MediaPart(kind="video", url="https://x/y.mp4"),
    ]
    assert inner(*(chunk(PartDelta(part, n)) for n, part in enumerate(parts))) == [
        {"inlineData": {"mimeType": "image/png", "data": "aWNvbg=="}}, {"fileData": {"fileUri": "https://x/y.mp4"}},
    ]  # fmt: skip
    sent, out = pieces(PROTOCOL, [chunk(MediaDelta("audio", b"hi", "Hi")), ended()])
    assert parts_of(b"".join(sent)) == [{"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}]
    assert [warning.detail for warning in out.repairs] == ["the words of a sound"]


def test_what_is_said_of_a_candidate_stands_in_its_last_event():
    probability = {"chosenCandidates": [{"token": "a", "logProbability": -0.1}]}
    ratings = events(written(PROTOCOL, decoded(SAMPLES["ratings"], protocol=PROTOCOL)[0]))
    assert ratings[-1]["candidates"][0]["safetyRatings"] == [{"category": "C", "probability": "3"}]
    body = written(PROTOCOL, [chunk(TextDelta("a"), LogprobsDelta(probability), CitationDelta({"uri": "https://x"})), ended()])
    assert events(body)[0]["candidates"][0]["logprobsResult"] == probability


def test_what_has_no_place_here_is_left_out_and_said():
    some = [
        chunk(ProviderToolFragment("s1", "web_search", "{}", [1], "mill", 0)),
        chunk(PartDelta(make(ProviderItem, provider="mill", protocol="openai-responses", raw=b"{}"), 1)),
        chunk(TextDelta("a", 3), LogprobsDelta({"content": []}), CitationDelta({"type": "url_citation"}, 3)),
    ]
    sent, out = pieces(PROTOCOL, [*some, chunk(FinishDelta("stop")), ended(None)])
    assert parts_of(b"".join(sent)) == [{"text": "a"}]
    assert {warning.detail for warning in out.repairs if warning.code == "dropped_for_client"} == {
        "a ProviderToolPart", "a ProviderItem", "log-probabilities of another form", "citations of another form",
    }  # fmt: skip


# --- what is broken ------------------------------------------------------------------------------------


def test_a_call_that_was_cut_off_is_not_sent_and_the_bound_is_said():
    last = events(written(PROTOCOL, [chunk(ToolCallFragment("a", "f", '{"x": "on', 0)), ended("tool_calls")]))[-1]
    assert (last["candidates"][0]["finishReason"], last["candidates"][0]["content"]["parts"]) == ("MAX_TOKENS", [EMPTY_END])


@pytest.mark.parametrize("arguments", ['{"x": oops}', "[1]", "seven"])
def test_a_call_that_cannot_be_run_is_malformed(arguments):
    usage = chunk(UsageDelta(Usage(input_tokens=1, output_tokens=2)))
    body = written(PROTOCOL, [chunk(ToolCallFragment("a", "f", arguments, 0)), usage, ended("tool_calls")])
    last = events(body)[-1]
    assert last["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert "'f'" in last["candidates"][0]["finishMessage"]
    assert last["usageMetadata"]["totalTokenCount"] == 3
    assert decode_stream(body, protocol=PROTOCOL).error.kind == "malformed_function_call"


@pytest.mark.parametrize(
    ("code", "number", "status"),
    [("529", 503, "UNAVAILABLE"), ("rate_limit_exceeded", 429, "RESOURCE_EXHAUSTED"), ("400", 400, "INVALID_ARGUMENT"), ("401", 401, "UNAUTHENTICATED"), (None, 500, "INTERNAL")],
)  # fmt: skip
def test_an_error_of_the_stream_is_a_status_and_the_end(code, number, status):
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), ended(None, StreamError("provider_error", "gone", code)), chunk(TextDelta("b"))])
    body = b"".join(sent)
    assert events(body)[-1] == {"error": {"code": number, "message": "gone", "status": status}}
    assert b"finishReason" not in body
    assert (out.is_over, out.close()) == (True, b"")


def test_a_stream_that_just_stops_is_an_error_and_one_that_never_began_nothing_else():
    assert "error" in events(written(PROTOCOL, [chunk(TextDelta("a"))]))[-1]
    assert [list(event) for event in events(written(PROTOCOL, []))] == [["error"]]


def test_an_answer_that_begins_anew_is_an_error_once_something_was_passed_on():
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), chunk(Restarted(), TextDelta("b"))])
    assert "began anew" in events(sent[1])[-1]["error"]["message"]
    assert out.is_over


def test_a_stream_of_another_wire_is_one_of_this():
    sent = passed_on(b"".join(call_stream("clock", '{"zone"', ':"CET"}')), source="openai-chat", target=PROTOCOL)
    (found,) = parts_of(b"".join(sent))
    assert (found["functionCall"]["name"], found["functionCall"]["args"]) == ("clock", {"zone": "CET"})


# --- whole answers and refusals ------------------------------------------------------------------------


def test_a_whole_answer_is_one_object():
    parts = [
        ReasoningPart("Hm.", signature="s"),
        TextPart("I look.", provider_data={"thoughtSignature": "QQ==", "id": "x"}),
        ToolCallPart(id="a", name="f", arguments='{"x" : 1.0}'),
        make(ToolCallPart, id="b", name="now", arguments="", parsed={}, runnable=True),
        make(ToolCallPart, id="c", name="sql", kind="custom", arguments="ls", runnable=True),
        make(ToolCallPart, id="d", name="cut", arguments='{"x', runnable=False),
        make(ProviderItem, provider="", protocol=PROTOCOL, raw=b'{"novel":1}'),
        make(ProviderToolPart, id="s2", name="other"),
        make(JsonPart, value=[1]),
        RefusalPart("No."),
    ]
    message = AssistantMessage.assemble(parts, finish_reason="tool_calls", usage=Usage(input_tokens=3, output_tokens=2), model="m-1")
    out = StreamOut(Head(id="7", model="m"))
    body = out.whole(message, AssistantMessage.assemble([TextPart("b")], finish_reason="stop"))
    assert b'"args":{"x" : 1.0}' in body
    value = json.loads(body)
    first, second = value.pop("candidates")
    assert value == {
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}, "modelVersion": "m-1", "responseId": "7",
    }  # fmt: skip
    thought, proof, *rest = first["content"]["parts"]
    assert (thought, unseal(proof["thoughtSignature"])) == ({"text": "Hm.", "thought": True}, (3, {"signature": "s"}))
    assert rest == [
        {"text": "I look.", "thoughtSignature": "QQ=="}, call("f", {"x": 1.0}), call("now", {}, "b"), call("sql", {"input": "ls"}, "c"),
        {"novel": 1}, {"text": "[1]No."},
    ]  # fmt: skip
    assert (first["finishReason"], second["index"], second["content"]["parts"]) == ("STOP", 1, [{"text": "b"}])
    assert [warning.detail for warning in out.repairs] == ["a ToolCallPart", "a ProviderToolPart"]


def test_a_refusal_is_a_status_that_names_the_place():
    assert refuse(400, "invalid_request", "It is missing.", argument="contents") == (
        400,
        b'{"error":{"code":400,"message":"contents: It is missing.","status":"INVALID_ARGUMENT"}}',
    )
    assert json.loads(refuse(429, "rate_limit", "Wait.")[1])["error"] == {"code": 429, "message": "Wait.", "status": "RESOURCE_EXHAUSTED"}
