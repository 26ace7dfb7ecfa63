import pytest

from headrace.messages.parts import MediaPart
from headrace.wire.gemini.request_media import is_inline, media_part
from headrace.wire.profile import DEFAULT


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (MediaPart(kind="image", data=b"\xff\xd8\xffx"), {"inlineData": {"mimeType": "image/jpeg", "data": "/9j/eA=="}}),
        (MediaPart(kind="audio", data=b"x"), {"inlineData": {"mimeType": "audio/wav", "data": "eA=="}}),
        (MediaPart(kind="image", url="data:;base64,eA=="), {"inlineData": {"mimeType": "image/png", "data": "eA=="}}),
        (MediaPart(kind="image", url="data:text,plain"), {"fileData": {"fileUri": "data:text,plain"}}),
        (
            MediaPart(kind="document", url="gs://b/x.pdf", media_type="application/pdf"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/x.pdf"}},
        ),
        (MediaPart(kind="document", file_id="files/1"), {"fileData": {"fileUri": "files/1"}}),
        (MediaPart(kind="video", file_id="files/1"), "video: this provider takes none"),
    ],
)
def test_where_a_medium_stands(part, expected):
    assert media_part(part, DEFAULT) == expected


def test_whether_the_medium_itself_is_there():
    assert is_inline(MediaPart(kind="image", data=b""))
    assert not is_inline(MediaPart(kind="image", url="https://x"))
