"""What the fields of a delta mean: text, reasoning under all its names, refusals, calls, media, citations.

The rule of this file: pure translation, one field at a time, without the vendor's name; a field that is not understood is handed
back to be kept. The names and shapes are those of the facts' sections 1.1, 1.3 and 9.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from headrace._json import JSON, MAX_DEPTH, dumps_text, freeze, replace_surrogates
from headrace.messages.deltas import CitationDelta, Delta, MediaDelta, PartDelta, ReasoningDelta, ToolCallFragment
from headrace.messages.parts import CallKind, JsonPart, MediaPart, OpaquePart, ProviderToolPart, make
from headrace.wire.decoder import Output
from headrace.wire.text_filters import Kind

REASONING_NAMES: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "reasoning_token_text")
"""Fields that hold reasoning as text; the first that is not empty counts, since some servers send the same piece under two names."""

KNOWN: Final = frozenset(
    {
        *REASONING_NAMES,
        *(
            "role",
            "content",
            "refusal",
            "tool_calls",
            "function_call",
            "audio",
            "annotations",
            "reasoning_details",
            "reasoning_opaque",
            "images",
        ),
    }
)
_CALL_FIELDS: Final = frozenset({"index", "id", "type", "function", "custom"})
_BODY_FIELDS: Final = frozenset({"name", "arguments", "input"})
_KEPT_DEPTH: Final = MAX_DEPTH - 16  # a message wraps what it keeps a few levels deeper, and must be readable itself
Piece: TypeAlias = tuple[Kind, str]
"""A kind of text and a piece of it, before the filters."""


def kept(value: JSON) -> JSON:
    """Return a value of the wire as it is kept: frozen, and writable as UTF-8.

    Raises:
        UsageError: it is nested too deep, or holds a number too large to be written again; `EventReader.read` takes it.
    """
    return freeze(replace_surrogates(value), "it", max_depth=_KEPT_DEPTH)


def kept_strict(value: JSON) -> JSON:
    """Do as `kept` does, for a value that strict JSON gave: there is no half of a character in it."""
    return freeze(value, "it", max_depth=_KEPT_DEPTH)


def reasoning_of(delta: Mapping[str, Any]) -> str:
    """Return the reasoning text of a delta, "" if there is none."""
    for name in REASONING_NAMES:
        if name not in delta:
            continue
        value = delta[name]
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
    """Read `content`: a text, or a list of parts (thinking, text, references, media, …); any other JSON value is a part too."""
    for item in content if isinstance(content, list) else [content]:
        yield from _content_part(item, choice)


def _content_part(item: JSON, choice: int) -> Iterator[Piece | Delta]:
    if isinstance(item, str):
        yield ("text", item)
        return
    if not isinstance(item, dict):
        if item is not None:
            yield PartDelta(make(JsonPart, value=kept(item)), choice=choice)
        return
    kind, text = item.get("type"), item.get("text")
    if kind in ("text", "output_text", None) and isinstance(text, str):
        yield ("text", text)
        yield from citations_of(item.get("annotations"), choice)
    elif kind in ("thinking", "reasoning"):
        yield from _thinking(item, choice)
    elif kind == "refusal" and isinstance(item.get("refusal"), str):
        yield ("refusal", item["refusal"])
    elif kind == "image_url":
        yield image_of(item, choice)
    else:
        yield _opaque(item, choice)


def _opaque(item: JSON, choice: int) -> Delta:
    """Keep what is not understood as a part: under its type if it has one, else as any JSON value."""
    has_type = isinstance(item, dict) and isinstance(item.get("type"), str)
    return PartDelta(make(OpaquePart, raw=kept(item)) if has_type else make(JsonPart, value=kept(item)), choice=choice)


def _thinking(item: dict[str, Any], choice: int) -> Iterator[Piece | Delta]:
    pieces = item.get("thinking") or item.get("summary") or item.get("text") or ()
    for piece in pieces if isinstance(pieces, list) else [pieces]:
        text = piece.get("text") if isinstance(piece, dict) else piece
        if isinstance(text, str) and text:
            yield ("reasoning", text)
        if isinstance(piece, dict):
            yield from _signature(piece, choice)
    yield from _signature(item, choice)


def _signature(item: dict[str, Any], choice: int) -> Iterator[Delta]:
    signature = _text(item.get("signature"))
    if signature:
        yield ReasoningDelta(signature=signature, choice=choice)


def image_of(item: JSON, choice: int) -> Delta:
    """Read an `image_url` part; what has no URL is kept as it is."""
    source = item.get("image_url") if isinstance(item, dict) else None
    url = source.get("url") if isinstance(source, dict) else source
    if isinstance(url, str) and url:
        return PartDelta(make(MediaPart, kind="image", url=replace_surrogates(url)), choice=choice)
    return _opaque(item, choice)


def audio_of(audio: Mapping[str, Any], choice: int) -> tuple[MediaDelta | None, str]:
    """Read `audio`: a piece of base64 data, to be decoded by itself, and of a transcript.

    Returns:
        What it adds, and data that is no base64.
    """
    data, transcript, identifier = audio.get("data"), audio.get("transcript"), audio.get("id")
    sound, broken = b"", ""
    if isinstance(data, str):
        try:
            sound = base64.b64decode(data + "=" * (-len(data) % 4), validate=True)  # some leave the padding out
        except (binascii.Error, ValueError):
            broken = data
    words = replace_surrogates(transcript) if isinstance(transcript, str) else ""
    name = replace_surrogates(identifier) if isinstance(identifier, str) else None
    has_any = bool(sound or words or name)
    return (MediaDelta("audio", sound, words, name, choice=choice) if has_any else None), replace_surrogates(broken)


def citations_of(annotations: JSON, choice: int) -> Iterator[Delta]:
    """Read `annotations`."""
    for item in annotations if isinstance(annotations, list) else [annotations] if annotations else ():
        yield CitationDelta(kept(item), choice=choice)


def search_result_of(delta: Mapping[str, Any], choice: int) -> Iterator[Delta]:
    """Read a delta of the role `tool`: what a search of the provider's own found."""
    content = delta.get("content")
    if content:
        yield PartDelta(make(ProviderToolPart, name=_text(delta.get("name")) or "", result=kept(content)), choice=choice)


