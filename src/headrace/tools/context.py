"""What a tool may know about the run that calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

import msgspec

from headrace._json import JSON, freeze
from headrace.messages.message import Message
from headrace.tools.notes import ForwardNote, Note, ProgressNote
from headrace.tools.suspend import ResumptionLike

T = TypeVar("T")
Emit: TypeAlias = Callable[[Note], object]
Keep: TypeAlias = Callable[[Callable[[], JSON]], None]
Switch: TypeAlias = Callable[[Iterable[str], Iterable[str]], frozenset[str]]


class Context(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Injected into a tool's parameter that is annotated `Context` or `Context[Deps]`; the model never sees it.

        @tool
        async def orders(city: str, context: Context[Database]) -> list[str]:
            return await context.deps.orders(city)

    Attributes:
        deps: what the caller gave the run for its tools: a database, a user, settings.
        run_id: the run.
        round: which round of the run, counted from 1.
        call_key: names this one call among all calls; use it as idempotency key.
        call_id: the wire's id of the call; pairs call and result inside one turn only, since providers reuse ids.
        tool_name: the name by which the tool was called.
        messages: the history so far, the message with this call included.
        resumption: what a call that was suspended gets when it goes on: the state of its `Suspend` and the answers; else None.
        emit: where notes go, from any thread; put in by what runs the tool, None outside of a run.
        switch: switches groups of tools; put in by the run, None outside of one.
        keeper: where `keep` puts what it is given; put in by the run, None outside of one.
        safeguard: what `secure` waits for; put in by a run that is written down, else None.
    """

    deps: T
    run_id: str = ""
    round: int = 0
    call_key: str = ""
    call_id: str = ""
    tool_name: str = ""
    messages: tuple[Message, ...] = ()
    resumption: ResumptionLike | None = None
    emit: Emit | None = None
    switch: Switch | None = None
    keeper: Keep | None = None
    safeguard: Callable[[], Awaitable[None]] | None = None

    def progress(self, message: str = "", *, done: float | None = None, total: float | None = None) -> None:
        """Say how far the call has come, to whoever watches the run; the model does not see it. Outside of a run nothing happens.

        May be called from any thread and as often as one likes: where nobody has looked in between, only the newest is seen.

        Args:
            message: what the tool does just now.
            done: how much is done, in a unit of the tool's own.
            total: how much there is in all, in the same unit.

        Raises:
            UsageError: the message is no text, or a number not finite.
        """
        note = ProgressNote(message, done, total)
        if self.emit is not None:
            self.emit(note)

    def forward(self, event: object) -> None:
        """Pass on something that happened inside the call, such as an event of a sub-agent. Outside of a run nothing happens.

        May be called from any thread; events and output pieces come in the order in which the tool gave them.
        """
        if self.emit is not None:
            self.emit(ForwardNote(event))

    def keep(self, state: JSON | Callable[[], JSON]) -> None:
        """Say from where the call can go on if the process dies while it runs. Outside of a run nothing happens.

        A call that has kept something is not in doubt after a crash: it runs again, also if its tool is not idempotent, and finds the
        last state in `context.resumption`, without replies. The state goes into the run's own; where a run is written down, it is kept with
        the next thing that happens, or by `secure`.

        Args:
            state: JSON, or a function that gives it when it is needed (it may be called often, in the event loop of the run).

        Raises:
            UsageError: the state is no JSON; the error names the place.
        """
        if self.keeper is not None:
            kept = state if callable(state) else _constant(freeze(state, "Context.keep"))
            self.keeper(kept)

    async def secure(self) -> None:
        """Wait until what the run did so far is kept: what this call has forwarded, given out and kept (`keep`) included.

        Called before something that must not happen twice. In a run that is not written down nothing happens.

        Raises:
            StoreError: it cannot be kept, or somebody else has taken the run over.
        """
        if self.safeguard is not None:
            await self.safeguard()

    def switch_groups(self, on: Iterable[str] = (), off: Iterable[str] = ()) -> frozenset[str]:
        """Switch groups of tools on and off, from the next model call on. Outside of a run nothing happens.

        Returns:
            The groups that are on now.

        Raises:
            ToolError: there is no such group, or one is to be both on and off.
        """
        return frozenset() if self.switch is None else self.switch(on, off)


def _constant(value: JSON) -> Callable[[], JSON]:
    return lambda: value
