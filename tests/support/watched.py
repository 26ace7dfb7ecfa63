"""A run of an agent, watched to its end: its events, what came of it, and what must hold of every run that ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.events import Event
from headrace.agent.fold import fold
from headrace.agent.hooks import Hooks
from headrace.agent.run import Run
from headrace.agent.run_result import RunResult
from legal_history import problems


@dataclass
class Watched:
    """What was seen of a run."""

    result: RunResult
    made: list[Event]
    error: BaseException | None = None
    before: list[Event] = field(default_factory=list)

    def of(self, kind: type) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.made if isinstance(event, kind)]

    @property
    def types(self) -> list[str]:
        """What happened, in short: the types of the events, without the pieces of blocks."""
        names = [type(event).__name__ for event in self.made]
        return [name for name in names if not name.startswith(("Text", "Reasoning", "ToolCall"))]

    @property
    def results(self) -> list[Any]:
        """All results of tools, in order."""
        return [result for message in self.result.messages if message.role == "tool" for result in message.results]


async def watch(agent: Agent, given: Any = "go", *, session: str | None = "s", **options: Any) -> Watched:
    """Run to the end, whatever it is, and check it."""
    made: list[Event] = []
    run = agent.stream(given, session=session, on_event=made.append, **options)
    return await _watched(agent, run, made, session)


async def watch_resumed(agent: Agent, first: Watched, answers: Any, *, session: str | None = "s", **options: Any) -> Watched:
    """Go on with a run that waits, to the end, and check it."""
    made: list[Event] = []
    run = agent.resume_stream(first.result.state, answers, on_event=made.append, **options)
    return await _watched(agent, run, made, session, [*first.before, *first.made])


async def _watched(agent: Agent, run: Run, made: list[Event], session: str | None, before: list[Event] | None = None) -> Watched:
    error: Exception | None = None
    seen: list[Event] = []
    async with run:
        try:
            async for event in run:
                seen.append(event)  # noqa: PERF401 - what came before a failure counts
        except Exception as raised:  # noqa: BLE001 - whatever the run fails with is looked at
            error = raised
    assert seen == made, "who reads the run sees what is made"
    watched = Watched(run.result, made, error, before or [])
    check(watched)
    if session is not None:
        kept = agent.sessions.get(session)
        is_held = kept.holder == run.id
        assert is_held == run.result.is_waiting
        if not is_held:
            assert kept.messages[-len(run.result.messages) :] == run.result.messages
    return watched


def check(watched: Watched) -> None:
    """What holds of every run that has ended or waits."""
    result, all_made = watched.result, [*watched.before, *watched.made]
    assert [event.seq for event in all_made] == list(range(1, len(all_made) + 1))
    assert isinstance(all_made[-1], events.RunEnded)
    assert sum(isinstance(event, events.RunEnded) for event in watched.made) == 1
    assert all_made[-1].generate_reason == result.generate_reason
    assert all_made[-1].usage == result.usage
    if not result.is_waiting:
        assert fold(all_made) == result.messages
        assert problems(result.messages) == []
    for family in ("Text", "Reasoning", "ToolCall"):
        started = [event for event in all_made if type(event).__name__ == f"{family}Started"]
        ended = [event for event in all_made if type(event).__name__ == f"{family}Ended"]
        assert len(started) == len(ended)
    if watched.error is not None:
        assert [type(event).__name__ for event in watched.made[-2:]] == ["ErrorRaised", "RunEnded"]
        assert result.generate_reason == "error"


class Said:
    """What a hook was asked: the arguments of each call, `here` first."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self.calls)


def hook(name: str, *says: Any, always: Any = None, said: Said | None = None) -> Hooks:
    """A hook at one point that says these things, one a call, and then always the same; what is an exception it raises; what is a function it calls."""
    left = list(says)

    async def speak(self: Hooks, here: Any, *arguments: Any) -> Any:
        if said is not None:
            said.calls.append((here, *arguments))
        word = left.pop(0) if left else always
        if isinstance(word, Exception):
            raise word
        return word(here, *arguments) if callable(word) and not isinstance(word, type) else word

    return type("Speaker", (Hooks,), {name: speak})()
