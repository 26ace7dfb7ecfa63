"""Running a decoder over bytes, so that two runs can be compared."""

from __future__ import annotations

import json

from headrace.decoding import StreamDecoder


def decoded(pieces, *, protocol="openai-chat", is_short_way_off=False, complete=True, **options):
    """Feed the pieces; returns the chunks and the result. Where a decoder has no short way, `is_short_way_off` changes nothing."""
    decoder = StreamDecoder(protocol=protocol, **options)
    if is_short_way_off:
        decoder._decoder._tries = 0
    chunks = []
    for piece in [pieces] if isinstance(pieces, bytes) else pieces:
        chunks += decoder.feed(piece)
    chunks += decoder.close(complete=complete)
    return chunks, decoder.result


def deltas_of(chunks):
    """The deltas of each chunk; they compare with their places in the stream."""
    return [chunk.deltas for chunk in chunks]


def check_result(chunks, result):
    """What holds for every stream: the chunks are the message, the summary is JSON, nothing of a broken stream can run."""
    messages = sum(chunks).to_messages()  # without choice 0 where only others came
    assert messages == result.choices[-len(messages) :]
    assert sum(chunks).to_message() == result.message
    assert chunks[-1].deltas[-1].error == result.error
    summary = result.summary()
    assert json.loads(json.dumps(summary, ensure_ascii=False).encode()) == summary
    if result.error is not None:
        assert not any(call.runnable for message in result.choices for call in message.tool_calls)
    return summary
