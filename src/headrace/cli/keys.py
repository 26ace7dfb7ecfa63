"""`headrace keys`: the keys of a server's clients; each is shown once, when it is made, and kept as its hash.

The rule of this file: the key alone goes to standard output, so that it can be piped where it is needed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli.exits import DONE, guarded
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.server.app.keys import add_key, load_keys

keys_app: Final = typer.Typer(help="The keys of a server's clients.", no_args_is_help=True, rich_markup_mode=None)
_File = Annotated[Path, typer.Option("--keys", help="The file of keys, TOML.", metavar="FILE")]
_DEFAULT: Final = Path("headrace-keys.toml")


@keys_app.command()
def new(
    *, name: Annotated[str, typer.Argument(help="Whose key it is; sessions and runs belong to this name.")], keys: _File = _DEFAULT
) -> None:
    """Make a key, print it, and add its hash to the file."""

    def make() -> int:
        print(add_key(keys, name))
        screen_of(sys.stderr).write([Segment(f"this is the only time that it is shown; {keys} has its hash\n", "note")])
        return DONE

    raise typer.Exit(guarded(make))


@keys_app.command("list")
def list_(*, keys: _File = _DEFAULT) -> None:
    """List the names in the file, and what each may use."""

    def show() -> int:
        for key in load_keys(keys):
            bounds = {
                "per_minute": key.per_minute,
                "max_runs": key.max_runs,
                "max_streams": key.max_streams,
                "tokens_per_day": key.tokens_per_day,
            }
            print("  ".join([key.name, *(f"{name}={value}" for name, value in bounds.items() if value is not None)]))
        return DONE

    raise typer.Exit(guarded(show))
