"""Early start: idempotent calls run while their answer still streams, and nothing of it is left where they turn out not to count.

No test here waits for time: a stream is held back until the tool has run, so a tool that does not start early would never let it end.
"""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

import gemini_bytes
import messages_bytes
import responses_bytes
from early_desk import DONE, Desk, agent_of, call, ended, script, states, texts
from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Answer, Approve
from headrace.agent.fold import fold
from headrace.agent.hooks import Hooks, Retry, Stop
from headrace.agent.output.spec import OutputSpec
from headrace.agent.permission.judging import Permissions
from headrace.errors import ConnectionLostError
from headrace.messages.message import AssistantMessage
from headrace.models.answer import AttemptDiscarded
from headrace.models.model import Model
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from legal_history import problems
from run_checks import check_run, failed_run, run_checked
from servers import Hold, Reply, Stall, scripted_server
from wire_bytes import cohere, cohere_call, last_line, line

DEADLINE_S = 20
"""A test that would hang fails after this time; none waits for it."""


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture(autouse=True)
async def _no_hanging():
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield
    except TimeoutError:
        pytest.fail("a call did not start early, or was not cancelled")


# ---------------------------------------------------------------------------------------------- it starts early


def responses_steps(gate):
    first = responses_bytes.call(0, "look", '{"n":', "1}", id="fc_1", call_id="c1")
    second = responses_bytes.call(1, "look", '{"n":2}', id="fc_2", call_id="c2")
    items = [responses_bytes.call_item("look", '{"n":1}', "fc_1", "c1"), responses_bytes.call_item("look", '{"n":2}', "fc_2", "c2")]
    return [responses_bytes.started() + first, gate, second + responses_bytes.ended(output=items)]


def gemini_steps(gate):
    first, second = (gemini_bytes.call("look", {"n": 1}),), gemini_bytes.stop(gemini_bytes.call("look", {"n": 2}))
    return [gemini_bytes.stream(first), gate, gemini_bytes.stream(second)]


def ollama_steps(gate):
    calls = [{"tool_calls": [{"function": {"name": "look", "arguments": {"n": n}}}]} for n in (1, 2)]
    return [line(calls[0]), gate, line(calls[1]) + last_line()]


def cohere_steps(gate):
    first, second = (b"".join(cohere_call(n, "look", json.dumps({"n": n + 1}), identifier=f"c{n}")) for n in (0, 1))
    end = {"finish_reason": "TOOL_CALL", "usage": {}}
    return [
        cohere("message-start", id="m1", delta={"message": {"role": "assistant"}}) + first,
        gate,
        second + cohere("message-end", delta=end),
    ]


WIRES = {
    "anthropic-messages": lambda gate: script(call(0, n=1), gate, call(1, n=2)),
    "openai-responses": responses_steps,
    "gemini": gemini_steps,
    "ollama": ollama_steps,
    "cohere-v2": cohere_steps,
}


@pytest.mark.parametrize("protocol", WIRES)
async def test_a_call_that_the_wire_calls_whole_runs_while_the_answer_streams(desk, protocol):
    model = ScriptedModel(WIRES[protocol](desk.ran), "It is done.", protocol=protocol)
    result, made = await run_checked(Agent(model, tools=desk.tools, early_start=True))
    assert desk.log == ["look 1", "look 2"]
    assert texts(result) == ["seen 1", "seen 2"]
    assert [event.result.name for event in made if isinstance(event, events.ToolEnded)] == ["look", "look"]
    (answer,) = [message for message in result.messages if message.role == "assistant" and message.tool_calls]
    assert len({call.id for call in answer.tool_calls}) == 2


async def test_on_a_wire_that_does_not_say_it_a_call_waits_for_the_end(desk):
    delta = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"n": 1}'}}]}
    event = f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode()
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    gate = asyncio.Event()
    model = ScriptedModel([event, gate, end], "It is done.")
    async with Agent(model, tools=desk.tools, early_start=True).stream("go") as run:
        async for made in run:
            if isinstance(made, events.ToolCallArguments):
                await settle()
                assert desk.log == []
                gate.set()
    assert desk.log == ["look 1"]


