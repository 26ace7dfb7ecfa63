"""How much memory a machine holds while it is fed: its own, whatever else goes on in the process."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import headrace

_HOUSE = Path(headrace.__file__).parent
_ROOMS = ("wire/*", "messages/*", "decoding.py", "_json.py")
# What other threads and other tests' leftovers allocate meanwhile is traced too, so only what these files hold is counted; this one is
# among them, since it makes the pieces, which a machine may keep.
_COUNTED = [tracemalloc.Filter(True, str(path)) for path in [*(_HOUSE / room for room in _ROOMS), Path(__file__)]]
_LOOKS = 64


def most_held(feed, piece, *, times, is_over=lambda: False):
    """Feed copies of a piece until it is over, at most so many; return the most bytes that were held at any look between two of them.

    Args:
        feed: takes bytes.
        piece: the bytes; each copy is an object of its own, so that to keep them costs memory.
        times: how many copies at most.
        is_over: whether nothing more has to be fed.
    """
    every = max(1, times // _LOOKS)
    most = 0
    tracemalloc.start()
    tracemalloc.clear_traces()  # where it was on already
    try:
        for n in range(1, times + 1):
            feed(bytes(bytearray(piece)))
            if n % every == 0 or is_over():
                most = max(most, sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(_COUNTED).traces))
            if is_over():
                break
    finally:
        tracemalloc.stop()
    return most
