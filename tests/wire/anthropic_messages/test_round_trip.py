"""What a stream gave goes back in the next request as the vendor wants it: written by hand, and held byte for byte."""

from __future__ import annotations

import json

import pytest

from headrace.decoding import decode_stream
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.messages.request import Request, ToolSpec
from headrace.wire.anthropic_messages.request_out import encode_request
from headrace.wire.profile import Profile
from messages_bytes import CITATION, HONEST, SAMPLES, SEARCH, body, call, delta, event, opened, stopped

MILL = Profile(provider="mill", call_id_pattern="[A-Za-z0-9_-]+", needs_signature=True)


def next_request(some, *more, profile=MILL, provider="mill"):
    """The request that follows an answer, with a result for each of its calls."""
    answer = decode_stream(some, protocol="anthropic-messages", provider=provider).message
    results = (
        [ToolMessage([ToolResultPart(call_id=item.id, name=item.name, parts="12:00") for item in answer.tool_calls])]
        if answer.tool_calls
        else []
    )
    request = Request(model="m-1", messages=(UserMessage("hi"), answer, *results, *more), tools=(ToolSpec(name="clock"),))
    return encode_request(request, profile)


def messages_of(*args, **fields):
    return json.loads(next_request(*args, **fields).body)["messages"]


def test_thinking_text_and_a_call_with_its_result():
    assert messages_of(SAMPLES["thinking, text and a call"]) == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Is it late?", "signature": "c2lnbmVk"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {"zone": "Europe/Oslo"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12:00"}]},
    ]


def test_what_the_provider_searched_and_found_stands_where_it_stood():
    assert messages_of(SAMPLES["a search of the provider's"], UserMessage("more"))[1]["content"] == [
        {"type": "text", "text": "Let me see."},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "rye"}},
        SEARCH,
        {"type": "text", "text": "Rye.", "citations": [CITATION]},
    ]


def test_results_that_stand_elsewhere_stand_there_again():
    kinds = [
        (block["type"], block.get("id", block.get("tool_use_id")))
        for block in messages_of(SAMPLES["a result that stands elsewhere"])[1]["content"]
    ]
    assert kinds == [
        ("server_tool_use", "srv_1"), ("server_tool_use", "srv_2"), ("web_search_tool_result", "srv_1"), ("web_search_tool_result", "srv_2"),
    ]  # fmt: skip


def test_a_pause_goes_back_unchanged_to_be_gone_on_with():
    assert messages_of(SAMPLES["a pause"])[1:] == [
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}]}
    ]


def test_sealed_thinking_and_blocks_that_nobody_knows_are_the_same_bytes():
    assert b'{"type":"redacted_thinking","data":"c2VhbGVk"}' in next_request(SAMPLES["sealed thinking"]).body
    sent = next_request(SAMPLES["blocks that nobody knows"]).body
    assert b'{"type":"container_upload","file_id":"file_1"},{"type":"new","n":[1.0,2],"x":{"y":null}}' in sent
    assert b'{"type":"compaction","content":"So far.","encrypted_content":"ee"}' in sent


def test_a_call_of_code_goes_back_with_its_caller_and_its_container():
    some = SAMPLES["a whole call in the head"].replace(b'"model":"m-1"', b'"model":"m-1","container":{"id":"c_1"}')
    sent = json.loads(next_request(some).body)
    assert sent["messages"][1]["content"] == [{"type": "tool_use", "id": "t", "name": "roll", "input": {}, "caller": {"tool_id": "s"}}]
    assert sent["container"] == "c_1"


def test_arguments_go_back_as_the_very_text_that_came():
    raw = '{ "n":10000000000000001,"x" : 1.50, "s":"\\u00e9" }'
    assert b'"input":' + raw.encode() + b"}" in next_request(body(call(0, "clock", raw), word="tool_use")).body


def test_arguments_that_were_cut_off_go_back_as_text_in_an_object():
    messages = messages_of(SAMPLES["cut by the bound"])
    assert messages[1]["content"][0]["input"] == {"_invalid_arguments": '{"a": "On'}


@pytest.mark.parametrize("name", HONEST)
def test_what_one_server_gave_is_the_same_answer_when_it_is_given_by_another(name):
    """Each own block goes back; decoded again as a whole body, it is the same content, but for arguments and results of a cut call."""
    answer = decode_stream(SAMPLES[name], protocol="anthropic-messages", provider="mill").message
    encoded = encode_request(
        Request(model="m", messages=(UserMessage("hi"), answer, UserMessage("on"))), MILL.replace(needs_signature=False)
    )
    sent = next((one["content"] for one in json.loads(encoded.body)["messages"] if one["role"] == "assistant"), [])
    again = decode_stream(
        json.dumps({"type": "message", "content": sent, "stop_reason": answer.finish_reason_raw}).encode(),
        protocol="anthropic-messages",
        provider="mill",
    ).message
    assert (again.text, again.reasoning) == (answer.text, answer.reasoning)
    if all(item.parsed is not None for item in answer.tool_calls):
        assert [(item.name or "unnamed_tool", item.parsed) for item in answer.tool_calls] == [
            (item.name, item.parsed) for item in again.tool_calls
        ]
    assert len(again.parts) == len(answer.parts)


class TestMovedToAnother:
    def test_what_only_the_first_one_understands_stays_behind_and_that_is_said(self):
        encoded = next_request(SAMPLES["a search of the provider's"], UserMessage("more"), provider="other")
        assert json.loads(encoded.body)["messages"][1]["content"] == [{"type": "text", "text": "Let me see.Rye."}]
        assert [warning.code for warning in encoded.warnings] == ["dropped_for_provider"] * 2

    def test_signed_thinking_stays_behind_and_calls_go_along(self):
        encoded = next_request(SAMPLES["thinking, text and a call"], provider="other", profile=MILL.replace(takes_foreign_reasoning=False))
        assert [block["type"] for block in json.loads(encoded.body)["messages"][1]["content"]] == ["text", "tool_use"]
        assert [warning.detail for warning in encoded.warnings] == ["messages[1].parts[0]: reasoning of other"]


def test_a_delta_between_a_call_and_its_result_keeps_both():
    some = body(call(0, "web_search", "{}", id="srv_1", kind="server_tool_use"), opened(1, "text", text=""), stopped(1),
                event({"type": "content_block_start", "index": 2, "content_block": SEARCH}), delta(2, "new_delta", more="x"))  # fmt: skip
    assert messages_of(some, UserMessage("on"))[1]["content"] == [
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {**SEARCH, "more": "x"},
    ]


def test_calls_by_hand_are_calls_too():
    message = decode_stream(SAMPLES["text"], protocol="anthropic-messages", provider="mill").message.replace(
        parts=(ToolCallPart(id="a", name="clock"),)
    )
    encoded = encode_request(Request(model="m", messages=(UserMessage("hi"), message, ToolMessage("1", call_id="a"))), MILL)
    assert json.loads(encoded.body)["messages"][1]["content"] == [{"type": "tool_use", "id": "a", "name": "clock", "input": {}}]