async def settle():
    """Let every task that can run do so."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_without_the_option_nothing_starts_before_the_end(desk):
    gate = asyncio.Event()
    agent = agent_of(desk, script(call(0, n=1), gate, messages_bytes.text(1, "and")), DONE, early=False)
    async with agent.stream("go") as run:
        async for event in run:
            if isinstance(event, events.ToolCallArguments):
                await settle()
                assert desk.log == []
                gate.set()
    assert desk.log == ["look 1"]


@pytest.mark.parametrize("protocol", ["anthropic-messages", "openai-responses"])
async def test_over_http_the_tool_has_run_before_the_server_has_sent_the_rest(desk, protocol):
    steps = [Hold(desk.ran) if isinstance(step, asyncio.Event) else step for step in WIRES[protocol](desk.ran)]
    done = (
        DONE
        if protocol == "anthropic-messages"
        else responses_bytes.started() + responses_bytes.message(0, "Done.") + responses_bytes.ended()
    )
    replies = [Reply(steps), Reply([done])]
    async with scripted_server(replies) as server, Model(f"{protocol}:m", base_url=server.url, api_key="k") as model:
        result, _ = await run_checked(Agent(model, tools=desk.tools, early_start=True))
    assert desk.log == ["look 1", "look 2"]
    assert result.generate_reason == "completed"


async def test_a_round_of_three_is_over_when_its_last_call_is(desk):
    """Each call has run before the next one has come; without early start all three would run after the end."""
    gates = [asyncio.Event() for _ in range(3)]

    @tool(idempotent=True)
    async def step(n: int) -> str:
        """Take a step."""
        gates[n].set()
        return str(n)

    answer = script(call(0, "step", n=0), gates[0], call(1, "step", n=1), gates[1], call(2, "step", n=2), gates[2])
    model = ScriptedModel(answer, DONE, protocol="anthropic-messages")
    result, made = await run_checked(Agent(model, tools=[step], early_start=True))
    assert texts(result) == ["0", "1", "2"]
    kinds = [type(event).__name__ for event in made if isinstance(event, events.ToolStarted | events.ToolEnded | events.RoundEnded)]
    assert kinds[0] == "RoundEnded"  # readers see a tool start only when its round is told


async def test_what_an_early_call_says_is_told_under_its_own_key(desk):
    result, made = await run_checked(agent_of(desk, script(messages_bytes.text(0, "Look."), call(1, n=1), desk.ran, call(2, n=2)), DONE))
    answer = result.messages[1]
    progress = [event for event in made if isinstance(event, events.ToolProgress)]
    assert [(event.call_key, event.done) for event in progress] == [(f"{answer.id}/1", 1), (f"{answer.id}/2", 2)]
    started = {event.call_key for event in made if isinstance(event, events.ToolStarted)}
    assert started == {event.call_key for event in made if isinstance(event, events.ToolCallStarted)}


async def test_an_early_call_that_fails_has_its_error_as_any_other(desk):
    result, _ = await run_checked(agent_of(desk, script(call(0, "breaks", n=1), desk.ran, call(1, n=2)), DONE))
    assert states(result) == ["error", "success"]
    assert "broken" in texts(result)[0]


async def test_an_early_call_may_suspend_the_run(desk):
    agent = agent_of(desk, script(call(0, "waits", n=1), desk.ran, call(1, n=2)), DONE)
    paused, _ = await run_checked(agent)
    assert paused.is_waiting
    (pending,) = paused.pending
    result = await agent.resume(json.loads(json.dumps(paused.state)), Answer(pending.call_key, "yes"))
    assert texts(result) == ["told yes", "seen 2"]
    assert desk.log == ["waits 1", "look 2", "waits 1"]
    assert problems(result.messages) == []


async def test_early_and_late_calls_together_keep_to_the_limit(desk):
    running, most = 0, 0

    @tool(idempotent=True)
    async def busy(n: int) -> str:
        """Be busy."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await settle()
        running -= 1
        desk.ran.set()
        return str(n)

    answer = script(*[call(n, "busy", n=n) for n in range(4)], desk.ran, *[call(n, "busy", n=n) for n in range(4, 8)])
    model = ScriptedModel(answer, DONE, protocol="anthropic-messages")
    result, _ = await run_checked(Agent(model, tools=[busy], early_start=True, max_parallel_tools=2))
    assert texts(result) == [str(n) for n in range(8)]
    assert most == 2


