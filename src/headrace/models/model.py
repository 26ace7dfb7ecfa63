"""`Model`: a provider's model by its id, with one pool of connections.

The rule of this file: everything that can be wrong in what the caller says is wrong at once, at construction or in `stream(…)`, before
anything is sent. What happens afterwards is `stream.py`.
"""

from __future__ import annotations

import os
import ssl
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from headrace.decoding import StreamDecoder
from headrace.errors import ConfigError, HeadraceError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.redact import secrets_of
from headrace.io.retry import RetryPolicy
from headrace.io.transport import DEFAULT_TIMEOUTS, HTTPRequest, Response, Timeouts, Transport
from headrace.messages.accumulator import NewId
from headrace.messages.request import OutputFormat, Request, Settings, ToolChoice, ToolSpec
from headrace.models import local, local_weights
from headrace.models.answer import FailedAttempt, Messages, ModelLike, SettingsLike, Tools, messages_of, specs_of
from headrace.models.breaker import Breaker, BreakerPolicy
from headrace.models.clock import SYSTEM_CLOCK, Clock
from headrace.models.config_file import ConfigLike, config_of
from headrace.models.gate import Gate, breaker_of
from headrace.models.pace import RateLimits
from headrace.models.stream import Call, ModelStream
from headrace.providers.resolve import resolve
from headrace.providers.secret import Secret
from headrace.providers.signing import sign
from headrace.wire.encoding_cache import DEFAULT_CACHE_BYTES, EncodingCache
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions
from headrace.wire.profile import Profile
from headrace.wire.protocols import WIRES

_DEFAULT_RETRY: Final = RetryPolicy()


