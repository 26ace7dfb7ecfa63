import json

import pytest

from headrace.messages.message import AssistantMessage, UserMessage
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
from headrace.wire.gemini_interactions.request_steps import content_of, encode_message, encode_result
from headrace.wire.history import PairedCall
from headrace.wire.profile import DEFAULT, Profile

OWN = Profile(provider="acme", reasoning_style="parts", tool_name_pattern="[a-z_]")
CALL = ToolCallPart(id="1", name="f")
IMAGE = MediaPart(kind="image", url="https://x/y.png")


def steps(message, profile=OWN):
    calls = [PairedCall(call, call.id) for call in message.parts_of(ToolCallPart)]
    fragment = encode_message(message, profile, calls)
    return json.loads(b"[" + fragment.body + b"]"), [note.text for note in fragment.notes]


def answer(*content, provider="acme"):
    return AssistantMessage(list(content), provider=provider)


def result(*parts, state="success", profile=DEFAULT):
    fragment = encode_result(ToolResultPart(call_id="1", parts=list(parts), state=state), "w1", CALL, profile)
    return json.loads(fragment.body), [note.text for note in fragment.notes]


def test_contents_that_stand_together_are_one_step():
    user = UserMessage(
        ["Hi", {"a": 1}, MediaPart(kind="image", url="data:image/gif;base64,R0lG", provider_data={"resolution": "low"})], name="ann"
    )
    assert steps(user) == (
        [
            {
                "type": "user_input",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "text", "text": '{"a":1}'},
                    {"type": "image", "data": "R0lG", "mime_type": "image/gif", "resolution": "low"},
                ],
            }
        ],
        ["the speaker's name 'ann'"],
    )


def test_everything_of_its_own_goes_back_in_its_place():
    message = answer(
        ReasoningPart("a", signature="s", provider_data={"future": 1, "summary": [{"type": "image"}]}),
        ReasoningPart("b"),
        TextPart("t", provider_data={"future": 2}),
        ToolCallPart(id="1", name="a b", provider_data={"future": 3}),
        TextPart("u", citations=({"type": "url_citation"}, {"uri": "foreign"})),
        make(ProviderToolPart, name="x", provider_data={"steps": [{"type": "x_call"}, {"type": "x_result"}]}),
        ProviderItem(provider="acme", protocol="gemini-interactions", raw=b'{"type":"new"}'),
    )
    assert steps(message) == (
        [
            {"type": "thought", "future": 1, "signature": "s", "summary": [{"type": "text", "text": "a"}, {"type": "image"}]},
            {"type": "thought", "summary": [{"type": "text", "text": "b"}]},
            {"type": "model_output", "content": [{"type": "text", "text": "t"}], "future": 2},
            {"future": 3, "type": "function_call", "id": "1", "name": "a_b", "arguments": {}},
            {"type": "model_output", "content": [{"type": "text", "text": "u", "annotations": [{"type": "url_citation"}]}]},
            {"type": "x_call"},
            {"type": "x_result"},
            {"type": "new"},
        ],
        ["the tool name 'a b', which the server would refuse; it goes as 'a_b'"],
    )
    assert steps(answer(ReasoningPart(provider_data={"future": 1})))[0] == []
    assert steps(answer(TextPart("t", provider_data={"x": 1})), OWN.replace(sends_provider_data=False))[1] == []
    assert steps(answer(ReasoningPart("b")), DEFAULT.replace(provider="acme"))[0] == []


def test_what_has_no_place_is_said():
    message = answer(
        ReasoningPart("b"),
        ReasoningPart(),
        TextPart("t", provider_data={"x": 1}),
        ProviderToolPart(name="x"),
        ProviderItem(provider="other", protocol="gemini-interactions", raw=b"{}"),
        MediaPart(kind="video", url="https://x"),
        OpaquePart({"type": "new"}),
        provider="other",
    )
    assert steps(message)[1] == [
        "reasoning of other",
        "data of other: x",
        "the call of 'x', which other ran itself",
        "an item of other (gemini-interactions)",
        "video: this provider takes none",
        "a part of a type that this version does not know",
    ]
    for raw in (b"{", b"[]"):
        bad = answer(ProviderItem(provider="acme", protocol="gemini-interactions", raw=raw), ProviderToolPart(name="x"))
        assert steps(bad) == ([], ["an item of acme that is no JSON object"])


@pytest.mark.parametrize(
    ("parts", "state", "expected"),
    [
        ((), "success", ""),
        (("one", JsonPart([1])), "success", "one[1]"),
        ((JsonPart({"a": 1}),), "success", {"a": 1}),
        ((JsonPart({"a": 1}),), "denied", 'Denied: {"a":1}'),
        (("boom",), "error", "boom"),
        ((), "error", "Error: the tool failed."),
        (("see", IMAGE), "success", [{"type": "text", "text": "see"}, {"type": "image", "uri": "https://x/y.png"}]),
        ((IMAGE,), "timed_out", [{"type": "text", "text": "Timed out:"}, {"type": "image", "uri": "https://x/y.png"}]),
    ],
)
def test_what_a_tool_gave(parts, state, expected):
    found, notes = result(*parts, state=state)
    failed = {} if state == "success" else {"is_error": True}
    assert (found, notes) == ({"type": "function_result", "call_id": "w1", "name": "f", "result": expected, **failed}, [])


def test_what_a_result_cannot_hold_is_said():
    found, notes = result(IMAGE, OpaquePart({"type": "new"}), profile=DEFAULT.replace(supports_images=False))
    assert found["result"] == "[image, which could not be passed on]"
    assert notes == [
        "image: this provider takes none (in the result of f)",
        "a part of a type that this version does not know, in the result of f",
    ]


def test_an_address_goes_with_its_type():
    assert content_of(MediaPart(kind="document", url="gs://x", media_type="application/pdf"), DEFAULT) == {
        "type": "document",
        "uri": "gs://x",
        "mime_type": "application/pdf",
    }
