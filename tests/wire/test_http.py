import pytest

from headrace.errors import UsageError
from headrace.wire.http import EncodedRequest, join_headers


def test_the_callers_headers_win_without_case():
    assert join_headers({"Accept": "a", "content-type": "b"}, {"ACCEPT": "c", "X-One": "1"}) == (
        ("accept", "c"),
        ("content-type", "b"),
        ("x-one", "1"),
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x one", "1"),
        ("", "1"),
        ("x", "1\r\nhost: evil"),
        ("x", "\u20ac"),
        ("Host", "evil"),
        ("content-length", "3"),
        ("Transfer-Encoding", "chunked"),
    ],
)
def test_a_header_that_could_change_the_request_itself_is_refused(name, value):
    with pytest.raises(UsageError, match="extra_headers") as caught:
        join_headers({}, {name: value})
    assert repr(name) in caught.value.argument


def test_the_repr_shows_no_header_value():
    assert "sesame" not in repr(EncodedRequest("/p", b"{}", (("authorization", "sesame"),)))
