"""One answer of several models: who is asked, what the reader sees, what is raised when nobody answers."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat_bytes import StillClock, call_stream, event, text_stream
from headrace.errors import (
    APIError,
    AuthError,
    ConnectionLostError,
    ContextLengthError,
    HeadraceError,
    InvalidRequestError,
    ModelOutputError,
    OverloadedError,
    RateLimitError,
    StreamTruncatedError,
    UnsupportedError,
    UsageError,
)
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import Ended
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, ToolCallPart
from headrace.models.answer import AttemptDiscarded
from headrace.models.breaker import Breaker, BreakerPolicy
from headrace.models.fallback import FallbackModel
from headrace.models.falls_over import DEFAULT_FALLS_OVER, word_of
from headrace.models.model import Model
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from servers import Stall, scripted_server

NO_RETRY = RetryPolicy(max_retries=0)
BUSY = OverloadedError("busy", retryable=True)


def scripted(name, *answers):
    return ScriptedModel(*answers, id=f"{name}:m")


def over(name, *answers, **fields):
    bodies = [Recorded(body=b"".join(one)) if isinstance(one, list) else one for one in answers]
    replay = ReplayTransport(bodies)
    fields = {"base_url": f"http://{name}.test/v1", "clock": StillClock(), "environ": {}, **fields}
    return Model("openai-chat:m-1", transport=replay, **fields), replay


def refused(status, **error):
    return Recorded(status=status, headers=(("content-type", "application/json"),), body=json.dumps({"error": error}).encode())


async def read(model, messages="hi", **fields):
    """Read an answer to its end; returns its stream, its items and what was raised."""
    items, failure = [], None
    async with model.stream(messages, **fields) as stream:
        try:
            async for item in stream:
                items.append(item)  # noqa: PERF401 - what came before a failure counts
        except HeadraceError as error:
            failure = error
    return stream, items, failure


def text_of(items):
    at = max((n + 1 for n, item in enumerate(items) if isinstance(item, AttemptDiscarded)), default=0)
    return MessageChunk.join(items[at:]).to_message().text


def chain_of(error):
    """The errors in an error's chain of causes, itself first."""
    found = []
    while error is not None:
        assert error not in found, "the chain is a ring"
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


# --- before the first chunk


async def test_the_next_model_is_asked_after_the_first_ones_own_retries():
    first, replay = over("a", refused(503), refused(503), refused(503))
    second, _ = over("b", text_stream("Hel", "lo"))
    stream, items, failure = await read(FallbackModel(first, second))
    assert (failure, stream.message.text, stream.message.provider, len(replay.requests)) == (None, "Hello", "b.test", 3)
    assert text_of(items) == "Hello"
    assert not any(isinstance(item, AttemptDiscarded) for item in items)
    assert [(one.attempt, type(one.error), one.model) for one in stream.attempts] == [
        (n, OverloadedError, "openai-chat:m-1") for n in (1, 2, 3)
    ]


async def test_what_a_failed_model_had_said_of_itself_is_not_seen():
    died = [*text_stream()[:1], event({"error": {"message": "busy", "type": "overloaded_error"}})]
    first, _ = over("a", died, retry=NO_RETRY)
    second, _ = over("b", text_stream("Hello"))
    stream, items, failure = await read(FallbackModel(first, second))
    assert failure is None
    assert MessageChunk.join(items).to_message().parts == stream.message.parts
    assert not any(isinstance(delta, Ended) and delta.error for item in items for delta in item.deltas)


async def test_a_body_that_is_not_streamed_falls_over_too():
    first, second = scripted("a", BUSY), scripted("b", "whole")
    assert (await FallbackModel(first, second).request("hi", is_streamed=False)).text == "whole"
    assert not second.requests[0].is_streamed


ERRORS = [
    (ConnectionLostError("x"), "transport", True),
    (OverloadedError("x"), "overloaded", True),
    (RateLimitError("x"), "rate_limit", True),
    (APIError("x", status=500, retryable=True), "retryable", True),
    (StreamTruncatedError("x"), "broken", True),
    (AuthError("x"), "auth", False),
    (ContextLengthError("x"), "context_length", False),
    (InvalidRequestError("x"), "request", False),
    (APIError("x", status=402), "other", False),
    (ModelOutputError("x"), None, False),
]


