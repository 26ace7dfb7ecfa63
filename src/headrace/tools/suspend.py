"""How a tool pauses the run: it raises `Suspend`.

The rule of this file: a suspended call has no result yet. What the tool must remember goes into `state`, as JSON, since the run may go
on in another process; the call then runs again from its beginning, and finds the state and the answers in `context.resumption`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from headrace._json import JSON, freeze


class ResumptionLike(Protocol):
    """What a call that was suspended finds when it goes on."""

    @property
    def state(self) -> Any:
        """The state of its `Suspend`."""
        ...

    @property
    def replies(self) -> Sequence[Any]:
        """What was answered to what it asked: `Approve`, `Deny` and `Answer`, at least one."""
        ...


class Suspend(Exception):  # noqa: N818 - no error: the call waits
    """Raised by a tool whose call cannot go on before somebody has answered: a service, a person, a sub-agent's own pending calls.

    It is no `HeadraceError`, and the model never sees it: the other calls of the round go on to their end, then the run pauses.

        @tool
        async def book(room: str, context: Context) -> str:
            if context.resumption is None:
                raise Suspend(state={"booking": await ask_for(room)})
            ...

    Attributes:
        pending: what the run waits for, in order; empty if the call itself is what waits.
        state: JSON that the call finds again when it goes on.
    """

    def __init__(self, pending: Iterable[object] = (), state: JSON = None) -> None:
        """Say what is waited for, and what to remember.

        Raises:
            UsageError: the state is no JSON; the error names the place.
        """
        super().__init__("the call waits for an answer")
        self.pending: tuple[object, ...] = tuple(pending)
        self.state: JSON = freeze(state, "Suspend.state")