# ---------------------------------------------------------------------------------------------- what does not start early


HELD_BACK = {
    "not idempotent": (call(0, "write", n=1), {}),
    "needs approval": (call(0, "asks", n=10), {}),
    "run outside": (call(0, "outside", n=1), {}),
    "runs alone": (call(0, "alone", n=1), {}),
    "unknown": (call(0, "nowhere", n=1), {}),
    "denied by a rule": (call(0, "hang", n=1), {"permissions": Permissions().with_rules("deny hang")}),
    "a rule asks": (call(0, "hang", n=1), {"permissions": Permissions().with_rules("ask hang")}),
    "not whole JSON": (messages_bytes.call(0, "hang", '{"n": 1'), {}),
    "not an object": (messages_bytes.call(0, "hang", "[1]"), {}),
}


@pytest.mark.parametrize("why", HELD_BACK)
async def test_held_back_until_the_answer_has_ended(desk, why):
    block, options = HELD_BACK[why]
    gate = asyncio.Event()
    agent = agent_of(desk, script(block, gate, messages_bytes.text(1, "so")), DONE, **options)
    made = []
    async with agent.stream("go", on_event=made.append) as run:
        async for event in run:
            if isinstance(event, events.ToolCallStarted):
                await settle()
                assert desk.log == []
                gate.set()
    check_run(made, run.result)
    assert not [said for said in desk.log if said.startswith("hang")]


async def test_calls_behind_one_that_asks_may_start(desk):
    agent = agent_of(desk, script(call(0, "asks", n=10), call(1, n=2), desk.ran, call(2, "write", n=3)), DONE)
    paused, _ = await run_checked(agent)
    assert desk.log == ["look 2", "write 3"]
    result = await agent.resume(paused.state, Approve(paused.pending[0].call_key))
    assert texts(result) == ["asked 10", "seen 2", "wrote 3"]


async def test_where_all_calls_wait_for_one_none_starts_early(desk):
    gate = asyncio.Event()
    agent = agent_of(desk, script(call(0, n=1), gate, call(1, "asks", n=10)), DONE, run_while_pending=False)
    async with agent.stream("go") as run:
        async for event in run:
            if isinstance(event, events.ToolCallArguments):
                await settle()
                gate.set()
    assert desk.log == []
    assert run.result.is_waiting


async def test_a_call_behind_one_on_the_same_resource_keeps_its_turn(desk):
    gate = asyncio.Event()
    answer = script(call(0, "write", n=1, spot="a"), call(1, n=2, spot="a"), call(2, n=3, spot="b"), gate)
    await held(agent_of(desk, answer, DONE), gate, desk, ["look 3@b"])
    assert desk.log == ["look 3@b", "write 1@a", "look 2@a"]


async def held(agent, gate, desk, early):
    """Run; open the gate when everything before it has been seen, and what has run by then is `early`."""
    made = []

    async def watch():
        async for _ in run:
            pass

    async with agent.stream("go", on_event=made.append) as run:
        task = asyncio.create_task(watch())
        await settle()
        assert desk.log == early
        gate.set()
        await task
    check_run(made, run.result)
    return run.result


async def test_nothing_overtakes_a_call_that_runs_alone(desk):
    gate = asyncio.Event()
    answer = script(call(0, n=1), call(1, "alone", n=2), call(2, n=3), gate)
    result = await held(agent_of(desk, answer, DONE), gate, desk, ["look 1"])
    assert desk.log == ["look 1", "alone 2", "look 3"]
    assert texts(result) == ["seen 1", "alone 2", "seen 3"]


async def test_nothing_overtakes_a_call_of_which_it_is_not_known_what_it_works_on(desk):
    gate = asyncio.Event()
    answer = script(messages_bytes.call(0, "write", '{"n": 1, "spot": "a\nb"}'), call(1, n=2, spot="a\nb"), gate)
    await held(agent_of(desk, answer, DONE), gate, desk, [])
    assert desk.log == ["write 1@a\nb", "look 2@a\nb"]


