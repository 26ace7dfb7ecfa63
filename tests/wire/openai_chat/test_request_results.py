import json

import pytest

from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, ProviderItem, TextPart, ToolCallPart, ToolResultPart
from headrace.wire.openai_chat.request_results import NOT_RUN, encode_result
from headrace.wire.profile import DEFAULT, Profile

CALL = ToolCallPart(id="c", name="look")
IMAGE = MediaPart(kind="image", url="https://x/y.png")
URL = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}


def encode(result, profile=DEFAULT):
    fragment = encode_result(result, "wire", CALL, profile)
    return json.loads(fragment.body), [json.loads(item) for item in fragment.follow], [note.text for note in fragment.notes]


def test_a_result_is_its_text_under_the_calls_wire_id():
    message, follow, notes = encode(ToolResultPart(call_id="c", parts=[TextPart("a"), TextPart("b"), JsonPart({"n": 1})]))
    assert message == {"role": "tool", "tool_call_id": "wire", "content": 'ab\n{"n":1}'}
    assert (follow, notes) == ([], [])


@pytest.mark.parametrize(
    ("state", "content"),
    [
        ("success", "x"),
        ("error", "Error: x"),
        ("denied", "Denied: x"),
        ("interrupted", "Interrupted: x"),
        ("timed_out", "Timed out: x"),
        ("not_run", "Not run: x"),
        ("in_doubt", "In doubt: x"),
    ],
)
def test_how_a_call_ended_is_said_in_the_text(state, content):
    assert encode(ToolResultPart(call_id="c", parts="x", state=state))[0]["content"] == content
    alone = encode(ToolResultPart(call_id="c", state=state))[0]["content"]
    assert (alone == "") is (state == "success")


def test_a_missing_result_says_that_the_call_was_not_run():
    assert encode(NOT_RUN)[0]["content"] == "Not run: this call has no result."


def test_the_tools_name_goes_along_where_the_server_wants_it():
    message, _, _ = encode(ToolResultPart(call_id="c", name="other", parts="x"), Profile(names_tool_results=True))
    assert message == {"role": "tool", "tool_call_id": "wire", "name": "look", "content": "x"}


def test_an_image_follows_in_a_user_message_that_says_whose_it_is():
    message, follow, notes = encode(ToolResultPart(call_id="c", parts=[TextPart("seen"), IMAGE]))
    assert message["content"] == "seen\n[image: in the next user message]"
    assert follow == [{"type": "text", "text": "From the result of look (wire):"}, URL]
    assert notes == []


def test_an_image_stays_in_the_result_where_the_server_takes_it_there():
    profile = Profile(supports_images_in_results=True)
    message, follow, _ = encode(ToolResultPart(call_id="c", parts=["seen", IMAGE], state="error"), profile)
    assert message["content"] == [{"type": "text", "text": "Error:"}, {"type": "text", "text": "seen"}, URL]
    assert follow == []


def test_a_medium_that_cannot_be_sent_is_said_to_the_model_and_to_the_caller():
    message, follow, [note] = encode(ToolResultPart(call_id="c", parts=[IMAGE]), Profile(supports_images=False))
    assert message["content"] == "[image, which could not be passed on]"
    assert follow == []
    assert "image" in note
    assert "look" in note


def test_other_parts_are_left_out_and_said():
    message, _, notes = encode(
        ToolResultPart(call_id="c", parts=[ProviderItem(provider="p", protocol="q", raw=b"{}"), "x", OpaquePart({"type": "y"})])
    )
    assert message["content"] == "x"
    assert len(notes) == 2
    assert "ProviderItem" in notes[0]
    assert "unknown part" in notes[1]
