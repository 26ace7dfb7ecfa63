import json

import pytest

from headrace.messages.message import AssistantMessage, SystemMessage, UserMessage
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
    make,
)
from headrace.wire.gemini.request_contents import arguments_of, encode_message
from headrace.wire.history import PairedCall
from headrace.wire.profile import DEFAULT, Profile

OWN = Profile(provider="acme", reasoning_style="parts")


def parts(message, profile=OWN):
    calls = [PairedCall(call, call.id) for call in message.parts_of(ToolCallPart)]
    fragment = encode_message(message, profile, calls)
    return json.loads(b"[" + fragment.body + b"]"), [note.text for note in fragment.notes]


def answer(*content, provider="acme"):
    return AssistantMessage(list(content), provider=provider)


def test_what_a_user_says():
    message = UserMessage(
        ["Hi", {"a": 1}, MediaPart(kind="image", url="data:image/gif;base64,R0lG", provider_data={"mediaResolution": {"level": "LOW"}})]
    )
    assert parts(message)[0] == [
        {"text": "Hi"},
        {"text": '{"a":1}'},
        {"inlineData": {"mimeType": "image/gif", "data": "R0lG"}, "mediaResolution": {"level": "LOW"}},
    ]


def test_what_has_no_place_is_said():
    assert parts(UserMessage([OpaquePart({"type": "new"})], name="ann"))[1] == [
        "a part of a type that this version does not know",
        "the speaker's name 'ann'",
    ]
    assert parts(UserMessage([MediaPart(kind="video", url="https://x")]))[1] == ["video: this provider takes none"]
    assert parts(SystemMessage("s")) == ([{"text": "s"}], [])


def test_everything_of_its_own_goes_back_as_it_came():
    message = answer(
        ReasoningPart("Hm.", signature="QQ=="),
        ReasoningPart("Plain."),
        TextPart("t", provider_data={"thoughtSignature": "Qg=="}),
        TextPart("", provider_data={"thoughtSignature": "Qw=="}),
        TextPart(""),
        RefusalPart("No."),
        JsonPart([1]),
        make(ProviderToolPart, name="code_execution", provider_data={"parts": [{"executableCode": {"code": "1"}}]}),
        ProviderToolPart(name="unknown"),
        ProviderItem(provider="acme", protocol="gemini", raw=b'{"new":  1.0}'),
        MediaPart(kind="image", data=b"x", media_type="image/webp", provider_data={"thought": True}),
        ToolCallPart(id="1", name="f", provider_data={"thoughtSignature": "RA==", "functionCall": {"future": 1}}),
    )
    assert parts(message)[0] == [
        {"text": "Hm.", "thought": True, "thoughtSignature": "QQ=="},
        {"text": "Plain.", "thought": True},
        {"text": "t", "thoughtSignature": "Qg=="},
        {"text": "", "thoughtSignature": "Qw=="},
        {"text": "No."},
        {"text": "[1]"},
        {"executableCode": {"code": "1"}},
        {"new": 1.0},
        {"inlineData": {"mimeType": "image/webp", "data": "eA=="}, "thought": True},
        {"functionCall": {"future": 1, "id": "1", "name": "f", "args": {}}, "thoughtSignature": "RA=="},
    ]
    assert b'{"new":  1.0}' in encode_message(message, OWN, [PairedCall(message.tool_calls[0], "1")]).body
    assert parts(message)[1] == []


def test_thinking_without_a_signature_goes_back_only_where_the_server_wants_it():
    thought = answer(ReasoningPart("Plain."), ReasoningPart("Signed.", signature="QQ=="))
    assert parts(thought, DEFAULT.replace(provider="acme"))[0] == [{"text": "Signed.", "thought": True, "thoughtSignature": "QQ=="}]


def test_what_is_another_providers_is_left_out_and_said():
    message = answer(
        ReasoningPart("Hm."),
        ReasoningPart(),
        make(ProviderToolPart, name="search", provider_data={"parts": [{}]}),
        ProviderItem(provider="acme", protocol="other-wire", raw=b"{}"),
        ProviderItem(provider="other", protocol="gemini", raw=b"{}"),
        provider="other",
    )
    assert parts(message, OWN.replace(takes_foreign_reasoning=False)) == (
        [],
        ["reasoning of other", "the call of 'search', which other ran itself", "an item of acme (other-wire)", "an item of other (gemini)"],
    )
    assert parts(message)[0] == [{"text": "Hm.", "thought": True}]


def test_an_item_that_is_no_object_is_left_out_and_said():
    for raw in (b"[1]", b"{"):
        assert parts(answer(ProviderItem(provider="acme", protocol="gemini", raw=raw)))[1] == ["an item of acme that is no JSON object"]
    assert parts(answer(ProviderItem(provider="", protocol="gemini", raw=b"{}")))[0] == [{}]


def test_a_server_that_wants_no_data_gets_none():
    assert parts(answer(TextPart("t", provider_data={"x": 1})), OWN.replace(sends_provider_data=False)) == ([{"text": "t"}], [])


def test_a_name_that_the_server_would_refuse_is_spelled_and_said():
    body, notes = parts(answer(ToolCallPart(id="1", name="a b")), OWN.replace(tool_name_pattern="[a-z_]"))
    assert body[0]["functionCall"]["name"] == "a_b"
    assert notes == ["the tool name 'a b', which the server would refuse; it goes as 'a_b'"]


@pytest.mark.parametrize(
    ("call", "args"),
    [
        (ToolCallPart(name="f", arguments=' {"a":  1.0} '), b'{"a":  1.0}'),
        (ToolCallPart(name="f", arguments="[1]"), b'{"_invalid_arguments":"[1]"}'),
        (ToolCallPart(name="f", arguments='{"a'), b'{"_invalid_arguments":"{\\"a"}'),
        (ToolCallPart(name="f", arguments="free", kind="custom"), b'{"input":"free"}'),
        (make(ToolCallPart, name="f", arguments="{}{}", parsed={"a": 1}), b'{"a":1}'),
    ],
)
def test_arguments_go_back_as_the_text_that_came_where_it_is_an_object(call, args):
    assert encode_message(answer(call), OWN, [PairedCall(call, "")]).body == b'{"functionCall":{"name":"f","args":' + args + b"}}"
    assert arguments_of(call) is not None
