"""The pieces that messages are made of: frozen values, told apart in JSON by `type`.

The rule of this file: a part cannot change after it is made, and everything in it can be written as JSON. What a
provider sent along without our understanding it stays in `provider_data` (and in `ProviderItem`, byte for byte).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

import msgspec

from headrace._json import EMPTY, JSON, check_text, dumps_text, freeze, type_name
from headrace.errors import UsageError
from headrace.messages.checked import located, moved
from headrace.messages.part_base import NO_ARGUMENTS, PartBase, object_or_none

MediaKind: TypeAlias = Literal["image", "audio", "video", "document"]
CallKind: TypeAlias = Literal["function", "custom", "provider"]
P = TypeVar("P")
_construct: Final[Any] = msgspec.StructMeta.__call__  # past what the metaclass does for people
ResultState: TypeAlias = Literal["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"]


def make(kind: type[P], /, **fields: Any) -> P:
    """Make a part from its stored fields, as decoders and the fold do: nothing is derived or filled in."""
    made: P = _construct(kind, **fields)
    return made


class TextPart(PartBase, frozen=True, tag="text"):
    """Text for the reader.

    Attributes:
        text: the text.
        citations: what it cites, as the provider put it.
        provider_data: opaque data that goes back with the part.
    """

    text: str
    citations: tuple[Any, ...] = ()
    provider_data: dict[str, Any] = EMPTY

    _LISTS = ("citations",)
    _TEXT = ("text",)


class ReasoningPart(PartBase, frozen=True, tag="reasoning"):
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

    _LISTS = ("details",)
    _TEXT = ("text", "signature", "encrypted")


class RefusalPart(PartBase, frozen=True, tag="refusal"):
    """The model's words for not answering."""

    text: str
    provider_data: dict[str, Any] = EMPTY

    _TEXT = ("text",)


class ToolCallPart(PartBase, frozen=True, tag="tool_call", kw_only=True):
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
    arguments: str = NO_ARGUMENTS
    parsed: dict[str, Any] | None = None
    runnable: bool = False
    index: int | None = None
    id_made_up: bool = False
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("parsed", "provider_data")
    _TEXT = ("id", "name", "arguments")

    if TYPE_CHECKING:  # what `_prepare` takes

        def __init__(
            self,
            *,
            id: str = "",  # noqa: A002 - the field's word
            name: str = "",
            kind: CallKind = "function",
            arguments: str | Mapping[str, Any] = NO_ARGUMENTS,
            parsed: Mapping[str, Any] | None = None,
            runnable: bool = False,
            index: int | None = None,
            id_made_up: bool = False,
            provider_data: Mapping[str, Any] = EMPTY,
        ) -> None:
            """Take the fields by keyword; `parsed` and `runnable` follow from `arguments`."""

    @staticmethod
    def _prepare(*args: Any, **fields: Any) -> dict[str, Any]:
        if args:
            raise UsageError("ToolCallPart takes keywords only: id, name, arguments, …", argument="ToolCallPart")
        if fields.get("parsed") is not None:
            fields["parsed"] = freeze(fields["parsed"], "ToolCallPart.parsed")
            fields.setdefault("arguments", fields["parsed"])
        arguments = fields.get("arguments", NO_ARGUMENTS)
        is_custom = fields.get("kind") == "custom"
        if isinstance(arguments, Mapping):
            frozen = freeze(cast("Any", arguments), "ToolCallPart.arguments")
            fields["arguments"] = dumps_text(frozen)
            fields.setdefault("parsed", frozen)
        elif "parsed" not in fields and isinstance(arguments, str) and not is_custom:
            fields["parsed"] = object_or_none(arguments)
        can_run = bool(fields.get("name")) and (is_custom or fields.get("parsed") is not None)
        if fields.setdefault("runnable", can_run) is True and not can_run:
            place = "ToolCallPart.runnable"
            raise UsageError(f"{place} is True, but a call without a name or without an object of arguments cannot run", argument=place)
        return fields

    def __post_init__(self) -> None:
        """Freeze, and never let a call be runnable that has no name or no arguments, whoever made it."""
        PartBase.__post_init__(self)
        if self.runnable and not (self.name and (self.parsed is not None or self.kind == "custom")):
            msgspec.structs.force_setattr(self, "runnable", False)
        self._same_as_default("kind", "function")
        self._same_as_default("arguments", NO_ARGUMENTS)


class MediaPart(PartBase, frozen=True, tag="media", kw_only=True):
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

    _TEXT = ("kind", "url", "file_id", "media_type", "name", "transcript")

    def __post_init__(self) -> None:
        """Check that there is exactly one source."""
        PartBase.__post_init__(self)
        if sum(source is not None for source in (self.url, self.data, self.file_id)) != 1:
            raise UsageError("MediaPart.url: exactly one of url, data and file_id is needed", argument="MediaPart.url")
        if isinstance(self.data, (bytearray, memoryview)):
            msgspec.structs.force_setattr(self, "data", bytes(self.data))


class JsonPart(PartBase, frozen=True, tag="json"):
    """A JSON value as content."""

    value: Any
    provider_data: dict[str, Any] = EMPTY

    _JSON = ("value", "provider_data")


class ProviderToolPart(PartBase, frozen=True, tag="provider_tool", kw_only=True):
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
    _TEXT = ("id", "name", "arguments", "provider")


class ProviderItem(PartBase, frozen=True, tag="provider_item", kw_only=True):
    """A whole item that we do not understand: kept as the bytes that came, and sent back to the provider it came from."""

    provider: str
    protocol: str
    raw: bytes

    _JSON = ()
    _TEXT = ("provider", "protocol")

    def __post_init__(self) -> None:
        """Take a copy of bytes that could change."""
        PartBase.__post_init__(self)
        if isinstance(self.raw, (bytearray, memoryview)):
            msgspec.structs.force_setattr(self, "raw", bytes(self.raw))


