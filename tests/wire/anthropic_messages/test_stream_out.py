"""The stream of the Messages protocol that leaves is what the vendor would send: a head, blocks one after the other, the end."""

from __future__ import annotations

import json

import pytest

from answers_out import chunk, ended, events, passed_on, pieces, written
from decoding_runs import decoded
from headrace.decoding import decode_stream
from headrace.messages.deltas import (
    CitationDelta,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    MetadataDelta,
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
from headrace.wire.anthropic_messages.stream_out import StreamOut, refuse
from headrace.wire.server_side import Head
from messages_bytes import CITATION, HONEST, SAMPLES, SEARCH

PROTOCOL = "anthropic-messages"


def inner(*chunks, word="stop", **options):
    """The events between the head and the end, without their index and type where those are plain."""
    return blocks_of(written(PROTOCOL, [*chunks, ended(word)], **options))


def blocks_of(body):
    """Each block: its start and its deltas."""
    blocks = []
    for event in events(body):
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks), "numbers are dense"
            assert not blocks or blocks[-1]["stopped"], "blocks do not overlap"
            blocks.append({"start": event["content_block"], "deltas": [], "stopped": False})
        elif event["type"] == "content_block_delta":
            assert event["index"] == len(blocks) - 1
            assert not blocks[-1]["stopped"]
            blocks[-1]["deltas"].append(event["delta"])
        elif event["type"] == "content_block_stop":
            blocks[-1]["stopped"] = True
    return [(block["start"], block["deltas"]) for block in blocks]


def text(*texts):
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in texts]


def call(name, *texts, id="toolu_1", **fields):  # noqa: A002 - the wire's word
    return {"type": "tool_use", "id": id, "name": name, "input": {}, **fields}, [
        {"type": "input_json_delta", "partial_json": piece} for piece in texts
    ]


# --- the frame -----------------------------------------------------------------------------------------


