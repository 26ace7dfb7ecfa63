"""The pieces that messages are made of: frozen values, told apart in JSON by `type`.

The rule of this file: a part cannot change after it is made, and everything in it can be written as JSON. What a
provider sent along without our understanding it stays in `provider_data` (and in `ProviderItem`, byte for byte).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from headrace._json import EMPTY, JSON, JSONError, check_text, dumps_text, freeze, loads
from headrace.errors import UsageError

MediaKind: TypeAlias = Literal["image", "audio", "video", "document"]
CallKind: TypeAlias = Literal["function", "custom", "provider"]
ResultState: TypeAlias = Literal["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"]


class PartMeta(msgspec.StructMeta):
    """Lets people make parts with friendlier arguments than the stored fields; decoding does not come by here."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a part from what a person wrote."""
        prepare = getattr(cls, "_prepare", None)
        if prepare is not None:
            kwargs = prepare(*args, **kwargs)
            args = ()
        try:
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{cls.__name__}: {error}") from error


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", metaclass=PartMeta):
    """What all parts share: JSON fields are frozen, texts can be written as UTF-8."""

    _JSON: ClassVar[tuple[str, ...]] = ("provider_data",)
    _TEXT: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Copy and freeze what could be changed from outside."""
        name = type(self).__name__
        for field in self._JSON:
            value = getattr(self, field)
            if value is not EMPTY and value is not None:
                frozen = freeze(value, f"{name}.{field}")
                msgspec.structs.force_setattr(self, field, tuple(frozen) if isinstance(value, tuple) else frozen)
        for field in self._TEXT:
            text = getattr(self, field)
            if not isinstance(text, str):
                raise UsageError(f"{name}.{field} is a {type(text).__name__}, not text", argument=field)
            check_text(text, f"{name}.{field}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields; the friendly constructor is not the stored form."""
        return (_rebuild, (type(self), msgspec.structs.astuple(self)))


def _rebuild(kind: type[_Part], values: tuple[Any, ...]) -> _Part:
    return make(kind, **dict(zip(kind.__struct_fields__, values, strict=True)))


def make(kind: type[Any], /, **fields: Any) -> Any:
    """Make a part from its stored fields, as decoders and the fold do: nothing is derived or filled in."""
    return msgspec.StructMeta.__call__(kind, **fields)


class TextPart(_Part, frozen=True, tag="text"):
    """Text for the reader.

    Attributes:
        text: the text.
        citations: what it cites, as the provider put it.
        provider_data: opaque data that goes back with the part.
    """

    text: str
    citations: tuple[Any, ...] = ()
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("citations", "provider_data")
    _TEXT = ("text",)


class ReasoningPart(_Part, frozen=True, tag="reasoning"):
    """The model's thinking.

    Attributes:
        text: the thinking, or a summary of it; empty where the provider shows none.
        signature: the provider's proof, to go back byte for byte, or None.
        encrypted: thinking that only the provider can read, to go back byte for byte, or None.
        details: a provider's structured form of the same thinking, to go back as it is.
        provider_data: opaque data that goes back with the part.
    """

    text: str = ""
    signature: str | None = None
    encrypted: str | None = None
    details: tuple[Any, ...] = ()
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("details", "provider_data")
    _TEXT = ("text",)


class RefusalPart(_Part, frozen=True, tag="refusal"):
    """The model's words for not answering."""

    text: str
    provider_data: dict[str, Any] = EMPTY

    _TEXT = ("text",)


