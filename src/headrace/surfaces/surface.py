"""What every surface is: the events of one leg of a run in, items of a protocol out; fed until it is over, closed once.

A leg is what happens between two pauses of a run: from its start, or from the answers that it goes on with, to `run_ended`. Protocols
know no more of a run than one leg in one answer; what is said across legs goes by ids that stay the same.

The rule of this file: it knows no form. Equal events give equal items, so an answer that a client has lost is made again from the log
and goes on where the client stopped (`Counted`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from headrace._json import dumps
from headrace.agent import events
from headrace.agent.approval import Pending
from headrace.agent.events import Event

Form: TypeAlias = dict[str, Any]
"""An item as a JSON object."""
T = TypeVar("T")

BROKEN_OFF: Final = "the stream broke off before the run ended"


class Surface(ABC, Generic[T]):
    """One leg of a run on its way to a client.

    Attributes:
        headers: what an HTTP answer of this protocol has besides what every answer has.
        media_type: its content type.
        tail: what follows the last item, such as a mark of the end; b"" if nothing does.
    """

    headers: ClassVar[Mapping[str, str]] = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    media_type: ClassVar[str] = "text/event-stream"
    tail: ClassVar[bytes] = b""
    _HANDLERS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]]

    def __init__(self) -> None:
        """Start before the first event."""
        self.known = Known()
        self._out: list[T] = []
        self._has_begun = False
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be said."""
        return self._is_over

    def recall(self, earlier: Iterable[Event]) -> None:
        """Take the events of the legs before this one, for what this one refers to (names of calls, questions); they give no items."""
        for event in earlier:
            self.known.feed(event)

    def feed(self, event: Event) -> list[T]:
        """Return what the next event adds; nothing once the leg is over."""
        if self._is_over:
            return []
        self.known.feed(event)
        if not self._has_begun:
            self._has_begun = True
            self._begin(event)
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        return self._take()

    def close(self, message: str = BROKEN_OFF) -> list[T]:
        """Return what ends an answer that goes no further although its leg has not ended: an error with this message; nothing if it has ended."""
        if self._is_over:
            return []
        self._break_off(message)
        self._is_over = True
        return self._take()

    @abstractmethod
    def write(self, item: T, *, number: int | None = None) -> bytes:
        """Return an item as it goes over the wire.

        Args:
            item: the item.
            number: its number (`Counted`), for a client that names it when it comes back; where the protocol has numbers of its own, or no
                way back, it is not told.
        """

    @abstractmethod
    def _begin(self, event: Event) -> None:
        """Say what comes before everything else; the leg begins with this event."""

    @abstractmethod
    def _break_off(self, message: str) -> None:
        """End what is open, and say the error."""

    def _take(self) -> list[T]:
        out, self._out = self._out, []
        return out


class Counted(Generic[T]):
    """A surface whose items are numbered from 1, for a client that has seen the first ones.

    The numbers count items, so they are the same whenever the same log is read; a log whose deltas were joined differently has others.
    """

    def __init__(self, surface: Surface[T], after: int = 0) -> None:
        """Start before the first event.

        Args:
            surface: makes the items; it must be new.
            after: how many items the client has seen; these are made and left out.
        """
        self.surface = surface
        self._after = after
        self._made = 0

    def feed(self, event: Event) -> list[tuple[int, T]]:
        """Return what the next event adds, with numbers; nothing that the client has seen."""
        return self._number(self.surface.feed(event))

    def close(self, message: str = BROKEN_OFF) -> list[tuple[int, T]]:
        """Return what ends an answer that goes no further; see `Surface.close`."""
        return self._number(self.surface.close(message))

    def _number(self, items: list[T]) -> list[tuple[int, T]]:
        first = self._made + 1
        self._made += len(items)
        return [(first + n, item) for n, item in enumerate(items) if first + n > self._after]


class Known:
    """What is known of a run by now that later events refer to.

    Attributes:
        names: the name of each call, by its key; also of calls inside of sub-agents.
        arguments: the arguments of each call that is whole, by its key.
        asked: what was asked, by the digest of the question.
    """

    __slots__ = ("arguments", "asked", "names")

    def __init__(self) -> None:
        """Know nothing."""
        self.names: dict[str, str] = {}
        self.arguments: dict[str, str] = {}
        self.asked: dict[str, Pending] = {}

    def feed(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case events.ToolCallStarted():
                self.names[event.call_key] = event.name
            case events.ToolCallEnded():
                self.names[event.call_key], self.arguments[event.call_key] = event.name, event.arguments
            case events.ApprovalRequired(pending=pending) | events.ExternalRequired(pending=pending):
                self.asked[pending.digest] = pending
            case events.SubRun():
                self.feed(event.event)
            case _:
                pass


class Blocks:
    """The blocks that are open: each is ended once, by its own end, or by whatever ends all of them."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        """Start without blocks."""
        self._open: dict[str, str] = {}

    def start(self, block: str, kind: str) -> None:
        """Note that a block begins."""
        self._open[block] = kind

    def end(self, block: str) -> bool:
        """Note that a block ends; return whether it was open."""
        return self._open.pop(block, None) is not None

    def __contains__(self, block: str) -> bool:
        """Return whether a block is open."""
        return block in self._open

    def take(self) -> Iterator[tuple[str, str]]:
        """Give the blocks that are open, with their kinds, in the order in which they began, and note that they end."""
        while self._open:
            block = next(iter(self._open))
            yield block, self._open.pop(block)


def legs(log: Iterable[Event]) -> list[list[Event]]:
    """Cut the log of a run into its legs: each ends with a `run_ended`, but for the last one of a run that goes on."""
    found: list[list[Event]] = []
    is_open = False
    for event in log:
        if not is_open:
            found.append([])
        found[-1].append(event)
        is_open = not isinstance(event, events.RunEnded)
    return found


def sse(form: object, *, number: int | str | None = None, event: str | None = None) -> bytes:
    """Return a JSON value as one server-sent event.

    Args:
        form: the value.
        number: the event's id, which a client names when it comes back.
        event: the event's name, where a protocol has such.
    """
    data = form if isinstance(form, bytes) else dumps(form)
    head = b"" if number is None else b"id: %s\n" % str(number).encode()
    if event is not None:
        head += b"event: %s\n" % event.encode()
    return b"%sdata: %s\n\n" % (head, data)
