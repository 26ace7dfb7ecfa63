"""What a server needs of runs, whoever works on them: this process, or workers of a durable engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Protocol

from headrace.agent.agent import Agent
from headrace.agent.approval import Reply
from headrace.agent.permission.judging import Mode, Permissions
from headrace.agent.run_result import RunResult
from headrace.messages.fields import Content
from headrace.messages.message import Message
from headrace.sessions.records import Entry, RunRecord
from headrace.sessions.store import Store
from headrace.tools.tool import Tool


class RunsLike(Protocol):
    """Begins runs, says things to them and reads them; use it as `async with`.

    Attributes:
        agent: the agent whose runs they are.
        store: where they are kept.
    """

    agent: Agent
    store: Store

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
        """Begin a run; see `Runs.start`."""
        ...

    async def resume(self, run_id: str, answers: Iterable[Reply] | Reply) -> RunRecord:
        """Go on with a run that waits; see `Runs.resume`."""
        ...

    async def interrupt(self, run_id: str) -> None:
        """End a run as soon as possible; see `Runs.interrupt`."""
        ...

    async def steer(self, run_id: str, content: Content) -> None:
        """Say something to a run; see `Runs.steer`."""
        ...

    async def delete(self, run_id: str) -> None:
        """Delete a run that does not go on; see `Runs.delete`."""
        ...

    async def result(self, run_id: str) -> RunResult:
        """Return what a run gave so far; see `Runs.result`."""
        ...

    async def wait(self, run_id: str) -> RunRecord:
        """Wait until a run has ended or waits; see `Runs.wait`."""
        ...

    def read(self, run_id: str, after: int = 0, *, follow: bool = False) -> AsyncIterator[Entry]:
        """Give a run's events above `after`, then live; see `Runs.read`."""
        ...
