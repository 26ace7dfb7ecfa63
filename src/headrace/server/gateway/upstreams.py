"""The upstreams as models: opened once, asked many times.

The rule of this file: a request is encoded for each upstream by itself, so that one of the client's own protocol gets every member of it, and
another one what can be said in its words. Keys come from the environment and go nowhere else.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from headrace.errors import ConfigError, HeadraceError, UsageError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.record import RecordTransport
from headrace.io.retry import RetryPolicy
from headrace.io.transport import HTTPRequest, Transport
from headrace.messages.request import OutputFormat, ToolChoice
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.models.answer import AnswerStream, Messages, ModelLike, SettingsLike, Tools
from headrace.models.breaker import Breaker
from headrace.models.config_file import load_config
from headrace.models.fallback import FallbackModel
from headrace.models.falls_over import DEFAULT_FALLS_OVER, FallsOver
from headrace.models.model import Model
from headrace.providers.resolve import resolve
from headrace.server.gateway.config import GatewayConfig, Upstream
from headrace.server.gateway.routing import Candidate
from headrace.wire.server_side import Incoming

_MAX_MODELS: Final = 256
_FALLS_OVER: Final[tuple[FallsOver, ...]] = (*DEFAULT_FALLS_OVER, "auth")
"""A key of the gateway's that is refused is no fault of the client's; it is counted and logged."""


class Ask(ModelLike):
    """A question to one upstream after the other: a model like any other, but for this one request."""

    def __init__(self, candidate: Candidate, model: Model, incoming: Incoming, asked: list[Ask]) -> None:
        """Hold the question; nothing is sent.

        Args:
            candidate: whom to ask, and its name of the model.
            model: the same, opened.
            incoming: what the client wants.
            asked: takes down who was asked, in order.
        """
        self.upstream = candidate.upstream.name
        self.dropped: tuple[Warning, ...] = ()
        self._model = model
        self._incoming = incoming
        self._asked = asked

    @property
    def id(self) -> str:
        """The upstream's name."""
        return self.upstream

    @property
    def provider(self) -> str:
        """Who answers there."""
        return self._model.provider

    def refusal(self) -> HeadraceError | None:
        """See `Model.refusal`."""
        return self._model.refusal()

    def stream(
        self,
        messages: Messages = (),
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> AnswerStream:
        """Ask what the client asked, whatever is given here.

        Raises:
            UsageError: the upstream's protocol lacks something that cannot be left out unnoticed.
        """
        del messages, tools, tool_choice, output, settings, is_streamed
        request, self.dropped = self._incoming.request_for(self._model.protocol)
        stream = self._model.stream(
            request.messages,
            tools=request.tools,
            tool_choice=request.tool_choice,
            output=request.output,
            settings=request.settings,
            is_streamed=request.is_streamed,
        )
        self._asked.append(self)
        return stream

    async def aclose(self) -> None:
        """Close nothing: the upstream stays open for others."""


class Upstreams:
    """All upstreams of a gateway, opened.

    Attributes:
        secrets: the keys that they were given, which must stand nowhere.
    """

    def __init__(self, config: GatewayConfig, *, environ: Mapping[str, str] | None = None, transport: Transport | None = None) -> None:
        """Find addresses and keys; nothing is sent.

        Args:
            config: the gateway's.
            environ: the environment; by default the process's own.
            transport: what carries requests, instead of a pool of its own.

        Raises:
            ConfigError: a key is missing, a provider unknown, or something else does not do.
        """
        self._environ = os.environ if environ is None else environ
        self._providers = load_config(environ=self._environ)
        self._timeouts = config.timeouts
        self._keys = {one.name: _key_of(one, self._environ) for one in config.upstreams}
        self.secrets = tuple(key for key in self._keys.values() if key)
        self._endpoints = {one.name: self._endpoint(one) for one in config.upstreams}
        own = HttpTransport() if transport is None else transport
        self._transport: Transport = own if config.record is None else RecordTransport(own, config.record, secrets=self.secrets)
        # Alone there is nowhere else to go: leaving it alone for a while would help nobody.
        self._breakers = {one.name: Breaker() for one in config.upstreams} if len(config.upstreams) > 1 else {}
        self._models: OrderedDict[tuple[str, str], Model] = OrderedDict()
        for one in config.upstreams:
            self._try(one)

    def _endpoint(self, upstream: Upstream) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return where an upstream is and what it wants to see."""
        try:
            found = resolve(
                f"{upstream.provider or upstream.protocol}:any",
                base_url=upstream.base_url,
                api_key=self._keys[upstream.name],
                environ=self._environ,
                profile=upstream.profile,
                config=self._providers,
                protocol=upstream.protocol,
            )
        except ConfigError as error:
            raise ConfigError(f"the upstream {upstream.name}: {error}", argument="upstreams") from error
        return found.base_url or "", tuple(found.auth_headers())

    def _try(self, upstream: Upstream) -> None:
        """Open a model and forget it: what is wrong must not wait for the first request. One that runs in this process needs its name."""
        names = [name for name in upstream.models.values() if "*" not in name]
        if names or self._endpoints[upstream.name][0]:
            self._open(upstream, names[0] if names else "any")

    def _open(self, upstream: Upstream, name: str) -> Model:
        return Model(
            f"{upstream.provider or upstream.protocol}:{name}",
            base_url=upstream.base_url,
            api_key=self._keys[upstream.name],
            profile=upstream.profile or None,
            options=upstream.options or None,
            config=self._providers,
            transport=self._transport,
            timeouts=self._timeouts,
            retry=RetryPolicy(max_retries=upstream.max_retries),
            breaker=self._breakers.get(upstream.name),
            environ=self._environ,
            protocol=upstream.protocol,
            cache_bytes=0,  # each request brings its own messages, which are never seen again
        )

    def model(self, candidate: Candidate) -> Model:
        """Return an upstream's model. The last few hundred are kept, since each knows how long its server wants to be left alone."""
        key = (candidate.upstream.name, candidate.model)
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = self._open(candidate.upstream, candidate.model)
            if len(self._models) > _MAX_MODELS:
                self._models.popitem(last=False)
        else:
            self._models.move_to_end(key)
        return model

    def ask(self, candidates: Sequence[Candidate], incoming: Incoming) -> tuple[AnswerStream, list[Ask]]:
        """Return the answer of whichever upstream gives one, not begun yet, and the list of those that were asked, which grows.

        Raises:
            UsageError: none of them can be asked this.
        """
        asked: list[Ask] = []
        asks = [Ask(candidate, self.model(candidate), incoming, asked) for candidate in candidates]
        while True:
            try:
                if len(asks) == 1:
                    return asks[0].stream(), asked
                return FallbackModel(*asks, falls_over=_FALLS_OVER).stream(()), asked
            except UsageError:
                if len(asks) == 1:
                    raise
                del asks[0]

    def models_request(self, upstream: Upstream) -> HTTPRequest | None:
        """Return the request for an upstream's own list of models; None where it has no address."""
        base_url, headers = self._endpoints[upstream.name]
        return HTTPRequest("GET", f"{base_url}/models", headers) if base_url else None

    @property
    def transport(self) -> Transport:
        """What carries requests."""
        return self._transport

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


def _key_of(upstream: Upstream, environ: Mapping[str, str]) -> str | None:
    if upstream.api_key_env is None:
        return None
    key = environ.get(upstream.api_key_env, "").strip()
    if not key:
        raise ConfigError(f"the upstream {upstream.name}: the variable {upstream.api_key_env} is not set", argument="api_key_env")
    return key