def test_an_answer_has_a_head_blocks_the_reason_with_all_counts_and_an_end():
    usage = Usage(input_tokens=30, output_tokens=1, cache_read_tokens=9, cache_write_tokens=4)
    later = UsageDelta(Usage(output_tokens=20, reasoning_tokens=11))
    body = written(PROTOCOL, [chunk(MessageStart("up-1", "m-1"), UsageDelta(usage)), chunk(TextDelta("Hi.")), chunk(later), ended()])
    head = {
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    counts = {"input_tokens": 17, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 9}
    assert events(body) == [
        {"type": "message_start", "message": {**head, "usage": {**counts, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {**counts, "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 11}},
        },
        {"type": "message_stop"},
    ]
    names = [line[7:] for line in body.decode().splitlines() if line.startswith("event: ")]
    assert names == [event["type"] for event in events(body)]


def test_a_piece_leaves_when_it_came():
    sent = passed_on(SAMPLES["thinking, text and a call"], source=PROTOCOL, target=PROTOCOL)
    kinds = [[event["delta"]["type"] for event in events(piece) if event["type"] == "content_block_delta"] for piece in sent]
    assert [kind for kind in kinds if kind] == [
        ["thinking_delta"], ["thinking_delta"], ["signature_delta", "text_delta"], ["input_json_delta"], ["input_json_delta"], ["input_json_delta"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "sent"),
    [
        ("stop", "end_turn"), ("length", "max_tokens"), ("SAFETY", "refusal"), ("pause_turn", "pause_turn"), ("novel", "end_turn"),
        ("stop_sequence", "stop_sequence"), ("model_context_window_exceeded", "model_context_window_exceeded"), ("tool_calls", "end_turn"),
    ],
)  # fmt: skip
def test_a_stop_reason_is_one_of_the_protocol(word, sent):
    assert events(written(PROTOCOL, [chunk(TextDelta("a")), ended(word)]))[-2]["delta"]["stop_reason"] == sent


def test_what_the_provider_said_of_the_stop_goes_along():
    fields = {"stop_sequence": "END", "stop_details": {"type": "x"}, "container": {"id": "c"}, "other": 1}
    body = written(
        PROTOCOL, [chunk(TextDelta("a"), MetadataDelta({"provider_fields": fields}, ("provider_fields",))), ended("stop_sequence")]
    )
    wanted = {"stop_reason": "stop_sequence", "stop_sequence": "END", "stop_details": {"type": "x"}, "container": {"id": "c"}}
    assert events(body)[-2]["delta"] == wanted


@pytest.mark.parametrize("name", [name for name in HONEST if name not in ("no start of a block", "begun anew in the middle of a call")])
def test_its_own_streams_leave_as_they_came(name):
    chunks, result = decoded(SAMPLES[name], protocol=PROTOCOL)
    again = decode_stream(written(PROTOCOL, chunks), protocol=PROTOCOL)
    assert (again.message.text, again.message.reasoning) == (result.message.text, result.message.reasoning)
    assert again.message.parts_of(ReasoningPart) == result.message.parts_of(ReasoningPart)
    assert again.message.parts_of(ProviderItem) == result.message.parts_of(ProviderItem)
    assert again.message.parts_of(ProviderToolPart) == result.message.parts_of(ProviderToolPart)
    assert [essential(one) for one in again.message.tool_calls] == [essential(one) for one in result.message.tool_calls]


def essential(call):
    return call.id, call.name, call.parsed, call.runnable, call.provider_data


# --- blocks ------------------------------------------------------------------------------------------


def test_thinking_has_its_signature_once_at_its_end():
    some = [chunk(ReasoningDelta("Hm", 0)), chunk(ReasoningDelta("", 0, signature="si")), chunk(ReasoningDelta("", 0, signature="g"))]
    assert inner(*some, chunk(TextDelta("Yes.", 1))) == [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "Hm"}, {"type": "signature_delta", "signature": "sig"}],
        ),
        text("Yes."),
    ]


def test_thinking_that_is_only_proved_or_sealed_has_its_block_before_what_follows():
    some = [
        chunk(ReasoningDelta("", 0, signature="sig")),
        chunk(ReasoningDelta("", 1, encrypted="z")),
        chunk(ReasoningDelta("", 1, encrypted="z")),
    ]
    assert inner(*some, chunk(TextDelta("Yes.", 2))) == [
        ({"type": "thinking", "thinking": "", "signature": ""}, [{"type": "signature_delta", "signature": "sig"}]),
        ({"type": "redacted_thinking", "data": "zz"}, []),
        text("Yes."),
    ]
    assert inner(chunk(ReasoningDelta("", 0, encrypted="z"))) == [({"type": "redacted_thinking", "data": "z"}, [])]


def test_a_signature_that_comes_too_late_is_left_out_and_said():
    sent, out = pieces(PROTOCOL, [chunk(ReasoningDelta("Hm.")), chunk(TextDelta("a")), chunk(ReasoningDelta(signature="s")), ended()])
    assert b'"signature":"s"' not in b"".join(sent)
    assert [(warning.code, warning.detail) for warning in out.repairs] == [
        ("dropped_for_client", "a signature that came after its thinking had ended")
    ]


def test_citations_stand_in_their_text():
    assert inner(chunk(CitationDelta(CITATION, 0)), chunk(TextDelta("Rye.", 0))) == [
        (
            {"type": "text", "text": "", "citations": []},
            [{"type": "citations_delta", "citation": CITATION}, {"type": "text_delta", "text": "Rye."}],
        )
    ]


def test_a_citation_that_comes_too_late_is_left_out_and_said():
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), chunk(ReasoningDelta("Hm.")), chunk(CitationDelta(CITATION)), ended()])
    assert b"citations_delta" not in b"".join(sent)
    assert [warning.detail for warning in out.repairs] == ["a citation that came after its text had ended"]


def test_a_refusal_is_text_and_the_stop_reason_says_it():
    body = written(PROTOCOL, [chunk(RefusalDelta("No.")), ended()])
    assert blocks_of(body) == [text("No.")]
    assert events(body)[-2]["delta"]["stop_reason"] == "refusal"


def test_texts_that_take_turns_are_blocks_in_turn():
    assert inner(chunk(TextDelta("a", 0)), chunk(TextDelta("b", 1)), chunk(TextDelta("c", 0))) == [text("a"), text("b"), text("c")]