class OpaquePart(PartBase, frozen=True, tag="opaque"):
    """A part of a type that this version does not know; written back unchanged.

    Attributes:
        raw: the whole part as it came, its `type` included.
    """

    raw: dict[str, Any]

    _JSON = ("raw",)

    def __post_init__(self) -> None:
        """Check that it can be told apart when it is read again."""
        PartBase.__post_init__(self)
        if not isinstance(self.raw, dict) or not isinstance(self.raw.get("type"), str):
            raise UsageError("OpaquePart.raw has no type; any other JSON value is a JsonPart", argument="OpaquePart.raw")


class ToolResultPart(PartBase, frozen=True, tag="tool_result", kw_only=True):
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

    if TYPE_CHECKING:  # what `_prepare` takes

        def __init__(
            self,
            *,
            call_id: str,
            name: str = "",
            parts: Part | str | Mapping[str, Any] | Sequence[Any] | float | None = (),
            state: ResultState = "success",
            metadata: Mapping[str, Any] = EMPTY,
        ) -> None:
            """Take the fields by keyword; `parts` as `parts_of` takes them."""

    @staticmethod
    def _prepare(*args: Any, **fields: Any) -> dict[str, Any]:
        if args:
            raise UsageError("ToolResultPart takes keywords only: call_id, name, parts, …", argument="ToolResultPart")
        fields["parts"] = parts_of(fields.get("parts", ()), "ToolResultPart.parts")
        return fields

    def __post_init__(self) -> None:
        """Check that the content is what a tool can give."""
        PartBase.__post_init__(self)
        self._same_as_default("state", "success")
        for n, part in enumerate(self.parts):
            if not isinstance(part, (TextPart, MediaPart, JsonPart, ProviderItem, OpaquePart)):
                place = f"ToolResultPart.parts[{n}]"
                raise UsageError(f"{place} is a {type(part).__name__}; results hold text, media and JSON", argument=place)

    @property
    def text(self) -> str:
        """The text parts, joined with nothing."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


Part: TypeAlias = (
    TextPart
    | ReasoningPart
    | RefusalPart
    | ToolCallPart
    | ToolResultPart
    | MediaPart
    | JsonPart
    | ProviderToolPart
    | ProviderItem
    | OpaquePart
)
PART_TYPES: Final[dict[str, type[PartBase]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Part)}
"""Every part class by its `type` in JSON."""


def parts_of(content: object, path: str = "content") -> tuple[Part, ...]:
    """Turn what a person gives as content into parts.

    Args:
        content: None, a text, a part, a part's dictionary, any JSON value (kept as a `JsonPart`), or a list of these.
            A dictionary whose `type` is text is a part's dictionary.
        path: what to call the content in an error.

    Raises:
        UsageError: something in it is neither; the error names the path.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(check_text(content, path)),) if content else ()
    if isinstance(content, (list, tuple)):
        return tuple(_part_of(item, f"{path}[{n}]") for n, item in enumerate(cast("Sequence[object]", content)))
    return (_part_of(content, path),)


def _part_of(value: object, path: str) -> Part:
    if isinstance(value, PartBase):
        return cast("Part", value)
    if isinstance(value, str):
        return TextPart(check_text(value, path))
    frozen: JSON = freeze(value, path)
    is_part = isinstance(frozen, dict) and isinstance(cast("dict[str, Any]", frozen).get("type"), str)
    return part_from_json(frozen, path) if is_part else make(JsonPart, value=frozen)


def part_from_json(value: JSON, path: str) -> Part:
    """Read a part's dictionary; a type that this version does not know becomes an `OpaquePart`.

    Raises:
        UsageError: no dictionary, no type, or a known type with wrong fields; the error names the path.
    """
    if not isinstance(value, dict):
        raise UsageError(f"{path} is a {type_name(value)}, not a part", argument=path)
    form = cast("dict[str, Any]", value)
    kind = form.get("type")
    if not isinstance(kind, str):
        raise UsageError(f"{path}.type is {kind!r}, not the name of a part's type", argument=f"{path}.type")
    known = PART_TYPES.get(kind)
    if known is None or known is OpaquePart:
        return make(OpaquePart, raw=opaque_raw(form))
    # Results are read piece by piece, since there can be unknown types in them too.
    inner = form.get("parts") if known is ToolResultPart else None
    if not isinstance(inner, (list, tuple)):
        return _convert(form, known, path)
    parts = tuple(part_from_json(item, f"{path}.parts[{n}]") for n, item in enumerate(cast("list[Any]", inner)))
    result: Part = _convert({**form, "parts": ()}, known, path)
    try:
        return msgspec.structs.replace(result, parts=parts)
    except UsageError as error:
        raise moved(error, known.__name__, path) from error


def _convert(form: dict[str, Any], kind: type[PartBase], path: str) -> Part:
    try:
        return cast("Part", msgspec.convert(form, type=kind))
    except msgspec.ValidationError as error:
        raise located(error, path) from error
    except UsageError as error:
        raise moved(error, kind.__name__, path) from error


def opaque_raw(form: dict[str, Any]) -> dict[str, Any]:
    """Return the part that a written form of an `OpaquePart` stands for: itself, or what `opaque_form` wrapped."""
    raw = form.get("raw")
    is_wrapped = form.get("type") == "opaque" and isinstance(raw, dict) and isinstance(cast("dict[str, Any]", raw).get("type"), str)
    return cast("dict[str, Any]", raw) if is_wrapped else form
