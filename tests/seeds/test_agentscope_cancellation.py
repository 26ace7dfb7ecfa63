"""AgentScope: what happens when a reply is left, what is rebuilt from events, and the faults of its agent that are on record."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from chat_bytes import StillClock, text_stream
from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.fold import fold
from headrace.io.replay import Recorded, ReplayTransport
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart, ToolCallPart
from headrace.models.answer import AttemptDiscarded
from headrace.models.model import Model
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import tool
from headrace.wire.anthropic_messages.request_out import encode_request as encode_anthropic
from headrace.wire.profile import DEFAULT
from seed_runs import asks, call, check, check_requests, chunks, of, run

FOREVER = 3600.0


@tool
async def note(a: int = 0) -> str:
    """Note a number."""
    return f"a={a}"


def hanging():
    """A tool that never ends, and the event that says that it has begun."""
    begun = asyncio.Event()

    @tool
    async def hang() -> str:
        begun.set()
        await asyncio.sleep(FOREVER)
        return "never"

    return hang, begun


# ---------------------------------------------------------------------------------------------- cancellation facts


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_timeout_around_a_run_raises_wherever_the_run_stands(where):
    """Python: the agent swallows the cancellation and returns an "interrupted" message."""
    hang, _ = hanging()
    held = Scripted("text", gates={0: asyncio.Event()}) if where == "model" else asks(call("a", "hang", "{}"))
    agent = Agent(ScriptedModel(held, "next"), tools=[hang])
    made = []

    def on_event(event):
        made.append(event)
        if event.type == ("round_started" if where == "model" else "tool_started"):
            limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await agent.run("go", session="s", on_event=on_event)
    assert made[-1].generate_reason == "interrupted"
    assert fold(made) == agent.sessions.get("s").messages
    assert asyncio.current_task().cancelling() == 0


async def test_leaving_early_while_text_streams_keeps_the_text_that_came():
    """Python: the partial text is lost; the history keeps an assistant message without content."""
    agent = Agent(ScriptedModel(Scripted("some words and more", slice_chars=5), "next"))
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.TextDelta):
                break
    check(made, watched.result)
    assert watched.result.message.text == "some "
    assert agent.sessions.get("s").messages[-1].generate_reason == "interrupted"
    assert (await agent.run("go on", session="s")).output == "next"
    check_requests(agent.model)


async def test_closing_the_iterator_early_does_the_same():
    """Python: `aclose` on the generator loses the partial text."""
    agent = Agent(ScriptedModel(Scripted("some words and more", slice_chars=5)))
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        texts = watched.text
        assert await anext(texts) == "some "
        await texts.aclose()
    check(made, watched.result)
    assert agent.sessions.get("s").messages[-1].text == "some "


async def test_leaving_during_a_tool_closes_the_call_and_the_next_reply_is_legal():
    """Python: the call stays "allowed" without a result, and the next request goes out with it dangling."""
    hang, begun = hanging()
    agent = Agent(ScriptedModel(asks("wait", call("a", "hang", "{}"), call("b")), "next"), tools=[hang, note])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.ToolEnded):
                await begun.wait()
                break
    check(made, watched.result)
    assert [(one.call_id, one.state) for one in watched.result.messages[-1].results] == [("a", "interrupted"), ("b", "success")]
    await agent.run("go on", session="s")
    check_requests(agent.model)


async def test_cancelling_a_run_saves_its_conversation():
    """Java: cancelling the subscription does not guarantee that the state is saved."""
    hang, begun = hanging()
    agent = Agent(ScriptedModel(asks(call("a", "hang", "{}")), "next"), tools=[hang])
    task = asyncio.create_task(agent.run("go", session="s"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [message.role for message in agent.sessions.get("s").messages] == ["user", "assistant", "tool"]
    assert (await agent.run("go on", session="s")).output == "next"


# ---------------------------------------------------------------------------------------------- rebuilt is what was kept


async def test_rebuilt_1_interleaved_parallel_calls_make_no_extra_blocks():
    """Python: A and B end and start again; the rebuilt message has four calls, the history two."""
    answer = chunks(("A", "note", '{"a"', 0), ("B", "note", '{"a"', 1), ("A", "", ":1}", 0), ("B", "", ":2}", 1))
    result, made = await run(Agent(ScriptedModel(answer, "done"), tools=[note]))
    started = [event.call_id for event in of(made, events.ToolCallStarted)]
    assert started == ["A", "B"]
    assert [one.parsed for one in fold(made)[1].tool_calls] == [{"a": 1}, {"a": 2}]
    assert fold(made) == result.messages


async def test_rebuilt_2_text_call_text_has_the_same_parts_as_the_history():
    """Python: two texts around the call when rebuilt, one in front of it in the history."""
    result, made = await run(Agent(ScriptedModel(asks("one ", call("A"), "two"), "done"), tools=[note]))
    assert [type(part) for part in fold(made)[1].parts] == [TextPart, ToolCallPart, TextPart]
    assert fold(made) == result.messages


async def test_rebuilt_3_a_block_is_named_by_its_place_in_the_message_that_is_kept():
    """Python: the ids of blocks in events are new ones, never those in the history."""
    result, made = await run(Agent(ScriptedModel(asks("one ", call("A"), "two"), "done"), tools=[note]))
    message = result.messages[1]
    for event in of(made, events.TextStarted)[:2]:
        assert event.message_id == message.id
        assert isinstance(message.parts[event.part], TextPart)
    (started,) = of(made, events.ToolCallStarted)
    assert started.call_key == f"{message.id}/1"


async def test_rebuilt_4_a_message_from_events_can_be_sent_back_signature_and_all():
    """Python: a signature is in no event, so Anthropic refuses what was rebuilt."""
    answer = AssistantMessage([ReasoningPart("let me see", signature="c2ln"), call("toolu_1")])
    model = ScriptedModel(answer, "done", id="anthropic:m")
    _, made = await run(Agent(model, tools=[note]))
    request = msgspec.structs.replace(model.requests[1], messages=fold(made)[:3])
    body = json.loads(encode_anthropic(request, DEFAULT.replace(provider="anthropic")).body)
    assert body["messages"][1]["content"][0] == {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}
    # A log that breaks off before the answer has ended holds it as well.
    ended = next(n for n, event in enumerate(made) if isinstance(event, events.ReasoningEnded))
    assert fold(made[: ended + 1])[1].first(ReasoningPart).signature == "c2ln"


async def test_rebuilt_5_parallel_results_stand_in_the_order_of_the_calls_in_both():
    """Python: A, B when rebuilt, and B, A in the history when B ends first."""
    b_has_ended = asyncio.Event()

    @tool
    async def first() -> str:
        await b_has_ended.wait()
        return "A"

    @tool
    async def second() -> str:
        return "B"

    def on_event(event):
        made.append(event)
        if isinstance(event, events.ToolEnded):
            b_has_ended.set()

    made = []
    agent = Agent(ScriptedModel(asks(call("a", "first", "{}"), call("b", "second", "{}")), "done"), tools=[first, second])
    result = await agent.run("go", on_event=on_event)
    check(made, result)
    assert [event.result.text for event in of(made, events.ToolEnded)] == ["B", "A"]
    assert [part.text for part in result.messages[2].results] == ["A", "B"]


# ---------------------------------------------------------------------------------------------- on record


async def test_java_2478_a_stream_that_is_tried_again_delivers_its_text_once():
    """Java #2478: up to three copies of the chunks that came before the error."""
    first, second = chunks_of(AssistantMessage("Hello wor")), chunks_of(AssistantMessage("Hello world"))
    result, made = await run(Agent(ScriptedModel([*list(first)[:-2], AttemptDiscarded(1, "lost"), *second])))
    assert result.message.text == "Hello world"
    (discarded,) = of(made, events.AttemptDiscarded)
    assert {event.message_id for event in of(made, events.TextDelta) if event.seq < discarded.seq} == {discarded.message_id}
    assert result.message.id != discarded.message_id


