from __future__ import annotations

import pytest

from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, ProviderItem, TextPart, ToolResultPart
from headrace.wire.anthropic_messages.request_content import content, media_block, result_block
from headrace.wire.profile import Profile

PROFILE = Profile(supports_images_in_results=True)
PNG = b"\x89PNG\r\n"


def read(*parts, profile=PROFILE, **fields):
    notes = []
    return content(parts, profile, notes, **fields), [(note.part, note.text) for note in notes]


def text(value):
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("parts", "blocks"),
    [
        (["a", "b"], ["ab"]),
        (["a", JsonPart({"x": 1}), "b"], ['a\n{"x":1}\nb']),
        (["line\n", JsonPart(1), "\nb"], ["line\n1\nb"]),
        ([JsonPart(None)], ["null"]),
        (["", " \n"], []),
        (["line\n"], ["line\n"]),
    ],
)
def test_texts_that_stand_together_are_one_block_and_values_have_a_line(parts, blocks):
    given = [TextPart(part) if isinstance(part, str) else part for part in parts]
    assert read(*given) == ([text(block) for block in blocks], [])


def test_a_part_with_data_of_its_own_is_a_block_of_its_own():
    marked = TextPart("b", provider_data={"cache_control": {"type": "ephemeral"}})
    assert read(TextPart("a"), marked, TextPart("c"))[0] == [text("a"), {**text("b"), "cache_control": {"type": "ephemeral"}}, text("c")]


@pytest.mark.parametrize(
    ("part", "source"),
    [
        (MediaPart(kind="image", url="https://x/y.png"), {"type": "url", "url": "https://x/y.png"}),
        (MediaPart(kind="image", data=PNG), {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}),
        (MediaPart(kind="image", data=b"abc", media_type="image/webp"), {"type": "base64", "media_type": "image/webp", "data": "YWJj"}),
        (MediaPart(kind="image", data=b"abc"), {"type": "base64", "media_type": "image/png", "data": "YWJj"}),
        (MediaPart(kind="image", url="data:image/gif;base64,YWJj"), {"type": "base64", "media_type": "image/gif", "data": "YWJj"}),
        (MediaPart(kind="image", url="data:;base64,YWJj"), {"type": "base64", "media_type": "image/png", "data": "YWJj"}),
        (MediaPart(kind="image", file_id="file_1"), {"type": "file", "file_id": "file_1"}),
        (MediaPart(kind="document", data=b"%PDF"), {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}),
        (
            MediaPart(kind="document", data=b"a\xff", media_type="text/markdown"),
            {"type": "text", "media_type": "text/plain", "data": "a\ufffd"},
        ),
        (MediaPart(kind="document", url="https://x/y.pdf"), {"type": "url", "url": "https://x/y.pdf"}),
    ],
)
def test_each_source_of_a_medium(part, source):
    assert media_block(part, PROFILE) == {"type": part.kind, "source": source}


def test_a_document_has_its_name_as_title_and_takes_its_own_members_along():
    part = MediaPart(kind="document", file_id="f", name="a.pdf", provider_data={"citations": {"enabled": True}, "type": "no"})
    block = {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "a.pdf", "citations": {"enabled": True}}
    assert media_block(part, PROFILE) == block


def test_what_has_no_place_is_left_out_and_said():
    parts = [
        MediaPart(kind="audio", data=b"x"),
        OpaquePart({"type": "new"}),
        ProviderItem(provider="p", protocol="x", raw=b"{}"),
        TextPart("a"),
    ]
    assert read(*parts) == (
        [text("a")],
        [(0, "audio: this provider takes none"), (1, "a part of the type 'new'"), (2, "a ProviderItem")],
    )
    assert media_block(MediaPart(kind="image", data=b"x"), Profile(supports_images=False)) == "image: this provider takes none"


class TestResults:
    def result(self, parts, state="success", profile=PROFILE, **fields):
        notes = []
        block = result_block(ToolResultPart(call_id="x", parts=parts, state=state, **fields), "w", "look", profile, notes)
        return block, [note.text for note in notes]

    @pytest.mark.parametrize(
        ("parts", "state", "block"),
        [
            ("12:00", "success", {"content": "12:00"}),
            ([], "success", {}),
            ("boom", "error", {"content": "boom", "is_error": True}),
            ([], "error", {"content": "Error: the tool failed.", "is_error": True}),
            ("by Ann", "denied", {"content": "Denied: by Ann", "is_error": True}),
            ([], "timed_out", {"content": "Timed out: the tool took too long.", "is_error": True}),
        ],
    )
    def test_a_failure_has_a_flag_and_how_it_ended_is_said_in_words_where_the_flag_says_too_little(self, parts, state, block):
        assert self.result(parts, state) == ({"type": "tool_result", "tool_use_id": "w", **block}, [])

    def test_images_stand_in_the_result(self):
        image = MediaPart(kind="image", url="https://x")
        blocks = [text("see"), {"type": "image", "source": {"type": "url", "url": "https://x"}}]
        assert self.result(["see", image])[0]["content"] == blocks
        assert self.result(["see", image], "error")[0]["content"] == blocks
        assert self.result(["see", image], "interrupted")[0]["content"] == [text("Interrupted:"), *blocks]

    def test_where_a_server_takes_no_images_there_they_are_named_and_said(self):
        image = MediaPart(kind="image", url="https://x")
        block, [note] = self.result([image], profile=Profile())
        assert block["content"] == "[image, which could not be passed on]"
        assert note == "image: this provider takes none in a tool's result (in the result of look)"

    def test_what_cannot_be_passed_on_is_named_in_its_place(self):
        block, [note] = self.result(["a", MediaPart(kind="audio", data=b"x")])
        assert block["content"] == "a\n[audio, which could not be passed on]"
        assert note == "audio: this provider takes none (in the result of look)"