def test_calls_that_interleave_leave_one_after_the_other_the_first_one_live():
    some = [
        chunk(ToolCallFragment("toolu_1", "f", '{"x"', 0)),
        chunk(ToolCallFragment("toolu_2", "g", '{"y"', 1)),
        chunk(ToolCallFragment(None, None, ":1", 0)),
        chunk(ToolCallFragment(None, None, ":2}", 1)),
        chunk(TextDelta("So.")),
        chunk(ToolCallFragment(None, None, "}", 0)),
    ]
    sent, out = pieces(PROTOCOL, [*some, ended("tool_calls")])
    kinds = [[event["type"].removeprefix("content_block_") for event in events(piece)][-1:] for piece in sent]
    assert kinds == [["delta"], [], ["delta"], [], [], ["delta"], [], ["message_stop"]]
    assert blocks_of(b"".join(sent)) == [call("f", '{"x"', ":1", "}"), call("g", '{"y"', ":2}", id="toolu_2"), text("So.")]
    assert [(warning.code, warning.part) for warning in out.repairs] == [("held_block", 1), ("held_block", 2)]


def test_calls_one_after_the_other_each_leave_at_once():
    some = [chunk(ToolCallFragment("toolu_1", "f", '{"x":1}', 0)), chunk(ToolCallFragment("toolu_2", "g", '{"y"', 1))]
    sent, out = pieces(PROTOCOL, some)
    assert [event["type"] for event in events(sent[1])] == ["content_block_start", "content_block_delta"]
    assert "held_block" not in [warning.code for warning in out.repairs]


def test_a_call_begins_at_once_where_its_wire_gives_names_whole_else_with_its_arguments():
    numbered, _ = pieces(PROTOCOL, [chunk(ToolCallFragment("toolu_1", "f", None, 0, None, 0))])
    assert blocks_of(numbered[0]) == [call("f")]
    some = [chunk(ToolCallFragment("toolu_1", "get_", None, 0)), chunk(ToolCallFragment(None, "time", None, 0)), chunk(ToolCallFragment(None, None, "{", 0)), chunk(ToolCallFragment(None, None, "}", 0))]  # fmt: skip
    sent, _ = pieces(PROTOCOL, [*some, ended()])
    assert [len(blocks_of(piece)) for piece in sent[:3]] == [0, 0, 1]
    assert blocks_of(b"".join(sent)) == [call("get_time", "{", "}")]


def test_a_call_without_arguments_has_none():
    assert inner(chunk(ToolCallFragment("toolu_1", "now", "", 0)), word="tool_calls") == [call("now", "{}")]
    settled = [chunk(ToolCallFragment("toolu_1", "now", None, 0, None, 0)), chunk(ToolCallSettled(0))]
    assert inner(*settled, word="tool_use")[0][0] == call("now")[0]


def test_arguments_that_are_found_only_at_the_end_are_in_the_block_of_the_call():
    wrapped = [chunk(ToolCallFragment("toolu_1", "f", '"{\\"x\\":1}"', 0, None, 0)), chunk(ToolCallSettled(0)), chunk(TextDelta("a", 1))]
    assert inner(*wrapped, word="tool_use") == [call("f", '{"x":1}'), text("a")]


def test_arguments_that_come_after_the_end_of_their_block_are_an_error():
    some = [
        chunk(ToolCallFragment("toolu_1", "f", None, 0, None, 4)),
        chunk(ToolCallSettled(4)),
        chunk(ToolCallFragment(None, None, '{"x":1}', 0, None, 4)),
    ]
    assert events(written(PROTOCOL, [*some, ended("tool_use")]))[-1]["type"] == "error"


def test_an_id_is_made_where_none_came_and_data_of_the_provider_go_along():
    fragment = ToolCallFragment(None, "f", {"x": 1}, is_id_optional=True, provider_data={"thoughtSignature": "s", "id": "no"})
    sent, out = pieces(PROTOCOL, [chunk(fragment), ended("tool_calls")])
    assert blocks_of(b"".join(sent)) == [call("f", '{"x":1}', thoughtSignature="s")]
    assert [warning.code for warning in out.repairs] == ["made_tool_id"]