async def test_java_3058_an_empty_chunk_before_the_break_does_not_forbid_another_try():
    """Java #3058: the guard "was something given out?" also trips on a chunk that holds a role alone."""
    role_alone = text_stream("Hello")[0]
    replay = ReplayTransport([Recorded(body=role_alone), Recorded(body=b"".join(text_stream("Hello")))])
    model = Model("openai-chat:m", base_url="http://lab.test/v1", transport=replay, clock=StillClock())
    result, made = await run(Agent(model))
    assert (result.output, len(replay.requests)) == ("Hello", 2)
    assert of(made, events.AttemptDiscarded) == []


async def test_java_3065_progress_of_one_run_reaches_no_other():
    """Java #3065: the callback sits on the shared toolkit, so the progress of one session is delivered to another."""
    both = asyncio.Barrier(2)

    @tool
    async def work(context: Context[str]) -> str:
        await both.wait()
        context.progress(context.deps)
        yield context.deps
        await both.wait()

    agent = Agent(ScriptedModel(*[asks(call("a", "work", "{}"))] * 2, "done", "done"), tools=[work])
    (_, one), (_, other) = await asyncio.gather(run(agent, deps="one", session="1"), run(agent, deps="other", session="2"))
    for made, deps in ((one, "one"), (other, "other")):
        assert [event.message for event in of(made, events.ToolProgress)] == [deps]
        assert [event.output.text for event in of(made, events.ToolOutput)] == [deps]


