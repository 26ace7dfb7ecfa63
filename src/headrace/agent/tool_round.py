"""The tools of one round: side by side up to a limit, results as they come.

The rule of this file: calls start in the order of the message; one whose tool is not `parallel` runs alone, after all before it and
before all behind it. What happens is put down where it happens and taken by whoever drives the run: no queue, no task but the tools' own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from headrace.agent.loop import PlannedCall
from headrace.messages.parts import Part, ToolResultPart

GRACE_S: Final = 5.0
"""How long cancelled tools may take to clean up before the run goes on without them."""


class Started(msgspec.Struct, frozen=True):
    """A call is about to run."""

    place: int


class Output(msgspec.Struct, frozen=True):
    """A piece of a call's output."""

    place: int
    part: Part


class Ended(msgspec.Struct, frozen=True):
    """A call has its result."""

    place: int
    result: ToolResultPart


Change: TypeAlias = Started | Output | Ended
OnOutput: TypeAlias = Callable[[Part], None]
RunCall: TypeAlias = Callable[[PlannedCall, OnOutput], Awaitable[ToolResultPart]]


class ToolRound:
    """Runs the calls of one round.

    Attributes:
        error: what a tool's run raised although it should not have (wrong use), or None.
    """

    def __init__(self, calls: Sequence[PlannedCall], run: RunCall, *, is_parallel: Callable[[PlannedCall], bool], limit: int) -> None:
        """Start what may start.

        Args:
            calls: the calls, in order; those with a refusal get it at once.
            run: runs one call; must not raise for what a tool does.
            is_parallel: whether a call may run beside others.
            limit: how many may run at once.
        """
        self.error: BaseException | None = None
        self._run = run
        self._is_parallel = is_parallel
        self._limit = limit
        self._waiting: deque[PlannedCall] = deque()
        self._running: dict[asyncio.Task[None], PlannedCall] = {}
        self._has_barrier = False
        self._changes: list[Change] = []
        self._changed = asyncio.Event()
        for call in calls:
            if call.refusal is None:
                self._waiting.append(call)
            else:
                self._changes.append(Ended(call.place, call.refusal))
        self._fill()

    @property
    def is_over(self) -> bool:
        """Whether every call has its result and every change was taken, or a run of one raised."""
        return (not self._running and not self._waiting and not self._changes) or self.error is not None

    async def wait(self) -> None:
        """Wait until something has happened since the last `taken`."""
        if not self._changes and self._running:
            self._changed.clear()
            await self._changed.wait()

    def taken(self) -> list[Change]:
        """Return what has happened since the last time."""
        changes, self._changes = self._changes, []
        return changes

    async def cancel(self) -> None:
        """Cancel what runs and wait until it has ended, or the grace time is over; what waits never starts."""
        self._waiting.clear()
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE_S)

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._limit and not self._has_barrier:
            is_alone = not self._is_parallel(self._waiting[0])
            if is_alone and self._running:
                return
            self._has_barrier = is_alone
            call = self._waiting.popleft()
            self._changes.append(Started(call.place))
            self._running[asyncio.create_task(self._one(call), name=f"headrace-tool-{call.call.name}")] = call

    async def _one(self, call: PlannedCall) -> None:
        try:
            result = await self._run(call, lambda part: self._note(Output(call.place, part)))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - carried to the run, whatever it is
            self.error = self.error or error
            self._waiting.clear()
        else:
            self._changes.append(Ended(call.place, result))
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._running.pop(task, None)
            self._has_barrier = False
            self._fill()
            self._changed.set()

    def _note(self, change: Change) -> None:
        self._changes.append(change)
        self._changed.set()
