"""One run, worked on in this process: begun from its request, or taken up where the last one that worked on it left it.

The rule of this file: the run was claimed, and everything is written as the claim's epoch; who has lost the run stops and leaves no trace.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec

from headrace.agent.agent import Agent
from headrace.agent.approval import Reply
from headrace.agent.event_codec import encode_event
from headrace.agent.events import ApprovalGiven, ErrorRaised, Event, ReminderAdded, RoundStarted, RunEnded, RunStarted
from headrace.agent.failure import kind_of
from headrace.agent.run import Run
from headrace.agent.session import Session
from headrace.errors import ConflictError, FencedError, HeadraceError, StoreError
from headrace.messages.message import Message, UserMessage
from headrace.messages.usage import Usage
from headrace.sessions.checkpoint import Checkpoint
from headrace.sessions.journal import COALESCE_S, StoreJournal
from headrace.sessions.records import Batch, Entry, RunRecord
from headrace.sessions.recovery import open_blocks
from headrace.sessions.request import Request
from headrace.sessions.restoring import log_of, state_of
from headrace.sessions.store import Store

MAX_TITLE: Final = 80
"""How many characters of a question are a title."""
LOG: Final = logging.getLogger("headrace.sessions")


class Execution:
    """Works on one run.

    Attributes:
        record: the run, as it was claimed.
        journal: what it is written down in.
        wants_interrupt: it was told to end.
        heard_steers: the ids of the words that were put in, or wait for that.
    """

    def __init__(
        self,
        agent: Agent,
        store: Store,
        record: RunRecord,
        *,
        deps: object = None,
        coalesce_s: float = COALESCE_S,
        journal: Callable[..., StoreJournal] = StoreJournal,
        on_kept: Callable[[Batch], object] | None = None,
    ) -> None:
        """Do nothing yet.

        Args:
            agent: runs it.
            store: where it is kept.
            record: the run, claimed.
            deps: for the tools.
            coalesce_s: how long deltas wait for others, in seconds.
            journal: makes the journal; it gets the arguments of `StoreJournal`.
            on_kept: sees every batch that was kept.
        """
        self.record = record
        self._agent = agent
        self._store = store
        self._deps = deps
        self.journal = journal(store, record, coalesce_s=coalesce_s, on_kept=on_kept, on_lost=self._stop)
        self._run: Run | None = None
        self._task: asyncio.Task[Any] | None = None
        self.wants_interrupt = False
        self._steers: list[UserMessage] = []
        self.heard_steers: set[str] = set()

    # ------------------------------------------------------------------------------------------ from outside

    @property
    def has_begun(self) -> bool:
        """Whether the run goes on here by now."""
        return self._run is not None

    def interrupt(self) -> None:
        """End the run as soon as possible."""
        self.wants_interrupt = True
        if self._run is not None:
            self._run.interrupt()

    def steer(self, message: UserMessage) -> None:
        """Put words in before the next model call.

        Raises:
            StateError: the final answer has been given.
        """
        if message.id in self.heard_steers:
            return
        if self._run is None:
            self._steers.append(message)
            return
        self._run.steer(message)
        self.heard_steers.add(message.id or "")
        self.journal.change()

    def let_go(self) -> None:
        """Stop here and write nothing more: the run goes on elsewhere, or after a restart."""
        self.journal.let_go()

    def _stop(self, error: StoreError) -> None:
        """The journal is lost: what runs here runs in nobody's name."""
        if not isinstance(error, FencedError):
            LOG.error("run %s stops here, since it cannot be written down: %s", self.record.id, error)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    # ------------------------------------------------------------------------------------------ working

    async def go(self, answers: Sequence[Given] = ()) -> RunRecord:
        """Work on the run until it has ended or waits, and return it then.

        Args:
            answers: what was answered to it; what it has written down already counts no second time.

        What the run fails with is in its log, and is not raised.

        Raises:
            StoreError: it cannot be read or written; `FencedError`: somebody else has it by now, or it was let go of.
            asyncio.CancelledError: the task was cancelled; the run was interrupted, and is kept as that.
        """
        self._task = asyncio.current_task()
        try:
            await self._go(answers)
        except asyncio.CancelledError:
            if self.journal.lost is not None and self._task is not None and self._task.uncancel() == 0:
                raise self.journal.lost from None
            raise
        finally:
            self._task = None
        if self.journal.lost is not None:
            raise self.journal.lost
        return await self._store.run(self.record.id)

    async def _go(self, answers: Sequence[Given]) -> None:
        try:
            run = await self._begun() if self.record.checkpoint is None else await self._taken_up(answers)
        except (FencedError, StoreError):
            raise
        except HeadraceError as error:
            await self._refuse(error)
            return
        self._run = run
        for message in self._steers:
            self.steer(message)
        if self.wants_interrupt:
            run.interrupt()
        try:
            async with run:
                async for event in run:
                    if isinstance(event, RoundStarted):
                        await self.journal.answer(event.model, partial(self._listen, run))
                    await self._keep_up()
        except StoreError as error:
            if self.journal.lost is None and self.journal.last_seq == self.record.last_seq:
                await self._refuse(error)  # it never began, for example since its conversation is held by another run
        except Exception as error:  # noqa: BLE001 - whatever a run fails with is in its log; a hook may be a stranger's code
            if self.journal.last_seq == self.record.last_seq:
                await self._refuse(error)
        finally:
            with contextlib.suppress(StoreError):
                await self.journal.aclose()
            self.journal.forget_watchers()

    async def _listen(self, run: Run) -> None:
        """Read a model's answer to its end."""
        while run.is_answering and await anext(run, None) is not None:
            await self._keep_up()

    async def _keep_up(self) -> None:
        if self.journal.is_full:
            await self.journal.commit()

    async def _begun(self) -> Run:
        """Return the run, to begin it."""
        request = Request.decoded(self.record.request)
        return request.agent_for(self._agent).stream(
            list(request.input),
            session=self._session(),
            history=request.history,
            keep=request.keep,
            deps=self._deps,
            permissions=request.permissions,
            journal=self.journal,
        )

    async def _taken_up(self, answers: Sequence[Given]) -> Run:
        """Return the run, to go on with it: what a crash left open in its log is closed first."""
        record = self.record
        assert record.checkpoint is not None
        events = [event async for event in log_of(self._store, record.id)]
        checkpoint = Checkpoint(record.checkpoint, record.checkpoint_seq)
        last = events[-1]
        for end in open_blocks(events).closing(last, last.at):
            self.journal.note(end)
            events.append(end)
        state = await state_of(self._store, record, events)
        replies = [reply for given in answers for reply in given.unheard(events)] if checkpoint.is_open else []
        self.heard_steers |= _steers_in(state, events)
        agent = Request.decoded(record.request).agent_for(self._agent)
        return agent.resume_stream(state, replies, session=self._session(), deps=self._deps, journal=self.journal)

    def _session(self) -> Session | None:
        session_id = self.record.session_id
        return None if session_id is None else RunSession(session_id, self._store, self.record)

    async def _refuse(self, error: Exception) -> None:
        """The run cannot even begin: its log says so."""
        record = await self._store.run(self.record.id)
        now: datetime = record.updated_at
        seq = record.last_seq
        events: list[Event] = []
        if seq == 0:
            events.append(RunStarted(seq + 1, record.id, 0, now, ()))
        events.append(ErrorRaised(seq + len(events) + 1, record.id, 0, now, kind_of(error), str(error), False))
        events.append(RunEnded(seq + len(events) + 1, record.id, 0, now, "error", None, Usage(), ()))
        await self._store.append(
            Batch(
                run_id=record.id,
                epoch=self.record.epoch,
                after=seq,
                entries=tuple(Entry(event.seq, encode_event(event)) for event in events),
                status="ended",
                generate_reason="error",
            )
        )


