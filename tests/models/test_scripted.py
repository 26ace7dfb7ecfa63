"""`ScriptedModel`: what each kind of answer becomes, and that nobody can tell it from a provider's."""

from __future__ import annotations

import asyncio

import pytest

from chat_bytes import NOON, StillClock, call_stream, chunk, event, text_stream
from headrace.errors import ConnectionLostError, OverloadedError, StateError, StreamTruncatedError, UsageError
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import Ended, ToolCallFragment
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from headrace.messages.request import ToolSpec
from headrace.messages.usage import Usage
from headrace.models.answer import AttemptDiscarded, ModelLike
from headrace.models.scripted import Scripted, ScriptedModel

CALL = ToolCallPart(id="call_a", name="clock", arguments='{"city":"Rome"}')


async def read(model, items=None):
    items = [] if items is None else items
    failure = None
    async with model.stream("hi") as stream:
        try:
            async for item in stream:
                items.append(item)
        except Exception as error:  # noqa: BLE001 - scripts raise what they like
            failure = error
    return stream, items, failure


# --- what an answer may be


async def test_a_text_is_an_answer_that_stopped():
    stream, items, failure = await read(ScriptedModel("Hello", clock=StillClock()))
    message = stream.message
    assert failure is None
    assert (message.text, message.finish_reason, message.provider, message.created_at) == ("Hello", "stop", "scripted", NOON)
    assert message.id
    assert message.warnings == ()
    assert isinstance(items[-1].deltas[-1], Ended)
    assert MessageChunk.join(items).to_message().parts == message.parts


@pytest.mark.parametrize("size", [1, 2, 100, None])
async def test_a_text_is_cut_into_deltas_of_so_many_characters(size):
    _, items, _ = await read(ScriptedModel("Hello", slice_chars=size))
    texts = [item.text for item in items if item.text]
    assert "".join(texts) == "Hello"
    assert max(map(len, texts)) == min(size or 5, 5)


@pytest.mark.parametrize("size", [None, 1, 4])
async def test_a_message_comes_back_with_the_same_parts_whatever_the_slices(size):
    parts = [
        ReasoningPart("hm, well", signature="sig==", details=({"type": "x"},)),
        TextPart("Let me look."),
        CALL,
        TextPart("Meanwhile", citations=({"url": "u"},)),
        ToolCallPart(id="call_b", name="note", kind="custom", arguments="free text"),
        RefusalPart("no more"),
        JsonPart({"a": [1]}),
        MediaPart(kind="image", data=b"png", media_type="image/png"),
    ]
    given = AssistantMessage(parts, usage=Usage(input_tokens=3), metadata={"k": "v"}, model="m")
    message = await ScriptedModel(given, slice_chars=size).request("hi")
    assert message.parts == given.parts
    assert (message.id, message.usage, message.metadata, message.model, message.created_at) == (
        given.id,
        given.usage,
        given.metadata,
        "m",
        given.created_at,
    )
    assert message.finish_reason == "tool_calls"
    assert message.warnings == ()


@pytest.mark.parametrize(
    ("call", "runnable"),
    [(CALL, True), (ToolCallPart(id="a", name="clock", arguments='{"city"'), False), (ToolCallPart(id="a", arguments="{}"), False)],
)
async def test_whether_a_call_may_be_run_follows_from_the_rules_of_streams(call, runnable):
    message = await ScriptedModel(AssistantMessage([call])).request("hi")
    assert message.tool_calls[0].runnable is runnable
    assert message.tool_calls[0].arguments == call.arguments


async def test_a_finish_reason_is_played_as_it_is_given():
    message = await ScriptedModel(AssistantMessage([CALL], finish_reason="length")).request("hi")
    assert (message.finish_reason, message.tool_calls[0].runnable) == ("length", True)
    message = await ScriptedModel(AssistantMessage([CALL], finish_reason="content_filter")).request("hi")
    assert (message.finish_reason, message.tool_calls[0].runnable) == ("content_filter", False)


