"""`headrace gateway`: a server between clients and model servers, that mends their streams; `headrace gateway key` makes a client's key.

The rule of this file: options and the file become one config, the command line winning; the address is the first line of standard output, and
what happens is said on standard error, a line for each request. Keys of upstreams are named by their variables, never given.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headrace import _sync
from headrace.cli.exits import DONE, guarded
from headrace.cli.services import logging_to_stderr, say, until_asked_to_end
from headrace.server.files import allow_many_files
from headrace.server.gateway.config import GatewayConfig, config_of, load
from headrace.server.gateway.serve import refuse_open_door, serving
from headrace.server.keys import hash_of, new_key

gateway_app: Final = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@gateway_app.callback()
def gateway(
    context: typer.Context,
    *,
    upstream: Annotated[str | None, typer.Option(help="Where a model server's API begins, version included.", metavar="URL")] = None,
    protocol: Annotated[str | None, typer.Option(help="What it speaks; by default openai-chat.")] = None,
    provider: Annotated[
        str | None, typer.Option(help="Instead of the two: a provider that `headrace models` lists, its address and key known.")
    ] = None,
    api_key_env: Annotated[str | None, typer.Option(help="The environment variable that holds its key.", metavar="VAR")] = None,
    config: Annotated[Path | None, typer.Option(help="The gateway's file, TOML; what is said here wins.", metavar="FILE")] = None,
    host: Annotated[str | None, typer.Option(help="Which address to listen at; by default this machine's own alone.")] = None,
    port: Annotated[int | None, typer.Option(help="Where to listen; 0: any free port; by default 8300.", min=0, max=65535)] = None,
    record: Annotated[Path | None, typer.Option(help="Write down what upstreams say, without keys.", metavar="FOLDER")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Repair nothing: a stream that needs it ends with an error.")] = False,
    refuse_cut_calls: Annotated[
        bool,
        typer.Option(
            "--refuse-cut-calls",
            help="An answer with a call that a limit cut off ends with an error, for clients that would complete its arguments and run it.",
        ),
    ] = False,
    insecure: Annotated[bool, typer.Option("--insecure", help="Let other machines in without keys.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say only what was mended or failed.")] = False,
) -> None:
    """Serve any client's protocol in front of any model server, and mend the streams on the way.

    headrace gateway --upstream http://localhost:8000/v1 [--protocol P]

    Prints the address and serves until Ctrl-C: /v1/chat/completions, /v1/responses, /v1/messages, /v1beta/models/…, /v1/models, /metrics.
    """
    if context.invoked_subcommand is not None:
        return
    given: dict[str, Any] = {"host": host, "port": port, "record": None if record is None else str(record), "strict": strict or None}
    given["refuse_cut_calls"] = refuse_cut_calls or None
    own = {"base_url": upstream, "protocol": protocol, "provider": provider, "api_key_env": api_key_env}

    def serve() -> int:
        values = values_of(config, given, own)
        settings = config_of(values)
        refuse_open_door(settings, is_insecure=insecure)
        return _sync.run(_serve(settings, is_quiet=quiet))

    raise typer.Exit(guarded(serve))


@gateway_app.command()
def key() -> None:
    """Make a client's key, and the hash of it that the gateway's file lists; the key itself is kept nowhere."""

    def make() -> int:
        made = new_key()
        print(f"key         {made}\nkey_sha256  {hash_of(made)}")
        return DONE

    raise typer.Exit(guarded(make))


def values_of(config: Path | None, given: dict[str, Any], own: dict[str, str | None]) -> dict[str, Any]:
    """Return the file's values with those of the command line in front.

    Args:
        config: the file.
        given: members of the whole; None says nothing.
        own: members of one further upstream, which stands first; if all of them are None there is none.

    Raises:
        ConfigError: the file cannot be read.
    """
    values: dict[str, Any] = {} if config is None else load(config)
    values |= {name: value for name, value in given.items() if value is not None}
    named = {name: value for name, value in own.items() if value is not None}
    if named:
        if "provider" not in named:
            named.setdefault("protocol", "openai-chat")
        values["upstreams"] = [{"name": named.get("provider", "upstream"), **named}, *values.get("upstreams", [])]
    values.setdefault("upstreams", [])
    return values


async def _serve(config: GatewayConfig, *, is_quiet: bool) -> int:
    level = logging.WARNING if is_quiet else logging.INFO
    with logging_to_stderr({"headrace.gateway": level, "headrace.server": level, "uvicorn.error": logging.ERROR}):
        allow_many_files()
        async with serving(config) as served:
            names = ", ".join(one.name for one in config.upstreams)
            keys = "each client by its key" if config.clients else "everybody who can reach it, without a key"
            say(f"upstreams: {names}; lets in {keys}; Ctrl-C ends")
            print(served.url, flush=True)
            await until_asked_to_end()
    return DONE
