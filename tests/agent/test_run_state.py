"""The state of a run: taken at any moment, read again in another place; and what becomes of one that was spoilt."""

from __future__ import annotations

import asyncio
import copy
import json
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from headrace.agent import events
from headrace.agent.approval import Approve
from headrace.agent.fold import fold
from headrace.agent.run_result import RunResult
from headrace.errors import HeadraceError, SchemaVersionError, StateError, UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.tools.tool import tool
from legal_history import problems
from pausing import Watched, call, calls, watched_agent


def script(*answers):
    """Answer by how far the conversation is, so that a run that goes on elsewhere is told the same."""

    def answer(request):
        return answers[sum(message.role == "assistant" for message in request.messages)]

    return [answer] * 20


def ticking():
    """Give a clock that never shows the same time twice."""
    seconds = count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))


class World:
    """An agent whose tools note what they did, made anew for each process."""

    def __init__(self, *answers, **options):
        self.answers, self.options = answers, options
        self.done = []

    def agent(self, **more):
        world = self

        @tool(idempotent=True)
        async def look(at: str) -> str:
            """Look."""
            world.done.append(f"look {at}")
            await asyncio.sleep(0)
            return f"saw {at}"

        @tool
        async def pay(to: str):
            """Pay, in pieces."""
            world.done.append(f"pay {to}")
            yield "paid "
            await asyncio.sleep(0)
            yield to

        @tool(needs_approval=True)
        def sign(what: str) -> str:
            """Sign."""
            world.done.append(f"sign {what}")
            return f"signed {what}"

        return watched_agent(*script(*self.answers), tools=[look, pay, sign], **{"now": ticking(), **self.options, **more})


ANSWERS = (
    AssistantMessage(
        ["I look and pay. ", call("a", "look", at="x"), call("b", "pay", to="y")], usage=Usage(input_tokens=5, output_tokens=1)
    ),
    calls(call("a", "look", at="z")),
    "Done.",
)


async def states_of(world, **options):
    """Run to the first stop; return for each event the state at that moment, and all events."""
    made, states = [], []
    agent = world.agent()
    async with agent.stream("go", on_event=made.append, **options) as run:
        states += [(event.type, json.dumps(run.state)) async for event in run if not isinstance(event, events.RunEnded)]
    return states, made, run.result


async def go_on(world, state, made, *, words=()):
    """Go on from a state elsewhere to the end; doubts are answered with `words` in turn, else with a yes."""
    given = iter(words)
    agent = world.agent()
    seq = json.loads(state)["open"]["seq"]
    log = [event for event in made if event.seq <= seq]
    assert len(log) == seq
    replies = []
    while True:
        result = await agent.resume(state, replies, on_event=log.append)
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        assert fold(log) == result.messages
        if not result.is_waiting:
            return result, log
        state = json.dumps(result.state)
        replies = [next(given, Approve)(pending.call_key) for pending in result.pending]


# ---------------------------------------------------------------------------------------------- at any moment


async def test_a_run_goes_on_from_every_moment_to_the_same_end():
    first = World(*ANSWERS)
    states, made, whole = await states_of(first)
    assert len(states) > 15
    for kind, state in states:
        world = World(*ANSWERS)
        result, log = await go_on(world, state, made)
        texts = [message.text for message in result.messages if message.role != "tool"]
        assert texts == ["go", "I look and pay. ", "", "Done."], kind
        assert problems(result.messages) == []
        assert result.rounds == whole.rounds == 3
        assert result.usage == whole.usage
        assert [event.round for event in log if isinstance(event, events.RoundStarted)] == [1, 2, 3]
        assert [event.type for event in log].count("run_started") == 1


async def test_a_state_in_the_middle_of_an_answer_has_it_asked_for_again():
    states, made, _ = await states_of(World(*ANSWERS))
    state = next(state for kind, state in states if kind == "text_delta")
    world = World(*ANSWERS)
    _, log = await go_on(world, state, made)
    discarded = [event for event in log if isinstance(event, events.AttemptDiscarded)]
    assert len(discarded) == 1
    assert discarded[0].message_id == json.loads(state)["open"]["answering"]
    assert log.index(discarded[0]) == json.loads(state)["open"]["seq"]
    assert world.done == ["look x", "pay y", "look z"]


