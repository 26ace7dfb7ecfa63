"""The output items of one response on their way to a client: what each is so far, and the events that tell it.

The rule of this file: items have dense places in the order in which they began, and parts dense places in their item. Words and thinking
are loose: they end when anything else begins. Calls end when they are told to (`turns.py` lets one end before the next begins). What is
done is told once more whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from headrace._json import JSON
from headrace.messages.identity import object_of
from headrace.messages.parts import CallKind
from headrace.wire.openai_responses.call_in import ACTIONS
from headrace.wire.openai_responses.sealed_reasoning import seal
from headrace.wire.server_side import one_line

TextKind: TypeAlias = Literal["output_text", "refusal", "summary_text", "reasoning_text"]


class _Words(NamedTuple):
    """How a kind of text is told: its item, the events of its part and of its pieces, its place's name, the member that holds it whole."""

    item: str
    part: str
    piece: str
    place: str
    field: str


_WORDS: Final[dict[TextKind, _Words]] = {
    "output_text": _Words("message", "content_part", "output_text", "content_index", "text"),
    "refusal": _Words("message", "content_part", "refusal", "content_index", "refusal"),
    "summary_text": _Words("reasoning", "reasoning_summary_part", "reasoning_summary_text", "summary_index", "text"),
    "reasoning_text": _Words("reasoning", "content_part", "reasoning_text", "content_index", "text"),
}
_PREFIXES: Final = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_"}
_ARGUMENTS: Final = {"function_call": ("function_call_arguments", "arguments"), "custom_tool_call": ("custom_tool_call_input", "input")}
_OWN: Final = frozenset({"id", "type", "role", "status", "content", "summary", "encrypted_content", "field"})


class TextOut:
    """One part of an item that is text.

    Attributes:
        key: of the part of the message that it is.
        kind, index: what it is, and its place in its item.
        pieces, annotations, logprobs: what came so far.
    """

    __slots__ = ("annotations", "index", "key", "kind", "logprobs", "pieces")

    def __init__(self, key: int, kind: TextKind, index: int) -> None:
        """Start empty."""
        self.key = key
        self.kind: TextKind = kind
        self.index = index
        self.pieces: list[str] = []
        self.annotations: list[JSON] = []
        self.logprobs: list[JSON] = []

    def form(self) -> dict[str, Any]:
        """Return the part as it stands."""
        text = "".join(self.pieces)
        if self.kind == "output_text":
            return {"type": self.kind, "annotations": self.annotations, "logprobs": self.logprobs, "text": text}
        return {"type": self.kind, _WORDS[self.kind].field: text}


class ItemOut:
    """One item.

    Attributes:
        index, id, type: its place, its id, what it is.
        keys: of the parts of the message that it is.
        source: the id that it had where it came from, or None.
        data: further members.
        texts: its parts, if it is words or thinking; the last one may be open.
        signature, encrypted, details: of thinking: what proves or hides it.
        pieces: of a call: its arguments.
        is_done: nothing more of it will come.
        status: how far it is.
        has_open_part: its last text goes on.
    """

    __slots__ = (
        "call_id", "data", "details", "encrypted", "has_open_part", "id", "index", "is_done", "keys", "name", "pieces", "signature", "source",
        "status", "texts", "type", "whole",
    )  # fmt: skip

    def __init__(self, kind: str, identifier: str, index: int, data: dict[str, Any]) -> None:
        """Start in progress."""
        self.type = kind
        self.id = identifier
        self.index = index
        self.source = source_of(data)
        self.data = {name: value for name, value in data.items() if name not in _OWN}
        self.keys: set[int] = set()
        self.texts: list[TextOut] = []
        self.has_open_part = False
        self.signature: list[str] = []
        self.encrypted: list[str] = []
        self.details: list[JSON] = []
        self.call_id = self.name = ""
        self.pieces: list[str] = []
        self.whole: JSON = None
        self.is_done = False
        self.status = "in_progress"

    def form(self) -> JSON:
        """Return the item as it stands."""
        if self.whole is not None:
            return self.whole
        if self.type == "message":
            content = [text.form() for text in self.texts]
            return {**self._head(), "status": self.status, "role": "assistant", "content": content, **self.data}
        if self.type == "reasoning":
            return self._thinking()
        return self._call()

    def _head(self) -> dict[str, Any]:
        return {"id": self.id, "type": self.type}

    def _thinking(self) -> dict[str, Any]:
        form: dict[str, Any] = {**self._head(), "summary": [text.form() for text in self.texts if text.kind == "summary_text"]}
        content = [text.form() for text in self.texts if text.kind == "reasoning_text"]
        if content:
            form["content"] = content
        sealed = seal("".join(self.signature), "".join(self.encrypted), self.details)
        if sealed:
            form["encrypted_content"] = sealed
        return form | self.data

    def _call(self) -> dict[str, Any]:
        text = "".join(self.pieces)
        form: dict[str, Any] = {**self._head(), "status": self.status, **self.data, "call_id": self.call_id}
        if self.type in ACTIONS:
            return form | (_action(self.type, text) if self.is_done else {})
        return form | {"name": self.name, _ARGUMENTS[self.type][1]: text}


