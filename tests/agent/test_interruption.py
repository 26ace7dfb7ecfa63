"""A run is interrupted, steered, cancelled or timed out in every phase: what came is kept, and cancellations reach whom they are for."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.fold import fold
from headrace.agent.hooks import Hooks
from headrace.agent.interruption import Interruption
from headrace.agent.session import MemorySessions
from headrace.errors import ConflictError, StateError, UsageError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.tools.toolset import Toolset
from legal_history import problems
from watched import watch


def call(call_id="a", name="hang", arguments="{}"):
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


class Hanging:
    """Something that waits for ever, and notes that it did and that it was cancelled."""

    def __init__(self):
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    async def __call__(self, *arguments):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


class SlowSessions(MemorySessions):
    """Keeps a run only when it is let."""

    def __init__(self):
        super().__init__()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def commit(self, session_id, run_id, added):
        self.begun.set()
        await self.go_on.wait()
        await super().commit(session_id, run_id, added)


class SlowSource:
    """A source of tools that opens only when it is let."""

    name, problem, toolset = "slow", None, Toolset(())

    def __init__(self):
        self.hanging, self.closed = Hanging(), 0

    async def open(self):
        await self.hanging()
        return self.toolset

    async def aclose(self):
        self.closed += 1


def tool_of(hanging):
    @tool
    async def hang() -> str:
        await hanging()
        return ""

    return hang


def phase(name, *, sessions=None):
    """An agent that hangs in a phase, and what it hangs in; `sessions` are those of the agent that hangs in a tool."""
    hanging = Hanging()
    match name:
        case "source":
            source = SlowSource()
            return Agent(ScriptedModel("x", "next"), tools=[source]), source.hanging
        case "model":
            return Agent(ScriptedModel(hanging, "next")), hanging
        case "answer":
            gate = asyncio.Event()

            def begun(event):
                if isinstance(event, events.TextDelta) and event.text == " a s":
                    hanging.begun.set()

            agent = Agent(ScriptedModel(Scripted("half a sentence", slice_chars=4, gates={2: gate}), "next"))
            agent.on_event = begun
            return agent, hanging
        case "tool":
            model = ScriptedModel(AssistantMessage([TextPart("so"), call()]), "next")
            return Agent(model, tools=[tool_of(hanging)], sessions=sessions), hanging
        case "compaction":
            long = [UserMessage("word " * 500, id="u"), AssistantMessage("word " * 500, id="a", finish_reason="stop")] * 3
            history = [message.replace(id=f"{message.id}{n}") for n, message in enumerate(long)]
            policy = ContextPolicy(max_tokens=600, summary_model=ScriptedModel(hanging))
            agent = Agent(ScriptedModel("x", "next"), context=policy)
            agent.history = history
            return agent, hanging
        case "hook":

            class Slow(Hooks):
                async def before_round(self, here):
                    if not hanging.begun.is_set():
                        await hanging()

            return Agent(ScriptedModel("x"), hooks=[Slow()]), hanging
        case _:
            raise AssertionError(name)


PHASES = ["source", "model", "answer", "tool", "compaction", "hook"]
KEPT = {"answer": ["go", "half a s"], "tool": ["go", "so", "Interrupted while it ran; what it had done by then is not known."]}


def stream(agent, made):
    def on_event(event):
        made.append(event)
        getattr(agent, "on_event", lambda event: None)(event)

    return agent.stream("go", session="s", history=getattr(agent, "history", ()), on_event=on_event)


def texts(messages):
    return [message.text if message.role != "tool" else message.results[0].text for message in messages]


# ---------------------------------------------------------------------------------------------- interrupting


@pytest.mark.parametrize("name", PHASES)
async def test_an_interrupt_in_every_phase_ends_the_run_in_order_and_keeps_what_came(name):
    agent, hanging = phase(name)
    made = []
    async with stream(agent, made) as run:

        async def stop():
            await hanging.begun.wait()
            run.interrupt()

        stopper = asyncio.create_task(stop())
        seen = [event async for event in run]
        await stopper
    assert seen == made
    assert run.result.generate_reason == "interrupted"
    assert isinstance(made[-1], events.RunEnded)
    assert fold(made) == run.result.messages
    assert problems(run.result.messages) == []
    assert texts(run.result.messages) == KEPT.get(name, ["go"])
    assert agent.sessions.get("s").messages == run.result.messages
    assert agent.sessions.get("s").holder is None
    assert asyncio.current_task().cancelling() == 0
    assert name == "answer" or hanging.cancelled.is_set()


async def test_an_interrupt_before_the_first_event_keeps_the_input_and_asks_nothing():
    agent = Agent(ScriptedModel("x"), tools=[SlowSource()])
    made = []
    async with stream(agent, made) as run:
        run.interrupt()
        result = await run.finish()
    assert result.generate_reason == "interrupted"
    assert texts(result.messages) == ["go"]
    assert [event.type for event in made] == ["run_started", "run_ended"]
    assert agent.model.requests == []
    assert agent.sessions.get("s").messages == result.messages


async def test_an_interrupt_before_the_first_event_of_a_run_that_is_only_left_does_the_same():
    agent = Agent(ScriptedModel("x"))
    async with agent.stream("go", session="s") as run:
        run.interrupt()
    assert agent.sessions.get("s").holder is None
    with pytest.raises(StateError, match="never began"):
        _ = run.result


async def test_an_interrupt_of_a_run_whose_session_is_taken_is_the_conflict_that_it_is():
    agent = Agent(ScriptedModel("x", "y"))
    async with agent.stream("go", session="s") as first:
        await anext(aiter(first))
        second = agent.stream("go", session="s")
        second.interrupt()
        async with second:
            with pytest.raises(ConflictError):
                await second.finish()
        assert (await first.finish()).output == "x"


async def test_an_interrupt_of_a_resumed_run_before_its_start_closes_its_calls():
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    agent = Agent(ScriptedModel(AssistantMessage([call(name="pay")]), "x"), tools=[pay])
    first = await watch(agent)
    async with agent.resume_stream(first.result.state, [Approve(first.result.pending[0].call_key)]) as run:
        run.interrupt()
        result = await run.finish()
    assert result.generate_reason == "interrupted"
    assert [part.state for part in result.messages[-1].results] == ["interrupted"]
    assert problems(result.messages) == []
    assert agent.sessions.get("s").holder is None


async def test_an_interrupt_after_the_end_changes_nothing():
    agent = Agent(ScriptedModel("x"))
    async with agent.stream("go") as run:
        result = await run.finish()
        run.interrupt()
        run.interrupt()
    assert run.result == result
    assert asyncio.current_task().cancelling() == 0


async def test_an_interrupt_while_the_answer_is_kept_does_not_lose_it():
    sessions = SlowSessions()
    agent = Agent(ScriptedModel("x"), sessions=sessions)
    async with agent.stream("go", session="s") as run:

        async def stop():
            await sessions.begun.wait()
            run.interrupt()
            await asyncio.sleep(0)
            sessions.go_on.set()

        stopper = asyncio.create_task(stop())
        result = await run.finish()
        await stopper
    assert result.generate_reason == "completed"
    assert sessions.get("s").messages == result.messages
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("has_own_loop", [False, True])
async def test_an_interrupt_from_another_thread_ends_the_run(has_own_loop):
    agent, hanging = phase("model")
    async with agent.stream("go") as run:

        async def interrupt():
            run.interrupt()

        async def stop():
            await hanging.begun.wait()
            thread = threading.Thread(target=(lambda: asyncio.run(interrupt())) if has_own_loop else run.interrupt)
            thread.start()
            return thread

        stopper = asyncio.create_task(stop())
        result = await run.finish()
        (await stopper).join()
    assert result.generate_reason == "interrupted"


async def test_an_interrupt_in_a_task_that_cleans_up_after_its_own_cancellation_is_no_cancellation():
    """Who catches a cancellation and goes on has `cancelling()` above 0; what a run sends and takes back is told apart from that."""
    agent, hanging = phase("model")
    begun = asyncio.Event()

    async def clean_up():
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            async with agent.stream("go") as run:
                asyncio.get_running_loop().create_task(stop(run))
                result = await run.finish()
            assert asyncio.current_task().cancelling() == 1
            return result

    async def stop(run):
        await hanging.begun.wait()
        run.interrupt()

    task = asyncio.create_task(clean_up())
    await begun.wait()
    task.cancel()
    assert (await task).generate_reason == "interrupted"


async def test_what_swallows_the_cancellation_of_an_interrupt_does_not_leave_it_behind():
    begun = asyncio.Event()

    class Stubborn(Hooks):
        async def before_round(self, here):
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    agent = Agent(ScriptedModel("x"), hooks=[Stubborn()])
    async with agent.stream("go") as run:

        async def stop():
            await begun.wait()
            run.interrupt()

        stopper = asyncio.create_task(stop())
        result = await run.finish()
        await stopper
    assert result.generate_reason == "interrupted"
    assert asyncio.current_task().cancelling() == 0


async def test_an_interruption_outside_of_a_step_cancels_nobody():
    interruption = Interruption()
    interruption.ask()
    assert interruption.is_asked
    interruption.enter()
    assert not interruption.take_back()
    interruption.leave()


# ---------------------------------------------------------------------------------------------- cancelling


@pytest.mark.parametrize("name", PHASES)
@pytest.mark.parametrize("way", ["cancel", "timeout", "group"])
async def test_a_cancellation_in_every_phase_is_raised_and_keeps_what_came(name, way):
    agent, hanging = phase(name)
    made = []

    async def go():
        async with stream(agent, made) as run:
            await run.finish()

    async def fail():
        await hanging.begun.wait()
        raise ZeroDivisionError

    match way:
        case "cancel":
            task = asyncio.create_task(go())
            await hanging.begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        case "timeout":
            with pytest.raises(TimeoutError):
                await within(hanging, go())
        case _:
            with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012 - the group is what raises
                async with asyncio.TaskGroup() as group:
                    group.create_task(go())
                    group.create_task(fail())
            assert [type(error) for error in raised.value.exceptions] == [ZeroDivisionError]
    session = agent.sessions.get("s")
    assert session.holder is None
    if name == "source":  # it had not begun, and never does
        assert made == []
        assert session.messages == ()
        return
    assert made[-1].generate_reason == "interrupted"
    assert fold(made) == session.messages
    assert texts(session.messages) == KEPT.get(name, ["go"])


async def within(hanging, work):
    """Do something until it hangs: then its time is over."""
    async with asyncio.timeout(None) as limit:

        async def expire():
            await hanging.begun.wait()
            limit.reschedule(asyncio.get_running_loop().time())

        expiring = asyncio.create_task(expire())
        await work
    await expiring


async def test_a_cancellation_while_before_run_waits_keeps_the_input_and_frees_the_session():
    hanging = Hanging()

    class Slow(Hooks):
        async def before_run(self, here, input):  # noqa: A002 - the word of the contract
            await hanging()

    agent = Agent(ScriptedModel("x"), hooks=[Slow()])
    task = asyncio.create_task(agent.run("go", session="s"))
    await hanging.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert texts(agent.sessions.get("s").messages) == ["go"]
    assert agent.sessions.get("s").holder is None


async def test_a_cancellation_while_the_answer_is_kept_does_not_lose_it_and_is_raised():
    sessions = SlowSessions()
    agent = Agent(ScriptedModel("x"), sessions=sessions)
    made = []
    task = asyncio.create_task(agent.run("go", session="s", on_event=made.append))
    await sessions.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    sessions.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert texts(sessions.get("s").messages) == ["go", "x"]
    assert sessions.get("s").holder is None
    assert made[-1].generate_reason == "completed"


async def test_two_cancellations_in_a_row_do_not_lose_what_was_being_kept():
    sessions = SlowSessions()
    agent, hanging = phase("tool", sessions=sessions)
    made = []
    task = asyncio.create_task(agent.run("go", session="s", on_event=made.append))
    await hanging.begun.wait()
    task.cancel()
    await sessions.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done(), "the first one was taken by the tool, so this one waits"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made[-1].generate_reason == "interrupted"
    keeping = [one for one in asyncio.all_tasks() if one.get_name() == "headrace-to-the-end"]
    sessions.go_on.set()
    await asyncio.gather(*keeping)
    assert fold(made) == sessions.get("s").messages
    assert sessions.get("s").holder is None


async def test_a_timeout_around_a_resumed_run_raises_and_keeps_what_came():
    hanging = Hanging()

    @tool(needs_approval=True)
    async def pay() -> str:
        await hanging()
        return ""

    agent = Agent(ScriptedModel(AssistantMessage([call(name="pay")]), "ok"), tools=[pay])
    first = await watch(agent)
    with pytest.raises(TimeoutError):
        await within(hanging, agent.resume(first.result.state, [Approve(first.result.pending[0].call_key)]))
    kept = agent.sessions.get("s").messages
    assert [part.state for part in kept[-1].results] == ["interrupted"]
    assert (await agent.run("again", session="s")).output == "ok"


async def test_runs_in_a_task_group_do_not_disturb_each_other_when_one_is_interrupted():
    agent = Agent(ScriptedModel(*[lambda request: request.messages[-1].text] * 3))

    async def go(text):
        async with agent.stream(text) as run:
            async for event in run:
                if text == "b" and isinstance(event, events.RoundStarted):
                    run.interrupt()
        return run.result.generate_reason

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(go(text)) for text in "abc"]
    assert [task.result() for task in tasks] == ["completed", "interrupted", "completed"]


def test_ctrl_c_in_run_sync_keeps_what_came_and_is_raised():
    @tool
    async def press() -> str:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()
        return ""

    agent = Agent(ScriptedModel(AssistantMessage([TextPart("so"), call(name="press")]), "ok"), tools=[press])
    made = []
    with pytest.raises(KeyboardInterrupt):
        agent.run_sync("go", session="s", on_event=made.append)
    kept = agent.sessions.get("s").messages
    assert fold(made) == kept
    assert [part.state for part in kept[-1].results] == ["interrupted"]
    assert agent.run_sync("again", session="s").output == "ok"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_from_within_a_tool_is_raised_and_keeps_what_came(error):
    @tool
    async def leave() -> str:
        raise error

    agent = Agent(ScriptedModel(AssistantMessage([call(name="leave")]), "ok"), tools=[leave])
    with pytest.raises(error):
        agent.run_sync("go", session="s")
    kept = agent.sessions.get("s").messages
    assert [part.state for part in kept[-1].results] == ["interrupted"]
    assert agent.run_sync("again", session="s").output == "ok"


# ---------------------------------------------------------------------------------------------- what cannot be kept


class Broken(MemorySessions):
    """Cannot keep anything."""

    async def commit(self, session_id, run_id, added):
        raise OSError("the disk is full")


async def test_a_run_that_cannot_be_kept_fails_with_what_the_store_raised_after_its_events():
    made = []
    agent = Agent(ScriptedModel("x"), sessions=Broken())
    with pytest.raises(OSError, match="disk is full"):
        await agent.run("go", session="s", on_event=made.append)
    assert [event.type for event in made[-2:]] == ["error", "run_ended"]
    assert made[-1].generate_reason == "error"
    assert made[-1].message.text == "x"


async def test_a_run_that_cannot_be_kept_when_its_block_is_left_says_so():
    agent = Agent(ScriptedModel("x"), sessions=Broken())
    with pytest.raises(OSError, match="disk is full"):
        async with agent.stream("go", session="s") as run:
            await anext(aiter(run))
    assert run.result.generate_reason == "error"


async def test_a_run_that_failed_and_cannot_be_kept_either_fails_as_it_did():
    agent = Agent(ScriptedModel(ConnectionResetError("first")), sessions=Broken())
    with pytest.raises(ConnectionResetError, match="first"):
        await agent.run("go", session="s")


# ---------------------------------------------------------------------------------------------- steering


async def test_words_that_steer_before_the_first_event_are_in_the_first_request():
    agent = Agent(ScriptedModel("x"))
    async with agent.stream("go") as run:
        run.steer("and be brief")
        await run.finish()
    assert [message.text for message in agent.model.requests[0].messages] == ["go", "and be brief"]


@pytest.mark.parametrize("name", ["tool", "answer", "hook", "model"])
async def test_words_that_steer_in_every_phase_come_before_the_next_model_call(name):
    go_on, begun, runs = asyncio.Event(), asyncio.Event(), []

    @tool
    async def wait() -> str:
        if name == "tool":
            begun.set()
            await go_on.wait()
        return "waited"

    async def first(request):
        if name == "model":
            begun.set()
            await go_on.wait()
        return AssistantMessage([TextPart("hm"), call(name="wait")])

    class Slow(Hooks):
        async def after_round(self, here, message):
            if name == "hook" and here.round == 1:
                begun.set()
                await go_on.wait()

    made = []

    def on_event(event):
        made.append(event)
        if name == "answer" and isinstance(event, events.TextDelta) and event.round == 1:
            runs[0].steer("listen")

    agent = Agent(ScriptedModel(first, "end"), tools=[wait], hooks=[Slow()])
    async with agent.stream("go", session="s", on_event=on_event) as run:
        runs.append(run)

        async def say():
            await begun.wait()
            run.steer("listen")
            go_on.set()

        speaker = asyncio.create_task(say()) if name != "answer" else None
        result = await run.finish()
        if speaker is not None:
            await speaker
    assert texts(result.messages) == ["go", "hm", "waited", "listen", "end"]
    assert fold(made) == result.messages
    assert problems(result.messages) == []


async def test_words_that_steer_keep_their_order_also_over_a_pause():
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    agent = Agent(ScriptedModel(AssistantMessage([call(name="pay")]), "end"), tools=[pay])
    async with agent.stream("go", session="s") as run:
        async for event in run:
            if isinstance(event, events.ToolCallEnded):
                run.steer("one")
    waiting = run.result
    assert waiting.is_waiting
    async with agent.resume_stream(waiting.state, [Approve(waiting.pending[0].call_key)]) as run:
        run.steer("two")
        result = await run.finish()
    assert texts(result.messages)[-3:] == ["one", "two", "end"]


async def test_words_that_come_with_a_forced_answer_are_handed_back():
    @tool
    def look() -> str:
        return "seen"

    agent = Agent(ScriptedModel(AssistantMessage([call(name="look")]), "forced"), tools=[look], max_rounds=1)
    async with agent.stream("go") as run:
        async for event in run:
            if isinstance(event, events.TextDelta) and event.round == 2:
                run.steer("too late")
    assert run.result.generate_reason == "max_rounds"
    assert [message.text for message in run.result.undelivered] == ["too late"]


async def test_after_the_final_answer_steering_is_refused():
    agent = Agent(ScriptedModel("x"))
    async with agent.stream("go") as run:
        async for event in run:
            if isinstance(event, events.RoundEnded):
                with pytest.raises(StateError, match="has given its final answer"):
                    run.steer("more")
    with pytest.raises(StateError):
        run.steer("more")


@pytest.mark.parametrize("words", ["", [], 5])
async def test_words_that_are_none_are_refused_and_the_run_goes_on(words):
    agent = Agent(ScriptedModel("x"))
    async with agent.stream("go") as run:
        if words == 5:
            run.steer(words)
        else:
            with pytest.raises(UsageError, match="empty"):
                run.steer(words)
        assert (await run.finish()).output == "x"


async def test_steering_and_interrupting_hands_the_words_back_and_leaves_a_session_that_goes_on():
    agent, hanging = phase("tool")
    made = []
    async with stream(agent, made) as run:

        async def stop():
            await hanging.begun.wait()
            run.steer("wait")
            run.interrupt()

        stopper = asyncio.create_task(stop())
        result = await run.finish()
        await stopper
    assert [message.text for message in result.undelivered] == ["wait"]
    assert (await agent.run("on", session="s")).output == "next"


async def test_a_run_that_was_interrupted_can_be_gone_on_with_in_its_session():
    agent, hanging = phase("answer")
    made = []
    async with stream(agent, made) as run:

        async def stop():
            await hanging.begun.wait()
            await asyncio.sleep(0)
            run.interrupt()

        stopper = asyncio.create_task(stop())
        await run.finish()
        await stopper
    second = await watch(agent, "go on")
    assert second.result.output == "next"
    assert [message.role for message in agent.model.requests[-1].messages] == ["user", "assistant", "user"]


async def test_a_cancellation_while_the_session_is_being_taken_leaves_it_free():
    taken, go_on = asyncio.Event(), asyncio.Event()

    class SlowToTake(MemorySessions):
        async def begin(self, session_id, run_id):
            messages = await super().begin(session_id, run_id)
            taken.set()
            await go_on.wait()
            return messages

    agent = Agent(ScriptedModel("x"), sessions=SlowToTake())
    task = asyncio.create_task(agent.run("go", session="s"))
    await taken.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert agent.sessions.get("s").holder is None
    go_on.set()
    assert (await agent.run("go", session="s")).output == "x"


async def test_a_cancellation_while_sources_close_at_a_pause_ends_the_run_since_nobody_gets_its_state():
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    class SlowToClose(SlowSource):
        async def open(self):
            return self.toolset

        async def aclose(self):
            if not self.closed:
                self.closed += 1
                await self.hanging()

    source = SlowToClose()
    agent = Agent(ScriptedModel(AssistantMessage([call(name="pay")]), "ok"), tools=[pay, source])
    made = []
    task = asyncio.create_task(agent.run("go", session="s", on_event=made.append))
    await source.hanging.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = agent.sessions.get("s")
    assert kept.holder is None
    assert fold(made) == kept.messages
    assert [part.state for part in kept.messages[-1].results] == ["interrupted"]
    assert [event.generate_reason for event in made if isinstance(event, events.RunEnded)] == ["interrupted"]
