"""The server as an ASGI application: who asks, where it leads, the answer, and what is told when there is none.

    async with SQLiteStore("runs.db") as store, Runs(agent, store) as runs:
        app = make_app(runs)        # for uvicorn, or mounted in an application of yours

The rule of this file: everything that can be refused is refused here, cheapest first; whatever fails inside is a line in the log and one
form for the client, never more.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from headrace.errors import ConfigError, HeadraceError, StoreError
from headrace.server.app.asks import Ask, segments_of
from headrace.server.app.desk import Desk
from headrace.server.app.door import Door, guarded
from headrace.server.app.faults import FaultError, fault_of
from headrace.server.app.keys import Key, Keys
from headrace.server.app.limits import Limits
from headrace.server.app.metrics import Metrics
from headrace.server.app.page import PAGE, Page
from headrace.server.app.routing import Answer, Route, Router, Whole
from headrace.server.app.streams import Stream, cut, leaving
from headrace.server.app.table import routes_of
from headrace.server.asgi import ASGIMessage, ClientLeftError, Headers, Receive, Scope, Send
from headrace.sessions.front import Front

LOG: Final = logging.getLogger("headrace.server")


class App:
    """The application; see `make_app`.

    Attributes:
        desk: what its handlers work with.
    """

    def __init__(self, desk: Desk, door: Door, router: Router, *, clock: Callable[[], float]) -> None:
        """Hold the parts."""
        self.desk = desk
        self.router = router
        self._door = door
        self._clock = clock
        self._open = 0

    @property
    def metrics(self) -> Metrics:
        """What is counted."""
        return self.desk.metrics

    def leave(self) -> None:
        """Begin nothing more, and end the streams: the server ends."""
        self.desk.streams.leave()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; see the ASGI specification."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began_s = self._clock()
        visit = _Visit(send, self._clock)
        ask = Ask(uuid.uuid4().hex, scope, receive, visit.send)
        route, params, allowed = self.router.find(ask.method, segments_of(scope))
        ask.params = params
        headers: Headers = (("x-request-id", ask.id), *guarded(None if route is None else route.policy), *self._door.shared(ask.headers))
        self._open += 1
        self.metrics.open.add()
        status = 0
        try:
            try:
                answer = await self._found(ask, route, allowed)
                if not isinstance(answer, Stream) and not any(name == "cache-control" for name, _ in _own_headers(answer)):
                    headers = (*headers, ("cache-control", "no-store"))
                status = await answer.send(ask, headers)
            except HeadraceError as error:
                status = await self._refuse(ask, route, error, headers, has_begun=visit.status != 0)
            except Exception as error:  # noqa: BLE001 - the outermost edge: whatever it is, it is ours
                status = await self._own_fault(ask, route, error, headers, has_begun=visit.status != 0)
        finally:
            self._open -= 1
            self.metrics.open.add(by=-1)
            name = "none" if route is None else route.name
            self.metrics.requests.add(name, ask.user, str(visit.status or status))
            if visit.head_s is not None:
                self.metrics.latency.measure(name, visit.head_s - began_s)

    async def _found(self, ask: Ask, route: Route | None, allowed: tuple[str, ...]) -> Answer:
        self._door.check_names(ask.headers)
        if ask.method == "OPTIONS" and allowed and self._door.is_friend(ask.headers.get("origin")):
            return Whole(status=204, headers=self._door.preflight(allowed))
        if self._open > self.desk.limits.max_requests:
            raise FaultError("unavailable", "too many requests are on their way; come again soon", retry_after_s=1)
        if route is None or not route.is_public:
            ask.key = self._door.key_of(ask.headers, is_basic=route is not None and route.is_basic)
            self.desk.rates.enter(ask.key, self._clock())
        if route is None:
            if allowed:
                raise FaultError("method", f"here are {', '.join(allowed)}", headers=(("allow", ", ".join(allowed)),))
            raise FaultError("not_found", "there is nothing at this path; /openapi.json says where something is")
        if self.desk.streams.is_leaving and not route.is_public:
            raise leaving()
        if route.body != "none" or ask.method not in ("GET", "HEAD"):
            limits = self.desk.limits
            await ask.read(max_bytes=route.max_body_bytes or limits.max_body_bytes, arrival_s=limits.arrival_s, is_json=route.body != "raw")
        return await route.handle(ask)

    async def _refuse(self, ask: Ask, route: Route | None, error: HeadraceError, headers: Headers, *, has_begun: bool) -> int:
        if isinstance(error, ClientLeftError):
            return 499
        fault = fault_of(error)
        if fault is None:
            return await self._own_fault(ask, route, error, headers, has_begun=has_begun)
        if isinstance(error, StoreError) and fault.kind == "unavailable":
            LOG.error("id=%s the store: %s: %s", ask.id, type(error).__name__, error)
        self.metrics.refusals.add(fault.kind)
        if has_begun:
            await cut(ask)
            return 200
        body = fault.body() if route is None or route.wraps is None else route.wraps(fault)
        return await Whole(body, fault.status, headers=(*fault.headers, ("cache-control", "no-store"))).send(ask, headers)

    async def _own_fault(self, ask: Ask, route: Route | None, error: Exception, headers: Headers, *, has_begun: bool) -> int:
        """Say a fault of our own in the log and its number to the client; its words stay here, since they may hold those of a request."""
        self.metrics.faults.add()
        trace = "".join(traceback.format_tb(error.__traceback__))
        LOG.error("id=%s a fault of the server's own: %s: %s\n%s", ask.id, type(error).__name__, error, trace)
        if has_begun:
            await cut(ask)
            return 200
        fault = FaultError("fault", f"a fault of the server's own; its log has it as {ask.id}")
        body = fault.body() if route is None or route.wraps is None else route.wraps(fault)
        return await Whole(body, 500, headers=(("cache-control", "no-store"),)).send(ask, headers)


class _Visit:
    """Watches an answer leave.

    Attributes:
        status: the status that was sent; 0: none.
        head_s: when.
    """

    def __init__(self, send: Send, clock: Callable[[], float]) -> None:
        self.status = 0
        self.head_s: float | None = None
        self._send, self._clock = send, clock

    async def send(self, message: ASGIMessage) -> None:
        if message["type"] == "http.response.start":
            self.status, self.head_s = int(message["status"]), self._clock()
        await self._send(message)


def _own_headers(answer: Answer) -> Headers:
    return answer.headers if isinstance(answer, Whole) else ()


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def make_app(
    runs: Front,
    *,
    keys: Keys | Iterable[Key] = (),
    limits: Limits | None = None,
    host: str = "127.0.0.1",
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    name: str = "agent",
    secret: bytes | None = None,
    is_durable: bool | None = None,
    page: Path = PAGE,
    clock: Callable[[], float] = time.monotonic,
) -> App:
    """Return the server of an agent's runs as an ASGI application.

    Args:
        runs: works on the runs; it must be open while requests are answered.
        keys: the clients' keys; without any, everybody who can reach it is let in.
        limits: the bounds.
        host: the address that it listens at, by which it may be called.
        allowed_hosts: further names by which it may be called.
        allowed_origins: pages of other servers that may ask.
        name: what the agent is called.
        secret: signs the questions of the chat protocol whose clients keep the conversation; None: they are not signed.
        is_durable: whether runs outlive the process, as clients are told; None: unless the store is in memory.
        page: the folder of the web page's files.
        clock: seconds that never go back.

    Raises:
        ConfigError: a name does not do.
    """
    if not name.strip():
        raise ConfigError("the agent's name is empty", argument="name")
    desk = Desk(runs, limits or Limits())
    held = keys if isinstance(keys, Keys) else Keys(keys)
    door = Door(held, host=host, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins)
    routes: list[Route] = routes_of(
        desk,
        Page(page),
        name=name,
        secret=secret,
        version=str(getattr(sys.modules.get("headrace"), "__version__", "")),
        has_keys=len(held) > 0,
        is_durable=type(runs.store).__name__ != "MemoryStore" if is_durable is None else is_durable,
    )
    return App(desk, door, Router(routes), clock=clock)
