"""Media as Converse blocks."""

from __future__ import annotations

import pytest

from headrace.messages.parts import MediaPart
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_media import cache_point, document_name, media_block


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (MediaPart(kind="image", data=b"\xff\xd8\xff"), {"image": {"format": "jpeg", "source": {"bytes": "/9j/"}}}),
        (MediaPart(kind="image", data=b"x"), {"image": {"format": "png", "source": {"bytes": "eA=="}}}),
        (MediaPart(kind="image", data=b"x", media_type="image/webp"), {"image": {"format": "webp", "source": {"bytes": "eA=="}}}),
        (MediaPart(kind="image", url="data:image/gif;base64,eA=="), {"image": {"format": "gif", "source": {"bytes": "eA=="}}}),
        (MediaPart(kind="image", url="data:;base64,eA=="), {"image": {"format": "png", "source": {"bytes": "eA=="}}}),
        (
            MediaPart(kind="video", url="s3://b/k.mov", media_type="video/quicktime"),
            {"video": {"format": "mov", "source": {"s3Location": {"uri": "s3://b/k.mov"}}}},
        ),
        (MediaPart(kind="audio", data=b"x"), {"audio": {"format": "wav", "source": {"bytes": "eA=="}}}),
        (
            MediaPart(
                kind="document", data=b"%PDF", name="Yearly report.pdf", provider_data={"citations": {"enabled": True}, "cachePoint": {}}
            ),
            {"document": {"format": "pdf", "name": "Yearly report", "source": {"bytes": "JVBERg=="}, "citations": {"enabled": True}}},
        ),
        (
            MediaPart(kind="document", data=b"a,b", media_type="text/csv; charset=utf-8"),
            {"document": {"format": "csv", "name": "document", "source": {"bytes": "YSxi"}}},
        ),
    ],
)
def test_a_medium_is_its_bytes_or_a_place_in_s3(part, block):
    assert media_block(part, BEDROCK) == block


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (MediaPart(kind="image", url="https://x/y.png"), "only the image itself or its place in S3"),
        (MediaPart(kind="image", file_id="f"), "only the image itself or its place in S3"),
        (MediaPart(kind="image", url="data:image/png,x"), "only the image itself or its place in S3"),
        (MediaPart(kind="image", data=b"x", media_type="image/tiff"), "no word for the format image/tiff"),
    ],
)
def test_what_has_no_place_says_why(part, why):
    assert why in media_block(part, BEDROCK)


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_a_server_may_take_none(kind):
    profile = BEDROCK.replace(supports_images=False, supports_audio=False, supports_video=False, supports_files=False)
    assert media_block(MediaPart(kind=kind, data=b"x"), profile) == f"{kind}: this provider takes none"


@pytest.mark.parametrize(
    ("name", "want"),
    [
        (None, "document"),
        ("", "document"),
        (".pdf", "pdf"),
        ("a/b:c.tar.gz", "a b c tar"),
        ("Über  [1](2)-x", "ber [1](2)-x"),
        ("éé.pdf", "document"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_documents_name_is_spelled_with_what_the_wire_allows(name, want):
    assert document_name(name) == want


@pytest.mark.parametrize(
    ("marks", "point"),
    [
        ({}, None),
        ({"cachePoint": "yes"}, None),
        ({"cachePoint": {"type": "default"}}, {"cachePoint": {"type": "default"}}),
        ({"cache_control": {"type": "ephemeral"}}, {"cachePoint": {"type": "default"}}),
        ({"cachePoint": {}, "cache_control": {"ttl": "5m"}}, {"cachePoint": {"type": "default"}}),
        ({"cachePoint": {"ttl": "1h"}}, {"cachePoint": {"type": "default", "ttl": "1h"}}),
    ],
)
def test_a_cache_point_is_asked_for_in_two_spellings(marks, point):
    assert cache_point(marks) == point
