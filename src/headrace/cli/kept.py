"""A chat's runs, kept in a store: each goes on where it stood, also after the terminal was closed or the process died.

The rule of this file: for whoever watches, a kept run looks like any other (`agent.run.Run`): its events, its result, its failure.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, Self

import msgspec

from headrace.agent.agent import Agent
from headrace.agent.approval import Reply
from headrace.agent.event_codec import decode_event
from headrace.agent.events import ErrorRaised, Event
from headrace.agent.failure import error_of
from headrace.agent.given import new_id
from headrace.agent.permission.judging import Permissions
from headrace.agent.run_result import RunResult
from headrace.errors import ConflictError, HeadraceError, NotFoundError, StateError
from headrace.messages.fields import Content
from headrace.messages.message import Message, UserMessage
from headrace.sessions.records import RunRecord
from headrace.sessions.repair import repaired
from headrace.sessions.runs import Runs
from headrace.sessions.store import Store

_COALESCE_S = 0.02
"""Short enough for a person not to see it."""


class Watchable(Protocol):
    """A run that is watched: an agent's own, or a kept one."""

    async def __aenter__(self) -> Self:
        """Begin."""
        ...

    async def __aexit__(self, *exc_info: object) -> None:
        """Leave."""
        ...

    def __aiter__(self) -> AsyncIterator[Event]:
        """Give its events."""
        ...

    @property
    def result(self) -> RunResult:
        """What it gave."""
        ...

    def interrupt(self) -> None:
        """End it as soon as possible."""
        ...

    def steer(self, content: Content | UserMessage) -> None:
        """Say something to the model while it works."""
        ...


class KeptRun:
    """One leg of a kept run: from its start, or an answer, until it has ended or waits."""

    def __init__(
        self, runs: Runs, begin: Callable[[], Awaitable[RunRecord]], permissions: Permissions, *, after: int | None = None
    ) -> None:
        """Do nothing yet.

        Args:
            runs: work on it.
            begin: starts it, or goes on with it.
            permissions: what the result says of them, since a run that is over does not keep them.
            after: the event after which to begin; None: what comes from now on.
        """
        self._runs = runs
        self._begin = begin
        self._permissions = permissions
        self._after = after
        self._record: RunRecord | None = None
        self._result: RunResult | None = None
        self._said: list[UserMessage] = []
        self._wants_interrupt = False

    async def __aenter__(self) -> Self:
        self._record = await self._begin()
        early, self._said = self._said, []
        for message in early:
            self.steer(message)
        if self._wants_interrupt:
            self.interrupt()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._result is None and self._record is not None:
            # The reader leaves: what it watched ends with it, as with any run of a chat.
            with contextlib.suppress(HeadraceError):
                await self._runs.interrupt(self._record.id)
                self._result = await self._runs.result(self._record.id)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events()

    async def _events(self) -> AsyncGenerator[Event]:
        assert self._record is not None
        run_id = self._record.id
        failure: ErrorRaised | None = None
        async for entry in self._runs.read(run_id, self._record.last_seq if self._after is None else self._after):
            event = decode_event(entry.data)
            failure = event if isinstance(event, ErrorRaised) else failure
            yield event
        self._result = self._completed(await self._runs.result(run_id))
        if failure is not None:
            error = error_of(failure.kind, failure.message)
            error.result = self._result
            raise error

    def _completed(self, result: RunResult) -> RunResult:
        """Return a result with what the store does not keep of it."""
        heard = {message.id for message in result.messages}
        late = () if result.is_waiting else tuple(message for message in self._said if message.id not in heard)
        permissions = result.permissions if result.is_waiting else self._permissions
        return msgspec.structs.replace(result, undelivered=late, permissions=permissions)

    @property
    def result(self) -> RunResult:
        """What it gave.

        Raises:
            StateError: it is not over.
        """
        if self._result is None:
            raise StateError("the run is not over, so it has no result; read its events to the end first")
        return self._result

    def interrupt(self) -> None:
        """End it as soon as possible; what came is kept."""
        self._wants_interrupt = True
        execution = None if self._record is None else self._runs.here(self._record.id)
        if execution is not None:
            execution.interrupt()

    def steer(self, content: Content | UserMessage) -> None:
        """Say something to the model before its next call.

        Raises:
            StateError: the final answer has been given.
        """
        message = content if isinstance(content, UserMessage) else UserMessage(content, id=new_id())
        if self._record is not None:
            execution = self._runs.here(self._record.id)
            if execution is None:
                raise StateError("the run does not go on here; start another one with these words")
            execution.steer(message)
        self._said.append(message)


