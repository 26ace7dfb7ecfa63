import json

import pytest

from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, TextPart, ToolCallPart, ToolResultPart
from headrace.wire.gemini.request_results import encode_result
from headrace.wire.history import PairedCall
from headrace.wire.profile import DEFAULT

IMAGE = MediaPart(kind="image", url="https://x/y.png")


def encode(*parts, state="success", profile=DEFAULT):
    result = ToolResultPart(call_id="1", parts=list(parts), state=state)
    return encode_result(PairedCall(ToolCallPart(id="1", name="f"), "1"), result, profile, is_own=True)


def response(*parts, **fields):
    return json.loads(encode(*parts, **fields).body)["functionResponse"]["response"]


@pytest.mark.parametrize(
    ("parts", "output"),
    [
        ((), ""),
        (("one",), "one"),
        (("one", "two"), "onetwo"),
        ((JsonPart({"a": 1}),), {"a": 1}),
        ((JsonPart(None),), None),
        (("n:", JsonPart(1), "end"), "n:\n1\nend"),
        (("line\n", JsonPart([1])), "line\n[1]"),
    ],
)
def test_what_a_tool_gave_is_the_output(parts, output):
    assert response(*(TextPart(part) if isinstance(part, str) else part for part in parts)) == {"output": output}


@pytest.mark.parametrize(
    ("state", "parts", "error"),
    [
        ("error", ("boom",), "boom"),
        ("error", (JsonPart({"code": 1}),), {"code": 1}),
        ("error", (), "Error: the tool failed."),
        ("denied", ("no",), "Denied: no"),
        ("timed_out", (JsonPart([1]),), "Timed out: [1]"),
        ("not_run", ("",), "Not run: this call has no result."),
    ],
)
def test_what_went_wrong_is_the_error(state, parts, error):
    assert response(*parts, state=state) == {"error": error}


def test_a_medium_has_its_place_or_is_said():
    found = encode(TextPart("see"), IMAGE)
    assert json.loads(found.body)["functionResponse"]["response"] == {"output": "see\n[image: behind the results]"}
    assert [json.loads(part) for part in found.follow] == [{"text": "From the result of f:"}, {"fileData": {"fileUri": "https://x/y.png"}}]
    refused = encode(IMAGE, OpaquePart({"type": "new"}), profile=DEFAULT.replace(supports_images=False))
    assert [note.text for note in refused.notes] == [
        "image: this provider takes none (in the result of f)",
        "a part of a type that this version does not know, in the result of f",
    ]
    assert json.loads(refused.body)["functionResponse"]["response"] == {"output": "[image, which could not be passed on]"}


def test_only_media_themselves_stand_inside_of_a_result():
    found = encode(IMAGE, MediaPart(kind="document", data=b"%PDF"), profile=DEFAULT.replace(supports_images_in_results=True))
    body = json.loads(found.body)["functionResponse"]
    assert body["parts"] == [{"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}}]
    assert len(found.follow) == 2
