"""Files as parts."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.messages.parts import MediaPart
from headrace.tools import media
from headrace.tools.media import media_file


@pytest.mark.parametrize(
    ("name", "kind", "media_type"),
    [
        ("a.png", "image", "image/png"),
        ("b.JPG", "image", "image/jpeg"),
        ("c.webp", "image", "image/webp"),
        ("d.mp3", "audio", "audio/mpeg"),
        ("e.mp4", "video", "video/mp4"),
        ("f.pdf", "document", "application/pdf"),
        ("g.md", "document", "text/markdown"),
    ],
)
def test_the_name_says_what_it_is(tmp_path, name, kind, media_type):
    (tmp_path / name).write_bytes(b"data")
    assert media_file(tmp_path / name) == MediaPart(kind=kind, data=b"data", media_type=media_type, name=name)
    assert media_file(str(tmp_path / name), name="x").name == "x"


def test_a_type_that_is_given_wins(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    assert media_file(tmp_path / "a", media_type="image/png").kind == "image"
    with pytest.raises(UsageError, match="give media_type"):
        media_file(tmp_path / "a")


def test_a_file_that_could_not_be_sent_is_refused_with_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(media, "MAX_MEDIA_BYTES", 10)
    (tmp_path / "a.png").write_bytes(b"x" * 11)
    with pytest.raises(UsageError, match=r"'a.png' holds 11 bytes; a tool may give back 10"):
        media_file(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(b"x" * 10)
    assert media_file(tmp_path / "a.png").data == b"x" * 10


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        media_file(tmp_path / "a.png")
