"""Messages that each hold all so far, as what each one adds.

The rule of this file: with `incremental_output` false each event repeats the whole text, reasoning, names and arguments so far, with true
it holds what is new; where nobody says which, the second piece of a text tells: it begins with the first, or it does not. A verdict that
a later piece contradicts is taken back, and the message begun anew (the caller says so). Nothing but the last snapshot and the pieces
of an open verdict is held, and each event costs time in its own length.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from headrace._json import JSON

Said: TypeAlias = tuple[int, dict[str, Any]]
"""A choice's index, and a message for it."""

_TEXTS: Final = ("reasoning_content", "content")
_SURE: Final = 2
"""How often a text must have grown until a verdict of our own is certain."""


class Added(NamedTuple):
    """What an event adds.

    Attributes:
        said: the messages to read, in order.
        is_restart: they replace whatever came before.
    """

    said: list[Said]
    is_restart: bool = False


class Snapshots:
    """Takes the messages of one event after another.

    Attributes:
        is_incremental: whether each piece is new; None: not known yet.
        is_told: whether the caller said so, and not the data.
    """

    def __init__(self, is_incremental: bool | None) -> None:  # noqa: FBT001 - the option as it is
        """Start before the first event; None finds out."""
        self.is_incremental = is_incremental
        self.is_told = is_incremental is not None
        self._is_sure = self.is_told
        self._held: dict[tuple[Any, ...], str] = {}
        self._grown: dict[tuple[Any, ...], int] = {}
        self._pieces: list[Said] = []
        self._last: dict[int, _Last] = {}

    def feed(self, said: list[Said]) -> Added:
        """Return what the messages of one event add."""
        if self.is_incremental:
            return Added(said)
        pieces = {key: piece for choice, message in said for key, piece in _pieces(choice, message) if piece}
        if self.is_incremental is None or not self._is_sure:
            self._pieces += [one for one in said if any(key[0] == one[0] for key in pieces)]
        if self.is_incremental is None:
            second = next(((key, piece) for key, piece in pieces.items() if key in self._held), None)
            if second is not None:
                self.is_incremental = not second[1].startswith(self._held[second[0]])
            if self.is_incremental is not False:
                self._keep(said, pieces)
                if self.is_incremental:
                    self._forget()
                return Added(said)
        return self._cumulative(said, pieces)

    def _cumulative(self, said: list[Said], pieces: Mapping[tuple[Any, ...], str]) -> Added:
        broken = [key for key, piece in pieces.items() if not piece.startswith(self._held.get(key, ""))]
        if broken and not self._is_sure:  # the pieces were new ones after all
            self.is_incremental = True
            everything = list(self._pieces)
            self._forget()
            return Added(everything, is_restart=True)
        broken = [key for key in broken if not self._held[key].startswith(pieces[key])]  # what is merely behind is no other text
        if broken:
            self._keep(said, pieces)
            self._held = {
                key: piece
                for choice, last in self._last.items()
                for key, piece in (*_pieces(choice, last.message()), *_names(choice, last.message()))
            }
            return Added([(choice, last.message()) for choice, last in self._last.items()], is_restart=True)
        added = [(choice, self._added(choice, message)) for choice, message in said]
        for key, piece in pieces.items():
            if self._held.get(key) and len(piece) > len(self._held[key]) and not self._is_sure:
                self._grown[key] = self._grown.get(key, 0) + 1
        self._keep(said, pieces)
        if max(self._grown.values(), default=0) >= _SURE and not self._is_sure:
            self._is_sure = True
            self._pieces.clear()
        return Added(added)

    def _keep(self, said: list[Said], pieces: Mapping[tuple[Any, ...], str]) -> None:
        for key, piece in pieces.items():
            if len(piece) >= len(self._held.get(key, "")) or not self._held[key].startswith(piece):
                self._held[key] = piece
        for choice, message in said:
            self._held.update(_names(choice, message))
            self._last.setdefault(choice, _Last()).take(message)

    def _forget(self) -> None:
        self._held.clear()
        self._pieces.clear()
        self._last.clear()

    def _added(self, choice: int, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message with what it adds to the one before."""
        added = dict(message)
        for name in _TEXTS:
            text, others = _text_of(message.get(name))
            new = self._new((choice, name), text)
            if isinstance(message.get(name), list):
                seen = self._last[choice].others if choice in self._last else []
                added[name] = [{"text": new}, *(item for item in others if item not in seen)]
            elif isinstance(message.get(name), str):
                added[name] = new
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            added["tool_calls"] = [self._added_call(choice, n, call) for n, call in enumerate(calls)]
        return added

    def _added_call(self, choice: int, n: int, call: JSON) -> JSON:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            return call
        key = _key_of(call, n)
        new = dict(function)
        for name in ("name", "arguments"):
            if isinstance(function.get(name), str):
                new[name] = self._new((choice, name, key), function[name])
        if new.get("name"):
            new["name"] = function["name"]  # a name that grew comes whole: the fold takes it for the same name, longer
        place = {"index": n} if type(call.get("index")) is not int and not call.get("id") else {}
        return {**call, **place, "function": new}

    def _new(self, key: tuple[Any, ...], piece: str) -> str:
        held = self._held.get(key, "")
        return piece[len(held) :] if piece.startswith(held) else ""


class _Last:
    """The last snapshot of one choice, field by field.

    Attributes:
        others: what its contents hold beside text.
    """

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._calls: dict[Any, Any] = {}
        self.others: list[JSON] = []

    def take(self, message: Mapping[str, Any]) -> None:
        self._fields.update((name, value) for name, value in message.items() if name != "tool_calls" and value)
        calls = message.get("tool_calls")
        for n, call in enumerate(calls if isinstance(calls, list) else []):
            self._calls[_key_of(call, n) if isinstance(call, dict) else n] = call
        for name in _TEXTS:
            self.others += [item for item in _text_of(message.get(name))[1] if item not in self.others]

    def message(self) -> dict[str, Any]:
        return {**self._fields, **({"tool_calls": list(self._calls.values())} if self._calls else {})}


def _pieces(choice: int, message: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Return each text of a message that grows, by where it stands."""
    for name in _TEXTS:
        yield (choice, name), _text_of(message.get(name))[0]
    for key, function in _functions(message):
        if isinstance(function.get("arguments"), str):
            yield (choice, "arguments", key), function["arguments"]


def _names(choice: int, message: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Return the names of a message's calls; they grow too, but tell nothing: a name may be repeated in any mode."""
    for key, function in _functions(message):
        if isinstance(function.get("name"), str) and function["name"]:
            yield (choice, "name", key), function["name"]


def _functions(message: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    calls = message.get("tool_calls")
    for n, call in enumerate(calls if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield _key_of(call, n), function


def _text_of(content: JSON) -> tuple[str, list[JSON]]:
    """Return the text of a content, which is a text or a list of parts, and what is in the parts beside text."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    others: list[JSON] = []
    for item in content if isinstance(content, list) else ():
        is_text = isinstance(item, dict) and isinstance(item.get("text"), str)
        if is_text:
            texts.append(item["text"])
        rest = {name: value for name, value in item.items() if name not in ("text", "type")} if is_text else item
        if rest:
            others.append(rest)
    return "".join(texts), others


def _key_of(call: Mapping[str, Any], n: int) -> Any:
    """Return by what a call is known in each snapshot: its index, else its id, else its place in the list."""
    index = call.get("index")
    identifier = call.get("id")
    return index if type(index) is int else identifier if isinstance(identifier, str) and identifier else n
