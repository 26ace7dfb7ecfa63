"""The entry point: `headrace COMMAND …`.

The rule of this file: `merge` and `--version` need no extra, so that scripts and CI can use them; every other command says which
extra to install.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from headrace.cli import merge
from headrace.cli.exits import guarded
from headrace.cli.version import version
from headrace.errors import MissingExtraError

_EXTRA = {"typer", "rich", "prompt_toolkit"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 done, 1 failed, 2 wrong use, 3 waiting for a person, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    return guarded(lambda: _dispatch(arguments))


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["merge"]:
        return merge.main(arguments[1:])
    if arguments == ["--version"]:
        print(f"headrace {version()}")
        return 0
    try:
        app: Any = importlib.import_module("headrace.cli.app")
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRA:
            raise
        what = f"headrace {arguments[0]}" if arguments else "the command line"
        raise MissingExtraError("cli", feature=f"{what} (all but `headrace merge`)", module=module) from error
    return int(app.main(arguments))


def _never_fail_to_encode(stream: TextIO) -> None:
    """A terminal with an old encoding shows `?` for what it lacks, instead of ending the program."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and "utf" not in (stream.encoding or "").lower():
        reconfigure(errors="replace")