def fragment_of(item: Mapping[str, Any], choice: int, output: Output, *, needs_index: bool) -> ToolCallFragment:
    """Read one entry of `tool_calls`. What was odd about it is said once a stream; the calls of a whole message have no index."""
    kind: CallKind | None = "custom" if item.get("type") == "custom" or isinstance(item.get("custom"), dict) else None
    key = "custom" if kind else "function"
    holder = item.get(key)
    is_flat = holder is None and "function" not in item and "custom" not in item
    body: Mapping[str, Any] = holder if isinstance(holder, dict) else item if is_flat else {}
    index = item.get("index")
    if isinstance(index, str) and len(index) < 10 and index.isascii() and index.isdecimal():
        index = int(index)
    if type(index) is not int or index < 0:
        index = None
        if needs_index:
            output.warn_once("missing_tool_index", choice=choice)
    identifier = _text(item.get("id"))
    known = _CALL_FIELDS | _BODY_FIELDS if is_flat else _CALL_FIELDS
    rest = {name: value for name, value in item.items() if name not in known and value is not None}
    if isinstance(holder, dict):
        holder = {name: value for name, value in holder.items() if name not in _BODY_FIELDS and value is not None}
    if holder:
        rest[key] = holder  # what is not understood inside of it
    arguments = body.get("input") if kind else body.get("arguments")
    return ToolCallFragment(
        id=identifier,
        name=_text(body.get("name")),
        arguments=_arguments(arguments, identifier or None if index is None else index, choice, output),
        index=index,
        kind=kind,
        choice=choice,
        event=output.events,
        offset=output.offset,
        provider_data=kept(rest),
    )


def legacy_fragment_of(call: Mapping[str, Any], choice: int, output: Output) -> ToolCallFragment:
    """Read `function_call`, the form before `tool_calls`, which never had ids."""
    return ToolCallFragment(
        name=_text(call.get("name")),
        arguments=_arguments(call.get("arguments"), None, choice, output),
        choice=choice,
        is_id_optional=True,
        event=output.events,
        offset=output.offset,
    )


def _arguments(value: JSON, call: int | str | None, choice: int, output: Output) -> str | dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return output.arguments(call, value, choice)
    output.warn_once("arguments_not_string", choice=choice)
    return kept(value) if isinstance(value, dict) else dumps_text(replace_surrogates(value))


def _text(value: JSON) -> str | None:
    if isinstance(value, str):
        mended: str = replace_surrogates(value)
        return mended
    return str(value) if type(value) is int else None
