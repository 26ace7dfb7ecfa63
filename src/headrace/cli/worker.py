"""`headrace worker`: one more process that works on the runs of an agent, on this machine or another.

The rule of this file: it works until it is told to end, then gives its runs back to the queue, so that others take them up at once; the first
line of standard output is its name among the workers, and what happens is said on standard error.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
import typer

from headrace import _sync
from headrace.agent.agent import Agent
from headrace.cli.exits import DONE, guarded
from headrace.cli.loading import load_agent
from headrace.cli.services import logging_to_stderr, say, until_asked_to_end
from headrace.sessions.opening import open_store

if TYPE_CHECKING:  # the package is an extra
    from headrace.durable import DurableRuns


class Working(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works.

    Attributes:
        database: where runs are kept; None: in the user's own store.
        concurrency: how many runs a worker works on at once; None: all.
        global_concurrency: how many all workers together; None: all.
        name: what the agent is called in the store; None: by what it was loaded by.
        version: the version of the agent's program, if others must not go on with its runs.
        is_quiet: say only what went wrong.
    """

    database: str | None = None
    concurrency: int | None = None
    global_concurrency: int | None = None
    name: str | None = None
    version: str = ""
    is_quiet: bool = False


def worker(
    target: Annotated[str, typer.Argument(help="Your agent, as module:name or file.py:name.", metavar="MODULE:AGENT")],
    *,
    database: Annotated[
        str | None,
        typer.Option(
            help="Where runs are kept: postgresql://…, or a file; by default HEADRACE_DATABASE, else the user's own file.", metavar="URL"
        ),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="How many runs each worker works on at once; by default all.", min=1)] = None,
    global_concurrency: Annotated[
        int | None, typer.Option(help="How many runs all workers together work on at once; by default all.", min=1)
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the agent is called in the store; by default MODULE:AGENT, as for serve.")] = None,
    version: Annotated[str, typer.Option(help="A version of your program whose runs no other version may go on with.")] = "",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say only what went wrong.")] = False,
) -> None:
    """Start one more worker for the runs of an agent.

    headrace worker --database postgresql://… main:agent

    Prints the worker's name and works until Ctrl-C or SIGTERM; then its runs go on elsewhere at once. Both limits belong to the queue: all
    workers have those that were said last.
    """
    how = Working(
        database=database,
        concurrency=concurrency,
        global_concurrency=global_concurrency,
        name=name,
        version=version,
        is_quiet=quiet,
    )
    raise typer.Exit(guarded(lambda: worker_command(target, how)))


def worker_command(target: str, how: Working) -> int:
    """Work on runs until told to end; return the exit status.

    Raises:
        UsageError: the agent cannot be loaded.
        ConfigError: the database does not do.
        MissingExtraError: the extra `durable` is not installed.
        StoreError: the database cannot be reached.
    """
    durable = importlib.import_module("headrace.durable")
    kind = cast("type[DurableRuns]", durable.DurableRuns)
    level = logging.WARNING if how.is_quiet else logging.INFO
    with logging_to_stderr({"headrace.durable": level, "headrace.sessions": level, "dbos": logging.ERROR}):
        code = _sync.run(_work(load_agent(target), target, kind, how))
        if durable.is_stuck():  # in a database that is away; the interpreter would wait for it, and there is nothing left to do
            say("the database does not answer; what was on its way is taken over later", is_quiet=False)
            sys.stdout.flush()
            os._exit(code)
    return code


async def _work(agent: Agent, target: str, kind: type[DurableRuns], how: Working) -> int:
    async with (
        open_store(how.database) as store,
        kind(
            agent,
            store,
            name=how.name or target,
            concurrency=how.concurrency,
            global_concurrency=how.global_concurrency,
            version=how.version,
        ) as runs,
    ):
        limit = "any number of runs" if how.concurrency is None else f"{how.concurrency} runs at once"
        say(f"works on {target}, {limit}, kept in {store!r}; Ctrl-C ends", is_quiet=how.is_quiet)
        print(runs.worker_id, flush=True)
        await until_asked_to_end()
        say("gives its runs back", is_quiet=how.is_quiet)
    return DONE
