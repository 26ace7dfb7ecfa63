"""`headrace record`: a server on this machine between a program and its model, that writes down what passes.

The rule of this file: the program is run as it is, with its own keys, and ends as it ends; only the addresses of its providers are changed.
No key is written to disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from headrace import _sync
from headrace.cli.exits import DONE
from headrace.cli.interrupts import interrupting
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.errors import ConfigError, UsageError
from headrace.io.forward import Forwarder
from headrace.io.http_server import serving
from headrace.io.httpx_transport import HttpTransport
from headrace.io.record import RecordTransport
from headrace.providers.catalogue import PROVIDERS
from headrace.providers.names import normalise_base_url
from headrace.providers.record import Provider
from headrace.providers.resolve import resolve

FOLDER: Final = "recordings"
PLACE: Final = "{base_url}"
_ANY: Final = ""
_PROXY_VARIABLES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class Routes(NamedTuple):
    """Where requests go, and how programs are told.

    Attributes:
        upstreams: for each beginning of a path the address that it stands for.
        variables: for each environment variable what follows the server's own address in it.
        base_path: what follows it in the one base URL that there is; None where each provider has its own.
    """

    upstreams: dict[str, str]
    variables: dict[str, str]
    base_path: str | None


def record_command(command: Sequence[str], *, upstream: str | None, folder: Path, host: str, port: int) -> int:
    """Record until the command ends, or without one until Ctrl-C; returns the command's exit status.

    Raises:
        UsageError: the upstream, the folder, the address or the command does not do.
    """
    routes = routes_of(upstream, os.environ)
    if routes.base_path is None and any(PLACE in word for word in command):
        raise UsageError(f"{PLACE} stands for the address of one upstream: say which with --upstream URL", argument="upstream")
    return _sync.run(_record(list(command), routes, folder, host, port))


def routes_of(upstream: str | None, environ: Mapping[str, str]) -> Routes:
    """Say where requests go: all to one upstream; without one, each provider's to where they would have gone, told apart by their path.

    Raises:
        ConfigError: the upstream is no address.
    """
    if upstream is not None:
        origin, path = _split(normalise_base_url(upstream, "upstream"))
        return Routes({_ANY: origin}, {name: path.removesuffix(end) for one in PROVIDERS for name, end in _variables(one).items()}, path)
    upstreams: dict[str, str] = {}
    variables: dict[str, str] = {}
    for provider in PROVIDERS:
        address = _address(provider, environ)
        if address is not None:
            origin, path = _split(address)
            upstreams[f"/{provider.id}"] = origin
            variables |= {name: f"/{provider.id}{path.removesuffix(end)}" for name, end in _variables(provider).items()}
    return Routes(upstreams, variables, None)


def environment(environ: Mapping[str, str], routes: Routes, url: str) -> dict[str, str]:
    """Return the environment of a program that is recorded: the addresses of its providers lead here, and no proxy stands between."""
    changed = {**environ, **{name: url + rest for name, rest in routes.variables.items()}}
    if any(environ.get(name) for name in _PROXY_VARIABLES):
        for name in ("NO_PROXY", "no_proxy"):
            changed[name] = ",".join(filter(None, (environ.get(name), "127.0.0.1", "localhost")))
    return changed


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that the environment holds, so that they are not written down either where a body repeats them."""
    names = dict.fromkeys(name for provider in PROVIDERS for name in provider.all_key_variables)
    return tuple(value for name in names if (value := environ.get(name, "").strip()))


def _variables(provider: Provider) -> dict[str, str]:
    """The variables with a provider's address, each with what follows the address in it."""
    return {} if provider.is_in_process else {f"{provider.variable_stem}_BASE_URL": "", **dict(provider.base_url_variables)}


def _address(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Where a provider's requests go; None where nobody has said."""
    if provider.is_in_process:
        return None
    try:
        return resolve(f"{provider.id}:any", api_key="not-asked-for", environ=environ).base_url
    except UsageError:
        return None


def _split(address: str) -> tuple[str, str]:
    """An address as its origin and its path, without a slash at the end."""
    path = urlsplit(address).path.rstrip("/")
    return address.removesuffix(path) if path else address, path


async def _record(command: list[str], routes: Routes, folder: Path, host: str, port: int) -> int:
    say = screen_of(sys.stderr)
    async with RecordTransport(HttpTransport(), folder, secrets=secrets_in(os.environ)) as transport:
        before = _count(folder)
        async with serving(Forwarder(transport, routes.upstreams), host=host, port=port) as server:
            if command:
                base_url = server.url + (routes.base_path or "")
                words = [word.replace(PLACE, base_url) if routes.base_path is not None else word for word in command]
                code = await _run(words, environment(os.environ, routes, server.url))
            else:
                code = await until_interrupted(addresses(routes, server.url))
        say.write([Segment(f"{_count(folder) - before} exchanges recorded in {folder}\n", "note")])
    return code


def addresses(routes: Routes, url: str) -> str:
    """Return the base URLs that programs may be given: one alone, or each as a line for a shell."""
    if routes.base_path is not None:
        return url + routes.base_path
    return "\n".join(f"export {name}={url}{rest}" for name, rest in sorted(routes.variables.items()))


async def until_interrupted(text: str) -> int:
    """Print a text, and wait for Ctrl-C, which is how a server that serves until then ends well."""
    over = asyncio.Event()
    with interrupting(over.set):
        print(text, flush=True)
        await over.wait()
    return DONE


async def _run(command: list[str], environ: Mapping[str, str]) -> int:
    with _leaving_signals() as signals:
        try:
            signals.process = process = await asyncio.create_subprocess_exec(*command, env=environ)
        except OSError as error:
            raise ConfigError(f"cannot run {command[0]!r}: {error.strerror or error}", argument="command") from error
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
    return code if code >= 0 else 128 - code


class _Signals:
    """Signals that are the command's to answer.

    Attributes:
        process: the command, once it runs.
    """

    process: asyncio.subprocess.Process | None = None

    def interrupted(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-C reaches the command by the terminal, and it decides what that means."""

    def asked_to_end(self, _number: int, _frame: FrameType | None) -> None:
        """Ask the command to end; before it runs, end."""
        if self.process is None:
            raise SystemExit(128 + signal.SIGTERM)
        self.process.terminate()


@contextlib.contextmanager
def _leaving_signals() -> Generator[_Signals]:
    signals = _Signals()
    before = signal.signal(signal.SIGINT, signals.interrupted)
    was_asked = signal.signal(signal.SIGTERM, signals.asked_to_end)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, was_asked)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.request.json"))
