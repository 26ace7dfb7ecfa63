"""The options of `headrace serve`.

The rule of this file: names, helps and defaults; what they do is in `serve.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.amounts import AGES, SIZES, amount
from headrace.cli.exits import guarded
from headrace.cli.options import with_choices
from headrace.cli.serve import Serving, serve_command
from headrace.cli.setup import Choices
from headrace.server.app.limits import Limits

_Durable = Annotated[
    bool, typer.Option("--durable", help="Have DBOS work on runs: here, and in every `headrace worker` of the store (extra durable).")
]
_NoWork = Annotated[bool, typer.Option("--no-work", help="With --durable: leave all runs to the workers.")]
_KeepFor = Annotated[
    str | None, typer.Option("--keep-for", help="Delete runs and conversations that have not changed for so long: 30d, 12h.", metavar="AGE")
]
_KeepSize = Annotated[
    str | None, typer.Option("--keep-size", help="Delete the longest unchanged beyond so much: 500MB, 2GB.", metavar="SIZE")
]
_WaitFor = Annotated[
    str | None, typer.Option("--wait-for", help="Give up runs that have waited for an answer for so long: 30d, 12h.", metavar="AGE")
]
_Store = Annotated[
    str | None,
    typer.Option(
        help="Where runs are kept: memory:, a file, postgresql://…; by default HEADRACE_DATABASE, else the user's own file.",
        metavar="WHERE",
    ),
]
_AllowOrigin = Annotated[
    list[str] | None,
    typer.Option(help="A page of another server that may ask, such as http://localhost:3000; may be repeated.", metavar="ORIGIN"),
]
_AllowHost = Annotated[list[str] | None, typer.Option(help="A further name that the server is called by; may be repeated.", metavar="NAME")]
_KeysFile = Annotated[Path | None, typer.Option(help="The file of clients' keys; `headrace keys new NAME` makes one.", metavar="FILE")]


@with_choices
def serve(
    choices: Choices,
    *,
    target: Annotated[
        str | None,
        typer.Argument(help="Your agent, as module:name or file.py:name; without it -m, -s and -T make one.", metavar="[MODULE:AGENT]"),
    ] = None,
    host: Annotated[str, typer.Option(help="Which address to listen at; anything but the default lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen; 0: any free port.", min=0, max=65535)] = 8400,
    store: _Store = None,
    keys: _KeysFile = None,
    allow_host: _AllowHost = None,
    allow_origin: _AllowOrigin = None,
    max_body: Annotated[int, typer.Option(help="How many bytes a request may have.", min=1024)] = Limits().max_body_bytes,
    max_running: Annotated[int | None, typer.Option(help="How many runs are worked on at once; by default all.", min=1)] = None,
    durable: _Durable = False,
    no_work: _NoWork = False,
    keep_for: _KeepFor = None,
    keep_size: _KeepSize = None,
    wait_for: _WaitFor = None,
    name: Annotated[str | None, typer.Option(help="What the agent is called.")] = None,
    insecure_no_keys: Annotated[bool, typer.Option("--insecure-no-keys", help="Let other machines in without keys.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say only what went wrong.")] = False,
) -> None:
    """Serve an agent: a web chat, and every protocol that clients speak.

    headrace serve main:agent

    Prints the address and serves until Ctrl-C. Runs are kept: a client that leaves stops none, and after a restart they go on.
    """

    def run() -> int:
        how = Serving(
            host=host,
            port=port,
            store=store,
            keys=keys,
            allowed_hosts=tuple(allow_host or ()),
            allowed_origins=tuple(allow_origin or ()),
            max_body=max_body,
            max_running=max_running,
            is_durable=durable,
            works=not no_work,
            keep_s=None if keep_for is None else amount(keep_for, AGES, "keep_for"),
            keep_bytes=None if keep_size is None else int(amount(keep_size, SIZES, "keep_size")),
            wait_s=None if wait_for is None else amount(wait_for, AGES, "wait_for"),
            name=name,
            is_insecure=insecure_no_keys,
            is_quiet=quiet,
        )
        return serve_command(target, choices, how)

    raise typer.Exit(guarded(run))
