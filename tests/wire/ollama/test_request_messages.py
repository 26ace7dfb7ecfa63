import json

import pytest

from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.messages.request import Request
from headrace.providers.profiles import OLLAMA_NATIVE
from headrace.wire.ollama.request_messages import arguments_of
from headrace.wire.ollama.request_out import encode_request

OWN = OLLAMA_NATIVE.replace(provider="ollama-native")
PNG = MediaPart(kind="image", data=b"\x89PNG")
CALL = ToolCallPart(id="c", name="f", arguments='{"a": 1}')
WIRE_CALL = {"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}
NO_ADDRESS = "image: only the image itself has a place on this wire, not its address"


def sent(*messages, profile=OWN):
    request = encode_request(Request(model="m", messages=(*messages, UserMessage("go"))), profile)
    wire = json.loads(request.body)["messages"]
    assert wire.pop() == {"role": "user", "content": "go"}
    return wire, [warning.detail for warning in request.warnings]


def assistant(*parts, provider="ollama-native", **fields):
    return AssistantMessage(list(parts), provider=provider, **fields)


def test_a_message_is_one_text_with_its_images_beside_it():
    data_url = MediaPart(kind="image", url="data:image/png;base64,iVBORw==")
    assert sent(SystemMessage("s"), SystemMessage(""), UserMessage(["a", PNG, "b", JsonPart(1), data_url])) == (
        [{"role": "system", "content": "s"}, {"role": "user", "content": "ab\n1", "images": ["iVBORw==", "iVBORw=="]}],
        [],
    )


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (MediaPart(kind="image", url="https://x/y.png"), NO_ADDRESS),
        (MediaPart(kind="image", url="data:image/png;base64,!"), NO_ADDRESS),
        (MediaPart(kind="image", file_id="f"), NO_ADDRESS),
        (MediaPart(kind="audio", data=b"x"), "audio: this provider takes none"),
        (OpaquePart({"type": "x"}), "a part of a type that has no place on this wire"),
    ],
)
def test_what_has_no_place_is_left_out_and_said(part, why):
    assert sent(UserMessage(["a", part])) == ([{"role": "user", "content": "a"}], [f"messages[0].parts[1]: {why}"])


def test_a_server_without_images_gets_none():
    assert sent(UserMessage([PNG]), profile=OWN.replace(supports_images=False)) == (
        [{"role": "user", "content": ""}],
        ["messages[0].parts[0]: image: this provider takes none"],
    )


def test_own_thinking_goes_back_in_tool_rounds_alone():
    assert sent(assistant(ReasoningPart("Hm"), TextPart("a"), CALL))[0][0] == {
        "role": "assistant", "content": "a", "thinking": "Hm", "tool_calls": [WIRE_CALL],
    }  # fmt: skip
    assert sent(assistant(ReasoningPart("Hm"), TextPart("a"))) == ([{"role": "assistant", "content": "a"}], [])
    assert sent(assistant(ReasoningPart("Hm"))) == ([], [])


def test_what_another_provider_alone_understands_is_left_out_and_said():
    message = assistant(
        ReasoningPart("Hm"), ReasoningPart("", encrypted="e"), ProviderToolPart(name="search"), ProviderItem(provider="o", protocol="p", raw=b"{}"),
        MediaPart(kind="audio", data=b"x", transcript="words"), ToolCallPart(id="c", name="", provider_data={"sig": 1}), provider="other",
        name="ann",
    )  # fmt: skip
    wire, warnings = sent(message, profile=OWN.replace(takes_foreign_reasoning=False))
    assert wire[0] == {
        "role": "assistant",
        "content": "words",
        "tool_calls": [{"id": "c", "function": {"name": "unnamed_tool", "arguments": {}}}],
    }
    assert warnings == [
        "messages[0]: the speaker's name 'ann'",
        "messages[0].parts[0]: reasoning of other",
        "messages[0].parts[1]: signed or encrypted reasoning of other",
        "messages[0].parts[2]: the call of 'search', which other ran itself",
        "messages[0].parts[3]: an item of o (p)",
        "messages[0]: the tool name '', which the server would refuse; it goes as 'unnamed_tool'",
        "messages[0]: data of other on a call: sig",
    ]


def test_what_came_unknown_with_a_call_goes_back():
    wire, warnings = sent(assistant(ToolCallPart(id="c", name="f", provider_data={"x": 1}), ProviderToolPart(name="search")))
    assert (wire[0]["tool_calls"], warnings) == ([{"id": "c", "function": {"name": "f", "arguments": {}}, "x": 1}], [])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (CALL, {"a": 1}),
        (ToolCallPart(name="f", arguments='{"a":'), {"_invalid_arguments": '{"a":'}),
        (ToolCallPart(name="f", arguments="[1]"), {"_invalid_arguments": "[1]"}),
        (ToolCallPart(name="f", kind="custom", arguments="free"), {"input": "free"}),
        (make(ToolCallPart, name="f", arguments='{"a":1}</call>', parsed={"a": 1}), {"a": 1}),
        (make(ToolCallPart, name="f", arguments="", parsed={}), {}),
    ],
)
def test_arguments_are_always_an_object(call, expected):
    assert arguments_of(call) == expected


@pytest.mark.parametrize(
    ("parts", "state", "content"),
    [
        (["12"], "success", "12"),
        ([{"a": 1}], "success", '{"a":1}'),
        (["boom"], "error", "Error: boom"),
        ([], "timed_out", "Timed out: the tool took too long."),
    ],
)
def test_a_result_names_its_tool_and_its_call(parts, state, content):
    result = ToolMessage([ToolResultPart(call_id="c", parts=parts, state=state)])
    assert sent(assistant(CALL), result)[0][1] == {"role": "tool", "tool_name": "f", "tool_call_id": "c", "content": content}


def test_images_of_a_result_stand_beside_it():
    parts = [PNG, "shown", MediaPart(kind="video", url="u"), OpaquePart({"type": "x"})]
    wire, warnings = sent(assistant(CALL), ToolMessage([ToolResultPart(call_id="c", parts=parts)]))
    assert wire[1]["images"] == ["iVBORw=="]
    assert wire[1]["content"] == "shown\n[video, which could not be passed on]"
    assert warnings == [
        "messages[0].parts[2]: video: this provider takes none (in the result of f)",
        "messages[0].parts[3]: a part of a type that has no place on this wire (in the result of f)",
    ]