class RunSession(Session):
    """The conversation of one claimed run: kept for its user, and only while the claim holds."""

    def __init__(self, session_id: str, store: Store, record: RunRecord) -> None:
        """Work on this conversation for this run."""
        super().__init__(session_id)
        self._kept = store
        self._record = record

    async def begin(self, session_id: str, run_id: str) -> tuple[Message, ...]:
        """Return the conversation and hold it; see `SessionStore`. One that begins here gets its title from what is asked.

        Raises:
            ConflictError: another run holds it, or it is another user's: whoever guesses an id is told nothing of what was said there.
        """
        messages = await self._kept.begin(session_id, run_id, user=self._record.user)
        kept = await self._kept.session(session_id)
        if kept.user != self._record.user:
            await self._kept.commit(session_id, run_id, ())
            raise ConflictError(f"there is a session {session_id!r} already, and it is another user's; use another id")
        if not messages and not kept.title and (title := _title_of(self._record)):
            await self._kept.set_title(session_id, title)
        return messages

    async def commit(self, session_id: str, run_id: str, added: Sequence[Message]) -> None:
        """Append what the run added; see `SessionStore`.

        Raises:
            FencedError: another epoch holds the run.
        """
        await self._kept.commit(session_id, run_id, added, epoch=self._record.epoch)


def _title_of(record: RunRecord) -> str:
    """Return the first line of what a run was asked, shortened."""
    asked = next((message.text for message in Request.decoded(record.request).input if message.role == "user" and message.text.strip()), "")
    line = asked.strip().partition("\n")[0].strip()
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1].rstrip()}…"


class Given(msgspec.Struct, frozen=True):
    """Answers that were given to a run.

    Attributes:
        after: the last event that the run had by then.
        replies: the answers.
    """

    after: int
    replies: tuple[Reply, ...]

    def unheard(self, events: Sequence[Event]) -> list[Reply]:
        """Return those that the run has not written down: a crash may have come before it did, or after."""
        heard = [event.answer for event in events if event.seq > self.after and isinstance(event, ApprovalGiven)]
        return [reply for reply in self.replies if reply not in heard]


def _steers_in(state: Mapping[str, Any], events: Sequence[Event]) -> set[str]:
    """Return the ids of the words that were put into a run, or wait for that."""
    put_in = {event.message.id for event in events if isinstance(event, ReminderAdded)}
    opened = state.get("open")
    waiting: list[Any] = [] if opened is None else opened.get("steers", [])
    return {message_id for message_id in (*put_in, *(message.get("id") for message in waiting)) if message_id is not None}