async def test_java_2439_groups_of_tools_that_one_run_switches_are_not_switched_in_another():
    """Java #2439: active tool groups leak between the sessions of one agent."""

    @tool(group="files")
    async def look() -> str:
        return "a file"

    switching = asks(call("a", "switch_tools", '{"on": ["files"], "off": []}'))
    model = ScriptedModel(switching, "done", "done")
    agent = Agent(model, tools=[look], groups=[])
    await run(agent, session="1")
    await run(agent, session="2")
    offered = [[spec.name for spec in request.tools] for request in model.requests]
    assert offered == [["switch_tools"], ["look", "switch_tools"], ["switch_tools"]]


async def test_java_1634_reasoning_has_come_whole_before_the_text_that_follows_it():
    """Java #1634: the end of the thinking block came after that of the text; py #1885: text came before the thinking."""
    answer = AssistantMessage([ReasoningPart("hm, so"), TextPart("it is so")])
    _, made = await run(Agent(ScriptedModel(Scripted(answer, slice_chars=3))))
    kinds = [event.type for event in made if event.type.startswith(("reasoning", "text"))]
    assert kinds.index("reasoning_started") < kinds.index("text_started")
    assert kinds.index("reasoning_ended") < kinds.index("text_ended")
    assert max(n for n, kind in enumerate(kinds) if kind == "reasoning_delta") < kinds.index("text_started")


async def test_java_1633_tool_results_have_their_pieces_between_start_and_end():
    """Java #1633: results had a start and an end, and no delta."""

    @tool
    async def pieces() -> str:
        yield "one "
        yield "two"

    _, made = await run(Agent(ScriptedModel(asks(call("a", "pieces", "{}")), "done"), tools=[pieces]))
    kinds = [event.type for event in made if event.type.startswith("tool_") and "call" not in event.type]
    assert kinds == ["tool_started", "tool_output", "tool_output", "tool_ended"]


async def test_java_1899_blocks_have_names_of_their_own():
    """Java #1899: every text block is called "text", every thinking block "thinking"."""
    answers = [asks("one", call("A"), "two"), asks("three", call("A")), "four"]
    _, made = await run(Agent(ScriptedModel(*answers), tools=[note]))
    named = [(event.message_id, event.part) for event in of(made, events.TextStarted)]
    assert len(set(named)) == 4


async def test_java_652_results_are_paired_by_their_calls_and_not_by_who_ended_first():
    """Java #652: parallel results paired by completion order."""
    turn = asyncio.Semaphore(0)

    @tool
    async def wait(n: int) -> str:
        if n == 1:
            await turn.acquire()
        else:
            turn.release()
        return f"result {n}"

    answer = asks(*(call(f"c{n}", "wait", f'{{"n": {n}}}') for n in (1, 2)))
    result, made = await run(Agent(ScriptedModel(answer, "done"), tools=[wait]))
    assert [(part.call_id, part.text) for part in result.messages[2].results] == [("c1", "result 1"), ("c2", "result 2")]
    for event in of(made, events.ToolEnded):
        assert event.result.text == f"result {event.result.call_id[1]}"


async def test_java_2410_an_interrupt_between_reasoning_and_acting_leaves_no_call_without_a_result():
    """Java #2409: the calls of the answer were kept, and nothing was ever their result."""
    model = ScriptedModel(asks("so", call("A"), call("B")), "next")
    agent = Agent(model, tools=[note])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.RoundEnded):
                watched.interrupt()
    check(made, watched.result)
    assert [part.state for part in watched.result.messages[-1].results] == ["interrupted", "interrupted"]
    assert of(made, events.ToolStarted) == []
    await agent.run("go on", session="s")
    check_requests(model)


