"""`headrace serve`: an agent behind HTTP, with its page; runs are kept, so they outlive their readers and this process.

The rule of this file: options become the parts of a server; the address is the first line of standard output, and what happens is said on
standard error.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import msgspec

from headrace import _sync
from headrace.agent.agent import Agent
from headrace.cli.exits import DONE
from headrace.cli.loading import load_agent
from headrace.cli.services import logging_to_stderr, say, until_asked_to_end
from headrace.cli.setup import Choices, make_agent, make_model
from headrace.errors import UsageError
from headrace.server.app.app import make_app
from headrace.server.app.keys import Keys, load_keys
from headrace.server.app.limits import Limits
from headrace.server.app.serve import refuse_open_door, serving
from headrace.server.files import allow_many_files
from headrace.sessions.front import Front
from headrace.sessions.managing import retain
from headrace.sessions.opening import open_store
from headrace.sessions.pulse import Pulse
from headrace.sessions.runs import Runs
from headrace.sessions.store import Store

if TYPE_CHECKING:  # an extra
    from headrace.durable.runs import DurableRuns

SECRET: Final = "HEADRACE_SECRET"
"""The environment variable with what signs questions to chats that keep the conversation themselves."""


RETAIN_S: Final = 60.0
"""How often is looked for what is not kept any longer, at the most seldom, in seconds."""


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is served.

    Attributes:
        host, port: where to listen.
        store: where runs are kept; None: in the user's own store.
        keys: the file of keys, or None.
        allowed_hosts, allowed_origins: further names of the server, and pages of others that may ask.
        max_body: how large a request may be, in bytes.
        max_running: how many runs are worked on at once; None: all.
        is_durable: runs are worked on by DBOS, here and by `headrace worker`.
        works: with it: whether they are worked on here at all.
        keep_s, keep_bytes: how long, and how much, is kept of what does not change any more; None: for ever, everything.
        wait_s: how long a run waits for an answer before it is given up; None: for ever.
        name: what the agent is called; None: by the name it was loaded by.
        is_insecure: other machines are let in without keys.
        is_quiet: say only what went wrong.
    """

    host: str = "127.0.0.1"
    port: int = 0
    store: str | None = None
    keys: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body: int = Limits().max_body_bytes
    max_running: int | None = None
    is_durable: bool = False
    works: bool = True
    keep_s: float | None = None
    keep_bytes: int | None = None
    wait_s: float | None = None
    name: str | None = None
    is_insecure: bool = False
    is_quiet: bool = False


def serve_command(target: str | None, choices: Choices, how: Serving) -> int:
    """Serve an agent until Ctrl-C or the signal by which services are ended; return the exit status.

    Args:
        target: the user's own agent, as `module:name`; None: one made of the choices.
        choices: what the options said.
        how: how it is served.

    Raises:
        UsageError: the agent cannot be loaded or made, or both are given.
        ConfigError: the keys, the store or the address do not do.
        MissingExtraError: the extra `server`, or `durable`, is not installed.
    """
    if not how.works and not how.is_durable:
        raise UsageError("--no-work leaves runs to the workers of durable runs; give --durable as well", argument="no_work")
    if target is not None and choices != Choices():
        raise UsageError(f"{target} is an agent of its own: the options that make one do nothing to it", argument="target")
    keys = Keys() if how.keys is None else load_keys(how.keys)
    refuse_open_door(how.host, has_keys=len(keys) > 0, is_insecure=how.is_insecure)
    return _sync.run(_serve(target, choices, how, keys))


async def _serve(target: str | None, choices: Choices, how: Serving, keys: Keys) -> int:
    name = how.name or (target.rpartition(":")[2] if target is not None else "headrace")
    level = logging.WARNING if how.is_quiet else logging.INFO
    with logging_to_stderr({"headrace.server": level, "headrace.sessions": level, "uvicorn.error": logging.CRITICAL}):
        allow_many_files()
        async with (
            _agent(target, choices) as agent,
            open_store(how.store) as store,
            _runs(agent, store, target or "headrace serve", how) as runs,
            _retaining(runs, how),
        ):
            app = make_app(
                runs,
                keys=keys,
                limits=Limits(max_body_bytes=how.max_body),
                host=how.host,
                allowed_hosts=how.allowed_hosts,
                allowed_origins=how.allowed_origins,
                name=name,
                secret=os.environ.get(SECRET, "").encode() or None,
            )
            async with serving(app, host=how.host, port=how.port) as url:
                who = f"lets in {len(keys)} keys" if len(keys) else "lets in everybody who can reach it, without a key"
                say(f"serves {name}; {who}; runs are kept in {_place(store)}; Ctrl-C ends", is_quiet=how.is_quiet)
                print(url, flush=True)
                _collect_seldom()
                await until_asked_to_end()
    return DONE


def _runs(agent: Agent, store: Store, name: str, how: Serving) -> Runs | DurableRuns:
    if not how.is_durable:
        return Runs(agent, store, name=name, max_running=how.max_running)
    kind = cast("type[DurableRuns]", importlib.import_module("headrace.durable").DurableRuns)
    return kind(agent, store, name=name, works=how.works, concurrency=how.max_running)


@contextlib.asynccontextmanager
async def _retaining(runs: Front, how: Serving) -> AsyncGenerator[None]:
    """Give up what waits for too long, and delete what is too old or too much, now and then."""
    pulse = Pulse()
    ages = [age_s for age_s in (how.keep_s, how.wait_s) if age_s is not None]
    every_s = min([RETAIN_S, *(max(1.0, age_s / 4) for age_s in ages)])
    if how.wait_s is not None:
        pulse.every(every_s, partial(runs.give_up_waiting, how.wait_s), "give up")
    if how.keep_s is not None or how.keep_bytes is not None:
        pulse.every(every_s, partial(retain, runs.store, max_age_s=how.keep_s, max_bytes=how.keep_bytes), "retain")
    try:
        yield
    finally:
        await pulse.stop()


@contextlib.asynccontextmanager
async def _agent(target: str | None, choices: Choices) -> AsyncGenerator[Agent]:
    if target is not None:
        yield load_agent(target)
        return
    model = make_model(choices)
    try:
        yield make_agent(choices, model)
    finally:
        await model.aclose()


def _collect_seldom() -> None:
    """Have Python look for cycles less often, and never among what the program was loaded with.

    With a thousand runs in memory a full look takes a third of a second, in which nobody is served. A run that has ended leaves none
    (`tests/sessions/test_runs.py`), so little waits for a look.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000, 10, 20)


def _place(store: object) -> str:
    path = getattr(store, "path", None)
    return str(path) if path is not None else "memory" if type(store).__name__ == "MemoryStore" else "the database"
