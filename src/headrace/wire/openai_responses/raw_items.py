"""The bytes of items, as they stand in an event.

The rule of this file: what comes out is a run of the bytes that came, or nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec


class _ItemEvent(msgspec.Struct):
    item: msgspec.Raw


class _Response(msgspec.Struct):
    output: list[msgspec.Raw] = []


class _ResponseEvent(msgspec.Struct):
    response: _Response


class _Request(msgspec.Struct):
    input: list[msgspec.Raw] = []


_request: Final = msgspec.json.Decoder(_Request).decode
_item: Final = msgspec.json.Decoder(_ItemEvent).decode
_event: Final = msgspec.json.Decoder(_ResponseEvent).decode
_answer: Final = msgspec.json.Decoder(_Response).decode
_REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


def raw_item(data: bytes) -> bytes | None:
    """Return the bytes of `item` in an event, or None if the data is no such event."""
    try:
        return bytes(_item(data).item)
    except _REFUSED:
        return None


def raw_output(data: bytes, count: int) -> list[bytes]:
    """Return the bytes of each item of a response's `output`, in an event or alone; none if they are not as many as `count`."""
    for decode in (_event, _answer):
        try:
            found = decode(data)
        except _REFUSED:
            continue
        output = found.response.output if isinstance(found, _ResponseEvent) else found.output
        if len(output) == count:
            return [bytes(raw) for raw in output]
    return []


def raw_input(body: bytes) -> list[bytes]:
    """Return the bytes of each item of a request's `input`; none if they cannot be told apart."""
    try:
        return [bytes(raw) for raw in _request(body).input]
    except _REFUSED:
        return []
