"""Which tool call a fragment belongs to: one pure function, the table of DESIGN 6.2.

The rule of this file: the decision depends only on the fragments that came before, and costs constant time; bodies are
asked whether they are whole only in the rows that need it, and each character is looked at once for that. "The last call" and
"the latest call there" are those that were opened last, whichever was continued since.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import msgspec

from headrace._json import JSONError, Scanner, dumps_text, loads
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
            self.size += len(dumps_text(arguments))

    def fill(self, final: str) -> None:
        """Take the whole text that the wire repeats at the end: what is missing of it is filled in, nothing is added to it."""
        if not self.objects and len(final) > self.size:
            so_far = "".join(self.pieces)
            if final.startswith(so_far):
                self.add(final[len(so_far) :])

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come."""
        return not self.pieces and not self.objects

    def whole(self) -> dict[str, Any] | None:
        """Return the object that the pieces make so far, or None if they do not (yet) make one."""
        if self.objects:
            return self.objects[-1] if not self.pieces else None
        for piece in self._unread():
            if self._is_settled:
                if not piece.isspace():  # once balanced, whatever follows is no part of an object any more
                    self._whole = None
            else:
                self._scanner.scan(piece)
        if not self._is_settled and self._scanner.deepest > 0 and self._scanner.depth <= 0 and not self._scanner.is_in_string:
            self._is_settled = True
            self._whole = object_of("".join(self.pieces))
        return self._whole

    def _unread(self) -> list[str]:
        unread = self.pieces[self._read :]
        self._read = len(self.pieces)
        return unread


class Call:
    """One call while it arrives.

    Attributes:
        id: what the call is called; None until the wire says, or for ever.
        wire_id: the id that came with it, which may be one that another call already had.
        said: the codes of oddities that were said of it; each is said once a call.
    """

    __slots__ = ("_name", "_name_size", "body", "id", "index", "is_id_optional", "kind", "said", "wire_id")

    def __init__(self) -> None:
        """Start with nothing known."""
        self.id: str | None = None
        self.wire_id: str | None = None
        self.index: int | None = None
        self.kind: CallKind | None = None
        self.body = Body()
        self.is_id_optional = False
        self.said: tuple[str, ...] = ()
        self._name: list[str] = []
        self._name_size = 0

    @property
    def name(self) -> str:
        """The name so far."""
        return "".join(self._name)

    @property
    def has_name(self) -> bool:
        """Whether a name has come."""
        return self._name_size > 0

    def is_called(self, name: str) -> bool:
        """Return whether this is the name; joins the pieces only where the length fits, so the cost is that of the argument."""
        return len(name) == self._name_size and name == self.name

    def grow_name(self, name: str) -> None:
        """Take a name: an equal one is a repeat, one that begins with what is held replaces it, another is appended until arguments come."""
        if len(name) >= self._name_size and name.startswith(self.name):
            self._name, self._name_size = [name], len(name)
        elif self.body.is_empty:
            self._name.append(name)
            self._name_size += len(name)


class CallTable:
    """The calls of one choice so far, and how to find them.

    Attributes:
        last: the call that was opened last.
        at_index: by index, the call that was opened there last, or that took the index last.
        by_id: by id, the call that was opened with it last.
        twins: of calls that share an id, each by its id and index.
    """

    __slots__ = ("at_index", "by_id", "last", "twins")

    def __init__(self) -> None:
        """Start without calls."""
        self.last: Call | None = None
        self.at_index: dict[int, Call] = {}
        self.by_id: dict[str, Call] = {}
        self.twins: dict[tuple[str, int | None], Call] = {}

    def place(self, fragment: ToolCallFragment, verdict: Verdict) -> Call:
        """Record that a fragment belongs where the verdict says; the call takes what it lacked. Returns the call."""
        call, identifier, index = verdict.call, fragment.id or None, _index(fragment)
        is_new = call is None
        if call is None:
            call = self.last = Call()
        if verdict.is_id_taken and identifier is not None and index is not None:
            twin = self.by_id[identifier]  # it has an index, another one
            self.twins.setdefault((identifier, twin.index), twin)
            self.twins[identifier, index] = call
        if identifier is not None:
            if call.wire_id is None:
                call.wire_id = identifier
                call.id = None if verdict.is_id_taken else identifier
            if is_new or identifier not in self.by_id:
                self.by_id[identifier] = call
        if index is not None:
            if call.index is None:
                call.index = index
                self.at_index[index] = call
            elif index not in self.at_index and call.body.is_empty:
                # Beyond the table: a call that is shown again, at an index of its own and before any arguments came, goes on there.
                self.at_index[index] = call
        call.kind = call.kind or fragment.kind
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
    twin = table.twins.get((fragment.id or "", index))
    if twin is not None:
        return Verdict(twin)
    is_other_name = bool(fragment.name) and known.has_name and not known.is_called(fragment.name or "")
    is_another = is_other_name or _are_both_whole(known, fragment)
    return Verdict(None if is_another else known, "duplicate_tool_id", is_id_taken=is_another)


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
        is_late_id = last.wire_id is None and last.is_called(fragment.name) and last.body.whole() is None
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
    # Python takes 1 for True; JSON does not, and two different objects are never taken for one.
    return theirs is not None and (mine != theirs or _canonical(mine) != _canonical(theirs))


def _canonical(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _body(fragment: ToolCallFragment) -> dict[str, Any] | None:
    arguments = fragment.arguments
    if isinstance(arguments, dict):
        return arguments
    return object_of(arguments) if arguments and arguments.rstrip().endswith("}") else None


def object_of(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, or None."""
    try:
        value = loads(text)
    except JSONError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
