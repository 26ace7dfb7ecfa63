"""What the fields of a delta mean: text, reasoning under all its names, refusals, calls, media, citations.

The rule of this file: pure translation, one field at a time, without the vendor's name; a field that is not understood is handed
back to be kept. The names and shapes are those of the facts' sections 1.1, 1.3 and 9.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from headrace._json import JSON, dumps_text, freeze, replace_surrogates
from headrace.messages.deltas import CitationDelta, Delta, MediaDelta, PartDelta, ReasoningDelta, ToolCallFragment
from headrace.messages.parts import CallKind, MediaKind, MediaPart, OpaquePart, ProviderToolPart, make
from headrace.wire.decoder import Output

REASONING_NAMES: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "reasoning_token_text")
"""Fields that hold reasoning as text; the first that is not empty counts, since some servers send the same piece under two names."""

KNOWN: Final = frozenset(
    {
        *REASONING_NAMES,
        *("role", "content", "refusal", "tool_calls", "function_call", "audio", "annotations", "reasoning_details", "reasoning_opaque", "images"),
    }
)
_CALL_FIELDS: Final = frozenset({"index", "id", "type", "function", "custom"})
_BODY_FIELDS: Final = frozenset({"name", "arguments", "input"})
Piece: TypeAlias = tuple[str, str]
"""A kind (`text`, `reasoning`, `refusal`) and a piece of it, before the filters."""


def kept(value: JSON) -> JSON:
    """Return a value of the wire as it is kept: frozen, and writable as UTF-8."""
    return freeze(replace_surrogates(value))


def reasoning_of(delta: Mapping[str, Any]) -> str:
    """Return the reasoning text of a delta, "" if there is none."""
    for name in REASONING_NAMES:
        value = delta.get(name)
        if isinstance(value, dict):
            value = value.get("content") or value.get("text")
        if isinstance(value, str) and value:
            return value
    return ""


def details_of(delta: Mapping[str, Any]) -> tuple[tuple[JSON, ...], str]:
    """Return the reasoning details, and their text for deltas that have no plain field."""
    details = delta.get("reasoning_details")
    if isinstance(details, dict):
        details = [details]
    if not isinstance(details, list) or not details:
        return (), ""
    texts = [item.get("text") or item.get("summary") for item in details if isinstance(item, dict)]
    return tuple(kept(details)), "".join(text for text in texts if isinstance(text, str))


def content_of(content: JSON, choice: int) -> Iterator[Piece | Delta]:
    """Read `content`: a text, or a list of parts (thinking, text, references, media, …)."""
    if isinstance(content, str):
        yield ("text", content)
    elif isinstance(content, list):
        for item in content:
            yield from _content_part(item, choice)
    elif isinstance(content, dict):
        yield from _content_part(content, choice)


def _content_part(item: JSON, choice: int) -> Iterator[Piece | Delta]:
    if isinstance(item, str):
        yield ("text", item)
        return
    if not isinstance(item, dict):
        return
    kind, text = item.get("type"), item.get("text")
    if kind in ("text", "output_text", None) and isinstance(text, str):
        yield ("text", text)
    elif kind in ("thinking", "reasoning"):
        yield from _thinking(item, choice)
    elif kind == "refusal" and isinstance(item.get("refusal"), str):
        yield ("refusal", item["refusal"])
    elif kind == "image_url":
        yield from image_of(item, choice)
    else:
        yield PartDelta(make(OpaquePart, raw=kept(item)), choice=choice)


def _thinking(item: dict[str, Any], choice: int) -> Iterator[Piece | Delta]:
    pieces = item.get("thinking") or item.get("summary") or item.get("text") or ()
    for piece in [pieces] if isinstance(pieces, str) else pieces:
        text = piece.get("text") if isinstance(piece, dict) else piece
        if isinstance(text, str) and text:
            yield ("reasoning", text)
        if isinstance(piece, dict) and isinstance(piece.get("signature"), str):
            yield ReasoningDelta(signature=_text(piece["signature"]), choice=choice)
    if isinstance(item.get("signature"), str):
        yield ReasoningDelta(signature=_text(item["signature"]), choice=choice)


def image_of(item: JSON, choice: int) -> Iterator[Delta]:
    """Read an `image_url` part."""
    source = item.get("image_url") if isinstance(item, dict) else None
    url = source.get("url") if isinstance(source, dict) else source
    if isinstance(url, str) and url:
        yield PartDelta(make(MediaPart, kind="image", url=url), choice=choice)


def audio_of(audio: JSON, choice: int) -> Iterator[Delta]:
    """Read `audio`: pieces of base64 data, each decoded by itself, and of a transcript."""
    if not isinstance(audio, dict):
        return
    data, transcript, identifier = audio.get("data"), audio.get("transcript"), audio.get("id")
    try:
        sound = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        sound = b""
    words = transcript if isinstance(transcript, str) else ""
    if sound or words or isinstance(identifier, str):
        kind: MediaKind = "audio"
        yield MediaDelta(kind, sound, words, identifier if isinstance(identifier, str) else None, choice=choice)


def citations_of(annotations: JSON, choice: int) -> Iterator[Delta]:
    """Read `annotations`."""
    for item in annotations if isinstance(annotations, list) else ():
        yield CitationDelta(kept(item), choice=choice)


def search_result_of(delta: Mapping[str, Any], choice: int) -> Iterator[Delta]:
    """Read a delta of the role `tool`: what a search of the provider's own found."""
    content = delta.get("content")
    if content:
        yield PartDelta(make(ProviderToolPart, name=str(delta.get("name") or ""), result=kept(content)), choice=choice)


