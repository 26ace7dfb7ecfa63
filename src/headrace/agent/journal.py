"""What a run is written down in while it goes on, so that it can go on in another process if this one dies.

The rule of this file: the run says what happened and waits, before whatever must not happen unnoticed, until all of that is kept. Where and
how it is kept is the journal's business; a run without a journal pays nothing for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from headrace.agent.events import Event
from headrace.agent.run_result import RunResult
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.tools.context import Context

RunTool = Callable[[], Awaitable[ToolResultPart]]


class Journal(Protocol):
    """Writes one run down.

    Errors: where something cannot be kept, `commit` and `tool` raise a `StoreError`, and the run fails; where somebody else has taken the
    run over, a `FencedError`.
    """

    @property
    def run_id(self) -> str | None:
        """The id that a new run gets, or None: any."""
        ...

    def attach(self, state: Callable[[], RunResult]) -> None:
        """The run begins, or goes on: `state` gives it as it stands, all events that were noted included."""
        ...

    def note(self, event: Event) -> None:
        """Something happened. Called for every event in order; must be quick and not raise."""
        ...

    async def commit(self) -> None:
        """Return once everything that was noted so far is kept, together with the state at that time."""
        ...

    async def tool(self, call_key: str, call: ToolCallPart, run: RunTool) -> ToolResultPart:
        """Run a tool by `run`, once the note that it started is kept; return its result.

        Args:
            call_key: the call's key.
            call: the call.
            run: runs it; called at most once.
        """
        ...


class InnerJournal:
    """The journal of a run inside a tool's call, such as a sub-agent's: it is part of the outer run's."""

    def __init__(self, context: Context[Any]) -> None:
        """Write into the outer run by the call's context."""
        self._context = context

    @property
    def run_id(self) -> None:
        """Any: a run inside is not known by its id; see `Journal`."""
        return None

    def attach(self, state: Callable[[], RunResult]) -> None:
        """Have the outer run keep the inner one's state with its own; see `Journal`."""
        self._context.keep(lambda: state().state)

    def note(self, event: Event) -> None:
        """Pass on what happened; see `Journal`."""
        self._context.forward(event)

    async def commit(self) -> None:
        """Have the outer run kept as it stands; see `Journal`."""
        await self._context.secure()

    async def tool(self, call_key: str, call: ToolCallPart, run: RunTool) -> ToolResultPart:  # noqa: ARG002 - the outer run names no inner call
        """Run an inner tool once the outer run is kept; see `Journal`."""
        await self._context.secure()
        return await run()
