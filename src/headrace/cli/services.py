"""What commands that serve until they are told to end have in common: their end, their log, their words.

The rule of this file: standard output is for what a program reads, such as an address; everything else is said on standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Generator, Mapping

from headrace.cli.interrupts import interrupting
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment


async def until_asked_to_end() -> None:
    """Wait for Ctrl-C, or for the signal by which services are ended."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    with interrupting(over.set):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on every system, and in the main thread alone
            loop.add_signal_handler(signal.SIGTERM, over.set)
        await over.wait()


@contextlib.contextmanager
def logging_to_stderr(levels: Mapping[str, int]) -> Generator[None]:
    """Write the lines of some loggers to standard error, from a level of each on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    before = {name: logging.getLogger(name).level for name in levels}
    for name, level in levels.items():
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(level)


def say(words: str, *, is_quiet: bool = False) -> None:
    """Say what happens to whoever started the service."""
    if not is_quiet:
        screen_of(sys.stderr).write([Segment(f"{words}\n", "note")])
