"""Runs that last: begun, read, answered and interrupted from anywhere, and gone on with after a crash.

    async with SQLiteStore("runs.db") as store, Runs(agent, store) as runs:
        record = await runs.start("What time is it in Oslo?", session_id="trip")
        async for entry in runs.read(record.id):
            print(entry.data)

The rule of this file: a run belongs to the store, not to whoever asked for it or reads it. It goes on when they leave; when the process
ends it is let go of as it stands, and the next one that opens the store goes on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Final, Self

from headrace.agent.agent import Agent
from headrace.agent.approval import Reply
from headrace.agent.given import history_of, permissions_of
from headrace.agent.given import new_id as made_id
from headrace.agent.permission.judging import Mode, Permissions
from headrace.agent.resuming import Resumed
from headrace.agent.run_result import RunResult
from headrace.agent.session import checked_keep
from headrace.errors import ConflictError, FencedError, NotFoundError, StateError, StoreError
from headrace.messages.fields import Content
from headrace.messages.message import Message, UserMessage
from headrace.sessions.executing import Execution
from headrace.sessions.journal import COALESCE_S
from headrace.sessions.reading import read
from headrace.sessions.recent import Recent
from headrace.sessions.records import Entry, NewRun, RunRecord
from headrace.sessions.request import Request
from headrace.sessions.restoring import log_of, restored, state_of
from headrace.sessions.signals import Signals, answers_form, steer_form
from headrace.sessions.store import Store
from headrace.sessions.workers import Watch, new_worker_id

BEAT_S: Final = 2.0
DEAD_AFTER_S: Final = 10.0
LISTEN_S: Final = 0.25
LOG: Final = logging.getLogger("headrace.sessions")
Deps = Callable[[RunRecord], object]


class Runs:
    """Works on the runs of one agent, kept in a store. Any number of processes may do so with the same store.

    Attributes:
        agent: runs them.
        store: where they are kept.
        worker_id: the name of this process in it.
    """

    def __init__(
        self,
        agent: Agent,
        store: Store,
        *,
        deps: Deps | None = None,
        worker_id: str | None = None,
        max_running: int | None = None,
        coalesce_s: float = COALESCE_S,
        beat_s: float = BEAT_S,
        dead_after_s: float = DEAD_AFTER_S,
        listen_s: float = LISTEN_S,
        new_id: Callable[[], str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Do nothing yet.

        Args:
            agent: runs them.
            store: where they are kept; it must be open.
            deps: what the tools of a run get as `context.deps`.
            worker_id: the name of this process; by default one that no other has.
            max_running: how many runs are worked on at once; the others are queued. None: all.
            coalesce_s: how long deltas wait for others of their part, in seconds.
            beat_s: how often this process says that it lives, in seconds.
            dead_after_s: how long another one may be silent before its runs are taken over, in seconds.
            listen_s: how often is looked for what other processes say to the runs here, in seconds.
            new_id: makes the ids of runs.
            monotonic: the clock by which others are watched, in seconds.
        """
        self.agent = agent
        self.store = store
        self.worker_id = worker_id or new_worker_id()
        self._deps = deps
        self._coalesce_s = coalesce_s
        self._beat_s = beat_s
        self._listen_s = listen_s
        self._new_id = new_id or made_id
        self._watch = Watch(monotonic, dead_after_s=dead_after_s)
        self._room = None if max_running is None else asyncio.Semaphore(max_running)
        self._here: dict[str, Execution] = {}
        self._claiming: set[str] = set()
        self._recent: dict[str, Recent] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._pulse: list[asyncio.Task[None]] = []
        self._is_open = False
        self._signals = Signals(store)

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        self._is_open = True
        await self.store.beat(self.worker_id)
        await self.take_over()
        self._pulse = [
            asyncio.create_task(self._live(self._beat_s, self._beat), name="headrace-runs-beat"),
            asyncio.create_task(self._live(self._listen_s, self._listen), name="headrace-runs-listen"),
        ]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Let go of all runs: they stay as they are, for whoever opens the store next."""
        self._is_open = False
        for task in self._pulse:
            task.cancel()
        for execution in list(self._here.values()):
            execution.let_go()
        tasks = [*self._pulse, *self._tasks.values()]
        if tasks:
            await asyncio.wait(tasks)
        with contextlib.suppress(StoreError):
            await self.store.forget_worker(self.worker_id)
        await self.agent.__aexit__(*exc_info)

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
        )
        new = NewRun(id=run_id or self._new_id(), session_id=session_id, user=user, request=request.encoded())
        if run_id is not None:
            with contextlib.suppress(NotFoundError):
                return self._same(await self.store.run(run_id), new)
        if session_id is not None:
            await check_free(self.store, session_id)
        try:
            record = await self.store.create_run(new)
        except ConflictError:
            return self._same(await self.store.run(new.id), new)
        return await self._claim(record)

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
        if run_id in self._here:
            self._here[run_id].interrupt()
        elif record.status == "waiting":
            await self._claim(record, is_interrupted=True)
        elif record.status != "ended":
            await self.store.signal(run_id, "interrupt")

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
        if run_id in self._here:
            self._here[run_id].steer(message)
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

    # ------------------------------------------------------------------------------------------ what readers get

    async def result(self, run_id: str) -> RunResult:
        """Return what a run gave, or has so far, read from the store.

        Raises:
            NotFoundError: there is no such run.
            StoreError: what is kept of it cannot be read.
        """
        return await restored(self.store, await self.store.run(run_id))

    async def wait(self, run_id: str) -> RunRecord:
        """Wait until a run has ended or waits for somebody, and return it."""
        async for _ in read(self.store, run_id, (await self.store.run(run_id)).last_seq, recent=self._recent.get):
            pass
        return await self.store.run(run_id)

    async def read(self, run_id: str, after: int = 0, *, follow: bool = False) -> AsyncIterator[Entry]:
        """Give a run's events above `after`, then live: each once, in order, wherever it is worked on.

        Ends when the run has ended; without `follow` also when it waits for somebody.

        Raises:
            NotFoundError: there is no such run.
        """
        async for page in read(self.store, run_id, after, follow=follow, recent=self._recent.get):
            for entry in page:
                yield entry

    # ------------------------------------------------------------------------------------------ working

    async def take_over(self) -> int:
        """Go on with the runs of workers that are dead, and return how many. It is called now and then by itself."""
        self._watch.look(await self.store.workers())
        taken = 0
        before: str | None = None
        while self._is_open:
            page = await self.store.runs(statuses=("queued", "running"), before=before)
            for record in page:
                if record.id in self._here or record.id in self._claiming:
                    continue
                # One of this worker's own that is not here stopped when the store could not be reached.
                if record.owner == self.worker_id or self._watch.is_dead(record.owner):
                    with contextlib.suppress(ConflictError, NotFoundError):  # somebody else was faster
                        await self._claim(record)
                        taken += 1
            if not page:
                break
            before = page[-1].id
        for worker_id in set(self._watch.dead) - {self.worker_id}:
            await self.store.forget_worker(worker_id)
        return taken

    async def _claim(self, record: RunRecord, replies: Sequence[Reply] = (), *, is_interrupted: bool = False) -> RunRecord:
        """Take a run up and work on it."""
        self._claiming.add(record.id)
        try:
            claimed = await self.store.claim(record.id, self.worker_id, epoch=record.epoch)
            if replies:  # kept before anybody hears that they were taken
                await self.store.signal(record.id, "resume", answers_form(replies, after=record.last_seq))
            self._work(claimed, is_interrupted=is_interrupted)
        finally:
            self._claiming.discard(record.id)
        return claimed

    def _work(self, record: RunRecord, *, is_interrupted: bool = False) -> None:
        """Work on a claimed run, in a task of its own."""
        recent = self._recent[record.id] = Recent(record.last_seq)
        execution = Execution(
            self.agent,
            self.store,
            record,
            deps=None if self._deps is None else self._deps(record),
            coalesce_s=self._coalesce_s,
            on_kept=recent.add,
        )
        self._here[record.id] = execution
        if is_interrupted:
            execution.interrupt()
        self._tasks[record.id] = asyncio.create_task(self._through(execution, recent), name=f"headrace-run-{record.id}")

    async def _through(self, execution: Execution, recent: Recent) -> None:
        run_id = execution.record.id
        try:
            async with self._room or contextlib.nullcontext():
                await execution.go(await self._signals.answers(run_id))
                await self._signals.forget_answers(run_id)
        except FencedError:
            LOG.info("run %s goes on elsewhere", run_id)
        except StoreError:
            LOG.exception("run %s stops here; it is gone on with once its store can be reached", run_id)
        except Exception:
            LOG.exception("run %s stops here", run_id)
        finally:
            if self._here.get(run_id) is execution:
                del self._here[run_id], self._recent[run_id], self._tasks[run_id]
            recent.close()

    # ------------------------------------------------------------------------------------------ the pulse

    async def _live(self, every_s: float, work: Callable[[], Any]) -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                await work()
            except StoreError as error:
                LOG.warning("the store cannot be reached: %s", error)

    async def _beat(self) -> None:
        await self.store.beat(self.worker_id)
        await self.take_over()

    async def _listen(self) -> None:
        await self._signals.deliver(self._here)

    def _check_open(self) -> None:
        if not self._is_open:
            raise StateError("no run is worked on here; use it as: async with Runs(agent, store) as runs")

    @staticmethod
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
    return Resumed(state, answers, agent.tools.get).replies
