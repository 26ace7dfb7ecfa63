"""Bodies of Chat Completions as a server sends them, and a clock that stands still."""

from __future__ import annotations

import json
from datetime import UTC, datetime

DONE = b"data: [DONE]\n\n"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def event(value):
    """One server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta=None, finish=None, **fields):
    """One event of a stream."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event(
        {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1_770_000_000, "model": "m-1", "choices": [choice], **fields}
    )


def text_stream(*pieces, finish="stop"):
    """The events of an answer in text, usage and terminator included."""
    usage = {"prompt_tokens": 3, "completion_tokens": len(pieces), "total_tokens": 3 + len(pieces)}
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": piece}) for piece in pieces),
        chunk(finish=finish),
        chunk(choices=[], usage=usage),
        DONE,
    ]


def call_stream(name="clock", *pieces, id="call_a", finish="tool_calls"):  # noqa: A002 - the wire's word
    """The events of an answer that calls one tool, its arguments in pieces."""
    start = {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
    return [
        chunk({"role": "assistant", "content": None, "tool_calls": [start]}),
        *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces),
        chunk(finish=finish),
        DONE,
    ]


def whole_body(text, *, calls=(), finish="stop", usage=None):
    """An answer that was not streamed."""
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}} for call_id, name, arguments in calls
        ]
    body = {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 1_770_000_000,
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage or {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }
    return json.dumps(body).encode()


class StillClock:
    """Time that passes only while somebody sleeps, and chance that is always the same."""

    def __init__(self, chance=0.5):
        self.time_s = 0.0
        self.slept = []
        self._chance = chance

    def elapsed_s(self):
        return self.time_s

    def now(self):
        return NOON

    def chance(self):
        return self._chance

    async def sleep(self, delay_s):
        self.slept.append(delay_s)
        self.time_s += delay_s
