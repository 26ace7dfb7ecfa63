r"""One tool call on its way to a client: what of its arguments can go out now, and whether what went out is what was meant.

The rule of this file: what goes out is the beginning of one JSON object. Text that is none (a placeholder, a text around the object, what
follows it) waits until the call has ended and is judged; then it is either no part of the arguments, and was repaired, or the call is
broken and that is said. Nothing is made up: open brackets stay open.
"""

from __future__ import annotations

import re
from typing import Final

from headrace._json import JSON, JSONError, dumps_text, loads_lenient, replace_surrogates
from headrace.messages.identity import Call, object_of
from headrace.messages.parts import CallKind, ToolCallPart
from headrace.wire.surrogates_out import Halves

_TOKENS: Final = re.compile(r'["\\{}\[\]\x00-\x1f]')
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_SPACES: Final = " \t\r\n"


class ObjectScan:
    """Follows one JSON object through text that comes in pieces; each character is read once.

    Attributes:
        is_whole: the object has ended.
    """

    __slots__ = ("_depth", "_is_escaped", "_is_in_string", "is_whole")

    def __init__(self) -> None:
        """Start before the object's first character."""
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False
        self.is_whole = False

    def scan(self, piece: str) -> tuple[str, str]:
        """Return what of a piece belongs to the object, raw control characters in its strings escaped, and what follows it."""
        out: list[str] = []
        done = 0
        skip = 0 if self._is_escaped else -1
        self._is_escaped = False
        for match in _TOKENS.finditer(piece):
            at, token = match.start(), match.group()
            if at == skip:
                continue
            if token < " ":
                if self._is_in_string:
                    out += (piece[done:at], _SHORT.get(token) or f"\\u{ord(token):04x}")
                    done = at + 1
            elif token == '"':
                self._is_in_string = not self._is_in_string
            elif token == "\\":
                if self._is_in_string:
                    skip = at + 1
            elif not self._is_in_string:
                self._depth += 1 if token in "{[" else -1
                if self._depth <= 0:
                    self.is_whole = True
                    out.append(piece[done : at + 1])
                    return "".join(out), piece[at + 1 :]
        self._is_escaped = skip == len(piece)
        out.append(piece[done:])
        return "".join(out), ""


