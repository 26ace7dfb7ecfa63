"""Arguments that come in pieces, each with the JSON path that it belongs to, as JSON text that grows.

The rule of this file: what is written cannot be unwritten. Pieces that come in the document's order are written as they come; a piece
that goes back to a member that was closed is only remembered, and that member of the root is written again, whole, at the end (of two
equal keys JSON readers take the last). What cannot be placed is written so that the text is no JSON and the call cannot run.

Source: Vertex AI, function calling, `streamFunctionCallArguments`.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from headrace._json import JSON, dumps_text, has_lone_surrogate

_STEP: Final = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""", re.DOTALL)
_MAX_DEPTH: Final = 128
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")
Path: TypeAlias = tuple[str | int, ...]


class _Text:
    """A text that grows."""

    __slots__ = ("pieces",)

    def __init__(self, piece: str) -> None:
        self.pieces = [piece]


class PartialArguments:
    """The machine: `add` pieces, then `end`."""

    __slots__ = ("_again", "_is_broken", "_is_in_string", "_open", "_path", "_root", "_sizes")

    def __init__(self) -> None:
        """Start with nothing written."""
        self._root: dict[str | int, Any] = {}
        self._path: Path | None = None  # the value that was written last
        self._sizes: list[int] = []  # for each container that is open in the text: how many members it has
        self._is_in_string = False  # the text ends inside of a string
        self._open: set[Path] = set()  # strings whose end has not been said
        self._again: dict[str | int, None] = {}
        self._is_broken = False

    def add(self, piece: JSON) -> str:
        """Take one entry of `partialArgs`; returns the text that it adds."""
        path = _path_of(piece.get("jsonPath")) if isinstance(piece, Mapping) else None
        name = next((name for name in _VALUES if name in piece), None) if isinstance(piece, Mapping) else None
        if path is not None and name is None:
            return ""  # a path without a value: nothing new
        value = None if name == "nullValue" or name is None else piece[name]
        if self._is_broken or path is None or not _fits(name, value):
            return self._break(piece)
        return self._set(path, value, is_open=name == "stringValue" and bool(piece.get("willContinue")), piece=piece)

    def seed(self, arguments: Mapping[str, JSON]) -> str:
        """Take arguments that came whole before any piece; returns their text."""
        return "".join(self._set((key,), value, is_open=False, piece=value) for key, value in arguments.items())

    def end(self) -> str | None:
        """Return the text that closes the object; None if it is not whole (a string is open, or a piece had no place)."""
        if self._is_broken or self._open:
            return None
        text = [self._begin(), '"' if self._is_in_string else ""]
        text += _closing(self._path[1:] if self._path else ())
        for n, key in enumerate(self._again):
            text.append(("," if n or self._sizes[0] else "") + _quoted(str(key)) + ":" + json.dumps(_plain(self._root[key])))
        return "".join(text) + "}"

    # ------------------------------------------------------------------------------------------ the tree

    def _set(self, path: Path, value: JSON, *, is_open: bool, piece: JSON) -> str:
        """Put a value where it belongs, in the tree and, if it comes in order, in the text."""
        depth = self._place(path, value)
        if depth is None:
            return self._break(piece)
        if is_open:
            self._open.add(path)
        else:
            self._open.discard(path)
        begin = self._begin()
        shared = self._shared_with_text(path)
        if path == self._path and self._is_in_string:
            text = _escaped(value)
        elif depth == shared and path[0] not in self._again:
            text = self._write(path, shared, value)
        else:
            self._again[path[0]] = None
            return begin
        self._is_in_string = is_open
        return begin + text + ('"' if isinstance(value, str) and not is_open else "")

    def _place(self, path: Path, value: JSON) -> int | None:
        """Put a value into the tree; returns which step of the path is the first new one (its length if none is), None if there is no place."""
        at: Any = self._root
        first = len(path)
        for depth, step in enumerate(path[:-1]):
            if not _has(at, step):
                if not _can_add(at, step):
                    return None
                first = min(first, depth)
                _store(at, step, [] if isinstance(path[depth + 1], int) else {})
            at = at[step]
        step = path[-1]
        if not _has(at, step):
            if not _can_add(at, step):
                return None
            _store(at, step, _Text(value) if isinstance(value, str) else value)
            return min(first, len(path) - 1)
        known = at[step]
        if isinstance(known, (dict, list)):
            return None
        if isinstance(known, _Text) and isinstance(value, str):
            known.pieces.append(value)
        else:
            _store(at, step, _Text(value) if isinstance(value, str) else value)
        return first

    # ------------------------------------------------------------------------------------------ the text

    def _begin(self) -> str:
        if self._sizes:
            return ""
        self._sizes.append(0)
        return "{"

    def _shared_with_text(self, path: Path) -> int:
        """Return how many containers that are open in the text a path lies in, the root left out."""
        before = self._path or ()
        shared = 0
        while shared < min(len(path), len(before)) - 1 and path[shared] == before[shared]:
            shared += 1
        return shared

    def _write(self, path: Path, shared: int, value: JSON) -> str:
        """Write a value that is new: close what it is not in, open what it is in."""
        before = self._path or ()
        text = ['"' if self._is_in_string else "", *_closing(before[shared + 1 :])]
        del self._sizes[shared + 1 :]
        for depth in range(shared, len(path)):
            step = path[depth]
            text.append("," if self._sizes[-1] else "")
            self._sizes[-1] += 1
            if isinstance(step, str):
                text.append(_quoted(step) + ":")
            if depth + 1 < len(path):
                text.append("[" if isinstance(path[depth + 1], int) else "{")
                self._sizes.append(0)
        text.append('"' + _escaped(value) if isinstance(value, str) else json.dumps(value))
        self._path = path
        return "".join(text)

    def _break(self, piece: JSON) -> str:
        """Write a piece that has no place behind the rest, so that nothing is lost and the text is no JSON."""
        self._is_broken = True
        return self._begin() + json.dumps(piece)


def _path_of(text: JSON) -> Path | None:
    """Read a JSON path such as `$.a.b[0]['c d']`; None if it is none, or the root itself."""
    if not isinstance(text, str) or not text.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or len(steps) == _MAX_DEPTH:
            return None
        name, index, single, double = found.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(name if name is not None else re.sub(r"\\(.)", r"\1", single if single is not None else double))
        at = found.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def _fits(name: str | None, value: JSON) -> bool:
    kinds = {"stringValue": (str,), "numberValue": (int, float), "boolValue": (bool,)}
    return name == "nullValue" or (name is not None and type(value) in kinds[name])


def _has(container: JSON, step: str | int) -> bool:
    if isinstance(container, dict):
        return step in container
    return isinstance(container, list) and isinstance(step, int) and step < len(container)


def _can_add(container: JSON, step: str | int) -> bool:
    if isinstance(container, dict):
        return isinstance(step, str)
    return isinstance(container, list) and step == len(container)


def _store(container: Any, step: str | int, value: Any) -> None:
    if isinstance(container, dict):
        container[step] = value
    elif step == len(container):
        container.append(value)
    else:
        container[step] = value


def _plain(value: Any) -> JSON:
    if isinstance(value, _Text):
        return "".join(value.pieces)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _closing(steps: Path) -> list[str]:
    """Return the brackets that close containers: for each, the step inside of it says which kind it is."""
    return ["]" if isinstance(step, int) else "}" for step in reversed(steps)]


def _quoted(text: str) -> str:
    return json.dumps(text) if has_lone_surrogate(text) else dumps_text(text)


def _escaped(text: str) -> str:
    return _quoted(text)[1:-1]