@pytest.mark.parametrize(("error", "word", "falls_over"), ERRORS)
async def test_which_errors_fall_over_is_data(error, word, falls_over):
    assert word_of(error) == word
    assert (word in DEFAULT_FALLS_OVER) == falls_over
    first, second = scripted("a", error), scripted("b", "yes")
    _, _, failure = await read(FallbackModel(first, second))
    assert (failure is None, failure is error, len(second.requests)) == (falls_over, not falls_over, int(falls_over))


@pytest.mark.parametrize(("error", "word", "_"), [row for row in ERRORS if row[1]])
async def test_each_word_can_be_asked_for_and_left_out(error, word, _):
    stream, _, _ = await read(FallbackModel(scripted("a", error), scripted("b", "yes"), falls_over=[word]))
    assert stream.message.text == "yes"
    others = [one for one in DEFAULT_FALLS_OVER if one != word]
    assert (await read(FallbackModel(scripted("a", error), scripted("b", "yes"), falls_over=others)))[2] is error


async def test_a_context_that_is_too_long_may_go_to_a_longer_one():
    short, _ = over("a", refused(400, message="prompt is too long", code="context_length_exceeded"))
    model = FallbackModel(short, scripted("b", "read it all"), falls_over=["context_length"])
    assert (await model.request("hi")).text == "read it all"


# --- nobody answers


async def test_the_last_error_is_raised_and_all_others_are_in_its_chain():
    errors = [RateLimitError("slow down"), OverloadedError("busy"), ConnectionLostError("gone")]
    model = FallbackModel(*(scripted(name, error) for name, error in zip("abc", errors, strict=True)))
    stream, items, failure = await read(model)
    assert failure is errors[2]
    assert chain_of(failure) == [errors[2], errors[1], errors[0]]
    assert "a:m: slow down" in failure.__notes__[0]
    assert "b:m: busy" in failure.__notes__[0]
    assert [one.model for one in stream.attempts] == ["a:m", "b:m"]
    assert failure.partial == stream.message
    assert text_of(items) == ""


async def test_causes_of_their_own_stay_in_the_chain():
    first, _ = over("a", refused(503), retry=NO_RETRY)
    cause = OSError("unplugged")
    gone = ConnectionLostError("gone")
    gone.__cause__ = cause
    _, _, failure = await read(FallbackModel(first, scripted("b", gone)))
    chain = chain_of(failure)
    assert chain[:2] == [gone, cause]
    assert isinstance(chain[2], OverloadedError)


async def test_one_error_object_raised_by_two_models_makes_no_ring():
    _, _, failure = await read(FallbackModel(scripted("a", BUSY), scripted("b", BUSY)))
    assert chain_of(failure) == [BUSY]
    gone = ConnectionLostError("gone")
    _, _, failure = await read(FallbackModel(scripted("a", BUSY), scripted("b", BUSY), scripted("c", gone)))
    assert chain_of(failure) == [gone, BUSY]


async def test_the_same_errors_can_be_raised_by_a_second_request():
    model = FallbackModel(
        scripted("a", OverloadedError("1"), OverloadedError("2")), scripted("b", OverloadedError("3"), RateLimitError("4"))
    )
    assert [str(error) for error in chain_of((await read(model))[2])] == ["3", "1"]
    assert [str(error) for error in chain_of((await read(model))[2])] == ["4", "2"]


# --- after chunks


def dying(text):
    return Scripted(text, slice_chars=3, dies_after=2)


async def test_after_chunks_the_next_model_is_not_asked_unless_that_was_asked_for():
    second = scripted("b", "Goodbye")
    stream, items, failure = await read(FallbackModel(scripted("a", dying("Hello there")), second))
    assert isinstance(failure, ConnectionLostError)
    assert (stream.message.text, text_of(items), second.requests) == ("Hello ", "Hello ", [])


