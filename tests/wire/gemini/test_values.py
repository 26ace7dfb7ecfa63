from datetime import UTC, datetime

import pytest

from headrace.errors import UsageError
from headrace.wire.gemini.values import bytes_of, kept, kind_of, text_of, time_of


@pytest.mark.parametrize(
    ("text", "data"),
    [("aWNvbg==", b"icon"), ("aWNvbg", b"icon"), ("_-8=", b"\xff\xef"), ("", b""), ("!", None), ("a", None), (7, None), ("é", None)],
)
def test_base64_of_either_alphabet_is_read(text, data):
    assert bytes_of(text) == data


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [("image/png", "image"), ("AUDIO/x", "audio"), ("video/mp4", "video"), ("text/csv", "document"), (None, "document")],
)
def test_what_kind_of_medium_a_type_is(media_type, kind):
    assert kind_of(media_type) == kind


def test_a_text_that_says_nothing_is_none():
    assert [text_of(value) for value in ("a\ud800", "", None, 7, [])] == ["a\ufffd", None, None, None, None]


@pytest.mark.parametrize("value", [None, 7, "yesterday", "9999-12-31T23:59:59-14:00"])
def test_what_is_no_time_is_none(value):
    assert time_of(value) is None


def test_times_are_in_utc():
    assert time_of("2026-05-04T20:01:02Z") == time_of("2026-05-04T22:01:02+02:00") == time_of("2026-05-04T20:01:02")
    assert time_of("2026-05-04T20:01:02") == datetime(2026, 5, 4, 20, 1, 2, tzinfo=UTC)


def test_what_is_kept_can_be_written():
    assert kept({"a": ["\ud800"]}) == {"a": ["\ufffd"]}
    with pytest.raises(UsageError):
        kept({"a": 10**5000})
