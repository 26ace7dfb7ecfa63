"""Parts as clients see them, and sealed so that they come back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given

from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, ReasoningPart, TextPart, ToolCallPart
from headrace.surfaces import content
from message_strategies import json_values

IMAGE = MediaPart(kind="image", data=b"x", media_type="image/png")


@pytest.mark.parametrize(
    ("parts", "text", "value"),
    [
        ([], "", ""),
        ([TextPart("a"), TextPart("b")], "ab", "ab"),
        ([JsonPart({"a": [1]})], '{"a":[1]}', {"a": [1]}),
        (
            [TextPart("a"), JsonPart(1)],
            "a1",
            [{"type": "text", "text": "a"}, {"type": "json", "value": 1}],
        ),
        ([IMAGE], "[image]", [{"type": "image", "mediaType": "image/png", "url": "data:image/png;base64,eA=="}]),
        (
            [MediaPart(kind="document", file_id="f1", name="a.pdf")],
            "[document a.pdf]",
            [{"type": "document", "mediaType": "application/octet-stream", "fileId": "f1"}],
        ),
        ([OpaquePart({"type": "new", "a": 1})], '{"type":"new","a":1}', [{"type": "new", "a": 1}]),
    ],
)
def test_what_tools_give(parts, text, value):
    assert (content.text_of(parts), content.value_of(parts)) == (text, value)


def test_media_have_addresses_and_come_back_from_them():
    assert content.medium(content.url_of(IMAGE), None) == IMAGE
    assert content.url_of(MediaPart(kind="image", file_id="f1")) == "urn:file:f1"
    for url in ("https://e.example/x", "data:,x", "data:image/png;base64,*"):
        assert content.medium(url, "video/mp4") == MediaPart(kind="video", url=url, media_type="video/mp4")


@given(json_values)
def test_what_is_sealed_comes_back(value):
    part = ReasoningPart("hm", signature="s", encrypted="e", details=(value,), provider_data={"a": value})
    assert content.reasoning("hm", content.seal(part, "p")) == (part, "p")
    call = ToolCallPart(id="1", name="n", arguments='{"a"', provider_data={"a": value})
    assert content.call("1", "n", '{"a"', content.seal(call, None)) == (call, None)


def test_what_has_nothing_to_seal_has_no_seal():
    assert content.seal(ReasoningPart("hm"), "p") is None
    assert content.seal(ToolCallPart(id="1", name="n"), "p") is None
    assert content.reasoning("hm", None) == (ReasoningPart("hm"), None)


@pytest.mark.parametrize(
    ("sealed", "part"),
    [
        ("opaque", ReasoningPart("", encrypted="opaque")),
        ("headrace-1:{", ReasoningPart("")),
        ("headrace-1:[]", ReasoningPart("")),
        ('headrace-1:{"signature":1,"details":{},"provider_data":[],"provider":2}', ReasoningPart("")),
    ],
)
def test_a_seal_that_is_not_ours_or_broken_does_no_harm(sealed, part):
    assert content.reasoning("", sealed) == (part, None)


def test_a_text_that_is_json_is_its_value():
    assert [content.said_value(text) for text in ("a cat", '{"a":1}', "5", "")] == ["a cat", {"a": 1}, 5, ""]
