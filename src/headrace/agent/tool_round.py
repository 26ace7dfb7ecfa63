"""The tools of one round: side by side up to a limit, results as they come.

The rule of this file: which call starts when is decided by `lanes.py`, from their order alone; here they run. What happens is put down
where it happens and taken by whoever drives the run: no queue, no task but the tools' own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from headrace.agent.lanes import Lanes
from headrace.agent.results import describe, error_result
from headrace.agent.steps import PlannedCall
from headrace.errors import StateError
from headrace.messages.parts import Part, ToolResultPart
from headrace.tools.notes import ForwardNote, Note, ProgressNote
from headrace.tools.suspend import Suspend

GRACE_S: Final = 5.0
"""How long cancelled tools may take to clean up before the run goes on without them."""


class Started(msgspec.Struct, frozen=True):
    """A call is about to run."""

    place: int


class Output(msgspec.Struct, frozen=True):
    """A piece of a call's output."""

    place: int
    part: Part


class Progress(msgspec.Struct, frozen=True):
    """How far a call has come; see `ProgressNote`. One that was not taken in time gives way to the next one of its call."""

    place: int
    message: str
    done: float | None
    total: float | None


class Forwarded(msgspec.Struct, frozen=True):
    """Something that happened inside a call, such as an event of a sub-agent."""

    place: int
    event: object


class Ended(msgspec.Struct, frozen=True):
    """A call has its result."""

    place: int
    result: ToolResultPart


class Suspended(msgspec.Struct, frozen=True):
    """A call waits for an answer: it does not run any more and gets no result in this round."""

    place: int
    suspend: Suspend


Change: TypeAlias = Started | Output | Progress | Forwarded | Ended | Suspended
OnOutput: TypeAlias = Callable[[Part | Note], None]
RunCall: TypeAlias = Callable[[PlannedCall, OnOutput], Awaitable[ToolResultPart]]


def _none(_call: PlannedCall) -> None:
    """Say that a call works on nothing that others work on."""


def _over(*_: object) -> Any:
    raise StateError("the round is over")


