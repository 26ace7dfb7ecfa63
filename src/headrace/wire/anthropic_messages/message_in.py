"""One message of a client's Messages request, in neutral words: the inverse of `request_content.py` and `request_assistant.py`.

The rule of this file: one message of the wire becomes as many as it takes: each tool's result is a tool message, and a text behind a text
begins a message of its own, so that two blocks stay two. What has no neutral word stays as data of the part; a block of the assistant's
that is not understood stays as the bytes that came.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

from headrace._json import EMPTY, dumps, dumps_text
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    MediaKind,
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.wire.anthropic_messages.blocks import PROTOCOL
from headrace.wire.anthropic_messages.request_content import CACHE_CONTROL
from headrace.wire.raw_blocks import raw_input
from headrace.wire.request_fields import Fields
from headrace.wire.server_side import APART


def read_system(fields: Fields) -> Iterator[Message]:
    """Read the instructions: each block is a message of its own.

    Raises:
        UsageError: they are no text.
    """
    for _, part in _content(fields, "system"):
        if not isinstance(part, TextPart):
            raise UsageError("system holds a block that is no text; instructions are text alone", argument="system")
        yield SystemMessage.assemble([part])


def read_message(fields: Fields, raws: Sequence[bytes], provider: str | None) -> Iterator[Message]:
    """Read a message.

    Args:
        fields: its members.
        raws: the bytes of its blocks, as far as they are known.
        provider: who made the assistant's, if known.

    Raises:
        UsageError: it is no such message; the error names the path.
    """
    role = fields.required_text("role")
    if role == "assistant":
        yield AssistantMessage.assemble(list(_assistant(fields, raws, provider)), provider=provider)
    elif role == "user":
        yield from _user(fields)
    elif role == "system":
        for _, part in _content(fields, "content"):
            yield SystemMessage.assemble([part])
    else:
        raise fields.unknown("role", "user, assistant, system")


# ---------------------------------------------------------------------------------------------- by role


def _user(fields: Fields) -> Iterator[Message]:
    parts: list[Part] = []
    for item, part in _content(fields, "content"):
        result = _result(item) if item is not None and isinstance(part, OpaquePart) and part.raw["type"] == "tool_result" else None
        is_text_behind_text = isinstance(part, TextPart) and bool(parts) and isinstance(parts[-1], TextPart)
        if parts and (result is not None or is_text_behind_text):
            yield UserMessage.assemble(parts)
            parts = []
        if result is not None:
            yield ToolMessage.assemble([result])
        else:
            parts.append(part)
    if parts:
        yield UserMessage.assemble(parts)


def _result(item: Fields) -> ToolResultPart:
    call_id, is_error, marker = item.required_text("tool_use_id"), item.boolean("is_error"), item.any(CACHE_CONTROL)
    parts: list[Part] = []
    for _, part in _content(item, "content"):
        if isinstance(part, TextPart) and parts and isinstance(parts[-1], TextPart) and not part.provider_data:
            parts.append(make(TextPart, text=part.text, provider_data=APART))
        else:
            parts.append(part)
    metadata = EMPTY if marker is None else {CACHE_CONTROL: marker}
    return make(ToolResultPart, call_id=call_id, parts=tuple(parts), state="error" if is_error else "success", metadata=metadata)


def _assistant(fields: Fields, raws: Sequence[bytes], provider: str | None) -> Iterator[Part]:
    content = fields.any("content")
    if isinstance(content, str):
        if content:
            yield make(TextPart, text=content)
        return
    for n, item in enumerate(_items(fields, "content")):
        raw = raws[n] if n < len(raws) else dumps(item.values())
        match item.required_text("type"):
            case "text":
                yield _text(item)
            case "thinking":
                thinking, signature = item.text("thinking") or "", item.text("signature") or None
                yield make(ReasoningPart, text=thinking, signature=signature, provider_data=item.rest())
            case "redacted_thinking":
                data = item.required_text("data")
                yield make(ReasoningPart, encrypted=data, provider_data=item.rest())
            case "tool_use":
                yield _call(item, raw)
            case _:
                yield make(ProviderItem, provider=provider or "", protocol=PROTOCOL, raw=raw)


def _call(item: Fields, raw: bytes) -> ToolCallPart:
    identifier, name, given = item.text("id") or "", item.required_text("name"), item.object("input")
    text = raw_input(raw) or dumps_text({} if given is None else given.values())
    return ToolCallPart(id=identifier, name=name, arguments=text, provider_data=item.rest())


# ---------------------------------------------------------------------------------------------- blocks


def _items(fields: Fields, name: str) -> Iterator[Fields]:
    content = fields.any(name)
    if content is None:
        return
    if not isinstance(content, list):
        raise fields.wrong(name, content, str)
    for n, item in enumerate(content):
        yield Fields(item, f"{fields.at(name)}[{n}]")


def _content(fields: Fields, name: str) -> Iterator[tuple[Fields | None, Part]]:
    """Give each block, with its members where it has any."""
    content = fields.any(name)
    if isinstance(content, str):
        if content:
            yield None, make(TextPart, text=content)
        return
    for item in _items(fields, name):
        reader = _BLOCKS.get(item.required_text("type"))
        yield item, make(OpaquePart, raw=item.values()) if reader is None else reader(item)


def _text(item: Fields) -> Part:
    text, citations = item.required_text("text"), item.any("citations")
    rest = item.rest()
    return make(TextPart, text=text, citations=tuple(citations) if isinstance(citations, list) else (), provider_data=rest)


def _medium(item: Fields) -> Part:
    kind = cast("MediaKind", item.required_text("type"))
    source = item.required_object("source")
    of_kind, title = source.required_text("type"), item.text("title")
    found: dict[str, Any]
    match of_kind:
        case "base64":
            media_type = source.text("media_type")
            found = {"url": f"data:{media_type or ''};base64,{source.required_text('data')}", "media_type": media_type}
        case "url":
            found = {"url": source.required_text("url")}
        case "file":
            found = {"file_id": source.required_text("file_id")}
        case "text":
            found = {"data": source.required_text("data").encode(), "media_type": source.text("media_type") or "text/plain"}
        case _:
            return make(OpaquePart, raw=item.values())
    return make(MediaPart, kind=kind, name=title, provider_data=item.rest(), **found)


_BLOCKS: Final[dict[str, Callable[[Fields], Part]]] = {"text": _text, "image": _medium, "document": _medium}
