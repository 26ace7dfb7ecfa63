"""What people and tools give, as Converse blocks."""

from __future__ import annotations

import pytest

from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, ProviderItem, RefusalPart, TextPart, ToolResultPart
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_content import content, result_blocks

PNG = MediaPart(kind="image", data=b"\x89PNG")
PNG_BLOCK = {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}}


def result(*parts, state="success", profile=BEDROCK, **fields):
    notes = []
    blocks = result_blocks(ToolResultPart(call_id="c", parts=list(parts), state=state, **fields), "w", "clock", profile, notes)
    return blocks, [note.text for note in notes]


def test_what_a_person_gives_is_a_block_each():
    notes = []
    point = {"cachePoint": {"type": "default"}}
    parts = [
        TextPart(" "),
        TextPart("a", provider_data=point),
        JsonPart([1]),
        PNG,
        MediaPart(kind="image", file_id="f"),
        OpaquePart({"type": "odd"}),
    ]
    assert content([*parts, RefusalPart("no")], BEDROCK, notes) == [{"text": "a"}, point, {"text": "[1]"}, PNG_BLOCK, {"text": "no"}]
    assert [note.part for note in notes] == [4, 5]
    assert content([ProviderItem(provider="a", protocol="b", raw=b"{}")], BEDROCK, notes) == []


def test_a_result_holds_text_json_and_images():
    blocks, notes = result(TextPart("See"), JsonPart({"a": 1}), JsonPart([1]), PNG)
    assert blocks == [
        {
            "toolResult": {
                "toolUseId": "w",
                "content": [{"text": "See"}, {"json": {"a": 1}}, {"text": "[1]"}, PNG_BLOCK],
                "status": "success",
            }
        }
    ]
    assert notes == []


def test_what_a_result_cannot_hold_is_said_there_and_to_the_caller():
    blocks, notes = result(MediaPart(kind="audio", data=b"x"), MediaPart(kind="image", url="https://x"), OpaquePart({"type": "odd"}))
    assert blocks[0]["toolResult"]["content"] == [
        {"text": "[audio, which could not be passed on]"},
        {"text": "[image, which could not be passed on]"},
    ]
    assert notes == [
        "audio: a result holds none on this wire (in the result of clock)",
        "image: only the image itself or its place in S3 can be sent on this wire (in the result of clock)",
        "a OpaquePart in the result of clock",
    ]
    assert result(PNG, profile=BEDROCK.replace(supports_images_in_results=False))[1] == [
        "image: a result holds none on this wire (in the result of clock)"
    ]


@pytest.mark.parametrize(
    ("state", "parts", "inner", "status"),
    [
        ("success", [], [{"text": "(no output)"}], "success"),
        ("error", [TextPart("boom")], [{"text": "boom"}], "error"),
        ("error", [], [{"text": "Error: the tool failed."}], "error"),
        ("denied", [TextPart("why")], [{"text": "Denied:"}, {"text": "why"}], "error"),
        ("not_run", [], [{"text": "Not run: this call has no result."}], "error"),
    ],
)
def test_how_a_call_ended_stands_in_the_status_and_in_words(state, parts, inner, status):
    ((block,), _) = result(*parts, state=state)
    assert (block["toolResult"]["content"], block["toolResult"]["status"]) == (inner, status)


def test_a_result_may_end_what_is_cached():
    blocks, _ = result(TextPart("x"), metadata={"cachePoint": {"type": "default"}})
    assert blocks[1] == {"cachePoint": {"type": "default"}}