def test_free_text_is_an_input_of_an_object_once_it_is_whole():
    some = [chunk(ToolCallFragment("toolu_1", "shell", 'ec"', 0, "custom")), chunk(ToolCallFragment(None, None, "ho", 0))]
    assert inner(*some, word="tool_calls") == [call("shell", '{"input":"ec\\"ho"}')]


def test_what_a_provider_ran_itself_is_there_as_it_came():
    body = written(PROTOCOL, decoded(SAMPLES["a search of the provider's"], protocol=PROTOCOL)[0])
    (_, tool, result, _) = blocks_of(body)
    assert tool[0] == {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    assert "".join(delta["partial_json"] for delta in tool[1]) == '{"query": "rye"}'
    assert result == (SEARCH, [])


def test_what_a_call_of_the_providers_gave_may_come_later_and_the_call_is_there_once():
    data = {"type": "server_tool_use"}
    some = [
        chunk(ProviderToolFragment("s1", "web_search", '{"q":1}', None, None, 0, 0, data)),
        chunk(ProviderToolFragment("s2", "web_search", '{"q":2}', None, None, 1, 0, data)),
        chunk(ProviderToolFragment(result=[1], part=0, provider_data={"result": {"type": "web_search_tool_result"}})),
        chunk(ProviderToolFragment(result=[2], part=1, provider_data={"result": {"type": "web_search_tool_result"}})),
    ]
    assert [(start["type"], start.get("id", start.get("tool_use_id"))) for start, _ in inner(*some)] == [
        ("server_tool_use", "s1"),
        ("server_tool_use", "s2"),
        ("web_search_tool_result", "s1"),
        ("web_search_tool_result", "s2"),
    ]


def test_what_has_no_place_here_is_left_out_and_said():
    some = [
        chunk(ProviderToolFragment("s1", "web_search", "{}", [1], "mill", 0)),
        chunk(PartDelta(make(ProviderItem, provider="mill", protocol="openai-responses", raw=b"{}"), 1)),
        chunk(PartDelta(MediaPart(kind="image", url="https://x"), 2)),
        chunk(TextDelta("a", 3), LogprobsDelta({"content": []}), CitationDelta({"type": "url_citation"}, 3)),
        chunk(TextDelta("b", 0, choice=1), ToolCallFragment("x", "f", "{}", 0, choice=1)),
        chunk(ReasoningDelta("Hm.", 4, details=({"type": "x"},))),
        chunk(MediaDelta("audio", b"hi", "Hi")),
    ]
    sent, out = pieces(PROTOCOL, [*some, chunk(FinishDelta("stop", choice=1)), ended()])
    assert blocks_of(b"".join(sent)) == [
        text("a"), ({"type": "thinking", "thinking": "", "signature": ""}, [{"type": "thinking_delta", "thinking": "Hm."}]), text("Hi"),
    ]  # fmt: skip
    assert [warning.detail for warning in out.repairs if warning.code == "dropped_for_client"] == [
        "a ProviderToolPart", "a ProviderItem", "a MediaPart", "log-probabilities", "citations of another form", "a further choice",
        "a provider's details of reasoning", "a piece of audio",
    ]  # fmt: skip


def test_parts_that_came_whole_are_blocks():
    parts = [TextPart("a"), make(JsonPart, value={"n": 1}), ReasoningPart("Hm.", signature="s"), RefusalPart("No.")]
    assert [delta for _, deltas in inner(*(chunk(PartDelta(part, n)) for n, part in enumerate(parts))) for delta in deltas] == [
        {"type": "text_delta", "text": "a"},
        {"type": "text_delta", "text": '{"n":1}'},
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "s"},
        {"type": "text_delta", "text": "No."},
    ]


# --- what is broken ------------------------------------------------------------------------------------


def test_a_call_that_was_cut_off_ends_by_the_bound_whatever_the_word():
    body = written(PROTOCOL, [chunk(ToolCallFragment("toolu_1", "f", '{"x": "on', 0)), ended("tool_calls")])
    assert events(body)[-2]["delta"]["stop_reason"] == "max_tokens"
    (one,) = decode_stream(body, protocol=PROTOCOL).message.tool_calls
    assert (one.arguments, one.runnable) == ('{"x": "on', False)