class CallOut:
    """One call.

    Attributes:
        choice, key: where it stands among what came.
        index: its place among the calls that went out, or -1.
        id, name: as they went out.
        kind: what kind of call it is.
        call: what is known of it.
        is_started: its beginning went out.
        is_numbered: the wire that it came from numbers its parts, so its name comes at once.
        has_ended: nothing more of it will go out: the wire it came from said so and nothing waits, or its object is whole.
        is_faulty: what went out is not what was meant.
        is_cut_short: arguments came that had no place any more.
    """

    __slots__ = (
        "_again", "_halves", "_has_begun", "_has_waiting_objects", "_held", "_objects", "_pieces", "_scan", "_sent", "_size", "call", "choice", "has_ended", "id", "index", "is_cut_short", "is_faulty", "is_numbered",
        "is_started", "key", "kind", "name",
    )  # fmt: skip

    def __init__(self, choice: int, key: int, call: Call, *, is_numbered: bool) -> None:
        """Start before anything of it went out."""
        self.choice = choice
        self.key = key
        self.call = call
        self.is_numbered = is_numbered
        self.index = -1
        self.id = ""
        self.name = ""
        self.kind: CallKind = "function"
        self.is_started = self.has_ended = self.is_faulty = self.is_cut_short = False
        self._pieces = self._objects = self._size = 0
        self._scan = ObjectScan()
        self._halves = Halves()
        self._again = ""
        self._has_begun = self._has_waiting_objects = False
        self._held: list[str] = []
        self._sent: list[str] = []

    @property
    def has_arguments(self) -> bool:
        """Whether any arguments came."""
        return not self.call.body.is_empty

    @property
    def is_whole(self) -> bool:
        """Whether what went out is a whole object, so that a client could run it."""
        return self._scan.is_whole and bool(self._sent)

    def news(self) -> str:
        """Return what of the arguments that came since can go out.

        Objects wait for the end on a wire that sends text and has no end of a call: there each may be a later state of the one before.
        """
        body = self.call.body
        out = [self._take(body.pieces[at], at) for at in range(self._pieces, len(body.pieces))]
        if self.kind == "custom":
            pass  # they are free text
        elif not self.is_numbered and not self.call.is_id_optional:
            self._has_waiting_objects = bool(body.objects)
        else:
            out += [self._take(dumps_text(item), 0) for item in body.objects[self._objects :]]
        self._pieces, self._objects = len(body.pieces), len(body.objects)
        text = "".join(out)
        if text:
            self._sent.append(text)
        return text

    def settle(self) -> str:
        """The wire says that nothing more will come: return what waited for just that. What still waits is judged at the end of the answer."""
        if self._held == ["{}"] and not self._has_begun:
            self._has_begun = self._scan.is_whole = self.has_ended = True
            self._held.clear()
            self._sent.append("{}")
            return "{}"
        is_open = self._has_begun and not self._scan.is_whole
        if not self._held and not self._has_waiting_objects and not is_open and self.kind != "custom":
            self.has_ended = True
        return ""

    def _take(self, piece: str, at: int) -> str:
        """Return what of a piece can go out; `at` is its place among the pieces of text."""
        if self.kind == "custom":
            return piece
        out = self._go_on(self._again) if self._again else ""
        self._again = ""
        size, self._size = self._size, self._size + len(piece)
        if self._scan.is_whole:
            self._held.append(piece)
            return out
        if self._has_begun and at and size <= len(piece) and self._is_all_again(piece, at):
            self._again = piece
            return out
        if not self._has_begun:
            if not piece.strip(_SPACES) and not self._held:
                return ""  # nothing yet
            if self._held == ["{}"]:
                self._held.clear()  # it was a placeholder
            if self._held or not piece.lstrip(_SPACES).startswith("{") or piece.strip(_SPACES) == "{}":
                self._held.append(piece.strip(_SPACES) if not self._held else piece)
                return ""
            self._has_begun = True
        return out + self._go_on(piece)

    def _is_all_again(self, piece: str, at: int) -> bool:
        """Whether a piece is a whole object that begins with all that came before it.

        As the last one it is these arguments once more, from the start; if another one follows, it was an object within them.
        """
        return piece.startswith("".join(self.call.body.pieces[:at])) and object_of(piece) is not None

    def _go_on(self, piece: str) -> str:
        text, rest = self._scan.scan(piece)
        if rest:
            self._held.append(rest)
        self.has_ended = self.has_ended or self._scan.is_whole
        return self._halves.feed(text)

    def finish(self, part: ToolCallPart) -> str:
        """The call has ended as this part: return what has to go out still, and learn whether what went out is what was meant.

        Of a call that was cut off nothing that is no beginning of its arguments goes out.
        """
        self.is_faulty = self.is_cut_short or not part.runnable
        sent = "".join(self._sent)
        if part.kind == "custom":
            return part.arguments[len(sent) :] if part.arguments.startswith(sent) else ""
        if part.parsed is None:
            held = "".join(self._held)
            return held if not sent and held.startswith("{") else self._rest(self._again)
        if not sent:
            is_plain = object_of(part.arguments) == part.parsed
            return Halves().feed(part.arguments) if is_plain else dumps_text(part.parsed)
        ways = (self._again, self._again[self._size - len(self._again) :]) if self._again else ("",)
        meant = next((way for way in ways if _object(sent + way) == part.parsed), None)
        self.is_faulty = self.is_faulty or meant is None
        return self._rest(self._again if meant is None else meant)

    def _rest(self, piece: str) -> str:
        self._again = ""
        return self._go_on(piece) + self._halves.close()


def _object(text: str) -> JSON:
    try:
        return replace_surrogates(loads_lenient(text)[0])
    except JSONError:
        return None
