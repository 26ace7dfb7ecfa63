"""The models that can be asked for: those that the configuration names, and those that upstreams say they have.

The rule of this file: a list never fails because an upstream does; what an upstream says is asked for seldom, and kept for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from headrace._json import loads
from headrace.errors import HeadraceError
from headrace.io.transport import Timeouts, read_bounded
from headrace.server.gateway.config import Upstream
from headrace.server.gateway.exchange import LOG
from headrace.server.gateway.routing import known_names, name_at
from headrace.server.gateway.upstreams import Upstreams

_KEPT_S: Final = 60.0
_TIMEOUTS: Final = Timeouts(connect_s=3.0, first_chunk_s=5.0, idle_s=5.0, total_s=10.0)
_MAX_NAMES: Final = 5000


class Listing:
    """Lists models."""

    def __init__(self, listed: tuple[Upstream, ...], upstreams: Upstreams, clock: Callable[[], float]) -> None:
        """Know whom to ask; nobody is asked yet."""
        self._listed = listed
        self._upstreams = upstreams
        self._clock = clock
        self._kept: tuple[float, tuple[str, ...]] | None = None

    async def names(self) -> tuple[str, ...]:
        """Return the clients' names of all models that are known."""
        if self._kept is not None and self._clock() - self._kept[0] < _KEPT_S:
            return self._kept[1]
        found = await asyncio.gather(*(self._names_of(one) for one in self._listed))
        names = tuple(dict.fromkeys(name for of_one in found for name in of_one))[:_MAX_NAMES]
        self._kept = (self._clock(), names)
        return names

    async def _names_of(self, upstream: Upstream) -> tuple[str, ...]:
        known = known_names(upstream)
        if upstream.models and len(known) == len(upstream.models):
            return known
        # A name of the upstream's is a client's too where it leads back to itself: through no models at all, or through a pattern.
        own = await self._ask(upstream)
        return (*known, *(name for name in own if name_at(upstream.models, name) == name))

    async def _ask(self, upstream: Upstream) -> tuple[str, ...]:
        request = self._upstreams.models_request(upstream)
        if request is None:
            return ()
        try:
            async with self._upstreams.transport.stream(request, timeouts=_TIMEOUTS) as response:
                body = await read_bounded(response, 4 << 20) if response.status == 200 else b""
            return _names_in(loads(body)) if body else ()
        except (HeadraceError, ValueError, RecursionError) as error:
            LOG.info("upstream=%s does not list its models: %s", upstream.name, type(error).__name__)
            return ()


def _names_in(value: Any) -> tuple[str, ...]:
    """Return the names in an upstream's list: `data` with `id`, or `models` with `name`."""
    if not isinstance(value, dict):
        return ()
    fields = cast("dict[str, Any]", value)
    for member, key in (("data", "id"), ("models", "name")):
        entries: Any = fields.get(member)
        if isinstance(entries, list):
            found = [cast("dict[str, Any]", entry).get(key) for entry in cast("list[object]", entries) if isinstance(entry, dict)]
            return tuple(name.removeprefix("models/") for name in found if isinstance(name, str) and name)
    return ()
