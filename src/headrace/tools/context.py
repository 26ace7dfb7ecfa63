"""What a tool may know about the run that calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

import msgspec

from headrace.messages.message import Message
from headrace.tools.notes import ForwardNote, Note, ProgressNote
from headrace.tools.suspend import ResumptionLike

T = TypeVar("T")
Emit: TypeAlias = Callable[[Note], object]
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

    def switch_groups(self, on: Iterable[str] = (), off: Iterable[str] = ()) -> frozenset[str]:
        """Switch groups of tools on and off, from the next model call on. Outside of a run nothing happens.

        Returns:
            The groups that are on now.

        Raises:
            ToolError: there is no such group, or one is to be both on and off.
        """
        return frozenset() if self.switch is None else self.switch(on, off)
