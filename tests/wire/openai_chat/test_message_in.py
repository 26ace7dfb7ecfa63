"""Each member of a message of Chat Completions has its neutral word, and nothing of it is lost on the way there and back."""

from __future__ import annotations

import json

import pytest

from headrace.messages.message import SystemMessage
from headrace.messages.parts import MediaPart, OpaquePart, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart, make
from headrace.messages.request import Request
from headrace.wire.openai_chat.message_in import read_message
from headrace.wire.openai_chat.request_in import read_request
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.openai_chat.sealed_reasoning import sealed_details
from headrace.wire.profile import Profile
from headrace.wire.request_fields import Fields

MILL = Profile(
    reasoning_style="details", supports_refusal=True, supports_custom_tools=True, supports_video=True, supports_images_in_results=True
)


def read(**fields):
    return read_message(Fields(fields, "messages[0]"), None)


def parts(**fields):
    return read(**fields).parts


def test_instructions_have_two_names():
    assert read(role="developer", content="Be brief.") == SystemMessage.assemble([TextPart("Be brief.")])
    assert read(role="system", content=[{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]).text == "Be brief."


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ({"type": "text", "text": "hi"}, TextPart("hi")),
        ({"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}, MediaPart(kind="image", url="https://x/y.png", provider_data={"detail": "low"})),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}, MediaPart(kind="image", url="data:image/png;base64,aGk=")),
        ({"type": "video_url", "video_url": {"url": "https://x/y.mp4"}}, MediaPart(kind="video", url="https://x/y.mp4")),
        ({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}, MediaPart(kind="audio", url="data:audio/mpeg;base64,aGk=", media_type="audio/mpeg")),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}}, MediaPart(kind="document", url="data:application/pdf;base64,aGk=", name="a.pdf")),
        ({"type": "file", "file": {"file_id": "file-1"}}, MediaPart(kind="document", file_id="file-1")),
    ],
)  # fmt: skip
def test_what_a_person_says_goes_there_and_back(item, part):
    message = read(role="user", content=[item, {"type": "text", "text": "Look."}], name="ann")
    assert message.parts[0] == part
    sent = json.loads(encode_request(Request(model="m", messages=(message,)), MILL).body)["messages"]
    assert sent == [{"role": "user", "content": [item, {"type": "text", "text": "Look."}], "name": "ann"}]


def test_texts_that_stand_apart_stay_apart_and_keep_what_stands_on_them():
    texts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}, {"type": "text", "text": "three", "cache_control": {}}]
    for role in ("system", "user", "tool"):
        call = [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            }
        ]
        wire = [*(call if role == "tool" else []), {"role": role, **({"tool_call_id": "a"} if role == "tool" else {}), "content": texts}]
        messages = tuple(read_message(Fields(message, ""), None) for message in wire)
        assert json.loads(encode_request(Request(model="m", messages=messages)).body)["messages"] == wire


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_a_member_of_a_message_that_nobody_knows_is_said(role):
    message = {"role": role, "content": "hi", "name": "ann", "tool_call_id": "a", "novel": 1}
    if role != "tool":
        del message["tool_call_id"]
    incoming = read_request(json.dumps({"model": "m", "messages": [message]}).encode())
    for protocol in ("openai-chat", "gemini"):
        assert [warning.detail for warning in incoming.request_for(protocol)[1]] == ["messages[0].novel"]


def test_an_image_may_stand_without_its_object():
    assert parts(role="user", content=[{"type": "image_url", "image_url": "https://x/y.png"}]) == (
        MediaPart(kind="image", url="https://x/y.png"),
    )


def test_a_document_in_base64_alone_is_a_data_url():
    pdf, other = (parts(role="user", content=[{"type": "file", "file": {"file_data": data}}])[0] for data in ("JVBERi0x", "aGVsbG8="))
    assert pdf.url == "data:application/pdf;base64,JVBERi0x"
    assert other.url == "data:application/octet-stream;base64,aGVsbG8="


