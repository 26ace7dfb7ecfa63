"""A run over its pauses: the state goes through JSON text each time, and what holds for every run is checked at each stop."""

from __future__ import annotations

import json
from typing import Any

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.claims import MemoryClaims
from headrace.agent.event_codec import decode_event, encode_event
from headrace.agent.fold import fold
from headrace.agent.run_result import RunResult
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.models.scripted import ScriptedModel
from legal_history import problems


def call(call_id: str = "a", name: str = "act", /, **arguments: Any) -> ToolCallPart:
    """Make a call."""
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def calls(*parts: ToolCallPart | str, **fields: Any) -> AssistantMessage:
    """Make an answer with calls."""
    return AssistantMessage([TextPart(part) if isinstance(part, str) else part for part in parts], **fields)


class Watched:
    """One run, watched from its start to its end.

    Attributes:
        made: all events so far.
        result: what it gave at the last stop.
    """

    def __init__(self, agent: Agent) -> None:
        """Watch runs of this agent."""
        self.agent = agent
        self.made: list[events.Event] = []
        self.result: RunResult

    @classmethod
    async def start(cls, agent: Agent, given: Any = "go", **options: Any) -> Watched:
        """Start a run."""
        watched = cls(agent)
        watched.result = await agent.run(given, on_event=watched.made.append, **options)
        watched.check()
        return watched

    @property
    def state(self) -> str:
        """The state as text."""
        return json.dumps(self.result.state)

    @property
    def pending(self) -> dict[str, Any]:
        """What waits, by the wire's id of the call."""
        return {pending.call.id: pending for pending in self.result.pending}

    @property
    def kinds(self) -> list[str]:
        """The types of the events."""
        return [event.type for event in self.made]

    async def resume(self, *answers: Any, agent: Agent | None = None, **options: Any) -> Watched:
        """Go on, with this or another agent."""
        self.result = await (agent or self.agent).resume(self.state, list(answers), on_event=self.made.append, **options)
        self.check()
        return self

    def results(self) -> dict[str, str]:
        """The results in the history so far, as text, by the wire's ids."""
        found = {}
        for message in self.result.messages:
            for result in message.results if message.role == "tool" else ():
                found[result.call_id] = "".join(
                    part.text if isinstance(part, TextPart) else json.dumps(part.value) for part in result.parts
                )
        return found

    def check(self) -> None:
        """Check what holds for every run: numbered without a gap, one id, one start, told apart in JSON, and legal once it is over."""
        made, result = self.made, self.result
        assert [event.seq for event in made] == list(range(1, len(made) + 1))
        assert {event.run_id for event in made} == {result.run_id}
        assert self.kinds.count("run_started") == 1
        assert isinstance(made[-1], events.RunEnded)
        assert made[-1].pending == result.pending
        assert made[-1].usage == result.usage
        assert made[-1].generate_reason == result.generate_reason
        assert fold(made) == result.messages
        assert [decode_event(encode_event(event)) for event in made] == made
        again = RunResult.from_state(json.dumps(result.state))
        assert (again.open, again.pending, again.messages) == (result.open, result.pending, result.messages)
        assert json.dumps(again.state) == json.dumps(result.state)
        found = problems(result.messages)
        if result.is_waiting:  # the calls of the last message wait for their results
            assert result.messages[-1].tool_calls
            found = problems(result.messages[:-1])
        assert found == []


def watched_agent(*answers: Any, **options: Any) -> Agent:
    """Make an agent that remembers no states of others; `claims=` says otherwise."""
    return Agent(ScriptedModel(*answers), **{"claims": MemoryClaims(), **options})
