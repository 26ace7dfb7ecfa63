"""AgentScope: the short sequences that separate right from wrong, each named as there; what its two editions make of it stands beside it."""

from __future__ import annotations

import asyncio
import json

import pytest

from headrace import decode_stream
from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.errors import ConnectionLostError, UsageError
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import MessageStart, ReasoningDelta, TextDelta, ToolCallFragment
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import OpaquePart, ReasoningPart, TextPart, ToolCallPart
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from seed_runs import asks, call, call_list, check, check_requests, chunks, fail, of, run

INTERLEAVED = [("A", "note", '{"a"', 0), ("B", "note", '{"b"', 1), (None, None, ":1}", 0), (None, None, ":2}", 1)]
WITH_IDS = [("A", "note", '{"a"', 0), ("B", "note", '{"b"', 1), ("A", None, ":1}", 0), ("B", None, ":2}", 1)]
WITH_IDS_ALONE = [(one_id, name, arguments, None) for one_id, name, arguments, _ in WITH_IDS]
A_AND_B = [("A", "note", '{"a":1}'), ("B", "note", '{"b":2}')]


def noting():
    """A tool that takes any of a few numbers, and the list of what it was called with."""
    seen = []

    @tool
    async def note(a: int = 0, b: int = 0) -> str:
        """Note what came."""
        seen.append({"a": a, "b": b})
        return f"a={a} b={b}"

    return note, seen


async def after(*answers, tools=None, **options):
    """Run through these answers and a last one; returns what the tool saw, the result, the events and the model."""
    note, seen = noting()
    model = ScriptedModel(*answers, "done")
    result, made = await run(Agent(model, tools=[note, *(tools or ())], **options))
    check_requests(model)
    return seen, result, made, model


# ---------------------------------------------------------------------------------------------- which call a piece belongs to


@pytest.mark.parametrize("fragments", [INTERLEAVED, WITH_IDS, WITH_IDS_ALONE], ids=["index", "index and id", "id alone"])
def test_interleave_each_piece_joins_its_own_call(fragments):
    """Java: A is `{}` and B `{"b":1}:2}`, since it looks at no index."""
    assert call_list(MessageChunk.join(chunks(*fragments)).to_message()) == A_AND_B


@pytest.mark.parametrize("fragments", [INTERLEAVED, WITH_IDS, WITH_IDS_ALONE], ids=["index", "index and id", "id alone"])
async def test_interleave_each_call_starts_and_ends_once_and_runs_once(fragments):
    """Python: the final message is right, but the events start and end A and B twice."""
    seen, result, made, _ = await after(chunks(*fragments))
    assert seen == [{"a": 1, "b": 0}, {"a": 0, "b": 2}]
    assert [event.call_id for event in of(made, events.ToolCallStarted)] == ["A", "B"]
    assert [event.arguments for event in of(made, events.ToolCallEnded)] == ['{"a":1}', '{"b":2}']
    assert result.output == "done"


def test_text_tool_text_keeps_its_order():
    """Java: thinking, then text, then tools, whatever came first. Python: both texts merged in front of the call."""
    deltas = [TextDelta("one ", 0), ToolCallFragment("A", "note", "{}", part=1), TextDelta("two", 2)]
    message = MessageChunk.join([AssistantMessageChunk.from_deltas((delta,)) for delta in deltas]).to_message()
    assert [type(part) for part in message.parts] == [TextPart, ToolCallPart, TextPart]
    assert [part.text for part in message.parts_of(TextPart)] == ["one ", "two"]
    assert message.text == "one two"


async def test_text_tool_text_is_the_same_in_the_events_and_in_the_history():
    """Python: two text blocks around the call in the events, one in front of it in the history."""
    seen, result, made, model = await after(asks("one ", call("A"), "two"))
    assert seen == [{"a": 1, "b": 0}]
    parts = result.messages[1].parts
    assert [type(part) for part in parts] == [TextPart, ToolCallPart, TextPart]
    texts = of(made, events.TextDelta)
    assert [event.text for event in texts] == ["one ", "two", "done"]
    assert len({(event.message_id, event.part) for event in texts}) == 3
    assert model.requests[-1].messages[1] == result.messages[1]