async def test_after_chunks_the_next_model_starts_anew_if_that_was_asked_for_and_it_is_said():
    model = FallbackModel(scripted("a", dying("Hello there")), scripted("b", "Goodbye"), after_first_chunk=True)
    stream, items, failure = await read(model)
    assert failure is None
    (mark,) = [item for item in items if isinstance(item, AttemptDiscarded)]
    assert (mark.attempt, mark.reason) == (1, str(stream.attempts[0].error))
    assert text_of(items) == stream.message.text == "Goodbye"
    assert (stream.message.provider, stream.attempts[0].chunks, stream.attempts[0].error.partial.text) == ("b", 3, "Hello ")


async def test_attempts_are_counted_over_all_models():
    died = text_stream("a", "b")[:2]
    first, _ = over("a", refused(503), died, died, mid_stream_retries=1)
    second, _ = over("b", refused(503), died, text_stream("b"), mid_stream_retries=1)
    stream, items, failure = await read(FallbackModel(first, second, after_first_chunk=True))
    assert failure is None
    assert [item.attempt for item in items if isinstance(item, AttemptDiscarded)] == [2, 3, 5]
    assert [one.attempt for one in stream.attempts] == [1, 2, 3, 4, 5]
    assert [one.chunks > 0 for one in stream.attempts] == [False, True, True, False, True]
    assert text_of(items) == stream.message.text == "b"


async def test_a_model_that_took_its_chunks_back_and_then_failed_had_said_nothing():
    first, _ = over("a", text_stream("a", "b")[:2], refused(503), mid_stream_retries=1, retry=NO_RETRY)
    stream, items, failure = await read(FallbackModel(first, scripted("b", "Hello")))
    assert failure is None
    assert [item.attempt for item in items if isinstance(item, AttemptDiscarded)] == [1]
    assert text_of(items) == stream.message.text == "Hello"


async def test_what_the_last_model_said_of_itself_is_seen_with_its_failure():
    died = [*text_stream()[:1], event({"error": {"message": "busy", "type": "overloaded_error"}})]
    last, _ = over("b", died, retry=NO_RETRY)
    stream, items, failure = await read(FallbackModel(scripted("a", BUSY), last))
    assert isinstance(failure, OverloadedError)
    assert MessageChunk.join(items).to_message().id == stream.message.id == "chatcmpl-7"
    assert isinstance(items[-1].deltas[-1], Ended)


async def test_calls_of_an_answer_that_died_cannot_be_run():
    first, _ = over("a", call_stream("clock", '{"city":"Rome"}')[:2], retry=NO_RETRY)
    stream, _, failure = await read(FallbackModel(first, scripted("b", "never")))
    assert isinstance(failure, StreamTruncatedError)
    (call,) = stream.message.tool_calls
    assert not call.runnable


# --- each model's own request


async def test_history_of_another_provider_is_encoded_for_the_model_that_is_asked():
    history = [
        UserMessage("What time is it?"),
        AssistantMessage(
            [ReasoningPart("hm", signature="sig"), ToolCallPart(id="call_1", name="clock", arguments='{"city": "Rome"}')],
            provider="elsewhere",
        ),
        ToolMessage("noon", call_id="call_1", name="clock"),
    ]
    first, one = over("a", refused(503), retry=NO_RETRY)
    second, two = over("b", text_stream("noon"), profile={"call_id_pattern": "[A-Za-z0-9]{9}", "call_id_length": 9}, settings={"n": 2})
    await FallbackModel(first, second).request(history)
    sent = [json.loads(replay.requests[0].body) for replay in (one, two)]
    assert [body["messages"][1]["tool_calls"][0]["id"] == "call_1" for body in sent] == [True, False]
    assert sent[1]["messages"][2]["tool_call_id"] == sent[1]["messages"][1]["tool_calls"][0]["id"]
    assert [body.get("n") for body in sent] == [None, 2]


async def test_a_later_model_that_lacks_what_is_asked_is_passed_over():
    first, third = scripted("a", BUSY), scripted("c", "seen")
    second, replay = over("b", profile={"unsupported_settings": ["n"]})
    stream, _, failure = await read(FallbackModel(first, second, third), settings={"n": 2})
    assert (failure, stream.message.text, replay.requests) == (None, "seen", ())
    assert [type(one.error).__mro__[1] for one in stream.attempts] == [APIError, UsageError]


