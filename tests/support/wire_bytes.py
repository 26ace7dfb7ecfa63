"""Bodies of Cohere v2, Ollama and DashScope as their servers send them."""

from __future__ import annotations

import json


def dumped(value):
    """Compact JSON, not escaped, as these servers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# ---------------------------------------------------------------------------------------------- Cohere v2


def cohere(kind, index=None, **fields):
    """One event of Cohere."""
    value = {"type": kind, **({} if index is None else {"index": index}), **fields}
    return b"event: " + kind.encode() + b"\ndata: " + dumped(value) + b"\n\n"


def cohere_message(kind, index=None, **message):
    """One event of Cohere that adds to the message."""
    return cohere(kind, index, delta={"message": message})


def cohere_block(index, kind, *pieces):
    """The events of a block."""
    return [
        cohere_message("content-start", index, content={"type": kind, kind: ""}),
        *(cohere_message("content-delta", index, content={kind: piece}) for piece in pieces),
        cohere("content-end", index),
    ]


def cohere_call(index, name, *pieces, identifier=None):
    """The events of a call."""
    function = {"name": name, "arguments": ""}
    return [
        cohere_message("tool-call-start", index, tool_calls={"id": identifier or f"{name}_1", "type": "function", "function": function}),
        *(cohere_message("tool-call-delta", index, tool_calls={"function": {"arguments": piece}}) for piece in pieces),
        cohere("tool-call-end", index),
    ]


def cohere_stream(*events, finish="COMPLETE", identifier="m1", is_done=True, **end):
    """A whole stream around some events."""
    usage = {
        "billed_units": {"input_tokens": 3, "output_tokens": 2},
        "tokens": {"input_tokens": 30, "output_tokens": 20},
        "cached_tokens": 9,
    }
    start = cohere(
        "message-start", id=identifier, delta={"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}}
    )
    last = cohere("message-end", delta={"finish_reason": finish, "usage": usage, **end})
    return b"".join([start, *events, last, *([b"data: [DONE]\n\n"] if is_done else [])])


# ---------------------------------------------------------------------------------------------- Ollama


def line(message=None, **fields):
    """One line of `/api/chat`."""
    body = {} if message is None else {"message": {"role": "assistant", "content": "", **message}}
    return dumped({"model": "m", "created_at": "2026-05-04T12:00:00.123456789Z", **body, "done": False, **fields}) + b"\n"


def last_line(reason="stop", message=None, **fields):
    """The last line of `/api/chat`."""
    return line(message or {}, done=True, **({} if reason is None else {"done_reason": reason}), **fields)


# ---------------------------------------------------------------------------------------------- DashScope


def result(value, number=1, *, event="result", status=200):
    """One event of DashScope."""
    return f"id:{number}\nevent:{event}\n:HTTP_STATUS/{status}\ndata:".encode() + dumped(value) + b"\n\n"


def said(message, finish="null", number=1, **fields):
    """One event of DashScope that says something."""
    output = {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]}
    return result({"output": output, "usage": {"input_tokens": 9, "output_tokens": number}, "request_id": "r", **fields}, number)


def said_texts(*texts, finish="stop"):
    """The events of a stream of texts; the last one ends it."""
    return [said({"content": text}, finish if n == len(texts) else "null", n) for n, text in enumerate(texts, 1)]