class ItemsOut:
    """The items of a response.

    Attributes:
        all: in the order in which they began.
    """

    def __init__(self, name: Callable[[str, int], str]) -> None:
        """Start without items.

        Args:
            name: makes an item's id of its prefix and its place.
        """
        self.all: list[ItemOut] = []
        self._name = name
        self._names: set[str] = set()
        self._live: ItemOut | None = None
        self._calls: dict[int, ItemOut] = {}
        self._by_key: dict[tuple[str, int], ItemOut] = {}
        self._out: list[bytes] = []
        self._number = 0
        self._logprobs: list[JSON] = []

    def take(self) -> bytes:
        """Return the events that are ready, and start anew."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    def event(self, kind: str, **fields: JSON) -> None:
        """Add an event; they are numbered from 0."""
        body = one_line({"type": kind, "sequence_number": self._number, **fields})
        self._out.append(b"event: " + kind.encode() + b"\ndata: " + body + b"\n\n")
        self._number += 1

    def forms(self) -> list[JSON]:
        """Return all items as they stand."""
        return [item.form() for item in self.all]

    # ------------------------------------------------------------------------------------------ items

    def _begin(self, kind: str, key: int, data: dict[str, Any], *, call: tuple[str, str] = ("", "")) -> ItemOut:
        self.end_live()
        index = len(self.all)
        identifier = source_of(data)
        if identifier is None or identifier in self._names:
            identifier = self._name(_PREFIXES.get(kind, "item_"), index)
        self._names.add(identifier)
        item = ItemOut(kind, identifier, index, data)
        item.call_id, item.name = call
        self.all.append(item)
        self._adopt(item, key)
        self.event("response.output_item.added", output_index=index, item=item.form())
        return item

    def _adopt(self, item: ItemOut, key: int) -> None:
        item.keys.add(key)
        self._by_key[item.type, key] = item

    def _end(self, item: ItemOut, status: str = "completed") -> None:
        if item.is_done:
            return
        item.is_done, item.status = True, status
        if item.texts and item.has_open_part:
            self._end_part(item)
        self.event("response.output_item.done", output_index=item.index, item=item.form())

    def end_live(self, status: str = "completed") -> None:
        """End words or thinking, if they go on."""
        if self._live is not None:
            live, self._live = self._live, None
            self._end(live, status)

    def whole(self, key: int, form: JSON, raw: JSON = None) -> None:
        """Add an item that is there at once; `raw`: its bytes, where they count."""
        self.end_live()
        item = ItemOut("", "", len(self.all), {})
        item.whole, item.is_done = form if raw is None else raw, True
        self.all.append(item)
        self._adopt(item, key)
        self.event("response.output_item.added", output_index=item.index, item=item.whole)
        self.event("response.output_item.done", output_index=item.index, item=item.whole)

    # ------------------------------------------------------------------------------------------ words and thinking

    def find(self, kind: str, key: int) -> ItemOut | None:
        """Return the item of this type that a key belongs to, whether or not it goes on."""
        return self._by_key.get((kind, key))

    def open(self, kind: str, key: int, data: dict[str, Any]) -> ItemOut:
        """Return the item of a key: the one that goes on if it takes the key, else a new one.

        Words without an id of their own join the message at hand; thinking is one item for each key, since each has a proof of its own.
        """
        live = self._live
        if live is not None and live.type == kind:
            if key in live.keys:
                return live
            source = source_of(data)
            if source == live.source and (kind == "message" or source is not None):
                self._adopt(live, key)
                return live
        item = self._begin(kind, key, data)
        self._live = item
        return item

    def add_text(self, kind: TextKind, key: int, text: str, data: dict[str, Any]) -> None:
        """Add to a text."""
        item, part = self._part(kind, key, data)
        part.pieces.append(text)
        fields: dict[str, Any] = {"item_id": item.id, "output_index": item.index, _WORDS[kind].place: part.index, "delta": text}
        if kind == "output_text":
            fields["logprobs"], self._logprobs = self._logprobs, []
            part.logprobs += fields["logprobs"]
        self.event(f"response.{_WORDS[kind].piece}.delta", **fields)

    def add_logprobs(self, logprobs: list[JSON]) -> None:
        """Take log-probabilities; they go with the next piece of text."""
        self._logprobs += logprobs

    def add_annotation(self, key: int, annotation: JSON, data: dict[str, Any]) -> None:
        """Add a citation of a text."""
        item, part = self._part("output_text", key, data)
        place = {"item_id": item.id, "output_index": item.index, "content_index": part.index}
        number = len(part.annotations)
        part.annotations.append(annotation)
        self.event("response.output_text.annotation.added", **place, annotation_index=number, annotation=annotation)

    def _part(self, kind: TextKind, key: int, data: dict[str, Any]) -> tuple[ItemOut, TextOut]:
        """Return the open part of a key, which begins if it does not go on."""
        words = _WORDS[kind]
        item = self.open(words.item, key, data)
        part = item.texts[-1] if item.texts else None
        if part is not None and item.has_open_part and part.key == key and part.kind == kind:
            return item, part
        if part is not None and item.has_open_part:
            self._end_part(item)
        part = TextOut(key, kind, sum(text.kind == kind for text in item.texts) if words.item == "reasoning" else len(item.texts))
        item.texts.append(part)
        item.has_open_part = True
        place = {"item_id": item.id, "output_index": item.index, words.place: part.index}
        self.event(f"response.{words.part}.added", **place, part=part.form())
        return item, part

    def _end_part(self, item: ItemOut) -> None:
        item.has_open_part = False
        part = item.texts[-1]
        words, form = _WORDS[part.kind], part.form()
        place = {"item_id": item.id, "output_index": item.index, words.place: part.index}
        beside = {"logprobs": part.logprobs} if part.kind == "output_text" else {}
        self.event(f"response.{words.piece}.done", **place, **{words.field: form[words.field]}, **beside)
        self.event(f"response.{words.part}.done", **place, part=form)

    # ------------------------------------------------------------------------------------------ calls

    def begin_call(self, key: int, kind: CallKind, call_id: str, name: str, data: dict[str, Any]) -> None:
        """Begin a call."""
        of_type = "custom_tool_call" if kind == "custom" else "function_call"
        if kind == "provider" and name in ACTIONS:
            of_type = name
        self._calls[key] = self._begin(of_type, key, data, call=(call_id, name))

    def add_arguments(self, key: int, text: str) -> None:
        """Add to a call's arguments; one that is done takes no more."""
        item = self._calls.get(key)
        if item is None or item.is_done:
            return
        item.pieces.append(text)
        if item.type in _ARGUMENTS:
            self.event(f"response.{_ARGUMENTS[item.type][0]}.delta", item_id=item.id, output_index=item.index, delta=text)

    def is_sound(self, key: int) -> bool:
        """Return whether the arguments of a call are what its kind takes, so that a client may act on it."""
        item = self._calls.get(key)
        return item is not None and (item.type == "custom_tool_call" or not item.pieces or object_of("".join(item.pieces)) is not None)

    def end_call(self, key: int, status: str = "completed") -> None:
        """End a call; one that took nothing has an empty object."""
        item = self._calls.get(key)
        if item is None or item.is_done:
            return
        if not item.pieces and item.type == "function_call" and status == "completed":
            self.add_arguments(key, "{}")
        if item.type in _ARGUMENTS:
            piece, field = _ARGUMENTS[item.type]
            fields = {field: "".join(item.pieces)}
            self.event(f"response.{piece}.done", item_id=item.id, output_index=item.index, **fields)
        self._end(item, status)


def source_of(data: dict[str, Any]) -> str | None:
    """Return the id that an item had where it came from, or None."""
    identifier = data.get("id")
    return identifier if isinstance(identifier, str) and identifier else None


def _action(kind: str, arguments: str) -> dict[str, Any]:
    """Return the member that says what the client has to do, as the protocol has it."""
    value = object_of(arguments)
    if value is None:
        return {}
    if kind == "computer_call" and set(value) == {"actions"}:
        return value
    return {ACTIONS[kind]: value}
