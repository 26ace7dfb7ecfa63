"""The bytes of what stands inside a request's body, as the client wrote them.

The rule of this file: what goes back byte for byte (arguments, blocks that we do not understand) is cut out of the body and never encoded
anew. Where the body has another shape than expected there are no bytes, and the caller encodes the value.
"""

from __future__ import annotations

import msgspec


class _Message(msgspec.Struct):
    content: msgspec.Raw = msgspec.Raw(b"null")


class _Body(msgspec.Struct):
    messages: list[_Message] = []


class _Holder(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw(b"")


def raw_contents(body: bytes) -> list[list[bytes]]:
    """Return, for each message, the bytes of each block of its content; none where the content is no list."""
    try:
        messages = msgspec.json.decode(body, type=_Body).messages
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    return [_blocks(message.content) for message in messages]


def raw_input(block: bytes) -> str:
    """Return the text of a block's `input`, "" if it has none."""
    try:
        return bytes(msgspec.json.decode(block, type=_Holder).input).decode("utf-8")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


def _blocks(content: msgspec.Raw) -> list[bytes]:
    try:
        return [bytes(block) for block in msgspec.json.decode(content, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
