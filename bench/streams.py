"""Makes Chat Completions streams of any size, deterministic, read by read, so that a long one needs no memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

WORDS = (" the", " river", " ran", "s on", " and", " on, ", "past", " mills\n", "all.", " dã y")


def _event(delta: dict[str, object] | None, finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    body = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "bench-model",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": choices,
        "usage": usage,
    }
    return b"data: " + json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def _head(kind: str) -> bytes:
    start = _event({"role": "assistant", "content": "", "refusal": None})
    if kind == "text":
        return start
    for index in range(4):
        function = {"name": "look_up", "arguments": '{"query":"'}
        start += _event({"tool_calls": [{"index": index, "id": f"call_{index:08d}", "type": "function", "function": function}]})
    return start


def _tail(kind: str) -> bytes:
    end = b""
    if kind == "arguments":
        for index in range(4):
            end += _event({"tool_calls": [{"index": index, "function": {"arguments": '"}'}}]})
    end += _event({}, finish="stop" if kind == "text" else "tool_calls")
    return end + _event(None, usage={"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}) + b"data: [DONE]\n\n"


def _body(kind: str, n: int) -> bytes:
    if kind == "text":
        return _event({"content": WORDS[n % len(WORDS)]})
    return _event({"tool_calls": [{"index": n % 4, "function": {"arguments": WORDS[n % 9].strip()}}]})


def chunk_count(kind: str, n: int) -> int:
    """How many events a stream of n deltas has."""
    return _head(kind).count(b"data:") + n + _tail(kind).count(b"data:")


def reads(kind: str, n: int, size: int) -> Iterator[bytes]:
    """Give a stream of n deltas (`text` or `arguments`) in reads of `size` bytes."""
    block = b"".join(_body(kind, i) for i in range(1000 - 1000 % 180))
    per_block = 1000 - 1000 % 180
    buffer = _head(kind)
    left = n
    while left or buffer:
        if left and len(buffer) < size:
            if left >= per_block:
                buffer += block
                left -= per_block
            else:
                buffer += b"".join(_body(kind, i) for i in range(left)) + _tail(kind)
                left = 0
            continue
        yield buffer[:size]
        buffer = buffer[size:]
