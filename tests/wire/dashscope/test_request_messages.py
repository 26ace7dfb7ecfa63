import json

import pytest

from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.messages.request import Request
from headrace.providers.profiles import DASHSCOPE
from headrace.wire.dashscope.request_out import encode_request

OWN = DASHSCOPE.replace(provider="dashscope")
MEDIA = OWN.replace(sends_all_as_media=True)
PNG = MediaPart(kind="image", data=b"\x89PNG", provider_data={"min_pixels": 5})
IMAGE = {"image": "data:image/png;base64,iVBORw==", "min_pixels": 5}
CALL = ToolCallPart(id="c", name="f", arguments='{"a": 1}')
WIRE_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def sent(*messages, profile=OWN):
    request = encode_request(Request(model="m", messages=(*messages, UserMessage("go"))), profile)
    wire = json.loads(request.body)["input"]["messages"]
    assert wire.pop()["role"] == "user"
    return wire, [warning.detail for warning in request.warnings]


def assistant(*parts, provider="dashscope", **fields):
    return AssistantMessage(list(parts), provider=provider, **fields)


def test_texts_are_texts_or_lists_by_the_service():
    history = (SystemMessage("s"), SystemMessage(""), UserMessage(["a", {"b": 1}]), assistant(TextPart("c")))
    texts = [("system", "s"), ("user", 'a\n{"b":1}'), ("assistant", "c")]
    assert sent(*history) == ([{"role": role, "content": text} for role, text in texts], [])
    assert sent(*history, profile=MEDIA)[0] == [{"role": role, "content": [{"text": text}]} for role, text in texts]


@pytest.mark.parametrize(
    ("part", "item"),
    [
        (PNG, IMAGE),
        (MediaPart(kind="image", url="https://x/y.png"), {"image": "https://x/y.png"}),
        (MediaPart(kind="video", url="https://x/y.mp4", provider_data={"fps": 2}), {"video": "https://x/y.mp4", "fps": 2}),
        (MediaPart(kind="video", data=b"x"), {"video": "data:video/mp4;base64,eA=="}),
        (MediaPart(kind="audio", data=b"x", media_type="audio/mpeg"), {"audio": "data:audio/mp3;base64,eA=="}),
    ],
)
def test_media_are_named_by_their_kind(part, item):
    assert sent(UserMessage(["a", part])) == ([{"role": "user", "content": [{"text": "a"}, item]}], [])


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (MediaPart(kind="document", data=b"x"), "document: this provider takes none"),
        (MediaPart(kind="image", file_id="f"), "image: an uploaded file (f) has no place on this wire"),
        (OpaquePart({"type": "x"}), "a part of a type that this version does not know"),
    ],
)
def test_what_has_no_place_is_left_out_and_said(part, why):
    wire, warnings = sent(UserMessage(["a", part]))
    assert (wire[0]["role"], warnings) == ("user", [f"messages[0].parts[1]: {why}"])


def test_own_thinking_goes_back_in_tool_rounds_alone():
    assert sent(assistant(ReasoningPart("Hm"), TextPart("a"), CALL))[0][0] == {
        "role": "assistant", "content": "a", "reasoning_content": "Hm", "tool_calls": [WIRE_CALL],
    }  # fmt: skip
    assert sent(assistant(ReasoningPart("Hm"), TextPart("a"))) == ([{"role": "assistant", "content": "a"}], [])
    assert sent(assistant(ReasoningPart("Hm"))) == ([], [])
    assert sent(assistant(CALL), profile=MEDIA)[0][0] == {"role": "assistant", "content": "", "tool_calls": [WIRE_CALL]}


def test_what_another_provider_alone_understands_is_left_out_and_said():
    message = assistant(
        ReasoningPart("Hm"), ReasoningPart("", signature="s"), ProviderToolPart(name="search"), ProviderItem(provider="o", protocol="p", raw=b"{}"),
        OpaquePart({"type": "x"}), MediaPart(kind="audio", data=b"x", transcript="words"), PNG,
        ToolCallPart(id="c", name="", arguments="{", provider_data={"sig": 1}), provider="other", name="ann",
    )  # fmt: skip
    wire, warnings = sent(message, profile=OWN.replace(takes_foreign_reasoning=False, arguments_as="object"))
    assert wire[0] == {
        "role": "assistant",
        "content": "words",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "unnamed_tool", "arguments": '{"_invalid_arguments":"{"}'}}],
    }
    assert warnings == [
        "messages[0]: the speaker's name 'ann'",
        "messages[0].parts[0]: reasoning of other",
        "messages[0].parts[1]: signed or encrypted reasoning of other",
        "messages[0].parts[2]: the call of 'search', which other ran itself",
        "messages[0].parts[3]: an item of o (p)",
        "messages[0].parts[4]: a part of a type that has no place on this wire",
        "messages[0].parts[6]: image: an assistant message holds none on this wire",
        "messages[0]: the tool name '', which the server would refuse; it goes as 'unnamed_tool'",
        "messages[0]: data of other on a call: sig",
    ]


def test_what_came_unknown_with_a_call_goes_back_and_tools_of_the_provider_do_not():
    wire, warnings = sent(assistant(ToolCallPart(id="c", name="f", provider_data={"x": 1}), ProviderToolPart(name="search")))
    assert (wire[0]["tool_calls"][0]["x"], warnings) == (1, [])


@pytest.mark.parametrize(
    ("parts", "state", "content"),
    [
        (["12"], "success", "12"),
        ([{"a": 1}], "success", '{"a":1}'),
        (["boom"], "error", "Error: boom"),
        ([], "not_run", "Not run: this call has no result."),
    ],
)
def test_a_result_names_its_tool_and_its_call(parts, state, content):
    result = ToolMessage([ToolResultPart(call_id="c", parts=parts, state=state)])
    expected = {"role": "tool", "tool_call_id": "c", "name": "f", "content": content}
    assert sent(assistant(CALL), result)[0][1] == expected
    assert sent(assistant(CALL), result, profile=MEDIA)[0][1] == {**expected, "content": [{"text": content}]}


def test_an_image_in_a_result_follows_in_a_user_message():
    parts = [PNG, MediaPart(kind="document", data=b"x"), OpaquePart({"type": "x"})]
    wire, warnings = sent(assistant(CALL), ToolMessage([ToolResultPart(call_id="c", parts=parts)]))
    text = "[image: in the next user message]\n[document, which could not be passed on]"
    assert wire[1:] == [
        {"role": "tool", "tool_call_id": "c", "name": "f", "content": [{"text": text}]},
        {"role": "user", "content": [{"text": "From the result of f (c):"}, IMAGE]},
    ]
    assert len(warnings) == 2