async def test_chunks_are_given_as_they_are():
    chunks = [
        AssistantMessageChunk(content="Hel"),
        AssistantMessageChunk(content="lo", tool_calls=[ToolCallFragment("a", "clock", "{}", 0)]),
        AssistantMessageChunk(finish_reason="tool_calls"),
    ]
    stream, items, _ = await read(ScriptedModel(chunks))
    assert all(given is played for given, played in zip(items, chunks, strict=True))
    assert stream.message.text == "Hello"
    assert stream.message.tool_calls[0].runnable


async def test_bytes_go_through_the_decoder():
    body = b"".join(call_stream("clock", '{"city":', '"Rome"}'))
    for size in (None, 1, 17):
        stream, items, failure = await read(ScriptedModel(body, slice_chars=size))
        assert failure is None
        assert stream.message.tool_calls[0].parsed == {"city": "Rome"}
        assert stream.message.tool_calls[0].runnable
        assert MessageChunk.join(items).to_message().parts == stream.message.parts


async def test_an_error_in_bytes_is_raised_as_a_provider_raises_it():
    body = chunk({"content": "Hel"}) + event({"error": {"message": "busy", "type": "overloaded_error"}})
    stream, _, failure = await read(ScriptedModel(body))
    assert type(failure) is OverloadedError
    assert failure.partial == stream.message
    assert stream.message.text == "Hel"
    _, _, failure = await read(ScriptedModel(b"".join(text_stream("Hel")[:2])))
    assert type(failure) is StreamTruncatedError


async def test_an_exception_is_raised():
    error = OverloadedError("busy")
    stream, _, failure = await read(ScriptedModel(error))
    assert failure is error
    assert error.partial == stream.message
    with pytest.raises(ZeroDivisionError):
        await ScriptedModel(ZeroDivisionError()).request("hi")


async def test_a_function_sees_the_request_and_gives_any_answer():
    def echo(request):
        return request.messages[-1].text.upper()

    async def later(request):
        return AssistantMessage([CALL])

    model = ScriptedModel(echo, later, lambda _: Scripted("abc", slice_chars=1))
    assert (await model.request("hello")).text == "HELLO"
    assert (await model.request("hello")).tool_calls[0].name == "clock"
    assert (await model.request("hello")).text == "abc"


@pytest.mark.parametrize("answer", [7, [7], {"a": 1}, None])
async def test_what_is_no_answer_is_said(answer):
    with pytest.raises(UsageError, match="scripted answer"):
        await ScriptedModel(answer).request("hi")


@pytest.mark.parametrize(("fields", "argument"), [({"slice_chars": 0}, "slice_chars"), ({"dies_after": -1}, "dies_after")])
def test_what_cannot_be_played_is_said_at_once(fields, argument):
    with pytest.raises(UsageError) as caught:
        Scripted("a", **fields)
    assert caught.value.argument == argument


async def test_running_out_of_answers_is_said():
    model = ScriptedModel("one")
    await model.request("hi")
    with pytest.raises(StateError, match="holds 1 answers, and this is request 2"):
        await model.request("hi")


# --- requests


async def test_requests_are_noted_in_neutral_words():
    model = ScriptedModel("a", "b", id="lab:m", settings={"temperature": 0.5})
    spec = ToolSpec(name="clock")
    await model.request("hi", tools=[spec], tool_choice="none", settings={"seed": 1})
    async with model.stream([UserMessage("x")]) as stream:
        assert len(model.requests) == 1
        await stream.drain()
    first, second = model.requests
    assert (first.model, first.messages[0].text, first.tools, first.tool_choice) == ("m", "hi", (spec,), "none")
    assert (first.settings.temperature, first.settings.seed) == (0.5, 1)
    assert second.messages[0].text == "x"
    assert (model.id, model.provider, stream.message.provider) == ("lab:m", "lab", "lab")


async def test_many_tasks_may_ask_at_once():
    model = ScriptedModel(*(lambda request: request.messages[0].text for _ in range(200)), slice_chars=1)
    messages = await asyncio.gather(*(model.request(f"question {n}") for n in range(200)))
    assert [message.text for message in messages] == [f"question {n}" for n in range(200)]