def started_in(state):
    return {int(place) for place in json.loads(state)["open"]["started"]}


async def test_what_had_started_runs_again_only_if_that_does_no_harm():
    states, made, _ = await states_of(World(*ANSWERS))
    state = next(state for _, state in states if started_in(state) == {0, 1})
    world = World(*ANSWERS)
    agent = world.agent()
    result = await agent.resume(state)
    assert world.done == ["look x"]
    (pending,) = result.pending
    assert (pending.kind, pending.call.name, result.generate_reason) == ("in_doubt", "pay", "awaiting_approval")
    assert "may have had its effect" in pending.reason
    assert made[0].type == "run_started"


@pytest.mark.parametrize(
    ("answer", "done", "said", "state"),
    [
        (lambda pending: pending.approve(), ["pay y"], "paid y", "success"),
        (lambda pending: pending.approve({"to": "q"}), ["pay q"], 'The arguments were changed to {"to":"q"}.\npaid q', "success"),
        (lambda pending: pending.answer("paid y, says the bank"), [], "paid y, says the bank", "success"),
        (lambda pending: pending.answer("the bank knows nothing", is_error=True), [], "the bank knows nothing", "error"),
        (
            lambda pending: pending.deny("ask the bank"),
            [],
            "It is not known whether this call had an effect; it was given up. ask the bank",
            "in_doubt",
        ),
    ],
)
async def test_a_person_decides_about_a_call_in_doubt(answer, done, said, state):
    states, made, _ = await states_of(World(*ANSWERS))
    taken = next(state for _, state in states if started_in(state) == {0, 1})
    world = World(*ANSWERS)
    watched = Watched(world.agent())
    watched.made = [event for event in made if event.seq <= json.loads(taken)["open"]["seq"]]
    watched.result = await watched.agent.resume(taken, on_event=watched.made.append)
    watched.check()
    assert watched.kinds.count("approval_required") == 1
    world.done.clear()
    await watched.resume(answer(watched.pending["b"]))
    assert watched.result.message.text == "Done."
    result = watched.result.messages[2].results[1]
    assert ("".join(part.text for part in result.parts), result.state) == (said, state)
    assert [each for each in world.done if each.startswith("pay")] == done


async def test_a_yes_from_before_a_crash_lets_nothing_run_a_second_time():
    answers = (calls(call("a", "sign", what="x")), "Done.")
    world = World(*answers)
    watched = await Watched.start(world.agent())
    made, states = list(watched.made), []
    async with watched.agent.resume_stream(watched.state, [watched.pending["a"].approve({"what": "y"})], on_event=made.append) as run:
        states += [(event.type, json.dumps(run.state)) async for event in run]
    assert world.done == ["sign y"]
    kind, state = next(each for each in states if started_in(each[1]))
    assert kind in ("approval_given", "tool_started")
    elsewhere = World(*answers)
    result = await elsewhere.agent().resume(state)
    assert elsewhere.done == []
    assert [pending.kind for pending in result.pending] == ["in_doubt"]
    agent = elsewhere.agent()
    old = watched.pending["a"].approve()
    with pytest.raises(StateError, match="its digest differs"):
        await agent.resume(result.state, [old])
    result = await agent.resume(result.state, result.pending[0].approve())
    assert elsewhere.done == ["sign y"]  # as the person had changed it
    assert result.message.text == "Done."


async def test_what_runs_while_nobody_reads_counts_as_started_in_the_state():
    world = World(calls(call("a", "look", at="x"), call("b", "pay", to="y")), "Done.", max_parallel_tools=1)
    agent, seen = world.agent(), set()
    async with agent.stream("go") as run:
        async for event in run:
            if event.type in ("tool_started", "tool_output", "tool_ended"):
                for _ in range(10):
                    await asyncio.sleep(0)  # the tools run on while the reader is busy elsewhere
                opened = json.loads(json.dumps(run.state))["open"]
                known = {int(place) for place in [*opened["started"], *opened["results"]]}
                assert {["look x", "pay y"].index(each) for each in world.done} <= known
                seen.add(len(known))
    assert 2 in seen


