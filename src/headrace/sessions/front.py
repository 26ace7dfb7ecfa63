"""What callers say to runs, and what readers get of them, wherever and by whatever the runs are worked on.

The rule of this file: what is said is kept in the store before anybody hears that it was taken, so no crash loses it; who works on the run
is for the classes that build on this one to say.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from headrace.agent.agent import Agent
from headrace.agent.approval import Reply
from headrace.agent.given import history_of, permissions_of
from headrace.agent.given import new_id as made_id
from headrace.agent.permission.judging import Mode, Permissions
from headrace.agent.resuming import Resumed
from headrace.agent.run_result import RunResult
from headrace.agent.session import checked_keep
from headrace.errors import ConflictError, NotFoundError, StateError, UsageError
from headrace.messages.fields import Content
from headrace.messages.message import Message, UserMessage
from headrace.sessions.executing import Execution
from headrace.sessions.place import Place
from headrace.sessions.reading import read
from headrace.sessions.records import Entry, NewRun, RunRecord
from headrace.sessions.request import Request, external_specs
from headrace.sessions.restoring import log_of, restored, state_of
from headrace.sessions.signals import answers_form, steer_form
from headrace.sessions.store import Store
from headrace.sessions.workers import new_worker_id
from headrace.tools.tool import Tool


class Front(ABC):
    """Begins runs, says things to them and reads them.

    Attributes:
        agent: the agent whose runs they are.
        store: where they are kept.
        name: what the agent is called in the store.
        worker_id: the name of this process in it.
    """

    def __init__(
        self, agent: Agent, store: Store, place: Place, *, name: str = "", worker_id: str | None, new_id: Callable[[], str] | None
    ) -> None:
        """Do nothing yet.

        Args:
            agent: runs them.
            store: where they are kept.
            place: those of them that are worked on in this process.
            name: what the agent is called in the store: one store may hold the runs of several, and each goes on with its own.
            worker_id: the name of this process; None: one that no other has.
            new_id: makes the ids of runs; None: at random.
        """
        self.agent = agent
        self.store = store
        self.name = name
        self.worker_id = worker_id or new_worker_id()
        self._place = place
        self._new_id = new_id or made_id
        self._is_open = False
        self._claiming: set[str] = set()
        """Runs that are being taken up at this moment."""

    @abstractmethod
    async def _begin(self, record: RunRecord) -> RunRecord:
        """Have somebody begin a run that was kept just now, and return it as it stands."""

    @abstractmethod
    async def _go_on(self, record: RunRecord) -> None:
        """Have somebody go on with a run that waited and is claimed by this process now."""

    # ------------------------------------------------------------------------------------------ what callers say

    async def start(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        run_id: str | None = None,
        session_id: str | None = None,
        user: str = "",
        history: Iterable[Message] = (),
        keep: str = "rounds",
        permissions: Permissions | Mode | None = None,
        tools: Iterable[Tool[..., Any]] = (),
    ) -> RunRecord:
        """Begin a run and return it; it goes on by itself.

        Args:
            input: what is asked, as for `Agent.run`.
            run_id: its id, chosen by the caller: asking for the same one twice begins it once, and returns it as it stands.
            session_id: the conversation.
            user: whose it is.
            history: messages that come first and are kept with this run alone.
            keep: what the conversation keeps: `rounds` or `answers`.
            permissions: instead of the agent's own.
            tools: more tools, which the caller runs itself (external ones).

        Raises:
            UsageError: an argument does not fit; the error names it.
            ConflictError: another run works on the conversation, or the id is another user's.
        """
        self._check_open()
        request = Request(
            input=self.agent.messages_of(input),
            history=history_of(history),
            keep=checked_keep(keep),
            permissions=None if permissions is None else permissions_of(permissions),
            agent=self.name,
            tools=external_specs(tools),
        )
        request.agent_for(self.agent)  # names that are taken are wrong at once
        new = NewRun(id=run_id or self._new_id(), session_id=session_id, user=user, request=request.encoded())
        if run_id is not None:
            with contextlib.suppress(NotFoundError):
                return _same(await self.store.run(run_id), new)
        if session_id is not None:
            await check_free(self.store, session_id)
        try:
            record = await self.store.create_run(new)
        except ConflictError:
            return _same(await self.store.run(new.id), new)
        return await self._begin(record)

    async def resume(self, run_id: str, answers: Iterable[Reply] | Reply) -> RunRecord:
        """Answer what a run waits for, in part or in whole, and go on with it.

        Raises:
            UsageError: an answer does not fit its tool.
            StateError: the run does not wait, or an answer is foreign, stale or repeated.
            ConflictError: somebody else has answered at the same time.
            NotFoundError: there is no such run.
        """
        self._check_open()
        record = await self.store.run(run_id)
        replies = await checked(self.agent, self.store, record, answers)
        return await self._claim(record, replies)

    async def interrupt(self, run_id: str) -> None:
        """End a run as soon as possible, wherever it is worked on; one that waits is given up. Nothing happens if it has ended.

        Raises:
            NotFoundError: there is no such run.
        """
        record = await self.store.run(run_id)
        execution = self._place.here.get(run_id)
        if record.status == "waiting":
            await self.store.signal(run_id, "interrupt")
            with contextlib.suppress(ConflictError):  # somebody has answered at this moment: who goes on with it is told
                await self._claim(record)
        elif execution is not None:
            execution.interrupt()
        elif record.status != "ended":
            await self.store.signal(run_id, "interrupt")

    async def give_up_waiting(self, age_s: float) -> int:
        """Give up the runs that have waited for so many seconds, as `interrupt` does; return how many there were.

        Raises:
            UsageError: the age is negative.
        """
        if not age_s >= 0:
            raise UsageError(f"age_s is {age_s}; it is 0 or more", argument="age_s")
        told: set[str] = set()
        while True:
            found = await self.store.runs(statuses=("waiting",), unchanged_s=age_s)
            new = [record.id for record in found if record.id not in told]
            if not new:
                return len(told)
            for run_id in new:
                told.add(run_id)
                with contextlib.suppress(NotFoundError):  # deleted meanwhile
                    await self.interrupt(run_id)

    async def steer(self, run_id: str, content: Content) -> None:
        """Say something to the model while it works, before its next call.

        Raises:
            StateError: the run waits, or has given its final answer.
            NotFoundError: there is no such run.
        """
        record = await self.store.run(run_id)
        if record.status in ("waiting", "ended"):
            raise StateError(f"run {run_id} is {record.status}; what is said now is for another run, or goes with the answer")
        message = UserMessage(content, id=self._new_id())
        execution = self._place.here.get(run_id)
        if execution is not None:
            execution.steer(message)
        else:
            await self.store.signal(run_id, "steer", steer_form(message))

    async def delete(self, run_id: str) -> None:
        """Delete a run and its log.

        Raises:
            StateError: it is worked on; interrupt it first.
            NotFoundError: there is no such run.
        """
        record = await self.store.run(run_id)
        if record.status in ("running", "queued"):
            raise StateError(f"run {run_id} is {record.status}; interrupt it first")
        if record.status == "waiting":  # its conversation is held
            await self.interrupt(run_id)
            await self.wait(run_id)
        await self.store.delete_run(run_id)

    async def _claim(self, record: RunRecord, replies: Sequence[Reply] = ()) -> RunRecord:
        """Take a run up and have somebody go on with it; return it as it is then.

        Raises:
            ConflictError: somebody else was faster.
        """
        self._claiming.add(record.id)
        try:
            claimed = await self.store.claim(record.id, self.worker_id, epoch=record.epoch)
            if replies:  # kept before anybody hears that they were taken
                await self.store.signal(record.id, "resume", answers_form(replies, after=record.last_seq))
            await self._go_on(claimed)
        finally:
            self._claiming.discard(record.id)
        return claimed

    async def _work(self, execution: Execution) -> None:
        """Work on a run that was entered here until it has ended or waits; errors are those of `Place.work`."""
        record = await self._place.work(execution)
        if record.status == "waiting" and await self._place.is_to_end(execution):  # it was told so while it was about to wait
            await self.interrupt(record.id)

    def _check_open(self) -> None:
        if not self._is_open:
            kind = type(self).__name__
            raise StateError(f"no run is worked on here; use it as: async with {kind}(agent, store) as runs")

    # ------------------------------------------------------------------------------------------ what readers get

    def here(self, run_id: str) -> Execution | None:
        """Return a run that is worked on in this process at this moment, or None."""
        return self._place.here.get(run_id)

    async def result(self, run_id: str) -> RunResult:
        """Return what a run gave, or has so far, read from the store.

        Raises:
            NotFoundError: there is no such run.
            StoreError: what is kept of it cannot be read.
        """
        return await restored(self.store, await self.store.run(run_id))

    async def wait(self, run_id: str) -> RunRecord:
        """Wait until a run has ended or waits for somebody, and return it."""
        async for _ in read(self.store, run_id, (await self.store.run(run_id)).last_seq, recent=self._place.recent):
            pass
        return await self.store.run(run_id)

    async def read(self, run_id: str, after: int = 0, *, follow: bool = False) -> AsyncIterator[Entry]:
        """Give a run's events above `after`, then live: each once, in order, wherever it is worked on.

        Ends when the run has ended; without `follow` also when it waits for somebody.

        Raises:
            NotFoundError: there is no such run.
        """
        async for page in read(self.store, run_id, after, follow=follow, recent=self._place.recent):
            for entry in page:
                yield entry


def _same(record: RunRecord, new: NewRun) -> RunRecord:
    if record.user != new.user:
        raise ConflictError(f"there is a run {record.id!r} already, and it is another user's")
    return record


async def check_free(store: Store, session_id: str) -> None:
    """Check that no run works on a conversation.

    Raises:
        ConflictError: one does.
    """
    with contextlib.suppress(NotFoundError):
        holder = (await store.session(session_id)).holder
        if holder is not None:
            raise ConflictError(
                f"another run works on session {session_id!r}: {holder}; wait for it, answer or interrupt it, or use another session"
            )


async def checked(agent: Agent, store: Store, record: RunRecord, answers: Iterable[Reply] | Reply) -> Sequence[Reply]:
    """Return answers to what a run asks, checked.

    Raises:
        UsageError: one does not fit its tool.
        StateError: the run does not wait, or one is foreign, stale or repeated.
    """
    if record.status != "waiting":
        raise StateError(f"run {record.id} is {record.status}; it waits for no answer")
    state = await state_of(store, record, [event async for event in log_of(store, record.id)])
    return Resumed(state, answers, Request.decoded(record.request).agent_for(agent).tools.get).replies
