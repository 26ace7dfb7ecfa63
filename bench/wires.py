"""Each protocol's cost per event, beside decoding the same bytes with msgspec into narrow typed Structs.

    python bench/wires.py [--quick] [--json FILE]

The base cuts the body as that protocol is cut (lines, or AWS frames by their lengths), decodes each event into a Struct that has only the
text and the arguments, and appends them. It checks no sum, sees no fault, keeps nothing else and gives no chunks. CPU time, medians of runs
taken in turn.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import gc
import json
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from headrace import StreamDecoder

GOAL = 3.0
WORDS = (" the", " river", " ran", "s on", " and", " on, ", "past", " mills\\n", "all.", " d\u00e3 y")
READ = 65536


class _Part(msgspec.Struct, gc=False):
    text: str | None = None


class _Content(msgspec.Struct, gc=False):
    parts: list[_Part] = []


class _Candidate(msgspec.Struct, gc=False):
    content: _Content | None = None


class Gemini(msgspec.Struct, gc=False):
    """A Gemini event."""

    candidates: list[_Candidate] = []

    def piece(self) -> str | None:
        """Return its text."""
        content = self.candidates[0].content if self.candidates else None
        return content.parts[0].text if content and content.parts else None


class _ChatDelta(msgspec.Struct, gc=False):
    content: str | None = None


class _ChatChoice(msgspec.Struct, gc=False):
    delta: _ChatDelta


class Chat(msgspec.Struct, gc=False):
    """A Chat Completions event."""

    choices: list[_ChatChoice] = []

    def piece(self) -> str | None:
        """Return its text."""
        return self.choices[0].delta.content if self.choices else None


class Responses(msgspec.Struct, gc=False):
    """A Responses event."""

    type: str
    delta: str | None = None

    def piece(self) -> str | None:
        """Return its text."""
        return self.delta


class _AnthropicDelta(msgspec.Struct, gc=False):
    text: str | None = None


class Anthropic(msgspec.Struct, gc=False):
    """A Messages event."""

    type: str
    delta: _AnthropicDelta | None = None

    def piece(self) -> str | None:
        """Return its text."""
        return self.delta.text if self.delta else None


class _Interaction(msgspec.Struct, gc=False):
    text: str | None = None


class Interactions(msgspec.Struct, gc=False):
    """An Interactions event."""

    event_type: str = ""
    delta: _Interaction | None = None

    def piece(self) -> str | None:
        """Return its text."""
        return self.delta.text if self.delta else None


class Converse(msgspec.Struct, gc=False):
    """A Converse event's payload."""

    delta: _AnthropicDelta | None = None

    def piece(self) -> str | None:
        """Return its text."""
        return self.delta.text if self.delta else None


class Invoke(msgspec.Struct, gc=False):
    """An InvokeModel chunk's payload."""

    chunk: bytes = msgspec.field(default=b"", name="bytes")

    def piece(self) -> str | None:
        """Return its text."""
        return _INNER(self.chunk).piece()


_INNER = msgspec.json.Decoder(Anthropic).decode


class _CohereContent(msgspec.Struct, gc=False):
    text: str | None = None


class _CohereMessage(msgspec.Struct, gc=False):
    content: _CohereContent | list[Any] | None = None


class _CohereDelta(msgspec.Struct, gc=False):
    message: _CohereMessage | None = None


class Cohere(msgspec.Struct, gc=False):
    """A Cohere event."""

    type: str
    delta: _CohereDelta | None = None

    def piece(self) -> str | None:
        """Return its text."""
        message = self.delta.message if self.delta else None
        return message.content.text if message and isinstance(message.content, _CohereContent) else None


class _OllamaMessage(msgspec.Struct, gc=False):
    content: str | None = None


class Ollama(msgspec.Struct, gc=False):
    """An Ollama line."""

    message: _OllamaMessage | None = None

    def piece(self) -> str | None:
        """Return its text."""
        return self.message.content if self.message else None


class _DashChoice(msgspec.Struct, gc=False):
    message: _OllamaMessage


class _DashOutput(msgspec.Struct, gc=False):
    choices: list[_DashChoice] = []


class DashScope(msgspec.Struct, gc=False):
    """A DashScope event."""

    output: _DashOutput | None = None

    def piece(self) -> str | None:
        """Return its text."""
        return self.output.choices[0].message.content if self.output and self.output.choices else None


