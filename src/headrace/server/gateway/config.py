"""What a gateway is told: where to ask, who may ask, and how much.

The rule of this file: frozen values, checked whole before anything is opened; what is wrong is named by its path. No key stands here:
an upstream's is named by its variable, a client's is kept as its hash.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from headrace._json import EMPTY
from headrace.errors import ConfigError
from headrace.io.transport import DEFAULT_TIMEOUTS, Timeouts
from headrace.providers.names import normalise_base_url
from headrace.wire.protocols import WIRES

_HASH: Final = re.compile(r"[0-9a-fA-F]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_FILE_BYTES: Final = 1 << 20


class Upstream(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server that is asked.

    Attributes:
        name: what logs and metrics call it.
        base_url: where its API begins, version included; None: the provider's own.
        protocol: what it speaks, where no provider is named.
        provider: one of the catalogue or of the user's own, which knows address, protocol, key and quirks.
        api_key_env: the variable that holds its key; None: none, or the provider's usual one.
        models: from a client's name of a model, or a pattern with one `*`, to the upstream's; `*` there is what the pattern's stood for.
            Empty: every name as it is.
        weight: its share of the requests among those that have the model; 0: asked only where the others failed.
        profile: switches that differ from the protocol's or the provider's.
        options: of the decoder.
        max_retries: how often it is asked again before the first chunk.
    """

    name: str
    base_url: str | None = None
    protocol: str | None = None
    provider: str | None = None
    api_key_env: str | None = None
    models: dict[str, str] = EMPTY
    weight: float = 1.0
    profile: dict[str, Any] = EMPTY
    options: dict[str, Any] = EMPTY
    max_retries: int = 2

    def __post_init__(self) -> None:
        """Refuse what names no server."""
        if not _NAME.fullmatch(self.name):
            raise ConfigError("the name of an upstream is letters, digits, dots, dashes and underscores", argument="name")
        if not 0 <= self.weight < float("inf"):
            raise ConfigError(f"weight is {self.weight}; it is a number from 0 on", argument="weight")
        if (self.protocol is None) == (self.provider is None):
            raise ConfigError(f"the upstream {self.name} needs either a protocol and base_url, or a provider", argument="protocol")
        if self.protocol is not None:
            known = [wire.name for wire in WIRES.values() if wire.encodes]
            if self.protocol not in known:
                raise ConfigError(f"{self.protocol!r} is no protocol that can be asked; known are {', '.join(known)}", argument="protocol")
            if self.base_url is None:
                raise ConfigError(f"the upstream {self.name} needs base_url, where its API begins", argument="base_url")
        if self.base_url is not None:
            normalise_base_url(self.base_url)
        for pattern, target in self.models.items():
            if pattern.count("*") > 1 or target.count("*") > pattern.count("*") or not pattern or not target:
                raise ConfigError(f"{pattern!r} = {target!r}: a pattern has one *, and its target at most that one", argument="models")


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody who may ask.

    Attributes:
        name: what logs and metrics call it.
        key_sha256: the SHA-256 of its key, in hexadecimal.
        max_open: how many of its requests may be open at once; None: no bound of its own.
        max_per_minute: how many it may begin in a minute; None: no bound.
    """

    name: str
    key_sha256: str
    max_open: int | None = None
    max_per_minute: int | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much is taken.

    Attributes:
        max_body_bytes: of a request.
        max_open: requests on their way at once, of all clients.
        arrival_s: how long a request may take to come whole; its head and its body each.
        keep_alive_s: after so long without a word a stream says that it lives, by a comment.
        client_stall_s: a client that takes nothing for so long has gone.
        shutdown_s: how long open streams may go on when the gateway ends.
    """

    max_body_bytes: int = 32 * 1024 * 1024
    max_open: int = 1000
    arrival_s: float = 60.0
    keep_alive_s: float = 15.0
    client_stall_s: float = 30.0
    shutdown_s: float = 30.0

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        for name in self.__struct_fields__:
            value: float = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ConfigError(f"limits.{name} is {value}; it must be more than 0", argument=f"limits.{name}")


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole gateway.

    Attributes:
        upstreams: who is asked.
        clients: who may ask; none: everybody who can reach it.
        host, port: where it listens.
        allowed_hosts: further names that it may be called by; `*`: any.
        strict: a stream that needed a repair ends with an error.
        refuse_cut_calls: an answer with a call that was cut off ends with an error, for clients that would complete its arguments and run it.
        record: a folder for recordings of what upstreams say; None: nothing is kept.
        limits: how much is taken.
        timeouts: for each attempt at an upstream.
    """

    upstreams: tuple[Upstream, ...]
    clients: tuple[Client, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8300
    allowed_hosts: tuple[str, ...] = ()
    strict: bool = False
    refuse_cut_calls: bool = False
    record: str | None = None
    limits: Limits = Limits()
    timeouts: Timeouts = DEFAULT_TIMEOUTS

    def __post_init__(self) -> None:
        """Refuse names that come twice and hashes that are none."""
        if not self.upstreams:
            raise ConfigError("a gateway needs an upstream: --upstream URL, or [[upstreams]] in its file", argument="upstreams")
        for what, names in (("upstreams", [one.name for one in self.upstreams]), ("clients", [one.name for one in self.clients])):
            if len(set(names)) != len(names):
                raise ConfigError(f"two {what} have one name", argument=what)
        for client in self.clients:
            if not _NAME.fullmatch(client.name):
                raise ConfigError("the name of a client is letters, digits, dots, dashes and underscores", argument="clients")
            if not _HASH.fullmatch(client.key_sha256):
                hint = "`headrace gateway key` makes a key and its hash"
                raise ConfigError(f"clients: {client.name}: key_sha256 is no SHA-256 in hexadecimal; {hint}", argument="clients")
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port is {self.port}; ports go from 0 to 65535", argument="port")


def load(path: str | Path) -> dict[str, Any]:
    """Read a gateway's file, TOML, as it stands.

    Raises:
        ConfigError: it cannot be read, or is no TOML.
    """
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigError(f"{file} is larger than {_MAX_FILE_BYTES} bytes", argument="config")
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"the config cannot be read: {error.strerror or error}: {file}", argument="config") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} is no TOML: {error}", argument="config") from error


def config_of(values: dict[str, Any]) -> GatewayConfig:
    """Return values, as a file has them, as a gateway's config.

    Raises:
        ConfigError: a member is unknown or does not fit; `argument` is its path. No value of the file stands in the error.
    """
    try:
        return msgspec.convert(values, GatewayConfig)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ConfigError):
            raise error.__cause__ from None
        words, _, place = str(error).partition(" - at `$.")
        path = place.removesuffix("`")
        raise ConfigError(f"gateway config: {path + ': ' if path else ''}{words}", argument=path or None) from error
