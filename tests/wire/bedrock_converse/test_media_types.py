"""Formats and media types, there and back."""

from __future__ import annotations

import pytest

from headrace.wire.bedrock_converse.media_types import FORMATS, format_of, media_type_of


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in FORMATS.items() for name in names])
def test_every_format_goes_there_and_back(kind, name):
    assert format_of(kind, media_type_of(kind, name)) == name


@pytest.mark.parametrize(
    ("kind", "media_type", "name"),
    [
        ("image", "IMAGE/PNG; q=1", "png"),
        ("image", "image/jpg", "jpeg"),
        ("audio", "audio/x-wav", "wav"),
        ("document", "image/png", None),
        ("image", "audio/x-wav", None),
        ("image", "image/tiff", None),
    ],
)
def test_other_spellings_are_known_and_other_formats_are_not(kind, media_type, name):
    assert format_of(kind, media_type) == name


def test_an_unknown_format_is_its_own_media_type():
    assert media_type_of("image", "tiff") == "image/tiff"
    assert media_type_of("document", "rtf") == "application/rtf"
    assert media_type_of("image", None) is None