async def test_when_no_later_model_takes_the_request_the_error_of_one_that_was_asked_is_raised():
    first, _ = over("a", refused(503), refused(503), retry=RetryPolicy(max_retries=1))
    second, _ = over("b", profile={"unsupported_settings": ["n"]})
    stream, _, failure = await read(FallbackModel(first, second), settings={"n": 2})
    assert (type(failure), failure.status) == (OverloadedError, 503)
    assert isinstance(chain_of(failure)[-1], UnsupportedError)
    assert [(one.attempt, type(one.error)) for one in stream.attempts] == [
        (1, OverloadedError),
        (2, OverloadedError),
        (3, UnsupportedError),
    ]


# --- breakers and rate limits


async def test_a_model_whose_breaker_is_open_is_passed_over():
    breaker = Breaker(BreakerPolicy(failures=1, cool_down_s=10))
    clock = StillClock()
    first, replay = over("a", refused(503), text_stream("back"), retry=NO_RETRY, breaker=breaker, clock=clock)
    model = FallbackModel(first, scripted("b", "one", "two"))
    assert [(await model.request("hi")).text for _ in range(2)] == ["one", "two"]
    assert len(replay.requests) == 1
    stream, _, _ = await read(FallbackModel(first, scripted("b", "three")))
    assert "breaker is open" in str(stream.attempts[0].error)
    clock.time_s = 10
    assert (await model.request("hi")).text == "back"


async def test_a_model_that_was_told_to_wait_is_passed_over_while_another_is_ready():
    limit = Recorded(status=429, headers=(("retry-after", "30"), ("content-type", "application/json")), body=b"{}")
    clock = StillClock()
    first, replay = over("a", limit, text_stream("back"), retry=NO_RETRY, clock=clock)
    model = FallbackModel(first, scripted("b", "one", "two"))
    assert [(await model.request("hi")).text for _ in range(2)] == ["one", "two"]
    assert (len(replay.requests), clock.slept) == (1, [])


async def test_where_no_model_is_ready_the_first_one_waits():
    limit = Recorded(status=429, headers=(("retry-after", "30"), ("content-type", "application/json")), body=b"{}")
    clock = StillClock()
    first, _ = over("a", limit, text_stream("back"), retry=NO_RETRY, clock=clock)
    second, _ = over("b", limit, retry=NO_RETRY, clock=clock)
    model = FallbackModel(first, second)
    assert isinstance((await read(model))[2], RateLimitError)
    assert (await model.request("hi")).text == "back"
    assert clock.slept == [30]


# --- leaving


async def test_leaving_early_closes_the_connection_of_whoever_answers():
    async with scripted_server([[*text_stream("Hel")[:2], Stall()]]) as server:
        second = Model("openai-chat:m", base_url=server.url, environ={})
        async with second, FallbackModel(scripted("a", BUSY), second).stream("hi") as stream:
            async for item in stream:
                if item.text:
                    break
        await server.replies[0].left.wait()
    assert (stream.message.text, stream.message.finish_reason) == ("Hel", None)


async def test_cancellation_passes():
    came = asyncio.Event()
    never = asyncio.Event()

    def slow(_):
        came.set()
        return [never]

    second = scripted("b", slow)
    task = asyncio.create_task(FallbackModel(scripted("a", BUSY), second, scripted("c", "never")).request("hi"))
    await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stream_that_is_never_read_asks_nobody_and_has_an_empty_message():
    first = scripted("a", "x")
    async with FallbackModel(first).stream("hi") as stream:
        pass
    assert (first.requests, stream.message.parts, stream.choices[0].parts, stream.attempts) == ([], (), (), ())


async def test_a_chunk_that_says_something_is_given_at_once():
    gate = asyncio.Event()
    script = [AssistantMessageChunk("Hel"), gate, AssistantMessageChunk("lo", finish_reason="stop")]
    async with FallbackModel(scripted("a", script)).stream("hi") as stream:
        async for item in stream:
            if item.text == "Hel":
                gate.set()
    assert stream.message.text == "Hello"
