"""Answers on their way out: chunks of a body or made by hand, written by a protocol's `StreamOut`, and read again."""

from __future__ import annotations

import json

from decoding_runs import decoded
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import Ended, FinishDelta
from headrace.wire.protocols import WIRES
from headrace.wire.server_side import AnswerOptions, Head

HEAD = Head(id="7", model="m-0", created_s=1_770_000_000)


def writer(protocol, *, includes_usage=True, **options):
    """A fresh writer of one answer."""
    return WIRES[protocol].new_stream_out()(HEAD, AnswerOptions(includes_usage=includes_usage), **options)


def chunk(*deltas):
    """A chunk as a decoder gives it."""
    return AssistantMessageChunk.from_deltas(deltas, is_from_wire=True)


def ended(word="stop", error=None):
    """The last chunk of a stream."""
    return chunk(*([FinishDelta(word)] if word else []), Ended(error, is_terminated=error is None))


def pieces(protocol, chunks, error=None, **options):
    """What goes out for each chunk, and at the end."""
    out = writer(protocol, **options)
    return [*(out.feed(item) for item in chunks), out.close(error)], out


def written(protocol, chunks, error=None, **options):
    """The whole stream."""
    return b"".join(pieces(protocol, chunks, error, **options)[0])


def passed_on(body, *, source, target, **options):
    """What a client is sent of a body of one protocol: the pieces that are not empty."""
    chunks, _ = decoded(body, protocol=source)
    return [piece for piece in pieces(target, chunks, **options)[0] if piece]


def events(body):
    """The JSON of each event; what is no JSON as its text."""
    datas = [line.removeprefix("data:").strip() for line in body.decode().splitlines() if line.startswith("data:")]
    return [json.loads(data) if data.startswith("{") else data for data in datas]


def essence(summary, *, with_ids=True):
    """What has to be the same before and after: the words, the calls in whatever order, the end, the counts."""
    calls = [
        {key: value for key, value in call.items() if key != "id_made_up" and (with_ids or key != "id")} for call in summary["tool_calls"]
    ]
    return {
        **{name: summary[name] for name in ("text", "reasoning", "refusal", "finish_reason", "usage")},
        "tool_calls": sorted(calls, key=lambda call: json.dumps(call, sort_keys=True)),
        "error": None if summary["error"] is None else summary["error"]["message"],
    }