class ToolRound:
    """Runs the calls of one round.

    Attributes:
        error: what a tool's run raised although it should not have (wrong use), or None.
    """

    def __init__(
        self,
        calls: Iterable[PlannedCall],
        run: RunCall,
        *,
        is_parallel: Callable[[PlannedCall], bool],
        limit: int,
        resource: Callable[[PlannedCall], str | None] = _none,
    ) -> None:
        """Take the first calls and start what may start.

        Args:
            calls: as for `add`.
            run: runs one call; must not raise for what a tool does, except `Suspend`.
            is_parallel: whether a call may run beside others.
            limit: how many may run at once.
            resource: what a call works on, asked once a call: calls on one resource keep their order and never overlap. A call
                for which it raises gets an error result that says so.
        """
        self.error: BaseException | None = None
        self._run: RunCall = run
        self._is_parallel: Callable[[PlannedCall], bool] = is_parallel
        self._resource: Callable[[PlannedCall], str | None] = resource
        self._lanes = Lanes(limit)
        self._calls: dict[int, PlannedCall] = {}
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._is_closed = False
        self._dropped: set[int] = set()
        self._changes: list[Change | None] = []
        self._progress_at: dict[int, int] = {}  # by place: where in the changes its last progress is
        self._changed = asyncio.Event()
        self.add(calls)

    @property
    def is_over(self) -> bool:
        """Whether every call so far has ended or is suspended and every change was taken, or a run of one raised."""
        return (self._lanes.is_empty and not self._changes) or self.error is not None

    def add(self, calls: Iterable[PlannedCall]) -> None:
        """Take more calls and start what may start; calls with a refusal have it at once.

        A call whose place was added before is left alone, so a call never runs twice in a round: first the calls that start
        early can be added, then all of them. After `cancel`, or when a run raised, nothing is taken any more.

        Args:
            calls: in the order of the message.

        Raises:
            StateError: one is new and stands before one that was added: it would lose its turn.
        """
        for call in calls:
            if self._is_closed or call.place in self._calls:
                continue
            if self._calls and call.place < next(reversed(self._calls)):
                raise StateError(f"call {call.place} comes after call {next(reversed(self._calls))}, which was added before it")
            self._calls[call.place] = call
            refusal = call.refusal
            if refusal is None:
                try:
                    resource = self._resource(call)
                except Exception as error:  # noqa: BLE001 - a tool's own function is a stranger's code
                    text = f"The call was not run, since what it works on could not be worked out: {describe(error)}"
                    refusal = error_result(call.call, text, error_type=type(error).__name__)
                else:
                    self._lanes.add(call.place, resource=resource, is_alone=not self._is_parallel(call))
            if refusal is not None:
                self._note(Ended(call.place, refusal))
        self._start()

    async def wait(self) -> None:
        """Wait until something has happened since the last `taken`."""
        if not self._changes and self._tasks:
            self._changed.clear()
            await self._changed.wait()

    def taken(self) -> list[Change]:
        """Return what has happened since the last time."""
        changes, self._changes = self._changes, []
        self._progress_at.clear()
        return [change for change in changes if change is not None]

    def drop(self, places: Iterable[int]) -> None:
        """Give up some of the calls: what runs is cancelled, what waits never starts. Those behind them go on as if they had ended."""
        self._dropped.update(places)
        for task, place in self._tasks.items():
            if place in self._dropped:
                task.add_done_callback(self._end)  # for one that is cancelled before its first step
                task.cancel()

    async def cancel(self) -> None:
        """Cancel what runs and wait until it has ended, or the grace time is over; what waits never starts."""
        self._close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            done, _ = await asyncio.wait(self._tasks, timeout=GRACE_S)
            for task in done:
                self._end(task)  # one that was cancelled before its first step never came to say so itself

    def let_go(self) -> None:
        """Nothing is added any more: forget who runs calls, since they know this round.

        Else both, and the history that they show to calls, stay in memory until circles are looked for: one history for each round.
        """
        self._close()
        self._run, self._is_parallel, self._resource = _over, _over, _none

    def _close(self) -> None:
        self._is_closed = True
        self._lanes.drop_waiting()

    def _start(self) -> None:
        while places := self._lanes.start():
            for place in places:
                if place in self._dropped:
                    self._lanes.end(place)
                    continue
                call = self._calls[place]
                self._note(Started(place))
                self._tasks[asyncio.create_task(self._one(call), name=f"headrace-tool-{call.call.name}")] = place

    async def _one(self, call: PlannedCall) -> None:
        try:
            result = await self._run(call, lambda what: self._hear(call.place, what))
        except asyncio.CancelledError:
            raise
        except Suspend as suspend:
            self._note(Suspended(call.place, suspend))
        except BaseException as error:  # noqa: BLE001 - carried to the run, whatever it is
            self.error = self.error or error
            self._close()
        else:
            self._note(Ended(call.place, result))
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._end(task)

    def _end(self, task: asyncio.Task[None]) -> None:
        place = self._tasks.pop(task, None)
        if place is not None:
            self._lanes.end(place)
            self._start()
            self._changed.set()

    def _hear(self, place: int, what: Part | Note) -> None:
        match what:
            case ProgressNote():
                self._note_progress(Progress(place, what.message, what.done, what.total))
            case ForwardNote():
                self._note(Forwarded(place, what.event))
            case _:
                self._note(Output(place, what))

    def _note_progress(self, progress: Progress) -> None:
        last = self._progress_at.get(progress.place)
        if last is not None and last == len(self._changes) - 1:
            self._changes[last] = progress
            return
        if last is not None:
            self._changes[last] = None
        self._progress_at[progress.place] = len(self._changes)
        self._note(progress)

    def _note(self, change: Change) -> None:
        self._changes.append(change)
        self._changed.set()