@pytest.mark.parametrize("limits", [{"tool_calls": 2}, {"calls_per_tool": {"look": 2}}])
async def test_calls_beyond_a_limit_never_start(desk, limits):
    gate = asyncio.Event()
    answer = script(call(0, n=1), call(1, n=2), call(2, n=3), gate)
    result = await held(agent_of(desk, answer, DONE, limits=limits), gate, desk, ["look 1", "look 2"])
    assert desk.log == ["look 1", "look 2"]
    assert states(result) == ["success", "success", "not_run"]


async def test_limits_count_over_the_rounds(desk):
    gate = asyncio.Event()
    gate.set()
    model_says = [script(call(0, n=1), call(1, n=2), gate), script(call(0, n=3), call(1, n=4), gate), DONE]
    result, _ = await run_checked(agent_of(desk, *model_says, limits={"calls_per_tool": {"look": 3}}))
    assert desk.log == ["look 1", "look 2", "look 3"]
    assert states(result) == ["success"] * 3 + ["not_run"]


async def test_a_forced_answer_starts_nothing(desk):
    gate = asyncio.Event()
    agent = agent_of(desk, script(call(0, n=1)), script(call(0, n=2), gate), max_rounds=1)
    result = await held(agent, gate, desk, ["look 1"])
    assert desk.log == ["look 1"]
    assert states(result) == ["success", "not_run"]


async def test_a_hook_that_has_a_say_in_calls_has_it_before_they_run(desk):
    class Says(Hooks):
        async def before_tool_call(self, here, call):
            desk.log.append(f"hook {call.parsed['n']}")

    gate = asyncio.Event()
    await held(agent_of(desk, script(call(0, n=1), gate), DONE, hooks=[Says()]), gate, desk, [])
    assert desk.log == ["hook 1", "look 1"]


async def test_a_search_of_the_providers_own_holds_back_nothing(desk):
    search = messages_bytes.call(0, "web_search", '{"query": "x"}', id="srv_1", kind="server_tool_use")
    result, _ = await run_checked(agent_of(desk, script(search, call(1, n=1), desk.ran, call(2, n=2)), DONE))
    assert texts(result) == ["seen 1", "seen 2"]


# ---------------------------------------------------------------------------------------------- what turns out not to count


async def test_a_discarded_attempt_cancels_what_it_had_started(desk):
    first = [messages_bytes.start(), call(0, "hang", n=1), desk.began, AttemptDiscarded(1, "it broke")]
    result, made = await run_checked(agent_of(desk, [*first, *script(call(0, n=2))], DONE))
    assert desk.log == ["hang 1", "cancelled 1", "look 2"]
    assert texts(result) == ["seen 2"]
    assert len([event for event in made if isinstance(event, events.ToolStarted)]) == 1


async def test_the_same_call_in_the_next_attempt_runs_again(desk):
    first = [messages_bytes.start(), call(0, n=1), desk.ran, AttemptDiscarded(1, "it broke")]
    result, _ = await run_checked(agent_of(desk, [*first, *script(call(0, n=1))], DONE))
    assert desk.log == ["look 1", "look 1"]
    assert texts(result) == ["seen 1"]


async def test_a_message_that_the_provider_begins_anew_cancels_what_it_had_started(desk):
    answer = [messages_bytes.start(), call(0, "hang", n=1), desk.began, *script(call(0, n=2))]
    result, _ = await run_checked(agent_of(desk, answer, DONE))
    assert desk.log == ["hang 1", "cancelled 1", "look 2"]
    assert texts(result) == ["seen 2"]


async def test_a_stream_that_dies_cancels_what_it_had_started(desk):
    answer = [messages_bytes.start(), call(0, "hang", n=1), desk.began, ConnectionLostError("gone")]
    error, made = await failed_run(agent_of(desk, answer), ConnectionLostError)
    assert desk.log == ["hang 1", "cancelled 1"]
    assert states(error.result) == ["not_run"]
    assert not [event for event in made if isinstance(event, events.ToolStarted)]


