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
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.messages.request import Request
from headrace.providers.profiles import COHERE
from headrace.wire.cohere_v2.request_out import encode_request
from headrace.wire.profile import Profile

OWN = COHERE.replace(provider="cohere")
PNG = MediaPart(kind="image", data=b"\x89PNG")
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
CALL = ToolCallPart(id="c", name="f", arguments='{"a": 1}')
WIRE_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
NO_RESULT = {"role": "tool", "tool_call_id": "c", "content": "Not run: this call has no result."}


def sent(*messages, profile=OWN):
    request = encode_request(Request(model="m", messages=(*messages, UserMessage("go"))), profile)
    wire = json.loads(request.body)["messages"]
    assert wire.pop() == {"role": "user", "content": "go"}
    return wire, [warning.detail for warning in request.warnings]


def assistant(*parts, provider="cohere", **fields):
    return AssistantMessage(list(parts), provider=provider, **fields)


def test_instructions_and_words_of_the_user():
    assert sent(SystemMessage("Be brief."), UserMessage(["a", JsonPart({"b": 1}), "c"])) == (
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": 'a\n{"b":1}\nc'}],
        [],
    )


def test_images_are_parts_and_other_media_have_no_place():
    sound = MediaPart(kind="audio", data=b"x")
    wire, warnings = sent(UserMessage(["look", PNG, sound, OpaquePart({"type": "x"})]))
    assert wire == [{"role": "user", "content": [{"type": "text", "text": "look"}, IMAGE]}]
    assert warnings == [
        "messages[0].parts[2]: audio: this provider takes none",
        "messages[0].parts[3]: a part of a type that this version does not know",
    ]


def test_a_speakers_name_has_no_place():
    assert sent(SystemMessage("s", name="a"), UserMessage("u", name="b"), assistant(TextPart("t"), name="c"))[1] == [
        "messages[0]: the speaker's name 'a'", "messages[1]: the speaker's name 'b'", "messages[2]: the speaker's name 'c'",
    ]  # fmt: skip


def test_the_own_plan_thinking_and_citations_go_back():
    cited = TextPart("It", citations=({"start": 0},))
    message = assistant(ReasoningPart("Hm"), cited, CALL, metadata={"tool_plan": "Plan.", "citations": [{"type": "PLAN"}]})
    assert sent(message) == (
        [
            {
                "role": "assistant",
                "tool_plan": "Plan.",
                "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "It"}],
                "tool_calls": [WIRE_CALL],
                "citations": [{"start": 0}, {"type": "PLAN"}],
            },
            NO_RESULT,
        ],
        [],
    )


def test_text_before_calls_goes_as_the_plan():
    wire, warnings = sent(assistant(TextPart("I look."), CALL, provider="other", metadata={"tool_plan": "not its own"}))
    assert wire[0] == {"role": "assistant", "tool_plan": "I look.", "tool_calls": [WIRE_CALL]}
    assert warnings == []


def test_an_answer_is_a_content():
    assert sent(assistant(TextPart("a"), RefusalPart("b"), JsonPart(1)))[0] == [{"role": "assistant", "content": "ab\n1"}]


def test_own_thinking_goes_back_in_tool_rounds_alone():
    assert sent(assistant(ReasoningPart("Hm"), TextPart("a")))[0] == [{"role": "assistant", "content": "a"}]
    always = OWN.replace(reasoning_when="always")
    assert sent(assistant(ReasoningPart("Hm"), TextPart("a")), profile=always)[0][0]["content"][0] == {"type": "thinking", "thinking": "Hm"}
    assert sent(assistant(ReasoningPart("Hm"), CALL), profile=Profile(provider="cohere"))[0][0].keys() == {"role", "tool_calls"}