class Model(ModelLike):
    """A model of a provider.

        model = Model("deepseek:deepseek-chat")
        async with model.stream("Why is the sky blue?") as stream:
            async for item in stream:
                ...
        stream.message

    It may be used with or without `async with`, by many tasks at once, and from several event loops. Its repr and its errors show no key.

    Args:
        id: `provider:model` or `provider/model`, a protocol's name with `base_url`, or `local:NAME_OR_PATH` for a model in this process.
        base_url: where the API begins, version included.
        api_key: the key; else the provider's environment variable.
        settings: for every request; what a request says wins.
        profile: the switches that differ from the provider's, or a whole profile.
        config: providers and switches of the user's own: a path, a mapping, or a `Config`; by default the file that `HEADRACE_CONFIG`
            names, else the one in the user's folder.
        transport: what carries requests, instead of a pool of the model's own; it stays the caller's to close.
        timeouts: for each attempt.
        retry: when to try again before the first chunk.
        mid_stream_retries: how often to start again after chunks were given out; then the stream gives `AttemptDiscarded`.
        rate_limits: how fast it may be asked; fields of `RateLimits`. By default what the server says of its limits is obeyed, and no more.
        breaker: True or a `BreakerPolicy` leaves a server alone that failed several times in a row; one breaker is shared by all models of
            the same address, key and policy. A `Breaker` is the caller's own. Off by default: it would fail requests to one model because
            of another's overload, which only helps where there is somewhere else to go.
        on_retry: told of each attempt that failed and is tried again.
        limits: on what a peer may send; fields of `Limits`.
        headers: more HTTP headers for every request.
        proxy, verify: for the model's own pool; see `HttpTransport`.
        options: for the decoder, over those of the profile.
        new_id: makes the ids that the wire lacks, of messages and of calls.
        environ: the environment; by default the process's own.
        protocol: the protocol that `id` begins with, where it is meant even if a provider is called the same.
        clock: time, waiting and chance.
        cache_bytes: how much of what was sent before is remembered in its encoded form, about; 0 where no message is sent twice.

    Raises:
        ConfigError: the provider is unknown; a key, an address or a model in this process is missing; something is malformed.
        UnsupportedError: this version cannot speak to that provider.
        UsageError: a setting or limit does not fit.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's name
        *,
        base_url: str | None = None,
        api_key: str | Secret | None = None,
        settings: SettingsLike = None,
        profile: Profile | Mapping[str, Any] | None = None,
        config: ConfigLike = None,
        transport: Transport | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        retry: RetryPolicy = _DEFAULT_RETRY,
        mid_stream_retries: int = 0,
        on_retry: Callable[[FailedAttempt], None] | None = None,
        rate_limits: RateLimits | Mapping[str, Any] | None = None,
        breaker: Breaker | BreakerPolicy | bool | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        verify: bool | str | Path | ssl.SSLContext = True,
        options: Mapping[str, Any] | None = None,
        new_id: NewId | None = None,
        environ: Mapping[str, str] | None = None,
        protocol: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        """Check everything; open nothing."""
        self._id = id
        environ = os.environ if environ is None else environ
        self._endpoint = resolve(
            id, base_url=base_url, api_key=api_key, environ=environ, profile=profile, config=config_of(config, environ), protocol=protocol
        )
        if self._endpoint.base_url is None:
            local_weights.find(self._endpoint.model)
        if mid_stream_retries < 0:
            raise ConfigError(f"mid_stream_retries is {mid_stream_retries}; it counts from 0", argument="mid_stream_retries")
        self._encode = WIRES[self._endpoint.protocol].encode()
        self._settings = Settings(extra_headers=dict(headers or {})).updated(Settings.of(settings))
        join_headers({}, self._settings.extra_headers)  # a header that cannot be sent must not wait for the first request
        self._limits = Limits.of(limits)
        self._options = {**self._endpoint.profile.decode_options, **(options or {})}
        self._checked_options = DecodeOptions.of(self._options)
        self._new_id = new_id
        self._clock = clock
        self._gate = Gate(id, clock=clock, limits=RateLimits.of(rate_limits), breaker=breaker_of(self._endpoint, clock, choice=breaker))
        self._timeouts = timeouts
        self._retry = retry
        self._mid_stream_retries = mid_stream_retries
        self._on_retry = on_retry
        self._is_own_transport = transport is None
        self._transport: Transport = HttpTransport(proxy=proxy, verify=verify) if transport is None else transport
        self._cache = EncodingCache(cache_bytes)
        self._addressed: tuple[object, tuple[tuple[str, str], ...], tuple[str, ...]] | None = None  # what was sent last: headers, secrets
        self._new_decoder(200, None)  # an option that does not exist must not wait for the first answer

    def __repr__(self) -> str:
        """Show where it is, and no key."""
        return f"Model({self._id!r}, base_url={self._endpoint.base_url!r})"

    @property
    def id(self) -> str:
        """The id as it was given."""
        return self._id

    @property
    def provider(self) -> str:
        """The provider's id; for an address that nobody knows, its host and port."""
        return self._endpoint.provider

    @property
    def protocol(self) -> str:
        """The protocol that is spoken."""
        return self._endpoint.protocol

    @property
    def profile(self) -> Profile:
        """What the server takes and wants."""
        return self._endpoint.profile

    def refusal(self) -> HeadraceError | None:
        """Return why a request would not go out at once (an open breaker, a server that said to wait); None if it would."""
        return self._gate.refusal()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the model's own pool; it cannot be used afterwards."""
        if self._is_own_transport:
            await self._transport.aclose()

    def stream(
        self,
        messages: Messages,
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> ModelStream:
        """Ask, and read the answer as it comes. Nothing is sent before the first item is asked for.

        Args:
            messages: a text (one user message), a message, or the history, oldest first.
            tools: what the model may call.
            tool_choice: whether it may, must or must not.
            output: the form of the answer, or None for text.
            settings: over those of the model.
            is_streamed: False asks the server for one whole JSON body, which gives the same message.

        Raises:
            UsageError: an argument does not fit, or the server lacks something that cannot be left out unnoticed.
        """
        request = Request(
            model=self._endpoint.model,
            messages=messages_of(messages),
            tools=specs_of(tools),
            tool_choice=tool_choice,
            output=output,
            settings=self._settings.updated(Settings.of(settings)),
            is_streamed=is_streamed,
        )
        encoded = self._encode(request, self._endpoint.profile, cache=self._cache)

        async def prepare() -> tuple[HTTPRequest, tuple[str, ...]]:
            return await self._prepare(encoded)

        return ModelStream(
            Call(
                what=self._id,
                provider=self._endpoint.provider,
                transport=self._transport,
                prepare=prepare,
                new_decoder=lambda response: self._new_decoder(response.status, response, request.tools),
                warnings=encoded.warnings,
                new_id=self._new_id or _hex_id,
                clock=self._clock,
                gate=self._gate,
                timeouts=self._timeouts,
                retry=self._retry,
                mid_stream_retries=self._mid_stream_retries,
                on_retry=self._on_retry,
            )
        )

    async def _prepare(self, encoded: EncodedRequest) -> tuple[HTTPRequest, tuple[str, ...]]:
        """Put address and key to a request; a model in this process is started first."""
        endpoint = self._endpoint
        base_url, auth = endpoint.base_url, endpoint.auth_headers()
        if base_url is None:
            server = await local.shared_server(endpoint.model)
            base_url, auth = server.base_url, ((endpoint.key_header, endpoint.key_prefix + server.api_key),)
        key, known = (base_url, encoded.path, auth, encoded.headers), self._addressed
        if known is None or known[0] != key:  # requests that follow each other mostly differ in their bodies alone
            # The later one counts: a caller's own header wins over the key.
            headers = tuple({name.lower(): value for name, value in (*auth, *encoded.headers)}.items())
            known = self._addressed = (key, headers, secrets_of(base_url + encoded.path, headers))
        _, headers, secrets = known
        url = base_url + encoded.path
        if endpoint.signing is not None and "authorization" not in dict(headers):
            headers = sign("POST", url, headers, encoded.body, endpoint.signing, now=self._clock.now())
            secrets = secrets_of(url, headers)
        return HTTPRequest("POST", url, headers, encoded.body), secrets

    def _new_decoder(self, status: int, response: Response | None, tools: tuple[ToolSpec, ...] = ()) -> StreamDecoder:
        options = self._checked_options
        if options.inline_tool_calls and self._options.get("inline_tool_names") is None:
            # Text becomes a call only of a tool that this request offered.
            names = {tool.name: tool.parameters for tool in tools if tool.kind == "function"}
            options = DecodeOptions.of({**self._options, "inline_tool_names": names})
        return StreamDecoder(
            protocol=self._endpoint.protocol,
            provider=self._endpoint.provider,
            options=options,
            content_type=None if response is None else response.headers.get("content-type"),
            status=status,
            limits=self._limits,
            new_id=self._new_id,
        )


def _hex_id() -> str:
    return uuid.uuid4().hex