async def test_a_filtered_answer_cancels_what_it_had_started(desk):
    answer = [messages_bytes.start(), call(0, "hang", n=1), desk.began, ended("refusal")]
    result, _ = await run_checked(agent_of(desk, answer))
    assert result.generate_reason == "content_filter"
    assert desk.log == ["hang 1", "cancelled 1"]
    assert states(result) == ["not_run"]


async def test_the_final_answer_beside_it_cancels_what_had_started(desk):
    final = messages_bytes.call(1, "final_answer", '{"value": 3}', id="toolu_9")
    agent = agent_of(desk, script(call(0, "hang", n=1), desk.began, final), output_type=OutputSpec.of(int, mode="tool"))
    result, _ = await run_checked(agent)
    assert result.output == 3
    assert desk.log == ["hang 1", "cancelled 1"]
    assert states(result) == ["not_run", "success"]


async def test_a_call_that_is_another_one_in_the_end_is_dropped_and_runs_properly(desk):
    """Two calls with one id: the second gets another id when the answer has ended, and only that one can have a result."""
    answer = script(call(0, n=1, call_id="same"), call(1, n=2, call_id="same"), desk.ran)
    result, made = await run_checked(agent_of(desk, answer, DONE))
    assert texts(result) == ["seen 1", "seen 2"]
    assert desk.log == ["look 1", "look 2", "look 2"]
    assert len([event for event in made if isinstance(event, events.ToolStarted)]) == 2
    ids = [part.call_id for part in result.messages[2].parts]
    assert ids == [one.id for one in result.messages[1].tool_calls]


async def test_a_call_that_is_dropped_does_not_hold_up_those_that_are_not(desk):
    answer = script(call(0, "hang", n=1, call_id="same"), call(1, n=2, call_id="b"), desk.ran, desk.began)
    agent = agent_of(desk, answer, DONE, hooks=[Renames()])
    result, _ = await run_checked(agent)
    assert states(result) == ["error"]
    assert sorted(desk.log) == ["breaks 1", "cancelled 1", "hang 1", "look 2"]


class Renames(Hooks):
    """Puts another call in place of those that came."""

    async def after_model_call(self, here, message):
        if not message.tool_calls:
            return None
        first = message.tool_calls[0]
        return AssistantMessage([type(first)(id="new", name="breaks", arguments={"n": 1})])


@pytest.mark.parametrize("said", [Stop("enough"), Retry("again"), AssistantMessage("No calls.")])
async def test_a_hook_that_drops_the_answer_cancels_what_it_had_started(desk, said):
    class Drops(Hooks):
        is_done = False

        async def after_model_call(self, here, message):
            self.is_done, was_done = True, self.is_done
            return None if was_done else said

    agent = agent_of(desk, script(call(0, "hang", n=1), desk.began), DONE, hooks=[Drops()])
    result, _ = await run_checked(agent)
    assert desk.log == ["hang 1", "cancelled 1"]
    assert result.generate_reason == ("stopped" if isinstance(said, Stop) else "completed")


async def test_a_hook_that_breaks_cancels_what_had_started(desk):
    class Breaks(Hooks):
        async def after_model_call(self, here, message):
            raise RuntimeError("a hook's own")

    with pytest.raises(RuntimeError, match="a hook's own"):
        await agent_of(desk, script(call(0, "hang", n=1), desk.began), hooks=[Breaks()]).run("go")
    assert desk.log == ["hang 1", "cancelled 1"]


# ---------------------------------------------------------------------------------------------- leaving


@pytest.mark.parametrize("way", ["interrupt", "leave", "cancel"])
async def test_leaving_in_mid_answer_cancels_what_had_started(desk, way):
    agent = agent_of(desk, script(call(0, "hang", n=1), asyncio.Event(), messages_bytes.text(1, "so")))
    made = []

    async def read():
        async for _ in run:
            pass

    async with agent.stream("go", on_event=made.append) as run:
        task = asyncio.create_task(read())
        await desk.began.wait()
        if way == "interrupt":
            run.interrupt()
            await task
        else:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    check_run(made, run.result)
    assert run.result.generate_reason == "interrupted"
    assert desk.log == ["hang 1", "cancelled 1"]
    assert states(run.result) == ["interrupted"]


