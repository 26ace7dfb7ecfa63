"""`headrace replay`: recordings as a server gives them again, to try any client against them.

The rule of this file: it prints the address to use as its first line, and serves until Ctrl-C.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headrace import _sync
from headrace.cli.record import until_interrupted
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.errors import UsageError
from headrace.io.http_server import serving
from headrace.io.replay_server import Exchange, Manner, Replayer, base_path, load


def replay_command(source: Path, manner: Manner, *, host: str, port: int) -> int:
    """Serve until Ctrl-C; returns the exit status.

    Raises:
        UsageError: the source, the manner or the address does not do.
    """
    exchanges = load(source)
    return _sync.run(_replay(exchanges, Replayer(exchanges, manner), manner, host, port))


def speed_of(text: str) -> float | None:
    """Read `--speed`: `recorded`, `fast` (no waiting, None), or how many times faster.

    Raises:
        UsageError: it is none of these.
    """
    if text in {"recorded", "fast"}:
        return 1.0 if text == "recorded" else None
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--speed {text}: it is recorded, fast, or a number such as 2", argument="speed") from error


async def _replay(exchanges: tuple[Exchange, ...], replayer: Replayer, manner: Manner, host: str, port: int) -> int:
    async with serving(replayer, host=host, port=port, is_reset=manner.is_reset) as server:
        count = "1 recording" if len(exchanges) == 1 else f"{len(exchanges)} recordings"
        screen_of(sys.stderr).write([Segment(f"{count} to serve at any path; Ctrl-C ends\n", "note")])
        return await until_interrupted(server.url + base_path(exchanges))
