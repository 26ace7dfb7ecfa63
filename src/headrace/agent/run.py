"""A run that is watched: its events, its text, its result, and the two ways to meddle with it.

The rule of this file: nothing here decides or stores; it takes events from the engine and steps it when there are none. So a run goes on
only while somebody reads it, and leaving the block ends it with a legal history.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Self

from headrace._json import JSON
from headrace.agent.engine import Engine
from headrace.agent.events import Event, TextDelta
from headrace.agent.outputs import outputs
from headrace.agent.run_result import RunResult
from headrace.errors import StateError
from headrace.messages.fields import Content
from headrace.messages.message import UserMessage


class Run:
    """One run of an agent, opened by `async with agent.stream(…) as run`.

    `async for event in run` gives its events, `async for text in run.text` only the text for the reader; both take from the same run,
    once. A failure is raised after `error` and `run_ended` were given.
    """

    def __init__(self, engine: Engine) -> None:
        """Hold the run; nothing happens before the first event is asked for."""
        self._engine = engine
        self._is_open = False
        self._is_raised = False

    async def __aenter__(self) -> Self:
        if self._is_open:
            raise StateError("a run is opened once; start another one with agent.stream(…)")
        self._is_open = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        known = self._engine.failure
        await self._engine.abort()
        if known is None and self._engine.failure is not None:  # it could not be kept
            raise self._engine.failure

    def __aiter__(self) -> AsyncIterator[Event]:
        if not self._is_open:
            raise StateError("read a run inside its block: async with agent.stream(…) as run: async for event in run")
        return self

    async def __anext__(self) -> Event:
        engine = self._engine
        while not engine.made:
            if engine.is_over:
                if engine.failure is not None and not self._is_raised:
                    self._is_raised = True
                    raise engine.failure
                raise StopAsyncIteration
            await engine.step()
        return engine.made.popleft()

    @property
    def id(self) -> str:
        """The run's id."""
        return self._engine.run_id

    @property
    def is_answering(self) -> bool:
        """Whether the model was asked and its answer is not whole yet: the next event that is made comes of it."""
        return self._engine.is_answering

    @property
    def text(self) -> AsyncIterator[str]:
        """The text for the reader, in pieces as they come, of all rounds; refusals are not in it."""
        return self._texts()

    @property
    def partial_outputs(self) -> AsyncIterator[JSON]:
        """The answer of an `output_type` while it streams: plain JSON as far as it came, and whole at the end; another way to read the run.

        A value comes when half as much again has come since the one before. What a model said in vain is taken back: the next one
        begins anew.

        Raises:
            StateError: the agent has no `output_type`.
        """
        wanted = self._engine.wanted
        if wanted is None:
            raise StateError("the agent has no output_type; read run.text")
        return outputs(self, wanted)

    async def _texts(self) -> AsyncIterator[str]:
        async for event in self:
            if isinstance(event, TextDelta) and event.kind == "text":
                yield event.text

    @property
    def result(self) -> RunResult:
        """What the run gave; also after it failed, was interrupted or was left.

        Raises:
            StateError: it is not over, or it never began.
        """
        if self._engine.result is None:
            what = "never began" if self._engine.is_over else "is not over"
            raise StateError(f"the run {what}, so it has no result; read its events to the end first")
        return self._engine.result

    @property
    def state(self) -> JSON:
        """The run as JSON, as it stands, the events that were not read yet included: what `agent.resume` needs if this process dies.

        Raises:
            StateError: it has not begun.
        """
        return self._engine.state.state

    async def finish(self) -> RunResult:
        """Read what is left and return the result."""
        async for _ in self:
            pass
        return self.result

    def interrupt(self) -> None:
        """End the run as soon as possible: what came is kept and marked, open calls are closed, `run_ended` says `interrupted`.

        To be called by whom ever, from any thread; nothing happens if the run is over. One that has not begun begins when it is read, so that its input is kept, and ends at once.
        """
        self._engine.interrupt()

    def steer(self, content: Content | UserMessage) -> None:
        """Say something to the model while it works: a user message before the next model call.

        If the model has just answered, there is another round. To be called in the event loop of the run; from another thread:
        `loop.call_soon_threadsafe(run.steer, "…")`.

        Raises:
            StateError: the final answer has been given.
        """
        self._engine.steer(content)
