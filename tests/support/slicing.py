"""Ways to cut the same bytes into reads, and to compare what comes out."""

from __future__ import annotations

from hypothesis import strategies as st

from headrace.wire.frames import Batch, Frame, NamedBatch, NumberedBatch


def bytewise(data):
    """One read a byte."""
    return [data[n : n + 1] for n in range(len(data))]


def sliced(data, size):
    """Reads of one size."""
    return [data[n : n + size] for n in range(0, len(data), size)]


@st.composite
def slicings(draw, data):
    """Reads of any sizes, empty ones included."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def expanded(frames):
    """Each event as a frame, also those of a batch."""
    out = []
    for frame in frames:
        if isinstance(frame, (NamedBatch, NumberedBatch)):
            out += frame.frames()
        elif isinstance(frame, Batch):
            out += [Frame(data, frame.offset_of(n)) for n, data in enumerate(frame.datas)]
        else:
            out.append(frame)
    return out


def frames_of(framer, pieces):
    """What a framer gives for these reads, its end included."""
    frames = []
    for piece in pieces:
        frames += framer.feed(piece)
    return expanded(frames + framer.close())