def test_a_part_that_nobody_knows_is_kept_whole():
    assert parts(role="user", content=[{"type": "hologram", "at": 1}]) == (OpaquePart({"type": "hologram", "at": 1}),)


def test_an_assistant_message_goes_there_and_back_with_all_that_it_has():
    wire = {
        "role": "assistant",
        "content": "I look.",
        "refusal": "Not that.",
        "reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0, "format": "x"}],
        "audio": {"id": "audio_1"},
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": '{"zone" : "CET"}'}, "extra_content": {"google": {"sig": "s"}}},
            {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
        ],
        "name": "miller",
        "novel": {"a": 1},
    }  # fmt: skip
    results = [{"role": "tool", "tool_call_id": name, "content": "12"} for name in ("call_1", "call_2")]
    messages = tuple(read_message(Fields(message, ""), None) for message in [wire, *results])
    sent = json.loads(encode_request(Request(model="m", messages=messages), MILL).body)["messages"]
    assert sent == [wire, *results]
    assert [type(part) for part in messages[0].parts] == [ReasoningPart, TextPart, RefusalPart, MediaPart, ToolCallPart, ToolCallPart]


def test_members_that_nobody_knows_have_a_place_also_where_there_is_no_text():
    message = read(role="assistant", tool_calls=[{"id": "a", "function": {"name": "f", "arguments": "{}"}}], novel=1)
    assert json.loads(encode_request(Request(model="m", messages=(message,))).body)["messages"][0]["novel"] == 1


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_comes_back_under_all_its_names(name):
    assert parts(role="assistant", content="Yes.", **{name: "Hm."}) == (ReasoningPart("Hm."), TextPart("Yes."))


def test_thinking_that_only_the_provider_can_read_comes_back():
    sealed = parts(role="assistant", content="Yes.", reasoning_text="Hm.", reasoning_opaque="zz")
    assert sealed == (ReasoningPart("Hm.", encrypted="zz"), TextPart("Yes."))


def test_thinking_that_another_wire_signed_comes_back_as_the_parts_that_it_was():
    thought = (ReasoningPart("Is it "), ReasoningPart("late?", signature="sig"), ReasoningPart(encrypted="zz"))
    message = read(role="assistant", content="Yes.")
    details = sealed_details(message.replace(parts=thought))
    assert parts(role="assistant", content="Yes.", reasoning_content="Is it late?", reasoning_details=details) == (
        *thought,
        TextPart("Yes."),
    )
    assert parts(role="assistant", reasoning_content="Is it late? No.", reasoning_details=details)[-1] == ReasoningPart(" No.")


def test_thinking_may_stand_among_the_parts_of_the_content():
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m."}], "signature": "s"}
    assert parts(role="assistant", content=[thinking, {"type": "text", "text": "Yes."}]) == (
        ReasoningPart("Hm.", signature="s"),
        TextPart("Yes."),
    )


@pytest.mark.parametrize("text", ["", "null", " "])
def test_a_call_of_the_past_without_arguments_took_nothing(text):
    (call,) = parts(role="assistant", tool_calls=[{"id": "a", "type": "function", "function": {"name": "now", "arguments": text}}])
    assert call == make(ToolCallPart, id="a", name="now", arguments=text, parsed={}, runnable=True)


def test_arguments_stay_the_text_that_came_also_where_they_are_broken():
    (call,) = parts(role="assistant", tool_calls=[{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a": 1'}}])
    assert (call.arguments, call.parsed, call.runnable) == ('{"a": 1', None, False)


def test_a_result_may_hold_images():
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    message = read(role="tool", tool_call_id="a", content=[{"type": "text", "text": "See:"}, image])
    assert message.parts == (ToolResultPart(call_id="a", parts=[TextPart("See:"), MediaPart(kind="image", url="https://x/y.png")]),)