class ToolCallPart(_Part, frozen=True, tag="tool_call", kw_only=True):
    """A tool call that the client has to run.

    Made by hand, `arguments` may be a dictionary or JSON text (default `{}`), and `parsed` and `runnable` follow from it.

    Attributes:
        id: pairs the call with its result inside one turn; empty only in a snapshot.
        name: the tool's name; empty if the model never said it.
        kind: `function` (JSON arguments), `custom` (free text), `provider` (a tool that the provider defines and the client runs).
        arguments: the raw text, always as it came.
        parsed: the arguments as a dictionary, or None if they do not parse to one.
        runnable: whether the call may be run: whole, named, parsed, and from a stream that did not fail.
        index: the wire's index, as first seen, or None.
        id_made_up: whether we made the id, because the wire gave none or one that was taken.
        provider_data: opaque data that goes back with the part.
    """

    id: str = ""
    name: str = ""
    kind: CallKind = "function"
    arguments: str = "{}"
    parsed: dict[str, Any] | None = None
    runnable: bool = False
    index: int | None = None
    id_made_up: bool = False
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("parsed", "provider_data")
    _TEXT = ("id", "name", "arguments")

    @staticmethod
    def _prepare(*args: Any, **fields: Any) -> dict[str, Any]:
        if args:
            raise UsageError("ToolCallPart takes keywords only: id, name, arguments, …", argument="ToolCallPart")
        arguments = fields.get("arguments", "{}")
        if isinstance(arguments, Mapping):
            fields["parsed"] = freeze(arguments, "ToolCallPart.arguments")  # pyright: ignore[reportUnknownArgumentType]
            fields["arguments"] = dumps_text(fields["parsed"])
        elif "parsed" not in fields and isinstance(arguments, str) and fields.get("kind", "function") != "custom":
            try:
                value = loads(arguments)
            except JSONError:
                value = None
            fields["parsed"] = value if isinstance(value, dict) else None
        has_arguments = fields.get("parsed") is not None or fields.get("kind") == "custom"
        fields.setdefault("runnable", bool(fields.get("name")) and has_arguments)
        return fields


class MediaPart(_Part, frozen=True, tag="media", kw_only=True):
    """An image, a sound, a video or a document; exactly one of `url`, `data` and `file_id` is set.

    Attributes:
        kind: `image`, `audio`, `video` or `document`.
        url: where it is; a data URL counts as a URL.
        data: the bytes themselves (base64 in JSON).
        file_id: the provider's name for an uploaded file.
        media_type: such as `image/png`, or None if unknown.
        name: a file name, or None.
        transcript: the words of a sound, or None.
        provider_data: opaque data that goes back with the part, such as an image's detail level.
    """

    kind: MediaKind
    url: str | None = None
    data: bytes | None = None
    file_id: str | None = None
    media_type: str | None = None
    name: str | None = None
    transcript: str | None = None
    provider_data: dict[str, Any] = EMPTY

    def __post_init__(self) -> None:
        """Check that there is exactly one source."""
        _Part.__post_init__(self)
        if self.kind not in ("image", "audio", "video", "document"):
            raise UsageError(f"MediaPart.kind is {self.kind!r}; it is image, audio, video or document", argument="kind")
        if sum(source is not None for source in (self.url, self.data, self.file_id)) != 1:
            raise UsageError("MediaPart needs exactly one of url, data and file_id", argument="url")
        if self.data is not None and not isinstance(self.data, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"MediaPart.data is a {type(self.data).__name__}, not bytes", argument="data")


class JsonPart(_Part, frozen=True, tag="json"):
    """A JSON value as content."""

    value: Any
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("value", "provider_data")


class ProviderToolPart(_Part, frozen=True, tag="provider_tool", kw_only=True):
    """A tool call that the provider ran itself, and its result.

    Attributes:
        id: the provider's id of the call, or "".
        name: the tool's name, such as `web_search`.
        arguments: the raw text of the arguments.
        parsed: the arguments as a dictionary, or None.
        result: what came out, as the provider put it, or None if it came in another part or not at all.
        provider: whose tool it is, or "".
        provider_data: opaque data that goes back with the part.
    """

    id: str = ""
    name: str = ""
    arguments: str = ""
    parsed: dict[str, Any] | None = None
    result: Any = None
    provider: str = ""
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("parsed", "result", "provider_data")
    _TEXT = ("name", "arguments")


class ProviderItem(_Part, frozen=True, tag="provider_item", kw_only=True):
    """A whole item that we do not understand: kept as the bytes that came, and sent back to the provider it came from."""

    provider: str
    protocol: str
    raw: bytes


class OpaquePart(_Part, frozen=True, tag="opaque"):
    """A part of a type that this version does not know; written back unchanged."""

    raw: dict[str, Any]

    _JSON = ("raw",)