def test_it_is_a_model_for_agents():
    model: ModelLike = ScriptedModel("a")
    assert repr(model) == "ScriptedModel(0 of 1 answers played)"


# --- faults and gates


@pytest.mark.parametrize("dies_after", [0, 1, 2, 3])
async def test_an_answer_dies_after_so_many_chunks(dies_after):
    stream, items, failure = await read(ScriptedModel(Scripted("abc", slice_chars=1, dies_after=dies_after)))
    assert type(failure) is ConnectionLostError
    assert failure.partial == stream.message
    assert stream.message.text == "abc"[:dies_after]
    assert stream.message.finish_reason is None
    assert len(items) == dies_after + 1
    assert items[-1].deltas[-1].error.kind == "stream_truncated"


async def test_an_answer_in_bytes_dies_too_and_keeps_only_what_was_given_out():
    body = b"".join(call_stream("clock", '{"city":', '"Rome"}'))
    stream, _, _ = await read(ScriptedModel(Scripted(body, dies_after=2)))
    (call,) = stream.message.tool_calls
    assert (call.arguments, call.runnable) == ('{"city":', False)


async def test_the_error_of_a_death_may_be_chosen():
    error = OverloadedError("busy")
    _, _, failure = await read(ScriptedModel(Scripted("abc", dies_after=1, error=error)))
    assert failure is error


async def test_a_death_after_more_chunks_than_there_are_comes_at_the_end():
    _, _, failure = await read(ScriptedModel(Scripted("abc", dies_after=50)))
    assert type(failure) is ConnectionLostError


async def test_a_gate_holds_a_chunk_back_until_its_event():
    gate = asyncio.Event()
    model = ScriptedModel(Scripted("ab", slice_chars=1, gates={1: gate}))
    async with model.stream("hi") as stream:
        items = aiter(stream)
        assert (await anext(items)).text == "a"
        second = asyncio.ensure_future(anext(items))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not second.done()
        gate.set()
        assert (await second).text == "b"


async def test_an_event_among_chunks_is_waited_for_and_cancellation_leaves_the_partial_message():
    came = asyncio.Event()
    streams = []

    async def reader():
        async with ScriptedModel([AssistantMessageChunk(content="a"), asyncio.Event()]).stream("hi") as stream:
            streams.append(stream)
            async for _ in stream:
                came.set()

    task = asyncio.create_task(reader())
    await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (streams[0].message.text, streams[0].message.finish_reason) == ("a", None)


async def test_a_discarded_attempt_voids_what_came_before():
    steps = [
        AssistantMessageChunk(content="wrong"),
        AttemptDiscarded(1, "it died"),
        AssistantMessageChunk(content="right", finish_reason="stop"),
    ]
    stream, items, _ = await read(ScriptedModel(steps))
    assert items[1] == AttemptDiscarded(1, "it died")
    assert stream.message.text == "right"
    assert [(failed.attempt, failed.chunks) for failed in stream.attempts] == [(1, 1)]


async def test_an_exception_among_chunks_ends_the_answer_there():
    stream, items, failure = await read(ScriptedModel([AssistantMessageChunk(content="a"), ConnectionLostError("gone")]))
    assert type(failure) is ConnectionLostError
    assert stream.message.text == "a"
    assert not any(isinstance(item, AttemptDiscarded) for item in items)


async def test_leaving_early_leaves_calls_that_cannot_be_run():
    async with ScriptedModel(AssistantMessage([CALL])).stream("hi") as stream:
        async for item in stream:
            if item.tool_calls and item.tool_calls[0].arguments:
                break
    assert (stream.message.tool_calls[0].arguments, stream.message.tool_calls[0].runnable) == (CALL.arguments, False)


async def test_other_tasks_run_between_chunks():
    turns = []

    async def other():
        for _ in range(3):
            turns.append("other")
            await asyncio.sleep(0)

    async with ScriptedModel("abc", slice_chars=1).stream("hi") as stream:
        task = asyncio.create_task(other())
        async for item in stream:
            turns += [item.text]
    await task
    assert "other" in turns[1:3]
