"""Assistant messages as Converse blocks: what goes back, and what another provider's message loses."""

from __future__ import annotations

import json

import pytest

from headrace.messages.message import AssistantMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_assistant import encode_assistant
from headrace.wire.history import PairedCall

PROFILE = BEDROCK.replace(provider="bedrock")
RESULT = {"toolUseId": "s1", "type": "search_result", "content": [{"text": "x"}]}


def encode(*parts, provider="bedrock", profile=PROFILE, **fields):
    message = AssistantMessage(list(parts), provider=provider, **fields)
    fragment = encode_assistant(message, profile, [PairedCall(call, call.id) for call in message.tool_calls])
    return json.loads(b"[" + fragment.body + b"]"), [note.text for note in fragment.notes], fragment.body


def server(result=RESULT, **fields):
    base = {
        "id": "s1",
        "name": "search",
        "arguments": '{"q":1}',
        "result": result,
        "provider": "bedrock",
        "provider_data": {"type": "server_tool_use"},
    }
    return ProviderToolPart(**{**base, **fields})


def test_signed_and_sealed_thinking_goes_back_as_it_came():
    blocks, notes, _ = encode(ReasoningPart("Hm", signature="c2ln"), ReasoningPart(encrypted="YQ=="), TextPart("Hi"))
    assert blocks == [
        {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "YQ=="}},
        {"text": "Hi"},
    ]
    assert notes == []


def test_thinking_without_a_signature_goes_back_only_where_the_profile_says_so():
    assert encode(ReasoningPart("Hm"))[:2] == ([], [])
    blocks, _, _ = encode(ReasoningPart("Hm"), profile=PROFILE.replace(reasoning_style="parts"))
    assert blocks == [{"reasoningContent": {"reasoningText": {"text": "Hm"}}}]


@pytest.mark.parametrize(
    ("when", "parts", "count"), [("never", (), 0), ("tool_turns", (), 0), ("tool_turns", (ToolCallPart(id="t", name="f"),), 1)]
)
def test_a_profile_may_keep_thinking_back(when, parts, count):
    blocks, _, _ = encode(ReasoningPart("Hm", signature="s"), *parts, profile=PROFILE.replace(reasoning_when=when))
    assert sum("reasoningContent" in block for block in blocks) == count


def test_another_providers_thinking_stays_behind():
    assert encode(ReasoningPart("Hm", signature="s"), TextPart("Hi"), provider="other")[:2] == ([{"text": "Hi"}], ["reasoning of other"])


def test_arguments_go_back_as_the_very_text_that_came():
    _, _, body = encode(ToolCallPart(id="t", name="f", arguments='{"n": 1.50, "big": 12345678901234567890}'))
    assert b'"input":{"n": 1.50, "big": 12345678901234567890}' in body


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (ToolCallPart(id="t", name="f", arguments='{"a":'), {"_invalid_arguments": '{"a":'}),
        (ToolCallPart(id="t", name="f", arguments=""), {"_invalid_arguments": ""}),
        (ToolCallPart(id="t", name="f", arguments="", parsed={}), {}),
        (ToolCallPart(id="t", name="f", kind="custom", arguments="ls"), {"input": "ls"}),
    ],
)
def test_arguments_that_are_no_object_go_back_in_one(call, wanted):
    ((block,), _, _) = encode(call)
    assert block["toolUse"]["input"] == wanted


def test_an_illegal_name_is_spelled_legally_and_said():
    ((block,), notes, _) = encode(ToolCallPart(id="t", name="my tool"))
    assert block["toolUse"]["name"] == "my_tool"
    assert notes == ["the tool name 'my tool', which the server would refuse; it goes as 'my_tool'"]


def test_data_of_a_call_goes_back_to_its_provider_alone():
    call = ToolCallPart(id="t", name="f", provider_data={"mood": "calm", "type": "x"})
    assert encode(call)[0][0]["toolUse"]["mood"] == "calm"
    assert encode(call, provider="other")[1] == ["data of other on a call: mood, type"]


