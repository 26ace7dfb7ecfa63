"""Which tool call a fragment belongs to: one pure function, the table of DESIGN 6.2.

The rule of this file: the decision depends only on the fragments that came before, and costs constant time; bodies are
asked whether they are whole only in the rows that need it, and each character is looked at once for that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._json import JSONError, Scanner, loads
from headrace.messages.deltas import ToolCallFragment
from headrace.messages.parts import CallKind


class Body:
    """The arguments of one call while they arrive: the pieces, and whether they already are a whole object."""

    __slots__ = ("_is_settled", "_read", "_scanner", "_whole", "objects", "pieces", "size")

    def __init__(self) -> None:
        """Start empty."""
        self.pieces: list[str] = []
        self.objects: list[dict[str, Any]] = []
        self.size = 0
        self._scanner = Scanner()
        self._read = 0
        self._whole: dict[str, Any] | None = None
        self._is_settled = False

    def add(self, arguments: str | dict[str, Any]) -> None:
        """Append a piece of text, or an object where the wire sends objects."""
        if isinstance(arguments, str):
            self.pieces.append(arguments)
            self.size += len(arguments)
        else:
            self.objects.append(arguments)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come."""
        return not self.pieces and not self.objects

    def whole(self) -> dict[str, Any] | None:
        """Return the object that the pieces make so far, or None if they do not (yet) make one."""
        if self.objects:
            return self.objects[-1] if not self.pieces else None
        if self._is_settled:  # once balanced, whatever follows is no part of an object any more
            return self._whole if self._read == len(self.pieces) else None
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return None
        for piece in self.pieces[self._read :]:
            self._scanner.scan(piece)
        self._read = len(self.pieces)
        if self._scanner.depth == 0 and not self._scanner.is_in_string:
            self._is_settled = True
            self._whole = _object("".join(self.pieces))
        return self._whole


class Call:
    """One call while it arrives.

    Attributes:
        id: what the call is called; None until the wire says, or for ever.
        wire_id: the id that came with it, which may be one that another call already had.
    """

    __slots__ = ("body", "has_repeated_name", "id", "index", "is_id_changing", "is_id_optional", "kind", "name", "wire_id")

    def __init__(self) -> None:
        """Start with nothing known."""
        self.id: str | None = None
        self.wire_id: str | None = None
        self.index: int | None = None
        self.name = ""
        self.kind: CallKind | None = None
        self.body = Body()
        self.is_id_optional = False
        self.is_id_changing = False
        self.has_repeated_name = False


class CallTable:
    """The calls of one choice so far, and how to find them."""

    __slots__ = ("at_index", "by_id", "last")

    def __init__(self) -> None:
        """Start without calls."""
        self.last: Call | None = None
        self.at_index: dict[int, Call] = {}
        self.by_id: dict[str, Call] = {}

    def place(self, fragment: ToolCallFragment, verdict: Verdict) -> Call:
        """Record that a fragment belongs where the verdict says; the call takes what it lacked. Returns the call."""
        call = verdict.call
        if call is None:
            call = Call()
        identifier = fragment.id or None
        if identifier is not None:
            if call.wire_id is None:
                call.wire_id = identifier
                call.id = None if verdict.is_id_taken else identifier
            self.by_id[identifier] = call
        index = _index(fragment)
        if index is not None:
            if call.index is None:
                call.index = index
            if call.index == index or call.body.is_empty:
                self.at_index[index] = call
        if call.kind is None:
            call.kind = fragment.kind
        self.last = call
        return call


class Verdict(NamedTuple):
    """Where a fragment belongs.

    Attributes:
        call: the call that it continues, or None for a new one.
        code: the warning to say, or None.
        is_id_taken: the fragment's id already names another call, so the new one needs an id of our making.
    """

    call: Call | None
    code: str | None = None
    is_id_taken: bool = False


_NEW = Verdict(None)


def is_nothing(fragment: ToolCallFragment) -> bool:
    """Return whether the fragment says nothing at all; an index alone says nothing."""
    return not fragment.id and not fragment.name and (fragment.arguments is None or fragment.arguments == "")


def which_call(fragment: ToolCallFragment, table: CallTable) -> Verdict:
    """Decide which call a fragment belongs to.

    Args:
        fragment: a fragment that says something.
        table: the calls so far.

    Returns:
        The verdict; row by row the table of DESIGN 6.2.
    """
    index = _index(fragment)
    if fragment.id:
        known = table.by_id.get(fragment.id)
        if known is not None:
            return _by_known_id(fragment, index, known, table)
        return _by_new_id(fragment, index, table)
    if index is not None:
        there = table.at_index.get(index)
        if there is None:
            return _NEW
        if fragment.name and _are_whole_and_differ(there, fragment):
            return Verdict(None, "reused_tool_index")
        return Verdict(there)
    if table.last is None or (fragment.name and table.last.body.whole() is not None):
        return _NEW
    return Verdict(table.last)


def _by_known_id(fragment: ToolCallFragment, index: int | None, known: Call, table: CallTable) -> Verdict:
    if index is None or known.index is None or known.index == index:
        return Verdict(known)
    there = table.at_index.get(index)
    if there is not None and (there is known or there.wire_id == fragment.id):
        return Verdict(there)
    is_other_name = bool(fragment.name) and bool(known.name) and fragment.name != known.name
    if is_other_name or _are_both_whole(known, fragment):
        return Verdict(None, "duplicate_tool_id", is_id_taken=True)
    return Verdict(known, "duplicate_tool_id")


def _by_new_id(fragment: ToolCallFragment, index: int | None, table: CallTable) -> Verdict:
    if index is not None:
        there = table.at_index.get(index)
        if there is None:
            return _NEW
        if there.wire_id is None:
            is_another = bool(fragment.name) and _are_both_whole(there, fragment)
            return Verdict(None, "reused_tool_index") if is_another else Verdict(there)
        return Verdict(None, "reused_tool_index") if fragment.name else Verdict(there, "changing_tool_id")
    last = table.last
    if last is None:
        return _NEW
    if fragment.name:
        is_late_id = last.wire_id is None and last.name == fragment.name and last.body.whole() is None
        return Verdict(last) if is_late_id else _NEW
    return Verdict(last, "changing_tool_id" if last.wire_id is not None else None)


def _index(fragment: ToolCallFragment) -> int | None:
    return fragment.index if fragment.index is not None and fragment.index >= 0 else None


def _are_both_whole(call: Call, fragment: ToolCallFragment) -> bool:
    return _body(fragment) is not None and call.body.whole() is not None


def _are_whole_and_differ(call: Call, fragment: ToolCallFragment) -> bool:
    mine = _body(fragment)
    if mine is None:
        return False
    theirs = call.body.whole()
    return theirs is not None and mine != theirs


def _body(fragment: ToolCallFragment) -> dict[str, Any] | None:
    arguments = fragment.arguments
    if isinstance(arguments, dict):
        return arguments
    return _object(arguments) if arguments and arguments.rstrip().endswith("}") else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = loads(text)
    except JSONError:
        return None
    return value if isinstance(value, dict) else None
