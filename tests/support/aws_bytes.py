"""Bodies framed as AWS event streams; the values are our own."""

from __future__ import annotations

import base64
import json
import struct
import zlib


def header(name, kind, value):
    """One header, its value already in bytes."""
    return bytes([len(name.encode())]) + name.encode() + bytes([kind]) + value


def text_header(name, value):
    """A header that is text."""
    return header(name, 7, struct.pack(">H", len(value.encode())) + value.encode())


def aws_frame(headers, payload):
    """One frame; the headers are bytes or a dictionary of texts."""
    if isinstance(headers, dict):
        headers = b"".join(text_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def aws_event(name, payload):
    """An event with a JSON payload (bytes are sent as they are)."""
    data = payload if isinstance(payload, bytes) else compact(payload)
    return aws_frame({":event-type": name, ":content-type": "application/json", ":message-type": "event"}, data)


def aws_exception(name, payload):
    """An exception with a JSON payload."""
    data = payload if isinstance(payload, bytes) else compact(payload)
    return aws_frame({":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}, data)


def aws_events(*pairs):
    """A body of events, each a dictionary with the event's name as its only key."""
    return b"".join(aws_event(name, payload) for pair in pairs for name, payload in pair.items())


def invoke_chunk(event, **beside):
    """A chunk of a model's own stream."""
    data = event if isinstance(event, bytes) else compact(event)
    return aws_event("chunk", {"bytes": base64.b64encode(data).decode(), **beside})


def invoke_chunks(*events):
    """A body of such chunks."""
    return b"".join(invoke_chunk(event, p="abcdef") for event in events)
