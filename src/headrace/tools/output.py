"""What a tool returned or yielded, as parts that a message can hold.

The rule of this file: text stays text; parts stay as they are; every other JSON value becomes a `JsonPart`, so that an
encoder can send it as JSON where a wire takes that and as text elsewhere, and a dictionary is never taken for a part. What
is no JSON is refused with its type and place, never written as `repr`. Output is bounded, and a cut is said in the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final, TypeGuard, cast

import msgspec

from headrace._json import JSON, dumps, dumps_text, freeze, has_lone_surrogate, replace_surrogates
from headrace.errors import UsageError
from headrace.messages.parts import JsonPart, MediaPart, Part, ProviderToolPart, TextPart, ToolCallPart, ToolResultPart, make

MAX_MEDIA_BYTES: Final = 32 * 1024 * 1024
"""How many bytes of media one output may hold; media cannot be cut, so what is over is left out whole."""

_BYTES: Final = (bytes, bytearray, memoryview)
_PART_TYPES: Final = Part.__args__
_NOT_INSIDE: Final = (ToolResultPart, ToolCallPart, ProviderToolPart)


def parts_from(value: object) -> tuple[Part, ...]:
    """Turn one value that a tool returned or yielded into parts.

    None is no part; a text is a `TextPart`; a part stays as it is; in a list that holds parts each item goes by itself;
    every other value is one `JsonPart`: numbers, booleans, lists, dictionaries, and what has one JSON form (pydantic
    models, dataclasses, msgspec Structs, sets, dates, decimals, UUIDs, enums, paths).

    Raises:
        UsageError: the value, or one inside it, is no JSON; the error names its type and place.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (make(TextPart, text=replace_surrogates(value)),) if value else ()
    if isinstance(value, _PART_TYPES):
        return (_allowed(value),)
    items = cast("Sequence[object]", value if isinstance(value, (list, tuple)) else ())
    if any(isinstance(item, _PART_TYPES) for item in items):
        return tuple(part for item in items for part in parts_from(item))
    return (JsonPart(json_from(value)),)  # pyright: ignore[reportUnknownArgumentType]


def _allowed(part: Any) -> Part:
    if isinstance(part, _NOT_INSIDE):
        raise UsageError(f"the output is a {type(part).__name__}; a tool gives back text, media and JSON", argument="output")
    return part  # type: ignore[no-any-return]


def json_from(value: object) -> JSON:
    """Return a value as frozen JSON.

    Raises:
        UsageError: it is none; the error names the type and the place, such as `output.when[0]`.
    """
    if isinstance(value, _BYTES):
        raise UsageError(
            "the output is bytes, which are no text and no JSON: return MediaPart(kind=…, data=…), or decode them", argument="output"
        )
    try:
        # Bytes stay what they are here, so that they are refused below and not silently written in base64.
        plain: JSON = msgspec.to_builtins(value, builtin_types=_BYTES, str_keys=True, enc_hook=_encode)
    except RecursionError as error:
        raise UsageError("the output is nested too deep, or holds itself", argument="output") from error
    except TypeError as error:
        raise UsageError(f"the output is no JSON value: {error}", argument="output") from error
    return freeze(replace_surrogates(plain) if _has_lone_surrogate(plain) else plain, "output")


def _encode(value: Any) -> JSON:
    """Encode what msgspec does not know."""
    if isinstance(value, type):
        raise TypeError(f"the class {value.__name__} has no JSON form")
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    kinds: tuple[Any, ...] = (dict, list, str, float, int)
    for kind in kinds:  # a subclass
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _has_lone_surrogate(value: JSON) -> bool:
    if isinstance(value, str):
        return has_lone_surrogate(value)
    if isinstance(value, dict):
        return any(has_lone_surrogate(key) or _has_lone_surrogate(item) for key, item in value.items() if isinstance(key, str))  # pyright: ignore[reportUnknownVariableType]
    return isinstance(value, list) and any(_has_lone_surrogate(item) for item in value)  # pyright: ignore[reportUnknownVariableType]


class Output:
    """Collects a tool's output piece by piece, up to a bound.

    Attributes:
        kept_bytes: how much text and JSON was kept, in UTF-8 bytes.
        cut_bytes: how much was left out, media included.
    """

    def __init__(self, max_bytes: int, max_media_bytes: int = MAX_MEDIA_BYTES) -> None:
        """Start empty."""
        self.kept_bytes = 0
        self.cut_bytes = 0
        self._left = max_bytes
        self._media_left = max_media_bytes
        self._runs: list[list[str] | Part] = []

    def add(self, value: object) -> tuple[Part, ...]:
        """Take what the tool returned or yielded next.

        Returns:
            What was kept of it, to be shown at once; all of these together make `parts`, where neighbouring texts are one part.

        Raises:
            UsageError: it is no text, no part and no JSON.
        """
        kept = tuple(part for part in map(self._bounded, parts_from(value)) if part is not None)
        for part in kept:
            if not _is_plain_text(part):
                self._runs.append(part)
            elif self._runs and isinstance(self._runs[-1], list):
                self._runs[-1].append(part.text)
            else:
                self._runs.append([part.text])
        return kept

    @property
    def parts(self) -> tuple[Part, ...]:
        """What was kept, and a note of what was cut."""
        parts = tuple(make(TextPart, text="".join(run)) if isinstance(run, list) else run for run in self._runs)
        return with_note(parts, f"[cut here: {self.cut_bytes} more bytes of output were left out]") if self.cut_bytes else parts

    def _bounded(self, part: Part) -> Part | None:
        if isinstance(part, MediaPart):
            return self._bounded_media(part)
        size = len(part.text.encode()) if _is_plain_text(part) else len(dumps(part.value if isinstance(part, JsonPart) else part))
        # After a cut nothing more is kept: what comes later would seem to follow what was kept.
        if size <= self._left and not self.cut_bytes:
            self._left -= size
            self.kept_bytes += size
            return part
        room, self._left = self._left, 0
        is_cuttable = _is_plain_text(part) or isinstance(part, JsonPart)
        text = part.text if isinstance(part, TextPart) else dumps_text(part.value) if isinstance(part, JsonPart) else ""
        beginning = text.encode()[:room].decode("utf-8", "ignore") if is_cuttable and not self.cut_bytes else ""
        kept = len(beginning.encode())
        self.kept_bytes += kept
        self.cut_bytes += size - kept
        return make(TextPart, text=beginning) if beginning else None

    def _bounded_media(self, part: MediaPart) -> Part | None:
        size = len(part.data or part.url or "")
        if size <= self._media_left:
            self._media_left -= size
            return part
        self._media_left = 0
        self.cut_bytes += size
        return None


def _is_plain_text(part: Part) -> TypeGuard[TextPart]:
    return isinstance(part, TextPart) and not part.citations and not part.provider_data


def with_note(parts: Sequence[Part], note: str) -> tuple[Part, ...]:
    """Return the parts and a note after them, on a line of its own."""
    is_midline = bool(parts) and isinstance(parts[-1], TextPart) and not parts[-1].text.endswith("\n")
    return (*parts, make(TextPart, text=f"\n{note}" if is_midline else note))