async def test_late_name_the_pieces_before_it_belong_to_the_call():
    """Java: two calls, one of them nameless. Python: one call, named "unknown" for good."""
    fragments = [(None, None, '{"a"', 0), (None, None, ":1", 0), ("A", "note", "}", 0)]
    assert call_list(MessageChunk.join(chunks(*fragments)).to_message()) == [("A", "note", '{"a":1}')]
    seen, _, made, _ = await after(chunks(*fragments))
    assert seen == [{"a": 1, "b": 0}]
    (started,) = of(made, events.ToolCallStarted)
    assert (started.name, started.call_id) == ("note", "A")


async def test_late_name_without_an_index_makes_nothing_up():
    """Without an index nothing says that both are one call: neither runs, and the model is told why."""
    fragments = [(None, None, '{"a":1', None), ("A", "note", "}", None)]
    seen, result, _, _ = await after(chunks(*fragments))
    assert seen == []
    assert [part.state for part in result.messages[2].results] == ["error", "error"]
    assert "names no tool" in result.messages[2].results[0].text


async def test_a_tool_name_that_starts_with_two_underscores_is_a_name():
    """Java: takes it for a placeholder of its own and loses it. Python: keeps it."""

    @tool(name="__x")
    def hidden() -> str:
        return "found"

    _, result, _, _ = await after(chunks(("A", "__x", "{}", 0)), tools=[hidden])
    assert result.messages[2].results[0].text == "found"


def test_same_name_no_id_twice_is_two_calls():
    """Java: one call with the raw text `{"a":1}{"a":2}`, run with a=1. Python: refuses a call without an id."""
    message = MessageChunk.join(chunks((None, "x", '{"a":1}', None), (None, "x", '{"a":2}', None))).to_message()
    assert [(one.name, one.parsed) for one in message.tool_calls] == [("x", {"a": 1}), ("x", {"a": 2})]


@pytest.mark.parametrize("names", [("x", "y"), ("x", "x")])
async def test_two_calls_without_ids_get_ids_of_their_own(names):
    """Java: equal generated ids when both come in one millisecond. Python: refuses a call without an id."""

    @tool(name="x")
    def first(n: int) -> str:
        return f"x{n}"

    @tool(name="y")
    def second(n: int) -> str:
        return f"y{n}"

    answer = chunks((None, names[0], '{"n":1}', None), (None, names[1], '{"n":2}', None))
    _, result, _, model = await after(answer, tools=[first, second])
    ids = [one.id for one in result.messages[1].tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [part.text for part in result.messages[2].results] == [f"{names[0]}1", f"{names[1]}2"]
    check_requests(model)


async def test_repeated_id_in_two_rounds_both_calls_run():
    """Python: the second call is taken for one that has its result; it never runs and stays pending."""
    seen, result, made, model = await after(
        chunks(("k", "note", '{"a":1}', 0)), chunks(("k", "note", '{"a":2}', 0)), chunks(("k", "note", '{"a":2}', 0))
    )
    assert [one["a"] for one in seen] == [1, 2, 2]
    keys = [event.call_key for event in of(made, events.ToolEnded)]
    assert len(set(keys)) == 3
    assert [message.results[0].call_id for message in result.messages if message.role == "tool"] == ["k", "k", "k"]
    check_requests(model)


@pytest.mark.parametrize("indexes", [(0, 1), (None, None)])
async def test_repeated_id_in_one_response_is_two_calls_and_the_repair_is_said(indexes):
    """Java: the raw texts joined, run with a=1. Python: `{"a":1}{"a":2}`, repaired, run with a=2."""
    fragments = [("k", "note", '{"a":1}', indexes[0]), ("k", "note", '{"a":2}', indexes[1])]
    message = MessageChunk.join(chunks(*fragments)).to_message()
    if indexes[0] is None:
        # Without an index nothing tells a second call from a second piece: what was joined is no object, and does not run.
        (joined,) = message.tool_calls
        assert not joined.runnable
        return
    assert [one.parsed for one in message.tool_calls] == [{"a": 1}, {"a": 2}]
    assert "duplicate_tool_id" in [warning.code for warning in message.warnings]
    seen, result, _, _ = await after(chunks(*fragments))
    assert [one["a"] for one in seen] == [1, 2]
    assert len({one.id for one in result.messages[1].tool_calls}) == 2


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "length"])
async def test_cut_arguments_never_run_and_the_model_hears_of_it(finish):
    """Java: runs with `{}`. Python: repairs them and runs with a=1."""
    message = MessageChunk.join(chunks(("A", "note", '{"a":1', 0), finish=finish)).to_message()
    (cut,) = message.tool_calls
    assert (cut.arguments, cut.parsed, cut.runnable) == ('{"a":1', None, False)
    seen, result, made, _ = await after(chunks(("A", "note", '{"a":1', 0), finish=finish))
    assert seen == []
    (told,) = result.messages[2].results
    assert told.state == "error"
    assert of(made, events.ToolStarted) == []
    assert of(made, events.ToolCallEnded)[0].arguments == '{"a":1'
    assert result.output == "done"