def fragment_of(item: JSON, choice: int, output: Output) -> ToolCallFragment | None:
    """Read one entry of `tool_calls`; None if it is no object. What was odd about it is said once a stream."""
    if not isinstance(item, dict):
        return None
    kind: CallKind | None = "custom" if item.get("type") == "custom" or isinstance(item.get("custom"), dict) else None
    holder = item.get("custom") if kind else item.get("function")
    is_flat = holder is None and "function" not in item and "custom" not in item
    body: Mapping[str, Any] = holder if isinstance(holder, dict) else item if is_flat else {}
    index = item.get("index")
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    if type(index) is not int or index < 0:
        index = None
        output.warn_once("missing_tool_index", choice=choice)
    known = _CALL_FIELDS | (_BODY_FIELDS if is_flat else frozenset())
    rest = {key: value for key, value in item.items() if key not in known and value is not None}
    arguments = _arguments(body.get("input") if kind else body.get("arguments"), f"arguments {choice} {index}", choice, output)
    return ToolCallFragment(
        id=_text(item.get("id")),
        name=_text(body.get("name")),
        arguments=arguments,
        index=index,
        kind=kind,
        choice=choice,
        event=output.events,
        offset=output.offset,
        provider_data=kept(rest),
    )


def legacy_fragment_of(call: JSON, choice: int, output: Output) -> ToolCallFragment | None:
    """Read `function_call`, the form before `tool_calls`, which never had ids."""
    if not isinstance(call, dict):
        return None
    return ToolCallFragment(
        name=_text(call.get("name")),
        arguments=_arguments(call.get("arguments"), f"arguments {choice} legacy", choice, output),
        choice=choice,
        is_id_optional=True,
        event=output.events,
        offset=output.offset,
    )


def _arguments(value: JSON, key: str, choice: int, output: Output) -> str | dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return output.halves(key, value, choice)
    output.warn_once("arguments_not_string", choice=choice)
    return kept(value) if isinstance(value, dict) else dumps_text(replace_surrogates(value))


def _text(value: JSON) -> str | None:
    if isinstance(value, str):
        mended: str = replace_surrogates(value)
        return mended
    return str(value) if type(value) is int else None