def dumps(value: Any) -> bytes:
    """Write compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def sse(event: dict[str, Any], *, name: str | None = None, space: str = " ") -> bytes:
    """Write a server-sent event."""
    head = f"event:{space}{name}\n".encode() if name else b""
    return head + f"data:{space}".encode() + dumps(event) + b"\n\n"


def aws(name: str, payload: dict[str, Any]) -> bytes:
    """Write an AWS event-stream message."""
    pairs = ((":event-type", name), (":content-type", "application/json"), (":message-type", "event"))
    headers = b"".join(bytes([len(key)]) + key.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode() for key, value in pairs)
    body = dumps(payload)
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + body
    return message + struct.pack("!I", binascii.crc32(message))


def words(n: int) -> Iterator[tuple[int, str]]:
    """Give n pieces of text."""
    for i in range(n):
        yield i, WORDS[i % len(WORDS)]


def chat(n: int) -> bytes:
    """Write a Chat Completions stream."""
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    body = b"".join(sse({**base, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}) for _, word in words(n))
    return body + sse({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n"


def responses(n: int) -> bytes:
    """Write a Responses stream."""
    item = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    events = [
        {"type": "response.created", "sequence_number": 0, "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
        {"type": "response.content_part.added", "sequence_number": 2, "item_id": "msg_1", "output_index": 0, "content_index": 0,
         "part": {"type": "output_text", "text": "", "annotations": []}},
    ]  # fmt: skip
    for i, word in words(n):
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_text.delta", "sequence_number": i + 3, **place, "delta": word, "logprobs": []})
    events.append(
        {"type": "response.completed", "sequence_number": n + 3, "response": {"id": "r", "model": "m", "status": "completed", "output": []}}
    )
    return b"".join(sse(event, name=event["type"]) for event in events)


def _anthropic_events(n: int) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    events += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for _, word in words(n)]
    events.append({"type": "content_block_stop", "index": 0})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": n}})
    return [*events, {"type": "message_stop"}]


def anthropic(n: int) -> bytes:
    """Write a Messages stream."""
    return b"".join(sse(event, name=event["type"]) for event in _anthropic_events(n))


def gemini(n: int) -> bytes:
    """Write a Gemini stream."""

    def event(word: str, **more: Any) -> bytes:
        candidate = {"content": {"parts": [{"text": word}], "role": "model"}, "index": 0, **more}
        return sse({"candidates": [candidate], "modelVersion": "m", "responseId": "r"}).replace(b"\n", b"\r\n")

    return b"".join(event(word) for _, word in words(n - 1)) + event(WORDS[(n - 1) % len(WORDS)], finishReason="STOP")


def interactions(n: int) -> bytes:
    """Write an Interactions stream."""
    events: list[dict[str, Any]] = [
        {"event_type": "interaction.created", "interaction": {"id": "i", "model": "m", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
    ]
    events += [{"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": word}} for _, word in words(n)]
    events.append({"event_type": "step.stop", "index": 0})
    events.append(
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "completed", "usage": {"total_output_tokens": n}}}
    )
    return b"".join(sse(event, name=event["event_type"]) for event in events)


def converse(n: int) -> bytes:
    """Write a Converse stream."""
    body = aws("messageStart", {"role": "assistant", "p": "abc"})
    body += b"".join(aws("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}, "p": "abcdefgh"}) for _, word in words(n))
    body += aws("contentBlockStop", {"contentBlockIndex": 0}) + aws("messageStop", {"stopReason": "end_turn"})
    return body + aws("metadata", {"usage": {"inputTokens": 1, "outputTokens": n, "totalTokens": n + 1}})


def invoke(n: int) -> bytes:
    """Write an InvokeModel stream of nested Messages events."""
    return b"".join(aws("chunk", {"bytes": base64.b64encode(dumps(event)).decode(), "p": "abcd"}) for event in _anthropic_events(n))


def cohere(n: int) -> bytes:
    """Write a Cohere stream."""
    events: list[dict[str, Any]] = [
        {"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
    ]
    events += [{"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": word}}}} for _, word in words(n)]
    events.append({"type": "content-end", "index": 0})
    events.append(
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 1, "output_tokens": n}}}}
    )
    return b"".join(sse(event, name=event["type"]) for event in events)


def ollama(n: int) -> bytes:
    """Write an Ollama stream."""
    base = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    body = b"".join(dumps({**base, "message": {"role": "assistant", "content": word}, "done": False}) + b"\n" for _, word in words(n))
    return (
        body
        + dumps({**base, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "eval_count": n})
        + b"\n"
    )


def dashscope(n: int) -> bytes:
    """Write a DashScope stream of increments."""

    def event(i: int, word: str, finish: str) -> bytes:
        output = {"choices": [{"message": {"content": word, "role": "assistant"}, "finish_reason": finish}]}
        usage = {"input_tokens": 1, "output_tokens": i + 1, "total_tokens": i + 2}
        return f"id:{i + 1}\nevent:result\n:HTTP_STATUS/200\n".encode() + sse(
            {"output": output, "usage": usage, "request_id": "r"}, space=""
        )

    return b"".join(event(i, word, "null") for i, word in words(n)) + event(n, "", "stop")


def from_lines(kind: type[Any]) -> Callable[[bytes], tuple[str, int]]:
    """Return a base that reads `data:` lines, or lines of bare JSON."""
    decode = msgspec.json.Decoder(kind).decode

    def read(body: bytes) -> tuple[str, int]:
        text: list[str] = []
        count, rest = 0, b""
        for at in range(0, len(body), READ):
            lines = (rest + body[at : at + READ]).split(b"\n")
            rest = lines.pop()
            for line in lines:
                data = line[5:] if line.startswith(b"data:") else line
                if not data.lstrip().startswith(b"{"):
                    continue
                count += 1
                piece = decode(data).piece()
                if piece:
                    text.append(piece)
        return "".join(text), count

    return read


def from_aws(kind: type[Any]) -> Callable[[bytes], tuple[str, int]]:
    """Return a base that reads AWS messages by their lengths."""
    decode = msgspec.json.Decoder(kind).decode

    def read(body: bytes) -> tuple[str, int]:
        text: list[str] = []
        at = count = 0
        while at < len(body):
            total, headers = struct.unpack_from("!II", body, at)
            piece = decode(body[at + 12 + headers : at + total - 4]).piece()
            if piece:
                text.append(piece)
            at += total
            count += 1
        return "".join(text), count

    return read


CASES: dict[str, tuple[Callable[[int], bytes], Callable[[bytes], tuple[str, int]]]] = {
    "openai-chat": (chat, from_lines(Chat)),
    "openai-responses": (responses, from_lines(Responses)),
    "anthropic-messages": (anthropic, from_lines(Anthropic)),
    "gemini": (gemini, from_lines(Gemini)),
    "gemini-interactions": (interactions, from_lines(Interactions)),
    "bedrock-converse": (converse, from_aws(Converse)),
    "bedrock-invoke": (invoke, from_aws(Invoke)),
    "cohere-v2": (cohere, from_lines(Cohere)),
    "ollama": (ollama, from_lines(Ollama)),
    "dashscope": (dashscope, from_lines(DashScope)),
}


def ours(protocol: str, body: bytes) -> str:
    """Decode with headrace, each chunk taken in hand, as a caller would."""
    decoder = StreamDecoder(protocol=protocol, options={"incremental_output": True} if protocol == "dashscope" else None)
    for at in range(0, len(body), READ):
        for _chunk in decoder.feed(body[at : at + READ]):
            pass
    decoder.close()
    return decoder.result.message.text


def clocked(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it gave."""
    gc.collect()
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller streams")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    parser.add_argument("--only", default="", help="protocols whose name contains this")
    arguments = parser.parse_args()
    n, runs = (2_000, 3) if arguments.quick else (10_000, 7)
    rows = []
    for protocol, (make, base) in CASES.items():
        if arguments.only not in protocol:
            continue
        body, pairs, count = make(n), [], 0
        for _ in range(runs):
            floor, (want, count) = clocked(base, body)
            mine, got = clocked(ours, protocol, body)
            assert got == want, f"{protocol}: headrace and the base read different texts"
            pairs.append((mine, floor))
        mine, floor = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(m / f for m, f in pairs)
        rows.append({"protocol": protocol, "events": count, "us": mine / count * 1e6, "base_us": floor / count * 1e6, "ratio": ratio})
        print(
            f"{protocol:20} {mine / count * 1e6:7.3f} us an event   base {floor / count * 1e6:7.3f}   ratio {ratio:5.2f}  (goal {GOAL})",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
