"""A request and its answer as a connection carries them.

The rule of this file: values, checked by whoever made them; a connection looks at nothing but what it has to write.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, Protocol, runtime_checkable

import httpcore2

Headers = list[tuple[bytes, bytes]]
"""Pairs of name and value, in their order."""


class Outgoing(NamedTuple):
    """A request, whole.

    Attributes:
        method: for example `POST`.
        url: where it goes.
        headers: all of them, `Host` and what frames the body included.
        body: the bytes to send.
        connect_s: how long connecting may take, in seconds; None is no limit.
    """

    method: str
    url: httpcore2.URL
    headers: Headers
    body: bytes
    connect_s: float | None


class Body(Protocol):
    """The body of an answer: read once, then closed, whatever was read of it."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces as they come."""
        ...

    async def aclose(self) -> None:
        """Let go of it; may be called again."""
        ...


@runtime_checkable
class PouringBody(Body, Protocol):
    """A body that can also be handed on by the event loop itself."""

    async def pour(self, take: Callable[[bytes], bool]) -> bool:
        """Hand on the pieces when they come; returns whether there may be more, which `take` did not want by returning False."""
        ...


class Incoming(NamedTuple):
    """An answer, whose body is on its way."""

    status: int
    headers: Headers
    body: Body


class Connection(Protocol):
    """What carries one exchange after the other."""

    def is_idle(self) -> bool:
        """Whether it can take another request."""
        ...

    def has_expired(self) -> bool:
        """Whether it should not, since it was unused for too long or its peer has closed it."""
        ...

    async def ask(self, request: Outgoing) -> Incoming:
        """Send a request and return its answer; errors are httpcore2's."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...
