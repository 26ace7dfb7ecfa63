"""Random worlds, played: by one process to the end, or left at an event for another one.

The rule of this file: what is played depends on the world alone (ids count, the clock stands still, answers follow from their questions), so
a run that is broken off anywhere and goes on elsewhere can be compared with one that was left in peace.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import msgspec

from agent_ground import Ground
from agent_worlds import World
from headrace.agent.approval import Pending, Reply
from headrace.errors import HeadraceError
from headrace.messages.message import Message


def reply_to(pending: Pending) -> Reply:
    """Return a person's answer, which follows from the question alone."""
    n = (pending.call.parsed or {}).get("n")
    number = n if isinstance(n, int) else 0
    if pending.kind == "in_doubt":
        return pending.approve()
    if pending.kind == "external":
        return pending.deny("not now") if number == 2 else pending.answer(number * 10)
    match number % 4:
        case 1:
            return pending.deny("no")
        case 2 if pending.call.name != "sub":
            return pending.approve({"n": number + 1})
        case 3:
            return pending.approve(rules=pending.suggestions[:1])
        case _:
            return pending.approve()


def replies_to(world: World, pending: tuple[Pending, ...]) -> list[Reply]:
    """Return the answers that people give at once."""
    return [reply_to(one) for one in (pending[:1] if world.in_part else pending)]


class Left(Exception):  # noqa: N818 - the process that plays dies here
    """The run was left.

    Attributes:
        state: its state, as JSON.
        seq: the number of its last event by then.
        skip: how many answers the model has given that count.
    """

    def __init__(self, state: Any) -> None:
        super().__init__()
        self.state = json.dumps(state)
        self.seq = state["open"]["seq"]
        self.skip = sum(message["role"] == "assistant" for message in state["messages"])


async def play(
    world: World,
    *,
    ground: Ground | None = None,
    dies_at: int | None = None,
    mark: str = "",
    state: str | None = None,
    skip: int = 0,
    made: list[Any] | None = None,
) -> tuple[dict[str, Any], list[Any], Any]:
    """Play a world to its end, in one process: people answer as soon as they are asked.

    Args:
        dies_at: the event with this number is the last one that this process reads, if the run is open then.
        mark: what the process' ids begin with.
        state: go on with this run.
        skip: how many answers the model has given already.
        made: where the events go.

    Returns:
        How the run ended, as plain values, without ids; its events; its result.

    Raises:
        Left: at `dies_at`.
    """
    ground = ground or Ground()
    agent = world.agent(mark=mark, skip=skip)
    made = [] if made is None else made
    sink = made.append
    run = agent.stream("go", deps=ground, on_event=sink) if state is None else agent.resume_stream(state, deps=ground, on_event=sink)
    for _ in range(200):
        failure: Exception | None = None
        left: Left | None = None
        async with run:
            try:
                async for event in run:
                    if dies_at is not None and event.seq >= dies_at:
                        for _ in range(dies_at % 4):
                            await asyncio.sleep(0)  # tools go on, also while nobody reads
                        state_now: Any = run.state
                        if state_now["open"] is not None:
                            left = Left(state_now)
                            break
            except HeadraceError as error:
                failure = error
        if left is not None:
            raise left
        result = run.result
        if not result.is_waiting:
            return ending(result, failure), made, result
        text = json.dumps(result.state)
        run = agent.resume_stream(json.loads(text), replies_to(world, result.pending), deps=ground, on_event=sink)
    raise AssertionError(f"the run does not end; it waits for {result.pending}")


def ending(result: Any, failure: Exception | None) -> dict[str, Any]:
    """Return how a run ended, without ids: as JSON, so that it can be compared with that of another process."""
    return {
        "reason": result.generate_reason,
        "messages": [_plain(message) for message in result.messages],
        "output": msgspec.to_builtins(result.output),
        "failure": None if failure is None else f"{type(failure).__name__}: {failure}",
        "usage": msgspec.to_builtins(result.usage),
    }


def _plain(message: Message) -> Any:
    form = msgspec.to_builtins(message)
    form.pop("id", None)
    form.pop("run_id", None)
    form.get("metadata", {}).pop("response_id", None)
    return form


def main() -> None:
    """Go on with runs that other processes left: reads JSON lines of world, state and skip, writes how each of them ended."""
    for line in sys.stdin:
        world, state, skip = msgspec.json.decode(line)
        ended, _, _ = asyncio.run(play(msgspec.convert(world, World), state=state, skip=skip, mark="q"))
        sys.stdout.write(json.dumps(ended) + "\n")


if __name__ == "__main__":
    main()
