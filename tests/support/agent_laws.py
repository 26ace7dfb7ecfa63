"""What must hold of every run of an agent, whatever happened in it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agent_ground import IDEMPOTENT, Ground
from agent_worlds import World
from headrace.agent import events
from headrace.agent.approval import Approve
from headrace.agent.event_codec import decode_event, encode_event
from headrace.agent.fold import fold
from headrace.messages.message import AssistantMessage
from legal_history import problems
from wire_judge import wire_problems

SPECS = World(lines=()).agent().tools.specs


def check_events(made: list[Any], *, is_broken: bool = False) -> None:
    """One run, one id, numbers without a gap; blocks that start end, unless their answer was void; a final answer is given once."""
    assert [event.seq for event in made] == list(range(1, len(made) + 1))
    assert len({event.run_id for event in made}) <= 1
    assert sum(isinstance(event, events.RunStarted) for event in made) == 1
    assert [event.is_final for event in made if isinstance(event, events.RoundEnded)].count(True) <= 1
    open_blocks: Counter[Any] = Counter()
    for event in made:
        match event:
            case events.TextStarted() | events.ReasoningStarted() | events.ToolCallStarted():
                assert not open_blocks[block_of(event)], event
                open_blocks[block_of(event)] += 1
            case events.TextDelta() | events.ReasoningDelta() | events.ToolCallArguments():
                assert open_blocks[block_of(event)], event
            case events.TextEnded() | events.ReasoningEnded() | events.ToolCallEnded():
                assert open_blocks[block_of(event)], event
                open_blocks[block_of(event)] -= 1
            case events.AttemptDiscarded() if is_broken:
                open_blocks.clear()  # the process that had begun them is no more
            case events.AttemptDiscarded() | events.RoundEnded() | events.RunEnded():
                assert not +open_blocks, event
            case _:
                pass
    check_order(made)
    for event in made:
        assert decode_event(encode_event(event)) == event


def check_order(made: list[Any]) -> None:
    """What a call gives out comes while it runs, answers come after their questions, rounds only go on; the same inside sub-agents."""
    started: set[str] = set()
    ended: set[str] = set()
    asked: set[str] = set()
    subruns: dict[str, int] = {}
    round_ = 0
    for event in made:
        assert event.round >= round_, event
        round_ = event.round
        match event:
            case events.ToolStarted():
                assert event.call_key not in ended, event
                started.add(event.call_key)
            case events.ToolOutput() | events.ToolProgress() | events.SubRun():
                assert event.call_key in started - ended, event
            case events.ToolEnded():
                assert event.call_key not in ended, event
                ended.add(event.call_key)
            case events.ApprovalRequired() | events.ExternalRequired():
                asked.add(event.pending.call_key)
            case events.ApprovalGiven():
                assert event.answer.call_key in asked, event
            case _:
                pass
        if isinstance(event, events.SubRun):
            assert event.event.seq == subruns.get(event.event.run_id, 0) + 1, event
            subruns[event.event.run_id] = event.event.seq


def block_of(event: Any) -> tuple[Any, ...]:
    if hasattr(event, "call_key"):
        return ("call", event.call_key)
    return (getattr(event, "kind", "reasoning"), event.message_id, event.part)


def check_end(made: list[Any], result: Any, *, is_broken: bool = False, before: tuple[Any, ...] = ()) -> None:
    """The history is legal everywhere, every call has exactly one result, in order; events and messages agree."""
    check_events(made, is_broken=is_broken)
    assert isinstance(made[-1], events.RunEnded)
    assert made[-1].generate_reason == result.generate_reason
    assert not made[-1].pending
    assert fold(made) == result.messages
    assert problems(result.messages) == []
    history = (*before, *result.messages)
    assert wire_problems(history, SPECS) == []
    ended = Counter(event.call_key for event in made if isinstance(event, events.ToolEnded))
    assert all(count == 1 for count in ended.values()), ended
    assert len(ended) == sum(len(message.tool_calls) for message in result.messages if isinstance(message, AssistantMessage))
    started = {event.call_key for event in made if isinstance(event, events.ToolStarted)}
    assert started <= ended.keys()


def check_runs(ground: Ground, made: list[Any], world: World) -> None:
    """A tool runs once for one call, unless it is idempotent or a person said so."""
    assert ground.faults == []
    assert ground.most[made[0].run_id] <= world.max_parallel_tools
    approved = in_doubt_approved(made)
    inner = Counter(event.call_key for event in made if isinstance(event, events.SubRun) and isinstance(event.event, events.RunStarted))
    for key, count in inner.items():
        assert count <= 1 + approved[key], (key, "sub", count)
    for key, count in ground.ran.items():
        if ground.names[key] not in IDEMPOTENT:
            assert count <= 1 + approved[key], (key, ground.names[key], count)
    assert not any(ground.running.values())


def in_doubt_approved(made: list[Any]) -> Counter[str]:
    """How often a person had a call run again of which it was not known whether it had run."""
    asked: set[str] = set()
    approved: Counter[str] = Counter()
    for event in made:
        if isinstance(event, events.ApprovalRequired) and event.pending.kind == "in_doubt":
            asked.add(event.pending.call_key)
        if isinstance(event, events.ApprovalGiven) and isinstance(event.answer, Approve) and event.answer.call_key in asked:
            asked.remove(event.answer.call_key)
            approved[event.answer.call_key] += 1
    return approved
