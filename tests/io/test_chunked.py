"""The chunked coding: any slicing, all that it allows, and the strictness of the pool's own reader (h11)."""

from __future__ import annotations

import h11
import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.io.chunked import ChunkedBody


def framed(*pieces, trailer=b""):
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailer + b"\r\n"


def read(wire, cuts=()):
    """Feed in slices; returns the body and the machine."""
    body, got, at = ChunkedBody(), b"", 0
    for cut in [*sorted(cuts), len(wire)]:
        got += body.feed(wire[at:cut])
        at = cut
    return got, body


def by_h11(wire):
    """The body as h11 reads it, and whether it is whole; None where it refuses."""
    peer = h11.Connection(h11.CLIENT)
    peer.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    peer.send(h11.EndOfMessage())
    peer.receive_data(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + wire)
    got = b""
    try:
        while True:
            event = peer.next_event()
            if isinstance(event, h11.Data):
                got += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return got, True
            elif event in (h11.NEED_DATA, h11.PAUSED):
                return got, False
    except h11.RemoteProtocolError:
        return None


@pytest.mark.parametrize(
    "wire",
    [
        framed(b"one", b"two\r\n", b"x" * 70_000),
        framed(),
        b"5;name=value \r\nhello\r\n0;last\r\n\r\n",
        framed(b"a", trailer=b"x-sum: 1\r\ny: 2\r\n"),
        b"A\r\n0123456789\r\n00000\r\n\r\n",
    ],
)
def test_a_body_is_the_same_however_it_was_cut(wire):
    whole, body = read(wire)
    assert (whole, True) == by_h11(wire)
    assert body.is_over
    assert not body.has_more
    for cut in range(min(len(wire), 60)):
        assert read(wire, [cut])[0] == whole
    got, body = read(wire[:200] if len(wire) > 200 else wire, range(200))
    assert whole.startswith(got)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(0, 200), max_size=12))
def test_any_pieces_in_any_slices_are_the_body(pieces, cuts):
    wire = framed(*pieces)
    got, body = read(wire, [cut for cut in cuts if cut < len(wire)])
    assert (got, body.is_over, body.has_more) == (b"".join(pieces), True, False)


@given(st.binary(max_size=12), st.binary(max_size=6), st.lists(st.integers(0, 30), max_size=4))
def test_what_the_pools_own_reader_refuses_is_refused(line, more, cuts):
    wire = b"3\r\nabc\r\n" + line + b"\r\n" + more
    try:
        got, body = read(wire, [cut for cut in cuts if cut < len(wire)])
    except httpcore2.RemoteProtocolError:
        return  # h11 may see it later: it does not look at the end of a chunk before it has come
    judged = by_h11(wire)
    assert judged is not None or body.is_over  # trailers are passed over here, not read
    if judged is not None:
        assert judged[0] == got


@pytest.mark.parametrize(
    "wire",
    [
        b"xyz\r\n",
        b"\r\n",
        b"-1\r\n",
        b"0x5\r\nhello\r\n",
        b"1_0\r\n",
        b"5\nhello\r\n" + b"x" * 20_000,
        b"3\r\nabcd\r\n",
        b"3\r\nabc\n\n",
        b"f" * 17 + b"\r\n",
    ],
)
@pytest.mark.parametrize("is_sliced", [False, True])
def test_a_broken_coding_is_an_error(wire, is_sliced):
    with pytest.raises(httpcore2.RemoteProtocolError):
        read(wire, range(min(len(wire), 50)) if is_sliced else ())


@pytest.mark.parametrize("wire", [b"a" * 20_000, b"0\r\n" + b"x: y\r\n" * 20_000, b"0\r\nx: " + b"y" * 20_000])
def test_what_is_held_is_bounded(wire):
    with pytest.raises(httpcore2.RemoteProtocolError, match="too long"):
        read(wire, range(1000, len(wire), 1000))


@pytest.mark.parametrize("cuts", [(), (8,)])
def test_what_stands_behind_the_end_is_noticed_and_not_read(cuts):
    got, body = read(b"1\r\na\r\n0\r\n\r\nHTTP/1.1 200 OK", cuts)
    assert (got, body.is_over, body.has_more) == (b"a", True, True)