async def test_whoever_hears_an_event_can_take_the_state_as_it_is_by_then():
    agent, made, taken = World(*ANSWERS).agent(), [], []

    def hear(event):
        made.append(event)
        if not isinstance(event, events.RunStarted):
            taken.append(json.dumps(run.state))

    async with agent.stream("go", on_event=hear) as run:
        await run.finish()
    for state in taken[:-1]:
        result, _ = await go_on(World(*ANSWERS), state, made)
        assert result.message.text == "Done."
        assert result.rounds == 3


# ---------------------------------------------------------------------------------------------- what is no state


async def paused_state():
    world = World(
        calls(call("a", "sign", what="x"), call("b", "look", at="y"), usage=Usage(input_tokens=1)),
        "ok",
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    watched = await Watched.start(world.agent())
    return world, watched


@pytest.mark.parametrize("state", [None, 1, [], "no json", b"{", "[]", {}, {"schema_version": None}, {"schema_version": "1"}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises((UsageError, SchemaVersionError)):
        RunResult.from_state(state)


async def test_a_state_of_a_later_version_is_refused_with_both_numbers():
    world, watched = await paused_state()
    state = {**watched.result.state, "schema_version": 99}
    with pytest.raises(SchemaVersionError, match="schema_version 99; this version of headrace reads 1"):
        await world.agent().resume(state)


async def test_unknown_fields_are_left_alone():
    world, watched = await paused_state()
    state = copy.deepcopy(json.loads(watched.state))
    state["later"] = state["open"]["later"] = {"x": 1}
    assert (await world.agent().resume(state)).is_waiting


def places_in(form, path=()):
    """Give the path of every value in a JSON form."""
    yield path
    if isinstance(form, dict):
        for key, value in form.items():
            yield from places_in(value, (*path, key))
    elif isinstance(form, list):
        for n, value in enumerate(form):
            yield from places_in(value, (*path, n))


JUNK = (None, -1, "junk", [], {}, [{}], {"9": {}}, True)
GONE = object()


def spoilt(form, path, junk):
    form = copy.deepcopy(form)
    inner = form
    for key in path[:-1]:
        inner = inner[key]
    if junk is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = junk
    return form


async def test_a_spoilt_state_is_refused_with_words_or_still_works_whatever_is_spoilt():
    world, watched = await paused_state()
    form = json.loads(watched.state)
    refused = 0
    for path in list(places_in(form))[1:]:
        for junk in (GONE, *JUNK):
            try:
                saved = RunResult.from_state(spoilt(form, path, junk))
            except HeadraceError as error:
                refused += 1
                assert "state" in str(error) or "schema_version" in str(error), (path, junk)  # noqa: PT017 - most are refused
                continue
            # What is not refused can be gone on with, or is when it is looked at by those whom it concerns.
            try:
                result = await world.agent().resume(saved.state) if saved.open is not None else None
            except UsageError as error:
                assert str(error).startswith("state."), (path, junk)  # noqa: PT017 - the same
                continue
            assert result is None or result.is_waiting or problems(result.messages) == [], (path, junk)
    assert refused > 200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda open_: open_.update(call_keys=[]), r"state\.open has calls open that the last message does not hold"),
        (lambda open_: open_.update(results={"7": open_["results"]["1"]}), r"state\.open\.results\[7\]: the last message has 2 calls"),
        (lambda open_: open_.update(results={"0": open_["results"]["1"]}), r"results\[0\] is the result of another call, 'b'"),
        (lambda open_: open_.update(results={"x": {}}), r"state\.open\.results is no object whose keys are the places"),
        (lambda open_: open_.update(waiting={}), r"state\.pending is not what state\.open\.waiting asks"),
        (lambda open_: open_.update(seq=0), r"state\.open\.seq is 0"),
        (lambda open_: open_.update(started={"5": 0}), r"started\[5\]: the last message has 2 calls"),
        (lambda open_: open_.update(steers=[open_["history"], 1]), r"state\.open\.steers"),
        (lambda open_: open_.update(more=[]), r"state\.open\.more is a list"),
        (lambda open_: open_.update(permissions={"mode": "all"}), r"state\.open"),
    ],
)
async def test_a_spoilt_state_says_what_is_wrong_with_it(change, words):
    _, watched = await paused_state()
    form = json.loads(watched.state)
    change(form["open"])
    with pytest.raises(UsageError, match=words):
        RunResult.from_state(form)