async def test_java_2610_an_interrupt_hits_the_run_that_it_is_called_on():
    """Java #2610: `interrupt()` hits the default session, whichever was meant."""
    gate, both = asyncio.Event(), asyncio.Barrier(3)

    async def held(request):
        await both.wait()
        await gate.wait()
        return "the answer"

    agent = Agent(ScriptedModel(held, held))
    async with agent.stream("go", session="1") as one, agent.stream("go", session="2") as other:
        reading = [asyncio.create_task(one.finish()), asyncio.create_task(other.finish())]
        await both.wait()
        other.interrupt()
        assert (await reading[1]).generate_reason == "interrupted"
        gate.set()
        assert (await reading[0]).generate_reason == "completed"


async def test_java_3013_a_reader_can_tell_progress_text_from_the_final_answer():
    """Java #3013: nothing in the stream says whether a text is the answer or on the way to it."""
    _, made = await run(Agent(ScriptedModel(asks("let me look", call("A")), "it is 1"), tools=[note]))
    assert [(event.message.text, event.is_final) for event in of(made, events.RoundEnded)] == [("let me look", False), ("it is 1", True)]


async def test_java_3102_an_unknown_tool_does_not_end_the_stream():
    """Java #3102: an error about an unknown tool ends the whole stream."""
    result, _ = await run(Agent(ScriptedModel(asks(call("A", "nothing_of_the_kind")), "done"), tools=[note]))
    (told,) = result.messages[2].results
    assert (told.state, result.output) == ("error", "done")
    assert "note" in told.text


async def test_python_2323_an_answer_that_the_limit_of_tokens_cut_says_so():
    """Python #2323: reported as completed."""
    result, _ = await run(Agent(ScriptedModel(AssistantMessage("half an ans", finish_reason="length"))))
    assert (result.generate_reason, result.message.finish_reason) == ("length", "length")


async def test_python_2494_two_thoughts_of_one_answer_stay_two_each_with_its_signature():
    """Python #2494: one id for all thinking blocks; the last signature wins."""
    answer = AssistantMessage([ReasoningPart("one", signature="s1"), ReasoningPart("two", signature="s2"), call("A")])
    result, made = await run(Agent(ScriptedModel(answer, "done"), tools=[note]))
    thoughts = result.messages[1].parts_of(ReasoningPart)
    assert [(part.text, part.signature) for part in thoughts] == [("one", "s1"), ("two", "s2")]
    assert [event.signature for event in of(made, events.ReasoningEnded)] == ["s1", "s2"]


async def test_python_2549_media_in_a_tool_s_result_is_in_the_events_and_the_history():
    """Python #2549: data blocks of tools lost their id in events, and could not be put together."""

    @tool
    async def picture() -> MediaPart:
        yield MediaPart(kind="image", data=b"\x89PNG", media_type="image/png")

    result, made = await run(Agent(ScriptedModel(asks(call("a", "picture", "{}")), "done"), tools=[picture]))
    (event,) = of(made, events.ToolOutput)
    assert event.output == result.messages[2].results[0].parts[0]
    assert event.output.data == b"\x89PNG"


async def test_python_2425_a_summary_that_is_not_what_was_asked_for_does_not_end_the_run():
    """Python #2425: one misspelled field of the summary ends the run with an error."""
    words = "word " * 60
    summary = ScriptedModel(*['{"gaol": "misspelled"}'] * 3)
    context = ContextPolicy(max_messages=4, keep_messages=2, summary_model=summary)
    model = ScriptedModel(*[words] * 4)
    agent = Agent(model, context=context)
    for n in range(4):
        result, _ = await run(agent, f"{n}: {words}", session="s")
    assert summary.requests
    assert result.generate_reason == "completed"


async def test_qwenpaw_6046_what_is_sent_shorter_never_parts_a_call_from_its_result():
    """QwenPaw #6046: compression left results without calls, and every later request was refused."""
    model = ScriptedModel(*[asks(call(f"c{n}")) for n in range(8)], "done", "next")
    agent = Agent(model, tools=[note], context=ContextPolicy(max_messages=6, keep_messages=3, summarize=False))
    result, made = await run(agent, session="s")
    assert of(made, events.ContextCompacted)
    assert sum(isinstance(message, ToolMessage) for message in result.messages) == 8
    await run(agent, "go on", session="s")
    check_requests(model)