async def test_a_second_cancellation_while_an_early_call_takes_its_time_to_end_closes_the_stream_as_well():
    began, ending, never = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(idempotent=True)
    async def slow_to_end(n: int) -> str:
        """Hang, and clean up for a long time when it is cancelled."""
        try:
            began.set()
            await never.wait()
        finally:
            ending.set()
            await never.wait()
        return "never"

    stalled = Reply([messages_bytes.start() + call(0, "slow_to_end", n=1), Stall()])
    async with scripted_server([stalled]) as server, Model("anthropic-messages:m", base_url=server.url, api_key="k") as model:
        agent = Agent(model, tools=[slow_to_end], early_start=True)
        task = asyncio.create_task(agent.run("go", session="s"))
        await began.wait()
        task.cancel()
        await ending.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stalled.left.wait()
    never.set()
    assert agent.sessions.get("s").holder is None
    assert problems(agent.sessions.get("s").messages) == []


async def test_leaving_between_the_answer_and_its_tools_cancels_what_had_started(desk):
    agent = agent_of(desk, script(call(0, "hang", n=1), desk.began))
    made = []
    async with agent.stream("go", on_event=made.append) as run:
        async for event in run:
            if isinstance(event, events.RoundEnded):
                run.interrupt()
    check_run(made, run.result)
    assert desk.log == ["hang 1", "cancelled 1"]
    assert states(run.result) == ["interrupted"]


async def test_an_interrupt_while_the_rest_runs_cancels_early_calls_too(desk):
    agent = agent_of(desk, script(call(0, "hang", n=1), desk.began, call(1, "hang", n=2)))
    made = []
    async with agent.stream("go", on_event=made.append) as run:
        async for event in run:
            if isinstance(event, events.ToolStarted) and "hang 2" in desk.log:
                run.interrupt()
    check_run(made, run.result)
    assert sorted(desk.log) == ["cancelled 1", "cancelled 2", "hang 1", "hang 2"]
    assert states(run.result) == ["interrupted", "interrupted"]


async def test_a_state_taken_in_mid_answer_knows_nothing_of_early_calls(desk):
    """Whoever goes on asks for the answer again; an idempotent call that had run by then is in no doubt."""
    agent = agent_of(desk, script(call(0, n=1), desk.ran, asyncio.Event()))
    made = []

    async def read():
        async for _ in run:
            pass

    async with agent.stream("go", on_event=made.append) as run:
        task = asyncio.create_task(read())
        await desk.ran.wait()
        await settle()
        state = json.loads(json.dumps(run.state))
        seen = list(made)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert not state["open"]["started"]
    other = agent_of(desk, script(call(0, n=1)), DONE)
    more = []
    result = await other.resume(state, on_event=more.append)
    assert texts(result) == ["seen 1"]
    assert desk.log == ["look 1", "look 1"]
    assert fold([*seen, *more]) == result.messages


async def test_many_calls_cost_what_is_new(desk):
    """Each look at the answer looks at what came since the last one; 2,000 calls are over in no time."""
    answer = script(*[call(n, n=n) for n in range(2_000)])
    result, _ = await run_checked(agent_of(desk, answer, DONE, max_rounds=None))
    assert len(texts(result)) == 2_000


async def test_a_tool_in_a_thread_that_cannot_be_cancelled_does_not_hold_up_the_next_attempt(desk):
    go_on, began = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(idempotent=True)
    def stuck(n: int) -> str:
        """Hang in a thread."""
        loop.call_soon_threadsafe(began.set)
        go_on.wait(DEADLINE_S)
        return "late"

    first = [messages_bytes.start(), call(0, "stuck", n=1), began, AttemptDiscarded(1, "it broke")]
    model = ScriptedModel([*first, *script(call(0, n=2))], DONE, protocol="anthropic-messages")
    result, _ = await run_checked(Agent(model, tools=[*desk.tools, stuck], early_start=True))
    assert not go_on.is_set()
    go_on.set()
    assert texts(result) == ["seen 2"]
