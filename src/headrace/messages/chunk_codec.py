"""Chunks as JSON: what is written and read again is an equal chunk.

The rule of this file: a chunk is written as its own deltas, never as the buffer that it may share with others.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace.errors import UsageError
from headrace.messages.checked import located
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk, SystemMessageChunk, ToolMessageChunk, UserMessageChunk
from headrace.messages.deltas import Delta
from headrace.messages.message import Role
from headrace.messages.value_merge import as_json

_KINDS: Final[dict[Role | None, type[MessageChunk]]] = {
    None: MessageChunk,
    "assistant": AssistantMessageChunk,
    "tool": ToolMessageChunk,
    "user": UserMessageChunk,
    "system": SystemMessageChunk,
}


class _Form(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a chunk is written."""

    role: Role | None
    deltas: tuple[Delta, ...]
    is_from_wire: bool = False


_DECODER: Final = msgspec.json.Decoder(_Form)


def encode_chunk(chunk: MessageChunk) -> bytes:
    """Return a chunk as compact JSON; a parser's model is written as its fields.

    Raises:
        UsageError: it is no chunk, or it holds what JSON cannot hold: an object of a parser's, half a surrogate pair.
    """
    if not isinstance(chunk, MessageChunk):
        raise UsageError(f"chunk is a {type(chunk).__name__}, not a chunk", argument="chunk")
    try:
        return msgspec.json.encode(_Form(chunk.role, chunk.deltas, chunk.is_from_wire), enc_hook=_hook)
    except (TypeError, ValueError, UnicodeError) as error:
        raise UsageError(f"chunk: {error}", argument="chunk") from error


def decode_chunk(data: bytes | str) -> MessageChunk:
    """Read a chunk of any role.

    Raises:
        UsageError: it is no chunk; the error names the path, such as `chunk.deltas[0].text`.
    """
    try:
        form = _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise located(error, "chunk") from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise UsageError(f"chunk is no JSON: {error}", argument="chunk") from error
    return _KINDS[form.role].from_deltas(form.deltas, is_from_wire=form.is_from_wire)


def _hook(value: Any) -> Any:
    written = as_json(value)
    if written is value:
        raise TypeError(f"a {type(value).__name__} is no JSON value")
    return written
