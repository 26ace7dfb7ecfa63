"""The gateway as an ASGI application: who asks, what is asked, and on to the relay.

The rule of this file: it is written from the table of routes and knows no protocol. Everything that can be refused is refused here, cheapest
first, and before an upstream hears of it.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from headrace.errors import UsageError
from headrace.io.transport import Transport
from headrace.server.asgi import BodyTooLargeError, ClientLeftError, Receive, Scope, Send, headers_of, read_body, send_whole
from headrace.server.caller import Caller
from headrace.server.gateway.admission import Admission
from headrace.server.gateway.config import Client, GatewayConfig
from headrace.server.gateway.exchange import LOG, Exchange, detail_of
from headrace.server.gateway.keys import Keyring
from headrace.server.gateway.listing import Listing
from headrace.server.gateway.metrics import Metrics
from headrace.server.gateway.refusals import Refusal, body_of
from headrace.server.gateway.relay import Manner, Relay
from headrace.server.gateway.routes import ROUTES, Found, find
from headrace.server.gateway.routing import candidates
from headrace.server.gateway.upstreams import Ask, Upstreams
from headrace.server.hosts import AllowedHosts
from headrace.server.model_list import list_body, model_body
from headrace.server.prometheus import MEDIA_TYPE
from headrace.wire.protocols import WIRES, Wire
from headrace.wire.server_side import Incoming

_MODELS: Final = "/v1/models"
_JSON: Final = "application/json"


class Gateway:
    """The application; one for each gateway.

    Attributes:
        config: what it was told.
        metrics: what it counted.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        environ: Mapping[str, str] | None = None,
        transport: Transport | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Check everything; open no connection.

        Args:
            config: what it is told.
            environ: where upstreams' keys are; by default the process's environment.
            transport: what carries requests to upstreams, instead of a pool of its own.
            clock: seconds from any start.
            now: seconds since 1970.
            chance: a number from 0 to 1, new each time.

        Raises:
            ConfigError: a key is missing, a provider unknown, or something else does not do.
        """
        self.config = config
        self.metrics = Metrics()
        self._upstreams = Upstreams(config, environ=environ, transport=transport)
        self._keyring = Keyring(config.clients)
        self._hosts = AllowedHosts(config.host, config.allowed_hosts, has_keys=bool(config.clients))
        self._admission = Admission(config.limits.max_open)
        self._clock, self._now, self._chance = clock, now, chance
        self._listing = Listing(config.upstreams, self._upstreams, clock)
        self._began_s = int(now())

    async def aclose(self) -> None:
        """Close the connections to upstreams."""
        await self._upstreams.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; see the ASGI specification."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # a websocket
            await send({"type": "websocket.close", "code": 1008})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    # ------------------------------------------------------------------------------------------ every request

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, headers = str(scope["path"]), headers_of(scope)
        found = find(path)
        wire = WIRES.get(found.route.protocol) if found is not None else None
        if not self._hosts.allows(headers.get("host")):
            said = "this Host header is none of this gateway's names; `allowed_hosts` in its config lists further ones"
            await _refuse(send, Refusal(status=421, kind="permission", message=said), wire)
            return
        if path == "/healthz":
            await send_whole(send, 200, b'{"status":"ok"}')
            return
        client = self._keyring.client_of(headers)
        if client is None:
            said = "this gateway asks for a key: Authorization: Bearer KEY, x-api-key or x-goog-api-key"
            await _refuse(send, Refusal(status=401, kind="authentication", message=said), wire)
        elif found is not None and wire is not None:
            await self._exchange(_Question(found, wire, client, str(scope["method"]), _query_of(scope), headers, receive, send))
        elif path in ("/metrics", _MODELS) or path.startswith(_MODELS + "/"):
            await self._look_up(path, str(scope["method"]), send)
        else:
            said = f"there is nothing at {path[:200]!r} here; questions go to {', '.join(route.path for route in ROUTES)}"
            await _refuse(send, Refusal(status=404, kind="not_found", message=said), None)

    async def _look_up(self, path: str, method: str, send: Send) -> None:
        if method not in ("GET", "HEAD"):
            await _refuse(send, Refusal(status=405, kind="invalid_request", message="this is only read (GET)", allow="GET, HEAD"), None)
        elif path == "/metrics":
            await send_whole(send, 200, self.metrics.text(), media_type=MEDIA_TYPE)
        elif path == _MODELS:
            await send_whole(send, 200, list_body(await self._listing.names(), self._began_s))
        else:
            name = path.removeprefix(_MODELS + "/")
            if candidates(self.config.upstreams, name, self._chance):
                await send_whole(send, 200, model_body(name, self._began_s))
            else:
                await _refuse(send, _no_such_model(name), None)

    # ------------------------------------------------------------------------------------------ a question

    async def _exchange(self, question: _Question) -> None:
        client = question.client
        exchange = Exchange(id=uuid.uuid4().hex, protocol=question.wire.name, began_s=self._clock(), client=client.name)
        refusal = question.unfit() or self._admission.enter(client, exchange.began_s)
        if refusal is not None:
            await question.refuse(refusal, exchange)
            exchange.report(self.metrics, self._clock() - exchange.began_s)
            return
        self.metrics.open.add(exchange.protocol)
        try:
            await self._carry(question, exchange)
        except ClientLeftError:
            exchange.has_left = True
        except Exception as error:  # noqa: BLE001 - the outermost edge: whatever it is, it is ours
            await _own_fault(error, question, exchange)
        finally:
            self.metrics.open.add(exchange.protocol, by=-1)
            self._admission.leave(client)
            exchange.report(self.metrics, self._clock() - exchange.began_s)

    async def _carry(self, question: _Question, exchange: Exchange) -> None:
        limits = self.config.limits
        try:
            async with asyncio.timeout(limits.arrival_s):
                body = await read_body(question.headers, question.receive, limits.max_body_bytes)
            incoming = question.read(body)
            del body
        except BodyTooLargeError as error:
            await question.refuse(Refusal(status=413, kind="too_large", message=str(error)), exchange)
            return
        except TimeoutError:
            said = f"the body did not come whole within {limits.arrival_s:g} s"
            await question.refuse(Refusal(status=408, kind="timeout", message=said), exchange)
            return
        except UsageError as error:
            await question.refuse(_wrong(error), exchange)
            return
        exchange.model = incoming.request.model
        own = (("x-request-id", exchange.id),)
        caller = Caller(question.receive, question.send, own, keep_alive_s=limits.keep_alive_s, stall_s=limits.client_stall_s)
        try:
            async with caller:
                await self._ask(exchange, question.wire, incoming, caller)
        finally:
            exchange.has_begun = caller.is_started
            self.metrics.bytes.add(exchange.protocol, by=caller.sent_bytes)

    async def _ask(self, exchange: Exchange, wire: Wire, incoming: Incoming, caller: Caller) -> None:
        manner = Manner(strict=self.config.strict, refuse_cut_calls=self.config.refuse_cut_calls)
        relay = Relay(wire, incoming, caller, exchange, self._clock, created_s=int(self._now()), manner=manner)
        able = candidates(self.config.upstreams, incoming.request.model, self._chance)
        if not able:
            await relay.refuse(_no_such_model(incoming.request.model))
            return
        exchange.upstream = able[0].upstream.name
        try:
            stream, asked = self._upstreams.ask(able, incoming)
        except UsageError as error:
            await relay.refuse(_wrong(error))
            return
        try:
            await relay.run(stream, asked)
        finally:
            for failed in stream.attempts:
                self._note_failure(failed.model, failed.error, asked)
            if exchange.failure:
                self.metrics.upstream_errors.add(exchange.upstream, exchange.failure)

    def _note_failure(self, model: str, error: Exception, asked: list[Ask]) -> None:
        """Count an attempt that another one followed."""
        names = {one.name for one in self.config.upstreams}
        upstream = model if model in names else asked[-1].upstream if asked else ""
        self.metrics.upstream_errors.add(upstream, type(error).__name__)
        LOG.info("upstream=%s failed, and another attempt followed: %s %r", upstream, type(error).__name__, detail_of(error)[:400])


class _Question(msgspec.Struct, frozen=True, gc=False):
    """A request to one of the routes, its body not read."""

    found: Found
    wire: Wire
    client: Client
    method: str
    query: str
    headers: dict[str, str]
    receive: Receive
    send: Send

    def unfit(self) -> Refusal | None:
        """Return why it cannot be answered, whatever its body says."""
        if self.method != "POST":
            return Refusal(status=405, kind="invalid_request", message="questions are asked by POST", allow="POST")
        if self.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            return Refusal(status=415, kind="invalid_request", message=f"the body must be JSON: content-type: {_JSON}")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            return Refusal(status=415, kind="invalid_request", message="a compressed body is not taken")
        if not self.wire.serves:
            return Refusal(status=501, kind="server", message=f"this version does not serve {self.wire.name} yet")
        return None

    def read(self, body: bytes) -> Incoming:
        """Return what is asked.

        Raises:
            UsageError: it is no such request.
        """
        route = self.found.route
        incoming = self.wire.read_request()(body, model=self.found.model, is_streamed=route.is_streamed)
        if not route.wants_array(self.query):
            return incoming
        return msgspec.structs.replace(incoming, options=msgspec.structs.replace(incoming.options, is_array=True))

    async def refuse(self, refusal: Refusal, exchange: Exchange) -> None:
        """Send a refusal, and take its status down."""
        exchange.status = await _refuse(self.send, refusal, self.wire, exchange.id)


# ---------------------------------------------------------------------------------------------- refusals


def _query_of(scope: Scope) -> str:
    query: bytes = scope.get("query_string", b"")
    return query.decode("latin-1")


async def _refuse(send: Send, refusal: Refusal, wire: Wire | None, request_id: str = "") -> int:
    """Send a refusal; returns its status."""
    status, body = body_of(refusal, wire)
    own = (("x-request-id", request_id),) if request_id else ()
    await send_whole(send, status, body, headers=(*own, *refusal.headers))
    return status


async def _own_fault(error: Exception, question: _Question, exchange: Exchange) -> None:
    """Tell a fault of the gateway's own: where it happened to the log, without the error's words, which may hold anything; a 500 to the client.

    Raises:
        RuntimeError: the answer had begun; the server breaks the connection off, which is how a client learns of it.
    """
    exchange.failure = f"fault:{type(error).__name__}"
    LOG.error(
        "id=%s a fault of the gateway's own: %s\n%s", exchange.id, type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
    )
    if exchange.has_begun:
        raise RuntimeError("an answer broke off by a fault that is in the log") from None
    said = f"a fault of the gateway's own; its log has it as {exchange.id}"
    await question.refuse(Refusal(status=500, kind="server", message=said), exchange)


def _wrong(error: UsageError) -> Refusal:
    return Refusal(status=400, kind="invalid_request", message=str(error), argument=error.argument)


def _no_such_model(name: str) -> Refusal:
    return Refusal(status=404, kind="not_found", message=f"no upstream has the model {name[:200]!r}", argument="model")