# ---------------------------------------------------------------------------------------------- what comes beside the content


def test_usage_that_is_reported_twice_is_merged_field_by_field_and_never_added():
    """Java and Python: the last report replaces the one before: of 10/1 and then nothing/5 the 10 is lost."""
    reports = [{"input_tokens": 10, "output_tokens": 1}, {"output_tokens": 5}]
    total = MessageChunk.join(AssistantMessageChunk(usage=report) for report in reports)
    assert (total.usage.input_tokens, total.usage.output_tokens) == (10, 5)


@pytest.mark.parametrize(("second", "counts"), [({"output_tokens": 5}, (10, 5)), ({"input_tokens": 0, "output_tokens": 5}, (0, 5))])
def test_usage_10_and_1_then_0_and_5(second, counts):
    """Java: always 0/5, since it reads no usage at the start of an Anthropic message. Here a 0 counts only where the provider says it."""
    start = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x"}
    body = b"".join(
        f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode()
        for one in (
            {"type": "message_start", "message": {**start, "usage": {"input_tokens": 10, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": second},
            {"type": "message_stop"},
        )
    )
    usage = decode_stream(body, protocol="anthropic-messages").message.usage
    assert (usage.input_tokens, usage.output_tokens) == counts


async def test_signature_on_a_thinking_delta_is_in_the_message_the_events_and_the_next_request():
    """Java: dropped. Python: kept in the history, absent in the events."""
    thought = ReasoningPart("hm, let me see", signature="c2ln")
    _, result, made, model = await after(Scripted(AssistantMessage([thought, call("A")]), slice_chars=3))
    assert result.messages[1].first(ReasoningPart).signature == "c2ln"
    assert [event.signature for event in of(made, events.ReasoningEnded)] == ["c2ln"]
    assert model.requests[1].messages[1].first(ReasoningPart).signature == "c2ln"


def test_signature_alone_in_a_delta_after_the_text_joins_its_reasoning():
    """Java: dropped. Python: kept in the history."""
    deltas = [ReasoningDelta("hm", 0), ReasoningDelta("", 0, signature="c2ln")]
    total = MessageChunk.join([AssistantMessageChunk.from_deltas((delta,)) for delta in deltas])
    assert total.to_message().parts == (ReasoningPart("hm", signature="c2ln"),)


# ---------------------------------------------------------------------------------------------- how a run ends


async def test_error_after_the_first_delta_ends_every_block_and_keeps_what_came():
    """Python: an exception, no end of the block, the call or the reply, and the partial text is lost. Java: no AGENT_END."""
    model = ScriptedModel(Scripted("Hello world", slice_chars=6, dies_after=1), "next")
    agent = Agent(model)
    error, made = await fail(agent, ConnectionLostError, session="s")
    assert [event.type for event in made[-4:]] == ["text_ended", "round_ended", "error", "run_ended"]
    assert made[-1].generate_reason == "error"
    assert error.result.message.text == "Hello "
    assert error.result.message.generate_reason == "error"
    assert agent.sessions.get("s").messages == error.result.messages
    assert (await agent.run("again", session="s")).output == "next"
    check_requests(model)


async def test_an_error_after_the_first_delta_of_a_call_runs_nothing():
    """Python: the partial call is lost with the exception."""
    note, seen = noting()
    answer = [*chunks(("A", "note", '{"a":1}', 0))[:-1], ConnectionLostError("gone")]
    error, made = await fail(Agent(ScriptedModel(answer), tools=[note]), ConnectionLostError)
    assert seen == []
    assert of(made, events.ToolStarted) == []
    assert error.result.messages[1].tool_calls[0].arguments == '{"a":1}'
    assert error.result.messages[2].results[0].state == "not_run"


@pytest.mark.parametrize(
    "empty",
    ["", " \n", AssistantMessage([ReasoningPart("hm")]), [AssistantMessageChunk(finish_reason="stop")]],
    ids=lambda value: type(value).__name__,
)
async def test_no_content_at_all_gets_one_reminder_and_another_round(empty):
    """Python: completed, with an empty message. Java: a reminder, and the loop goes on until it has run out of rounds."""
    model = ScriptedModel(empty, "there")
    result, made = await run(Agent(model))
    assert result.output == "there"
    (reminder,) = of(made, events.ReminderAdded)
    assert (reminder.message.origin, reminder.message.reminder_kind) == ("framework", "empty_response")
    model = ScriptedModel(empty, empty)
    result, made = await run(Agent(model))
    assert (result.generate_reason, len(of(made, events.ReminderAdded))) == ("completed", 1)


async def test_timeout_around_the_call_is_raised_and_what_came_is_kept():
    """Python: swallowed; the caller gets an "interrupted" message and does not learn that the time was up."""
    agent = Agent(ScriptedModel(Scripted("half a sentence", slice_chars=4, gates={2: asyncio.Event()})))
    made = []

    def on_event(event):
        made.append(event)
        if isinstance(event, events.TextDelta) and event.text == " a s":
            limit.reschedule(asyncio.get_running_loop().time())  # the time is up now, while the model is silent

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await agent.run("go", session="s", on_event=on_event)
    kept = agent.sessions.get("s").messages
    assert kept[-1].text == "half a s"
    assert kept[-1].generate_reason == made[-1].generate_reason == "interrupted"


async def test_break_during_a_tool_leaves_no_call_without_a_result():
    """Python: the call stays without a result and is sent to the model like that. Java: the state may not be saved at all."""
    begun = asyncio.Event()

    @tool
    async def slow() -> str:
        begun.set()
        await asyncio.Event().wait()

    model = ScriptedModel(chunks(("A", "slow", "{}", 0)), "next")
    agent = Agent(model, tools=[slow])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.ToolStarted):
                await begun.wait()
                break
    check(made, watched.result)
    assert watched.result.messages[-1].results[0].state == "interrupted"
    assert (await agent.run("and now?", session="s")).output == "next"
    check_requests(model)


# ---------------------------------------------------------------------------------------------- JSON


def test_unknown_block_type_in_json_is_kept_and_written_back():
    """Java and Python: the whole message cannot be read."""
    form = {"role": "assistant", "parts": [{"type": "hologram", "beam": [1, 2]}, {"type": "text", "text": "hi"}]}
    message = Message.from_json(json.dumps(form))
    assert isinstance(message.parts[0], OpaquePart)
    assert message.text == "hi"
    assert json.loads(message.to_json())["parts"][0] == {"type": "hologram", "beam": [1, 2]}


def test_lower_case_role_in_json_is_the_form_and_another_one_is_an_error_with_its_place():
    """Java: a lower-case role cannot be read. Python: the form that it wants."""
    assert Message.from_json('{"role": "user", "parts": [{"type": "text", "text": "hi"}]}').text == "hi"
    with pytest.raises(UsageError, match="ASSISTANT"):
        Message.from_json('{"role": "ASSISTANT", "parts": []}')


def test_the_id_of_a_message_is_that_of_its_start_and_not_of_its_last_chunk():
    """Java and Python: that of the last chunk; a random one where that has none."""
    parts = [AssistantMessageChunk.from_deltas((MessageStart(one),)) for one in ("m-1", "", "m-2")]
    assert MessageChunk.join(parts).to_message().id == "m-1"
