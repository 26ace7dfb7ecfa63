"""Clients that do a server harm: they open connections and leave them half open, take nothing, and ask what is no request.

It is part of the load of `bench/server.py`; what they are told must say that it is their fault, and nobody else may notice them.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter

HALVES = (
    b"",
    b"GET /runs HTTP/1.1\r\nhost: loc",
    b"POST /runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n" + b'{"input": "',
    b"POST /runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + b'9\r\n{"input":',
)


def asking(method, path, body=b"", *, kind=b"application/json", host=b"localhost", more=b""):
    """Return a request as bytes."""
    head = b"%s %s HTTP/1.1\r\nhost: %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n%s\r\n"
    return head % (method, path, host, kind, len(body), more) + body


BAD = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS where none is spoken
    b"no request at all\r\n\r\n",
    asking(b"GET", b"/nothing"),
    asking(b"BREW", b"/runs"),
    asking(b"GET", b"/runs/%ff%00../../etc/passwd/events"),
    asking(b"POST", b"/runs", b'{"input": '),
    asking(b"POST", b"/runs", b"[" * 20_000),
    asking(b"POST", b"/runs", b'{"input": 5, "session_id": []}'),
    asking(b"POST", b"/runs", b'{"input": "hi"}', kind=b"text/plain"),
    asking(b"POST", b"/runs", b'{"input": "hi"}', host=b"elsewhere.example"),
    asking(b"POST", b"/runs", b'{"input": "hi"}', more=b"origin: https://elsewhere.example\r\n"),
    asking(b"POST", b"/agui", b'{"threadId": 1}'),
    asking(b"POST", b"/api/chat", b'{"messages": "none"}'),
    asking(b"POST", b"/v1/chat/completions", b'{"messages": [{"role": "nobody"}]}'),
    asking(b"POST", b"/v1/responses", b'{"input": {"a": "\\ud800"}}'),
    b"POST /runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n",
    b"GET /runs HTTP/1.1\r\nhost: localhost\r\n" + b"x-a: " + b"b" * 100_000,
)


class Abuse:
    """What was done to a server, and what it said."""

    def __init__(self, port):
        self.port = port
        self.answers = Counter()
        self.half_open = 0
        self.most_half_open = 0

    async def leave_half_open(self, until):
        """Begin a request, or not even that, and wait until the server has had enough of it."""
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            self.half_open += 1
            self.most_half_open = max(self.most_half_open, self.half_open)
            try:
                writer.write(random.choice(HALVES))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(until):
                        await reader.read()
            finally:
                self.half_open -= 1
                writer.transport.abort()

    async def ask_badly(self):
        """Ask what is no request, and count the answer."""
        answer = b""
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(random.choice(BAD))
                answer = await reader.read(64)
            finally:
                writer.transport.abort()
        self.answers[answer[9:12].decode("latin-1") or "closed"] += 1

    @property
    def faults(self):
        """The answers by which the server took a fault upon itself, or took what it should not have."""
        return {status: count for status, count in self.answers.items() if status[0] not in "c4" and status != "503"}
