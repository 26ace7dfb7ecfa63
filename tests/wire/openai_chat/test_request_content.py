import pytest

from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, TextPart
from headrace.wire.openai_chat.request_content import user_content
from headrace.wire.profile import DEFAULT, Profile

PNG = b"\x89PNG\r\n\x1a\n"


def content(*parts, profile=DEFAULT):
    notes = []
    return user_content(parts, profile, notes), [(note.part, note.text) for note in notes]


def one(part, profile=DEFAULT):
    value, notes = content(part, profile=profile)
    assert notes == []
    [item] = value
    return item


def test_texts_are_one_string_joined_with_nothing():
    assert content(TextPart("Hel"), TextPart("lo")) == ("Hello", [])
    assert content() == ("", [])


def test_a_json_value_is_its_text_on_a_line_of_its_own():
    value, _ = content(TextPart("Look:"), JsonPart({"a": [1, None]}), JsonPart("s"), TextPart("Well?"))
    assert value == 'Look:\n{"a":[1,null]}\n"s"\nWell?'


def test_a_json_value_needs_no_second_line_end():
    value, _ = content(TextPart("Look:\n"), JsonPart(1), TextPart("\nWell?"))
    assert value == "Look:\n1\nWell?"


def test_texts_around_an_image_stay_where_they_are():
    image = MediaPart(kind="image", url="https://x/y.png", provider_data={"detail": "low", "url": "not this"})
    assert content(TextPart("a"), TextPart("b"), image, TextPart("c"))[0] == [
        {"type": "text", "text": "ab"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
        {"type": "text", "text": "c"},
    ]


@pytest.mark.parametrize(
    ("data", "media_type", "expected"),
    [
        (PNG, None, "data:image/png;base64,iVBORw0KGgo="),
        (b"\xff\xd8\xff", None, "data:image/jpeg;base64,/9j/"),
        (b"GIF8", None, "data:image/gif;base64,R0lGOA=="),
        (b"RIFF", None, "data:image/webp;base64,UklGRg=="),
        (b"??", None, "data:image/png;base64,Pz8="),
        (PNG, "image/x-own", "data:image/x-own;base64,iVBORw0KGgo="),
    ],
)
def test_an_images_bytes_become_a_data_url_of_their_kind(data, media_type, expected):
    item = one(MediaPart(kind="image", data=data, media_type=media_type))
    assert item == {"type": "image_url", "image_url": {"url": expected}}


@pytest.mark.parametrize(
    ("media_type", "format_"),
    [
        (None, "wav"),
        ("audio/wav", "wav"),
        ("audio/x-wav", "wav"),
        ("audio/mpeg", "mp3"),
        ("audio/FLAC; rate=8000", "flac"),
        ("audio/mp3", "mp3"),
    ],
)
def test_sound_goes_as_base64_with_its_format(media_type, format_):
    item = one(MediaPart(kind="audio", data=b"ab", media_type=media_type))
    assert item == {"type": "input_audio", "input_audio": {"data": "YWI=", "format": format_}}


def test_sound_in_a_data_url_is_taken_out_of_it():
    item = one(MediaPart(kind="audio", url="data:audio/mpeg;base64,YWI="))
    assert item == {"type": "input_audio", "input_audio": {"data": "YWI=", "format": "mp3"}}


def test_a_document_goes_by_its_bytes_its_data_url_or_its_file_id():
    assert one(MediaPart(kind="document", data=b"ab", name="a.pdf")) == {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,YWI="},
    }
    assert one(MediaPart(kind="document", url="data:text/plain,x")) == {
        "type": "file",
        "file": {"filename": "document", "file_data": "data:text/plain,x"},
    }
    assert one(MediaPart(kind="document", file_id="file-1")) == {"type": "file", "file": {"file_id": "file-1"}}


def test_a_document_goes_by_its_address_only_where_the_server_fetches_it():
    part = MediaPart(kind="document", url="https://x/y.pdf", name="y.pdf")
    assert one(part, DEFAULT.replace(supports_file_urls=True))["file"]["file_data"] == "https://x/y.pdf"
    value, [(at, why)] = content(part)
    assert (value, at) == ("", 0)
    assert "address" in why


def test_video_goes_where_the_server_takes_it():
    part = MediaPart(kind="video", data=b"ab")
    assert one(part, DEFAULT.replace(supports_video=True)) == {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,YWI="}}
    assert content(TextPart("a"), part)[1] == [(1, "video: this provider takes none")]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (MediaPart(kind="image", file_id="f"), "uploaded"),
        (MediaPart(kind="audio", url="https://x/y.wav"), "address"),
        (MediaPart(kind="audio", url="data:audio/wav,x"), "address"),
        (MediaPart(kind="audio", file_id="f"), "address"),
        (OpaquePart({"type": "hologram"}), "does not know"),
    ],
)
def test_what_the_wire_has_no_place_for_is_left_out_and_said(part, why):
    value, [(at, text)] = content(TextPart("a"), part, TextPart("b"))
    assert (value, at) == ("ab", 1)
    assert why in text


@pytest.mark.parametrize(
    ("kind", "switch"),
    [("image", "supports_images"), ("audio", "supports_audio"), ("video", "supports_video"), ("document", "supports_files")],
)
def test_media_that_the_server_does_not_take_are_left_out_and_said(kind, switch):
    value, [(_, text)] = content(MediaPart(kind=kind, data=b"x"), profile=Profile(**{switch: False}))
    assert value == ""
    assert kind in text
