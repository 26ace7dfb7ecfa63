"""The values of the transport seam."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.io.replay import ReplayTransport
from headrace.io.transport import HTTPRequest, Timeouts, read_bounded

REQUEST = HTTPRequest("GET", "http://host/")


@pytest.mark.parametrize("name", ["connect_s", "first_chunk_s", "idle_s", "total_s"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan")])
def test_a_limit_that_nothing_can_keep_is_refused(name, value):
    with pytest.raises(ConfigError, match=name) as caught:
        Timeouts(**{name: value})
    assert caught.value.argument == name


def test_none_means_no_limit():
    assert Timeouts(connect_s=None, first_chunk_s=None, idle_s=None).total_s is None


def test_a_request_shows_no_secrets():
    request = HTTPRequest(
        "POST", "https://u:pw-of-u@h/p?key=k1&alt=sse", headers=(("X-API-Key", "k2"), ("accept", "a/b")), body=b"my prompt"
    )
    shown = repr(request)
    assert shown == "HTTPRequest(POST https://***@h/p?key=***&alt=sse, headers=(('X-API-Key', '***'), ('accept', 'a/b')), body=9 bytes)"


@pytest.mark.parametrize(("limit", "expected"), [(100, b"0123456789"), (10, b"0123456789"), (9, b"012345678"), (5, b"01234"), (0, b"")])
@pytest.mark.parametrize("slicing", ["whole", 1, 3])
async def test_a_bounded_read_keeps_its_bound(limit, expected, slicing):
    async with ReplayTransport(b"0123456789", slicing=slicing).stream(REQUEST) as response:
        assert await read_bounded(response, limit) == expected


async def test_a_bounded_read_does_not_wait_for_what_lies_beyond():
    taken = []

    def pieces(body):
        for piece in (b"abc", b"def", b"ghi"):
            taken.append(piece)
            yield piece

    async with ReplayTransport(b"abcdefghi", slicing=pieces).stream(REQUEST) as response:
        assert await read_bounded(response, 6) == b"abcdef"
    assert taken == [b"abc", b"def"]
