"""What a tool may know about the run that calls it."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from headrace.messages.message import Message

T = TypeVar("T")


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
    """

    deps: T
    run_id: str = ""
    round: int = 0
    call_key: str = ""
    call_id: str = ""
    tool_name: str = ""
    messages: tuple[Message, ...] = ()