def test_a_tool_that_the_provider_ran_goes_back_with_what_it_gave():
    blocks, notes, _ = encode(server())
    assert blocks == [
        {"toolUse": {"toolUseId": "s1", "name": "search", "input": {"q": 1}, "type": "server_tool_use"}},
        {"toolResult": RESULT},
    ]
    assert notes == []


def test_a_result_with_a_place_of_its_own_stays_there():
    item = ProviderItem(provider="bedrock", protocol="bedrock-converse", raw=json.dumps({"toolResult": RESULT}).encode())
    blocks, notes, _ = encode(server(None), TextPart("and"), item)
    assert [next(iter(block)) for block in blocks] == ["toolUse", "text", "toolResult"]
    assert notes == []


@pytest.mark.parametrize("part", [server(None), server(arguments="{")])
def test_a_tool_that_did_not_finish_stays_behind(part):
    other = ProviderItem(provider="bedrock", protocol="bedrock-converse", raw=b'{"toolResult":{"toolUseId":"zz"}}')
    blocks, notes, _ = encode(part, other, ProviderItem(provider="bedrock", protocol="bedrock-converse", raw=b'{"text":"x"}'))
    assert "the call of 'search', which the provider did not finish" in notes
    assert all("toolUse" not in block for block in blocks)


@pytest.mark.parametrize(
    ("part", "provider"), [(server(), "other"), (server(provider="other"), "bedrock"), (server(provider_data={}), "bedrock")]
)
def test_a_tool_that_another_provider_ran_stays_behind(part, provider):
    blocks, notes, _ = encode(part, provider=provider)
    assert (blocks, len(notes)) == ([], 1)


def test_items_go_back_byte_for_byte_to_their_own_wire_alone():
    item = ProviderItem(provider="bedrock", protocol="bedrock-converse", raw=b'{"guardContent" : {"a":1.0}}')
    assert encode(item)[2] == item.raw
    assert encode(item, provider="other")[1] == ["an item of bedrock (bedrock-converse)"]
    assert encode(ProviderItem(provider="bedrock", protocol="openai-chat", raw=b"{}"))[1] == ["an item of bedrock (openai-chat)"]
    assert encode(ProviderItem(provider="bedrock", protocol="bedrock-converse", raw=b"{"))[1] == [
        "an item of bedrock that is no JSON object"
    ]


def test_citations_go_back_with_their_text():
    cited = TextPart("In 1993.", citations=({"title": "facts"},))
    assert encode(cited)[0] == [{"citationsContent": {"content": [{"text": "In 1993."}], "citations": [{"title": "facts"}]}}]
    assert encode(TextPart("", citations=({"title": "facts"},)))[0] == [
        {"citationsContent": {"content": [], "citations": [{"title": "facts"}]}}
    ]
    assert encode(TextPart(" ", citations=("odd",)))[0] == []
    assert encode(cited, provider="other")[:2] == ([{"text": "In 1993."}], ["citations of other"])


def test_other_parts_are_text_or_stay_behind_with_a_word():
    blocks, notes, _ = encode(
        RefusalPart("No."), JsonPart({"a": 1}), MediaPart(kind="image", data=b"\x89PNG"), MediaPart(kind="audio", url="https://x", transcript="Hi"),
        MediaPart(kind="image", url="https://x"), OpaquePart({"type": "odd"}), name="Ann",
    )  # fmt: skip
    assert blocks == [{"text": "No."}, {"text": '{"a":1}'}, {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}}, {"text": "Hi"}]
    assert notes == [
        "image: only the image itself or its place in S3 can be sent on this wire",
        "a part of a type that this version does not know",
        "the speaker's name 'Ann'",
    ]
    assert encode(MediaPart(kind="image", data=b"x"), provider="other")[1] == ["image: an answer of another provider"]


def test_a_message_that_names_no_provider_counts_as_own():
    assert encode(ReasoningPart("Hm", signature="s"), provider=None)[0] != []
