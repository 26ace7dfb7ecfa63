"""One message of a client's Chat Completions request, in neutral words: the inverse of `request_messages.py` and `request_results.py`.

The rule of this file: what has a neutral word becomes it, what has none stays as data of the part or as an opaque part (of a message
that is not the assistant's: as metadata, which no encoder sends, so `Incoming.request_for` says it); nothing is guessed. Arguments stay the text that came. The wire has no flag for a tool that failed, so every result is a success in words.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from headrace._json import JSON, dumps_text
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.wire.openai_chat.delta_in import REASONING_NAMES
from headrace.wire.openai_chat.sealed_reasoning import reasoning_parts
from headrace.wire.request_fields import Fields
from headrace.wire.server_side import APART

_SOUNDS: Final = {"mp3": "audio/mpeg"}
_PDF: Final = "JVBERi"  # how a PDF begins in base64


def read_message(fields: Fields, provider: str | None) -> Message:
    """Read a message.

    Args:
        fields: its members.
        provider: who made the assistant messages, if known.

    Raises:
        UsageError: it is no such message; the error names the path.
    """
    role = fields.required_text("role")
    reader = _READERS.get(role)
    if reader is None:
        raise fields.unknown("role", ", ".join(_READERS))
    return reader(fields, provider)


# ---------------------------------------------------------------------------------------------- by role


def _system(fields: Fields, _provider: str | None) -> Message:
    parts = _given(fields)
    for n, part in enumerate(parts):
        if not isinstance(part, TextPart):
            place = f"{fields.at('content')}[{n}]"
            raise UsageError(f"{place} is no text; instructions are text alone", argument=place)
    name = fields.text("name")
    return SystemMessage.assemble(parts, name=name, metadata=fields.rest())


def _user(fields: Fields, _provider: str | None) -> Message:
    parts = _given(fields)
    name = fields.text("name")
    return UserMessage.assemble(parts, name=name, metadata=fields.rest())


def _assistant(fields: Fields, provider: str | None) -> Message:
    parts: list[Part] = [*_reasoning(fields), *_content(fields)]
    refusal = fields.text("refusal")
    if refusal:
        parts.append(make(RefusalPart, text=refusal))
    audio = fields.object("audio")
    if audio is not None:
        identifier = audio.required_text("id")
        parts.append(make(MediaPart, kind="audio", file_id=identifier, provider_data={"id": identifier}))
    parts += [_call(call) for call in fields.objects("tool_calls")]
    if "function_call" in fields:
        place = fields.at("function_call")
        raise UsageError(f"{place} is the form before tool_calls, which is not taken; use tool_calls", argument=place)
    name = fields.text("name")
    return AssistantMessage.assemble(_with_rest(parts, fields), name=name, provider=provider)


def _tool(fields: Fields, _provider: str | None) -> Message:
    call_id, name = fields.required_text("tool_call_id"), fields.text("name") or ""
    parts = tuple(part if isinstance(part, (TextPart, MediaPart, JsonPart, OpaquePart)) else _opaque(part) for part in _given(fields))
    result = make(ToolResultPart, call_id=call_id, name=name, parts=parts)
    return ToolMessage.assemble([result], metadata=fields.rest())


def _opaque(part: Part) -> OpaquePart:
    return make(OpaquePart, raw=msgspec.to_builtins(part))


_READERS: Final[dict[str, Callable[[Fields, str | None], Message]]] = {
    "system": _system,
    "developer": _system,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}


def _with_rest(parts: list[Part], fields: Fields) -> list[Part]:
    """Return the parts, the last text among them with the members of the message that have no neutral word."""
    rest = fields.rest()
    if not rest:
        return parts
    for n in range(len(parts) - 1, -1, -1):
        part = parts[n]
        if isinstance(part, (TextPart, ReasoningPart, RefusalPart)):
            return [*parts[:n], msgspec.structs.replace(part, provider_data={**part.provider_data, **rest}), *parts[n + 1 :]]
    return [*parts, make(TextPart, text="", provider_data=rest)]


# ---------------------------------------------------------------------------------------------- content


def _content(fields: Fields) -> Iterator[Part]:
    content = fields.any("content")
    if content is None:
        return
    if isinstance(content, str):
        if content:
            yield make(TextPart, text=content)
        return
    if not isinstance(content, list):
        raise fields.wrong("content", content, str)
    for n, item in enumerate(content):
        if isinstance(item, str):
            yield make(TextPart, text=item)
        else:
            yield _part(Fields(item, f"{fields.at('content')}[{n}]"))


def _given(fields: Fields) -> list[Part]:
    """Return what a person or a tool gave; a text right behind a text stands apart from it."""
    parts: list[Part] = []
    for part in _content(fields):
        if isinstance(part, TextPart) and parts and isinstance(parts[-1], TextPart) and not part.provider_data:
            parts.append(make(TextPart, text=part.text, provider_data=APART))
        else:
            parts.append(part)
    return parts


def _part(item: Fields) -> Part:
    kind = item.required_text("type")
    reader = _PARTS.get(kind)
    return make(OpaquePart, raw=item.values()) if reader is None else reader(item)


def _text(item: Fields) -> Part:
    text = item.required_text("text")
    return make(TextPart, text=text, provider_data=item.rest())


def _refusal(item: Fields) -> Part:
    text = item.required_text("refusal")
    return make(RefusalPart, text=text, provider_data=item.rest())


def _thinking(item: Fields) -> Part:
    thinking = item.any("thinking")
    pieces = thinking if isinstance(thinking, list) else [thinking]
    texts = [text for piece in pieces if isinstance(text := piece.get("text") if isinstance(piece, dict) else piece, str)]
    if len(texts) < len(pieces):
        return make(OpaquePart, raw=item.values())
    signature = item.text("signature")
    return make(ReasoningPart, text="".join(texts), signature=signature or None, provider_data=item.rest())


def _image(item: Fields) -> Part:
    return _by_address(item, "image_url", "image")


def _video(item: Fields) -> Part:
    return _by_address(item, "video_url", "video")


def _by_address(item: Fields, name: str, kind: str) -> Part:
    if isinstance(item.values().get(name), str):
        return make(MediaPart, kind=kind, url=item.text(name), provider_data=item.rest())
    body = item.required_object(name)
    url = body.required_text("url")
    return make(MediaPart, kind=kind, url=url, provider_data={**body.rest(), **item.rest()})


def _audio(item: Fields) -> Part:
    body = item.required_object("input_audio")
    data, form = body.required_text("data"), body.text("format") or ""
    media_type = _SOUNDS.get(form, f"audio/{form}") if form else ""
    rest = {**body.rest(), **item.rest()}
    return make(MediaPart, kind="audio", url=f"data:{media_type};base64,{data}", media_type=media_type or None, provider_data=rest)


def _file(item: Fields) -> Part:
    body = item.required_object("file")
    file_id, name, data = body.text("file_id"), body.text("filename"), body.text("file_data")
    rest = {**body.rest(), **item.rest()}
    if file_id is not None:
        return make(MediaPart, kind="document", file_id=file_id, name=name, provider_data=rest)
    if data is None:
        raise UsageError(f"{body.path} has neither file_data nor file_id", argument=body.path)
    if not data.startswith("data:") and "://" not in data:  # base64 alone
        media_type = "application/pdf" if data.startswith(_PDF) else "application/octet-stream"
        data = f"data:{media_type};base64,{data}"
    return make(MediaPart, kind="document", url=data, name=name, provider_data=rest)


_PARTS: Final[dict[str, Callable[[Fields], Part]]] = {
    "text": _text,
    "refusal": _refusal,
    "thinking": _thinking,
    "image_url": _image,
    "video_url": _video,
    "input_audio": _audio,
    "file": _file,
}


# ---------------------------------------------------------------------------------------------- thinking and calls


def _reasoning(fields: Fields) -> list[ReasoningPart]:
    text = ""
    for name in REASONING_NAMES:
        if isinstance(fields.values().get(name), str):
            said = fields.text(name) or ""
            text = text or said
    details: JSON = fields.any("reasoning_details")
    parts = reasoning_parts(text, details if isinstance(details, list) else [] if details is None else [details])
    sealed = fields.text("reasoning_opaque")
    if sealed:
        last = parts.pop() if parts else make(ReasoningPart)
        parts.append(msgspec.structs.replace(last, encrypted=sealed))
    return parts


def _call(call: Fields) -> ToolCallPart:
    identifier, kind = call.text("id") or "", call.text("type") or "function"
    call.any("index")  # of a stream; a client may send back what it put together
    if kind == "custom":
        body = call.required_object("custom")
        name, text = body.required_text("name"), body.text("input") or ""
        return ToolCallPart(id=identifier, name=name, kind="custom", arguments=text, provider_data=_rest_of_call(call, body, kind))
    if kind != "function":
        raise call.unknown("type", "function, custom")
    body = call.required_object("function")
    name, value = body.required_text("name"), body.any("arguments")
    if value is not None and not isinstance(value, (str, dict)):
        raise body.wrong("arguments", value, str)
    text = value if isinstance(value, str) else dumps_text({} if value is None else value)
    rest = _rest_of_call(call, body, kind)
    if text.strip() in ("", "null"):  # a call of the past that took nothing
        return make(ToolCallPart, id=identifier, name=name, arguments=text, parsed={}, runnable=bool(name), provider_data=rest)
    return ToolCallPart(id=identifier, name=name, arguments=text, provider_data=rest)


def _rest_of_call(call: Fields, body: Fields, kind: str) -> dict[str, Any]:
    rest = call.rest()
    return {**rest, kind: body.rest()} if body.rest() else rest
