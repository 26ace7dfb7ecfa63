from __future__ import annotations

import pytest

from headrace.wire.beginning import Beginning
from slicing import bytewise

BOM = b"\xef\xbb\xbf"


def read(pieces, *, limit=100):
    """What says something, and all that is known of what stands before it."""
    begin = Beginning(limit)
    text = b""
    for piece in pieces:
        begin.show(piece)
        if begin.exceeded:
            break
        text = text + piece if text else begin.feed(piece)
    return text, begin.blank, begin.is_indented, begin.exceeded, begin.is_cut


@pytest.mark.parametrize(
    ("data", "text", "blank", "is_indented"),
    [
        (b"a \n", b"a \n", 0, False),
        (b"\r\n\n{", b"{", 3, False),
        (b"\n \t{", b"{", 3, True),
        (BOM + b" {", b"{", 4, True),
        (BOM + BOM + b"{", BOM + b"{", 3, False),
        (b" " + BOM, BOM, 1, True),
        (b"\xef\xbbx", b"\xef\xbbx", 0, False),
        (b"\xef\xef", b"\xef\xef", 0, False),
        (b" \n", b"", 2, False),
        (BOM, b"", 3, False),
    ],
)
def test_the_first_byte_that_says_something_is_found(data, text, blank, is_indented):
    assert read([data]) == read(bytewise(data)) == (text, blank, is_indented, False, False)


@pytest.mark.parametrize("data", [BOM[:1], BOM[:2]])
def test_half_a_byte_order_mark_is_cut(data):
    assert read([data], limit=1) == read(bytewise(data), limit=1) == (b"", 0, False, False, True)


@pytest.mark.parametrize("data", [BOM + b"{", b"   {", b"\n\n\n"])
def test_blank_bytes_are_bounded_whatever_stands_behind_them(data):
    assert read([data], limit=3)[3] is False
    for pieces in ([data], bytewise(data)):
        text, _, _, is_exceeded, _ = read(pieces, limit=2)
        assert (text, is_exceeded) == (b"", True)


def test_what_is_shown_is_the_first_200_bytes():
    begin = Beginning(10)
    for piece in bytewise(b"\xff" + b"x" * 300):
        begin.show(piece)
    assert begin.shown == "\ufffd" + "x" * 199