class Keeping:
    """The conversation of a chat in a store.

    Attributes:
        store: where it is kept.
        session_id: its id.
    """

    def __init__(self, store: Store, session_id: str) -> None:
        """Work on nothing yet."""
        self.store = store
        self.session_id = session_id
        self._runs: Runs | None = None

    async def aclose(self) -> None:
        """Let go of runs that still go on."""
        runs, self._runs = self._runs, None
        if runs is not None:
            await runs.__aexit__(None, None, None)

    async def messages(self) -> tuple[Message, ...]:
        """Return what was said; a history that is not legal is repaired."""
        try:
            return repaired(await self.store.messages(self.session_id)).messages
        except NotFoundError:
            return ()

    async def left(self, agent: Agent) -> RunRecord | None:
        """Return the run that was left in the conversation: it waits for answers, or goes on now since its process died; None: there is none.

        Raises:
            ConflictError: another process works on it.
        """
        try:
            holder = (await self.store.session(self.session_id)).holder
        except NotFoundError:
            return None
        if holder is None:
            return None
        runs = await self._of(agent)
        try:
            record = await self.store.run(holder)
        except NotFoundError:  # it was not kept, and cannot go on
            await self.store.commit(self.session_id, holder, ())
            return None
        if record.status == "ended":  # it died after its last word, before it let go
            await self.store.commit(self.session_id, holder, ())
            return None
        if record.status != "waiting" and runs.here(holder) is None and record.owner != runs.worker_id:
            raise ConflictError(f"another process works on session {self.session_id!r}: run {holder}; wait for it, or use another session")
        return record

    async def begun(self, agent: Agent, question: str, permissions: Permissions) -> KeptRun:
        """Return a new run, to be watched."""
        runs = await self._of(agent)
        return KeptRun(runs, lambda: runs.start(question, session_id=self.session_id, permissions=permissions), permissions)

    async def gone_on(self, agent: Agent, run_id: str, replies: Sequence[Reply], permissions: Permissions) -> KeptRun:
        """Return a run that goes on with answers, to be watched."""
        runs = await self._of(agent)
        return KeptRun(runs, lambda: runs.resume(run_id, list(replies)), permissions)

    async def taken_up(self, agent: Agent, record: RunRecord, permissions: Permissions) -> KeptRun:
        """Return a run that goes on by itself, to be watched from its beginning."""
        runs = await self._of(agent)
        return KeptRun(runs, lambda: self.store.run(record.id), permissions, after=0)

    async def give_up(self, agent: Agent, run_id: str) -> RunResult:
        """End a run that waits, and return what it gave."""
        runs = await self._of(agent)
        await runs.interrupt(run_id)
        await runs.wait(run_id)
        return await runs.result(run_id)

    async def result(self, agent: Agent, run_id: str) -> RunResult:
        """Return what a run has so far."""
        return await (await self._of(agent)).result(run_id)

    async def _of(self, agent: Agent) -> Runs:
        """Return what works on the runs of this agent; there is another agent once other choices were made."""
        if self._runs is not None and self._runs.agent is agent and self._runs.name == self._name:
            return self._runs
        await self.aclose()
        runs = Runs(agent, self.store, name=self._name, coalesce_s=_COALESCE_S)
        await runs.__aenter__()
        self._runs = runs
        return runs

    @property
    def _name(self) -> str:
        # Only this conversation's runs are gone on with here: others have other models and tools.
        return f"chat:{self.session_id}"
