"""`headrace run`: one question, one run, shown as it happens.

The rule of this file: the exit status says how the run ended; what was said until then is shown, whatever happened.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, Final

from headrace import _sync
from headrace.agent.agent import Agent
from headrace.agent.event_codec import encode_event
from headrace.agent.events import Event
from headrace.cli.exits import DONE, INTERRUPTED, WAITING, complain, words_of
from headrace.cli.interrupts import interrupting
from headrace.cli.plain import PlainRun
from headrace.cli.render import Renderer
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.cli.setup import Choices, make_agent, make_model
from headrace.errors import UsageError
from headrace.messages.fields import GenerateReason

_STDIN: Final = "-"
_CODES: Final[dict[GenerateReason, int]] = {
    "awaiting_approval": WAITING,
    "awaiting_external": WAITING,
    "interrupted": INTERRUPTED,
}


def run_command(question: str | None, choices: Choices, *, is_json: bool, is_quiet: bool = False) -> int:
    """Ask once and show the run; returns the exit status.

    Raises:
        HeadraceError: wrong use, or the model or the network failed.
    """
    asked = question_of(question)
    return _sync.run(_run(asked, choices, is_json=is_json, is_quiet=is_quiet))


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


async def _run(question: str, choices: Choices, *, is_json: bool, is_quiet: bool) -> int:
    async with make_model(choices) as model:
        agent = make_agent(choices, model)
        show = json_lines if is_json else shower(agent, is_quiet=is_quiet)
        return await watch(agent, question, show)


async def watch(agent: Agent, question: str, show: Callable[[Event], None], **options: Any) -> int:
    """Run, show every event, and return the exit status; Ctrl-C interrupts the run, a second one leaves.

    Raises:
        HeadraceError: the model or the network failed; the events were shown.
        KeyboardInterrupt: Ctrl-C was pressed a second time.
    """
    run = agent.stream(question, **options)
    with interrupting(run.interrupt) as interrupts:
        try:
            async with run:
                async for event in run:
                    show(event)
            reason = run.result.generate_reason
            return DONE if reason is None else _CODES.get(reason, DONE)
        except asyncio.CancelledError:
            if interrupts.wants_to_leave:
                raise KeyboardInterrupt from None
            raise


def json_lines(event: Event) -> None:
    """Write an event as one line of JSON."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encode_event(event) + b"\n")
    sys.stdout.buffer.flush()


def shower(agent: Agent, *, is_quiet: bool = False) -> Callable[[Event], None]:
    """Return what shows events: everything on a terminal; in a pipe the answer alone, with what happened on standard error."""
    screen = screen_of(sys.stdout)
    if sys.stdout.isatty():
        renderer = Renderer()
        return lambda event: screen.write(renderer.feed(event))
    plain, errors = PlainRun(has_tools=len(agent.tools) > 0), screen_of(sys.stderr)

    def show(event: Event) -> None:
        output = plain.feed(event)
        screen.write((Segment(output.answer),))
        if not is_quiet:
            errors.write((Segment(output.activity, "note"),))

    return show


def tell(error: Exception) -> None:
    """Say what went wrong with one run among several."""
    complain(words_of(error))
