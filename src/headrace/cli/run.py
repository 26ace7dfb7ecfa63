"""`headrace run`: one question, one run, shown as it happens; or a run that waited, gone on with.

The rule of this file: the exit status says how the run ended; what was said until then is shown, whatever happened. Nobody is asked
anything: what waits for a person is said, and kept where `--state` says.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from headrace import _sync
from headrace.agent.agent import Agent
from headrace.agent.event_codec import encode_event
from headrace.agent.events import Event
from headrace.agent.run import Run
from headrace.agent.run_result import RunResult
from headrace.cli.answers import Answers, how_to_answer, replies_of, waiting_lines
from headrace.cli.exits import DONE, INTERRUPTED, WAITING, complain, words_of
from headrace.cli.interrupts import interrupting
from headrace.cli.kept import Watchable
from headrace.cli.plain import PlainRun
from headrace.cli.render import Renderer
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.cli.setup import Choices, make_agent, make_model
from headrace.cli.state_file import StateFile
from headrace.errors import HeadraceError, UsageError
from headrace.messages.fields import GenerateReason

_STDIN: Final = "-"
_CODES: Final[dict[GenerateReason, int]] = {
    "awaiting_approval": WAITING,
    "awaiting_external": WAITING,
    "interrupted": INTERRUPTED,
}


class Manner(msgspec.Struct, frozen=True):
    """How a run is shown, kept and gone on with.

    Attributes:
        is_json: one event a line.
        is_quiet: nothing on standard error but errors.
        state: where a new run is kept while it goes on or waits; None: nowhere.
        resume: the file that keeps the run to go on with; it stays its file.
        answers: to the calls that wait in it.
    """

    is_json: bool = False
    is_quiet: bool = False
    state: Path | None = None
    resume: Path | None = None
    answers: Answers = Answers()


def run_command(question: str | None, choices: Choices, manner: Manner) -> int:
    """Ask once, or go on, and show the run; returns the exit status.

    Raises:
        HeadraceError: wrong use, or the model or the network failed.
    """
    if manner.resume is not None and manner.state is not None:
        raise UsageError("--state and --resume exclude each other: a run that goes on is kept where it was", argument="state")
    if manner.resume is None:
        if manner.answers:
            raise UsageError("--approve, --reject and --answer are for a run that waits; say which with --resume FILE", argument="resume")
        asked = question_of(question)
    elif question is not None:
        raise UsageError("with --resume there is no question: the run goes on with what it was asked", argument="question")
    else:
        asked = ""
    return _sync.run(_run(asked, choices, manner))


def question_of(question: str | None) -> str:
    """Return the question: the argument, or standard input where it is `-` or missing and something is piped.

    Raises:
        UsageError: there is none.
    """
    if question is None and sys.stdin.isatty():
        raise UsageError('there is no question: headrace run "question", or pipe one in', argument="question")
    text = sys.stdin.read() if question in (None, _STDIN) else question
    if text is None or not text.strip():
        raise UsageError("the question is empty", argument="question")
    return text


async def _run(question: str, choices: Choices, manner: Manner) -> int:
    path = manner.resume or manner.state
    kept = None if path is None else StateFile(path)
    if kept is not None and manner.resume is None:
        kept.check_free()
    async with make_model(choices) as model:
        agent = make_agent(choices, model)
        if kept is None or manner.resume is None:
            run = agent.stream(question)
        else:
            saved = kept.read()
            run = agent.resume_stream(saved.state, replies_of(manner.answers, saved.pending, tool_of=agent.tools.get))
        show = json_lines if manner.is_json else shower(agent, is_quiet=manner.is_quiet)
        result = await (watch(run, show) if kept is None else _kept(run, show, kept))
    if result.is_waiting:
        _tell_waiting(result, path)
    return code_of_result(result)


async def _kept(run: Run, show: Callable[[Event], None], kept: StateFile) -> RunResult:
    """Watch a run and keep its state as it goes on."""

    def show_and_keep(event: Event) -> None:
        # The events of a failure come when the run has ended; what can be gone on with is the state before it.
        if kept.wants(event) and (state := run.state)["open"] is not None:
            kept.write(state)
        show(event)

    try:
        result = await watch(run, show_and_keep)
    except HeadraceError as error:
        if isinstance(error.result, RunResult) and kept.is_there:
            complain("the run is kept as it was before it failed; --resume goes on from there")
        raise
    kept.end(result)
    return result


def _tell_waiting(result: RunResult, path: Path | None) -> None:
    for line in waiting_lines(result.pending):
        screen_of(sys.stderr).write((Segment(f"{line}\n", "warning"),))
    if path is None:
        complain("the run waits for somebody and was not kept; with --state FILE it can be gone on with")
    else:
        complain(f"the run waits for somebody: headrace run --resume {path} with the same options and {how_to_answer(result.pending)}")


async def watch(run: Watchable, show: Callable[[Event], None]) -> RunResult:
    """Show every event of a run and return its result; Ctrl-C interrupts the run, a second one leaves.

    Raises:
        HeadraceError: the model or the network failed; the events were shown.
        KeyboardInterrupt: Ctrl-C was pressed a second time.
    """
    with interrupting(run.interrupt) as interrupts:
        try:
            async with run:
                async for event in run:
                    show(event)
            return run.result
        except asyncio.CancelledError:
            if interrupts.wants_to_leave:
                raise KeyboardInterrupt from None
            raise


def code_of_result(result: RunResult) -> int:
    """Return the exit status that says how a run ended."""
    reason = result.generate_reason
    return DONE if reason is None else _CODES.get(reason, DONE)


def json_lines(event: Event) -> None:
    """Write an event as one line of JSON."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encode_event(event) + b"\n")
    sys.stdout.buffer.flush()


def shower(agent: Agent, *, is_quiet: bool = False) -> Callable[[Event], None]:
    """Return what shows events: everything on a terminal; in a pipe the answer alone, with what happened on standard error."""
    screen = screen_of(sys.stdout)
    if sys.stdout.isatty():
        renderer = Renderer(shows_waiting=False)
        return lambda event: screen.write(renderer.feed(event))
    plain, errors = PlainRun(has_tools=bool(len(agent.tools) or agent.sources)), screen_of(sys.stderr)

    def show(event: Event) -> None:
        output = plain.feed(event)
        screen.write((Segment(output.answer),))
        if not is_quiet:
            errors.write((Segment(output.activity, "note"),))

    return show


def tell(error: Exception) -> None:
    """Say what went wrong with one run among several."""
    complain(words_of(error))