class ToolResultPart(_Part, frozen=True, tag="tool_result", kw_only=True):
    """What a tool gave back for one call.

    Attributes:
        call_id: the id of the call it answers.
        name: the tool's name, or "".
        parts: the content; a text or a list when made by hand.
        state: how it ended.
        metadata: anything of the caller's own.
    """

    call_id: str
    name: str = ""
    parts: tuple[Part, ...] = ()
    state: ResultState = "success"
    metadata: dict[str, Any] = EMPTY

    _JSON = ("metadata",)
    _TEXT = ("call_id", "name")

    @staticmethod
    def _prepare(*args: Any, **fields: Any) -> dict[str, Any]:
        if args:
            raise UsageError("ToolResultPart takes keywords only: call_id, name, parts, …", argument="ToolResultPart")
        fields["parts"] = parts_of(fields.get("parts", ()), "ToolResultPart.parts")
        return fields

    def __post_init__(self) -> None:
        """Check that results do not nest."""
        _Part.__post_init__(self)
        for n, part in enumerate(self.parts):
            if isinstance(part, (ToolResultPart, ToolCallPart, ProviderToolPart)):
                raise UsageError(f"ToolResultPart.parts[{n}] is a {type(part).__name__}; results hold text, media and JSON", argument="parts")

    @property
    def text(self) -> str:
        """The text parts, joined with nothing."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


Part: TypeAlias = (
    TextPart | ReasoningPart | RefusalPart | ToolCallPart | ToolResultPart | MediaPart | JsonPart | ProviderToolPart | ProviderItem | OpaquePart
)
PART_TYPES: Final[dict[str, type[_Part]]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "refusal": RefusalPart,
    "tool_call": ToolCallPart,
    "tool_result": ToolResultPart,
    "media": MediaPart,
    "json": JsonPart,
    "provider_tool": ProviderToolPart,
    "provider_item": ProviderItem,
    "opaque": OpaquePart,
}
"""Every part class by its `type` in JSON."""


def parts_of(content: object, path: str = "content") -> tuple[Part, ...]:
    """Turn what a person gives as content into parts.

    Args:
        content: None, a text, a part, a part's dictionary, any JSON value (kept as a `JsonPart`), or a list of these.
        path: what to call the content in an error.

    Raises:
        UsageError: something in it is neither; the error names the path.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(check_text(content, path)),) if content else ()
    if isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray, memoryview)):
        return tuple(_part_of(item, f"{path}[{n}]") for n, item in enumerate(content))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return (_part_of(content, path),)


def _part_of(value: object, path: str) -> Part:
    if isinstance(value, _Part):
        return value  # type: ignore[return-value] # pyright: ignore[reportReturnType]
    if isinstance(value, str):
        return TextPart(check_text(value, path))
    frozen: JSON = freeze(value, path)
    kind = frozen.get("type") if isinstance(frozen, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if isinstance(kind, str):
        return part_from_json(frozen, path)  # pyright: ignore[reportUnknownArgumentType]
    return JsonPart(frozen)


def part_from_json(value: dict[str, Any], path: str) -> Part:
    """Read a part's dictionary; a type that this version does not know becomes an `OpaquePart`.

    Raises:
        UsageError: a known type with wrong fields; the error names the path.
    """
    kind = value.get("type")
    if not isinstance(kind, str):
        raise UsageError(f"{path} has no type", argument=path)
    known = PART_TYPES.get(kind)
    if known is None or known is OpaquePart:
        raw = value.get("raw")
        return OpaquePart(raw if known is OpaquePart and isinstance(raw, dict) else value)
    nested = value.get("parts") if known is ToolResultPart else None
    if isinstance(nested, list):
        value = {**value, "parts": [_tagged(item, f"{path}.parts[{n}]") for n, item in enumerate(nested)]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    try:
        return msgspec.convert(value, type=known)  # type: ignore[return-value] # pyright: ignore[reportReturnType]
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}", argument=path) from error


def _tagged(value: Any, path: str) -> Any:
    """Wrap a nested part of an unknown type, so that the typed conversion can read it."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):  # pyright: ignore[reportUnknownMemberType]
        raise UsageError(f"{path} has no type", argument=path)
    return value if value["type"] in PART_TYPES else {"type": "opaque", "raw": value}  # pyright: ignore[reportUnknownVariableType]