@pytest.mark.parametrize("arguments", ['{"x": oops}', "[1]", "seven"])
def test_a_call_that_cannot_be_run_is_an_error(arguments):
    last = events(written(PROTOCOL, [chunk(ToolCallFragment("a", "f", arguments, 0)), ended("tool_calls")]))[-1]
    assert (last["type"], last["error"]["type"]) == ("error", "api_error")
    assert "'f'" in last["error"]["message"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [("529", "overloaded_error"), ("rate_limit_exceeded", "rate_limit_error"), ("400", "invalid_request_error"), ("401", "authentication_error"), (None, "api_error"), ("408", "timeout_error")],
)  # fmt: skip
def test_an_error_of_the_stream_is_an_event_and_the_end(code, kind):
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), ended(None, StreamError("provider_error", "gone", code)), chunk(TextDelta("b"))])
    body = b"".join(sent)
    assert body.endswith(b'event: error\ndata: {"type":"error","error":{"type":"' + kind.encode() + b'","message":"gone"}}\n\n')
    assert b"message_stop" not in body
    assert (out.is_over, out.close()) == (True, b"")


def test_a_stream_that_just_stops_is_an_error_and_one_that_never_began_nothing_else():
    assert events(written(PROTOCOL, [chunk(TextDelta("a"))]))[-1]["type"] == "error"
    assert [event["type"] for event in events(written(PROTOCOL, []))] == ["error"]


def test_an_answer_that_begins_anew_is_an_error_once_something_was_passed_on():
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), chunk(Restarted(), TextDelta("b"))])
    assert "began anew" in events(sent[1])[-1]["error"]["message"]
    assert out.is_over


# --- whole answers and refusals ------------------------------------------------------------------------


def test_a_whole_answer_is_one_object():
    parts = [
        ReasoningPart("Hm.", signature="s"),
        ReasoningPart(encrypted="zz"),
        TextPart("I look.", citations=(CITATION, {"type": "url_citation"})),
        ToolCallPart(id="a", name="f", arguments='{"x" : 1.0}', provider_data={"caller": {"type": "direct"}}),
        make(ToolCallPart, id="b", name="now", arguments="", parsed={}, runnable=True),
        make(ToolCallPart, id="c", name="shell", kind="custom", arguments="ls", runnable=True),
        make(ToolCallPart, id="d", name="cut", arguments='{"x', runnable=False),
        make(ProviderItem, provider="", protocol=PROTOCOL, raw=b'{"type":"compaction"}'),
        make(ProviderToolPart, id="s1", name="web_search", arguments='{"q":1}', result=[1], provider_data={"type": "server_tool_use", "result": {"type": "web_search_tool_result"}}),
        make(ProviderToolPart, id="s2", name="other"),
        make(JsonPart, value=[1]),
        RefusalPart("No."),
    ]  # fmt: skip
    message = AssistantMessage.assemble(parts, finish_reason="tool_calls", usage=Usage(input_tokens=3, output_tokens=2), model="m-1")
    body = StreamOut(Head(id="7", model="m")).whole(message)
    assert b'"input":{"x" : 1.0}' in body
    assert json.loads(body) == {
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "redacted_thinking", "data": "zz"},
            {"type": "text", "text": "I look.", "citations": [CITATION]},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1.0}, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "b", "name": "now", "input": {}},
            {"type": "tool_use", "id": "c", "name": "shell", "input": {"input": "ls"}},
            {"type": "compaction"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": 1}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [1]},
            {"type": "text", "text": "[1]"},
            {"type": "text", "text": "No."},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


def test_further_choices_of_a_whole_answer_are_left_out_and_said():
    out = StreamOut(Head(id="msg_9", model="m"))
    one = AssistantMessage.assemble([TextPart("a")], finish_reason="stop")
    assert json.loads(out.whole(one, one))["id"] == "msg_9"
    assert [warning.detail for warning in out.repairs] == ["a further choice"]


def test_a_refusal_is_an_error_object_that_names_the_place():
    assert refuse(400, "invalid_request", "It is missing.", argument="messages") == (
        400,
        b'{"type":"error","error":{"type":"invalid_request_error","message":"messages: It is missing."}}',
    )
    assert json.loads(refuse(429, "rate_limit", "Wait.")[1])["error"] == {"type": "rate_limit_error", "message": "Wait."}