def test_what_another_provider_alone_understands_is_left_out_and_said():
    message = assistant(
        ReasoningPart("Hm"), ReasoningPart("", signature="s"), ProviderToolPart(name="search", provider="other"), OpaquePart({"type": "x"}),
        ProviderItem(provider="other", protocol="p", raw=b"{}"), ProviderItem(provider="", protocol="p", raw=b"{}"), PNG,
        MediaPart(kind="audio", data=b"x", transcript="words"), ToolCallPart(id="c", name="f", provider_data={"sig": 1}), provider="other",
    )  # fmt: skip
    wire, warnings = sent(message)
    assert wire[0]["tool_plan"] == "words"
    assert warnings == [
        "messages[0].parts[0]: reasoning of other",
        "messages[0].parts[1]: signed or encrypted reasoning of other",
        "messages[0].parts[2]: the call of 'search', which other ran itself",
        "messages[0].parts[3]: a part that only other understands",
        "messages[0].parts[4]: an item of other (p)",
        "messages[0].parts[5]: an item of an unnamed provider (p)",
        "messages[0].parts[6]: image: an assistant message holds none on this wire",
        "messages[0]: data of other on a call: sig",
    ]


def test_what_came_unknown_from_here_goes_back():
    block = {"type": "image", "url": "u"}
    own = ToolCallPart(id="c", name="f", provider_data={"x": 1, "id": "other"})
    wire, warnings = sent(assistant(OpaquePart(block), own, ProviderToolPart(name="search")))
    assert wire[0]["content"] == [block]
    assert wire[0]["tool_calls"] == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "x": 1}]
    assert warnings == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [('{"a":', '{"_invalid_arguments":"{\\"a\\":"}'), ("[1]", '{"_invalid_arguments":"[1]"}'), ('{"a" : 1e2}', '{"a" : 1e2}')],
)
def test_arguments_go_back_as_an_object_that_the_server_can_read(arguments, text):
    wire, _ = sent(assistant(ToolCallPart(id="c", name="f", arguments=arguments)))
    assert wire[0]["tool_calls"][0]["function"]["arguments"] == text
    objects = OWN.replace(arguments_as="object")
    assert isinstance(
        sent(assistant(ToolCallPart(id="c", name="f", arguments=arguments)), profile=objects)[0][0]["tool_calls"][0]["function"][
            "arguments"
        ],
        str,
    )


def test_a_call_without_a_name_goes_by_one():
    wire, warnings = sent(assistant(ToolCallPart(id="c", name="")))
    assert wire[0]["tool_calls"][0]["function"]["name"] == "unnamed_tool"
    assert "unnamed_tool" in warnings[0]


@pytest.mark.parametrize(
    ("parts", "state", "content"),
    [
        (["12"], "success", "12"),
        ([{"a": 1}], "success", [{"type": "document", "document": {"data": {"a": 1}}}]),
        (
            [JsonPart([{"a": 1}, {"b": 2}]), "and"],
            "success",
            [
                {"type": "document", "document": {"data": {"a": 1}}},
                {"type": "document", "document": {"data": {"b": 2}}},
                {"type": "text", "text": "and"},
            ],
        ),
        ([JsonPart([1, 2])], "success", "[1,2]"),
        ([JsonPart([])], "success", "[]"),
        ([{"a": 1}], "error", [{"type": "text", "text": "Error:"}, {"type": "document", "document": {"data": {"a": 1}}}]),
        (["boom"], "error", "Error: boom"),
        ([], "denied", "Denied: this call was not allowed, so the tool did not run."),
    ],
)
def test_a_result_is_a_text_or_documents_that_can_be_cited(parts, state, content):
    result = ToolMessage([ToolResultPart(call_id="c", name="f", parts=parts, state=state)])
    assert sent(assistant(CALL), result) == (
        [{"role": "assistant", "tool_calls": [WIRE_CALL]}, {"role": "tool", "tool_call_id": "c", "content": content}],
        [],
    )


def test_an_image_in_a_result_follows_in_a_user_message():
    result = ToolMessage([ToolResultPart(call_id="c", parts=[PNG, MediaPart(kind="video", url="u"), OpaquePart({"type": "x"})])])
    wire, warnings = sent(assistant(CALL), result)
    assert wire[1:] == [
        {"role": "tool", "tool_call_id": "c", "content": "[image: in the next user message]\n[video, which could not be passed on]"},
        {"role": "user", "content": [{"type": "text", "text": "From the result of f (c):"}, IMAGE]},
    ]
    assert len(warnings) == 2
