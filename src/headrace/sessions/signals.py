"""What is said to runs from outside, by way of the store, and how they hear it.

The rule of this file: a signal is forgotten only once what it said is kept in the run itself; one that is heard twice, since a crash came
in between, changes nothing the second time.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from headrace._json import dumps, loads
from headrace.agent.approval import Reply
from headrace.errors import StateError, StoreError
from headrace.messages.json_form import to_dict
from headrace.messages.message import READER, UserMessage
from headrace.sessions.executing import Execution, Given
from headrace.sessions.records import Signal
from headrace.sessions.store import Store

LOG: Final = logging.getLogger("headrace.sessions")


def answers_form(answers: Sequence[Reply], *, after: int) -> bytes:
    """Return answers as JSON; `after` is the last event of the run that they were given to."""
    return dumps(msgspec.to_builtins(Given(after, tuple(answers))))


def answers_from(data: bytes) -> Given:
    """Read answers.

    Raises:
        StoreError: they are none.
    """
    try:
        return msgspec.convert(loads(data), type=Given)
    except (msgspec.ValidationError, ValueError) as error:
        raise StoreError(f"the answers to a run cannot be read: {error}") from error


def steer_form(message: UserMessage) -> bytes:
    """Return words that are to be put in as JSON."""
    return dumps(to_dict(message))


class Told(msgspec.Struct, frozen=True):
    """What was said to a run while nobody worked on it.

    Attributes:
        answers: to what it waits for.
        is_interrupted: it is to end.
        ids: the signals that said so.
    """

    answers: tuple[Given, ...]
    is_interrupted: bool
    ids: tuple[int, ...]


class Signals:
    """Hears what is said to the runs of this process."""

    def __init__(self, store: Store) -> None:
        """Have heard nothing."""
        self._store = store
        self._heard: dict[int, Execution] = {}

    async def told(self, run_id: str) -> Told:
        """Return what a run that is about to go on has to know first."""
        said = await self._store.signals([run_id])
        answers = {signal.id: answers_from(signal.data) for signal in said if signal.kind == "resume"}
        interruptions = [signal.id for signal in said if signal.kind == "interrupt"]
        return Told(tuple(answers.values()), bool(interruptions), (*answers, *interruptions))

    async def forget(self, told: Told) -> None:
        """A run has gone on, and has that in its log; what was said to it meanwhile stays."""
        if told.ids:
            await self._store.forget_signals(told.ids)

    async def deliver(self, here: Mapping[str, Execution]) -> None:
        """Tell the runs of this process what was said to them, and forget what they have kept."""
        going = [run_id for run_id, execution in here.items() if execution.has_begun]
        if not going:
            return
        for signal in await self._store.signals(going):
            execution = here.get(signal.run_id)
            if execution is not None and signal.id not in self._heard and signal.kind != "resume":
                self._heard[signal.id] = execution
                _tell(execution, signal)
        done: list[int] = []
        for signal_id, execution in list(self._heard.items()):
            if here.get(execution.record.id) is not execution:  # it has ended, waits, or goes on elsewhere
                del self._heard[signal_id]
            elif execution.journal.has_kept_all:
                done.append(signal_id)
        if done:
            await self._store.forget_signals(done)
            for signal_id in done:
                self._heard.pop(signal_id, None)


def _tell(execution: Execution, signal: Signal) -> None:
    match signal.kind:
        case "interrupt":
            execution.interrupt()
        case "steer":
            message = READER.one_from(loads(signal.data), "signal")
            if isinstance(message, UserMessage):
                with contextlib.suppress(StateError):  # the final answer has been given: what comes too late is for the next run
                    execution.steer(message)
        case _:
            LOG.warning("run %s was told %r, which this version does not know", signal.run_id, signal.kind)
