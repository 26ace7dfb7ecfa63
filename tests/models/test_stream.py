"""The shell that streams: failures, retries, leaving, over a real server on loopback and over recordings."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback

import pytest

from chat_bytes import DONE, StillClock, call_stream, chunk, event, text_stream, whole_body
from headrace.errors import (
    APIError,
    AuthError,
    ConnectFailedError,
    ConnectionLostError,
    ContextLengthError,
    InvalidEventError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
)
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.io.transport import Timeouts
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import Ended
from headrace.models.answer import AttemptDiscarded
from headrace.models.model import Model
from servers import Close, Hold, Reply, Reset, Stall, free_port, scripted_server

KEY = "sk-very-secret-key-123456"
LONG = Timeouts(connect_s=20, first_chunk_s=20, idle_s=20)
NO_RETRY = RetryPolicy(max_retries=0)
OVERLOADED = event({"error": {"message": "busy", "type": "overloaded_error", "code": None}})


def at(server, **fields):
    return Model("openai-chat:m-1", base_url=f"{server.url}/v1", api_key=KEY, **{"clock": StillClock(), "timeouts": LONG, **fields})


def over(*answers, **fields):
    """A model over recordings: a list of events is a stream, anything else as it is."""
    bodies = [Recorded(body=b"".join(answer)) if isinstance(answer, list) else answer for answer in answers]
    replay = ReplayTransport(bodies, **fields.pop("replay", {}))
    return Model(
        "openai-chat:m-1", base_url="http://lab.test/v1", api_key=KEY, transport=replay, **{"clock": StillClock(), **fields}
    ), replay


def refused(status, error=None, **headers):
    body = json.dumps({"error": error or {"message": "no"}}).encode()
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Recorded(status=status, headers=(("content-type", "application/json"), *named), body=body)


async def read(model, items=None, **fields):
    """Read an answer to its end; returns its stream and what was raised, if anything."""
    failure = None
    async with model.stream("hi", **fields) as stream:
        try:
            async for item in stream:
                if items is not None:
                    items.append(item)
        except APIError.__mro__[1] as error:  # any HeadraceError
            failure = error
    return stream, failure


# --- over the network


async def test_chunks_come_while_the_rest_is_held_back():
    rest = asyncio.Event()
    first, *others = text_stream("Hel", "lo")
    async with scripted_server([[first, others[0], Hold(rest), *others[1:]]]) as server, at(server) as model:
        texts = []
        async with model.stream("hi") as stream:
            async for item in stream:
                texts.append(item.text)
                if item.text == "Hel":
                    assert stream.message.text == "Hel"
                    assert stream.message.finish_reason is None
                    rest.set()
    assert "".join(texts) == "Hello"
    assert stream.message.text == "Hello"
    assert stream.response.status == 200


async def test_one_pool_serves_all_requests_of_a_model():
    async with scripted_server([text_stream("a"), text_stream("b")]) as server, at(server) as model:
        assert [(await model.request("hi")).text for _ in range(2)] == ["a", "b"]
        assert server.connections == 1


async def test_fifty_requests_at_once_do_not_mix():
    answers = [text_stream(*"answer", str(n)) for n in range(50)]
    async with scripted_server(answers) as server, at(server) as model:
        messages = await asyncio.gather(*(model.request("hi") for _ in range(50)))
    assert sorted(message.text for message in messages) == sorted(f"answer{n}" for n in range(50))


async def test_leaving_early_closes_the_connection_and_the_message_is_what_came():
    first, second, *_ = text_stream("Hel", "lo")
    async with scripted_server([[first, second, Stall()]]) as server, at(server) as model:
        async with model.stream("hi") as stream:
            async for item in stream:
                if item.text:
                    break
        await server.replies[0].left.wait()
        assert (stream.message.text, stream.message.finish_reason) == ("Hel", None)


async def test_calls_of_an_answer_that_was_left_cannot_be_run():
    start, arguments, *_ = call_stream("clock", '{"city":"Rome"}')
    async with scripted_server([[start, arguments, Stall()]]) as server, at(server) as model:
        async with model.stream("hi") as stream:
            async for item in stream:
                if item.tool_calls and item.tool_calls[0].arguments:
                    break
        (call,) = stream.message.tool_calls
        assert (call.arguments, call.runnable) == ('{"city":"Rome"}', False)


async def test_an_error_in_the_block_closes_the_connection_and_passes():
    async with scripted_server([[*text_stream("a")[:2], Stall()]]) as server, at(server) as model:

        async def mistaken():
            async with model.stream("hi") as stream:
                async for _ in stream:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await mistaken()
        await server.replies[0].left.wait()


async def test_cancellation_passes_closes_the_connection_and_leaves_the_message():
    came = asyncio.Event()
    streams = []

    async def reader(model):
        async with model.stream("hi") as stream:
            streams.append(stream)
            async for item in stream:
                if item.text:
                    came.set()

    async with scripted_server([[*text_stream("a")[:2], Stall()]]) as server, at(server) as model:
        task = asyncio.create_task(reader(model))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.replies[0].left.wait()
    assert streams[0].message.text == "a"


async def test_cancellation_while_a_retry_is_waited_for_passes():
    waits = asyncio.Event()

    class Sleeper(StillClock):
        async def sleep(self, delay_s):
            waits.set()
            await asyncio.Event().wait()

    model, replay = over(refused(503), text_stream("a"), clock=Sleeper())
    task = asyncio.create_task(model.request("hi"))
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(replay.requests) == 1


async def test_asyncio_timeout_around_a_stream_raises():
    async with scripted_server([[Stall()]]) as server, at(server) as model:
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.05):
                await model.request("hi")
    assert not isinstance(caught.value, StreamTimeoutError)


@pytest.mark.parametrize("after", ["reset", "close", "stall"])
async def test_what_the_connection_does_after_the_terminator_harms_nobody(after):
    step = {"reset": Reset(), "close": Close(), "stall": Stall()}[after]
    async with scripted_server([[*call_stream("clock", "{}"), step]]) as server, at(server) as model:
        message = await model.request("hi")
        assert message.tool_calls[0].runnable


# --- the connection dies


@pytest.mark.parametrize("step", [Reset(), Close()])
async def test_a_connection_that_breaks_keeps_the_partial_message(step):
    start, arguments, *_ = call_stream("clock", '{"city":"Rome"}')
    async with scripted_server([[start, arguments, step]]) as server, at(server) as model:
        items = []
        stream, failure = await read(model, items)
    assert type(failure) is ConnectionLostError
    assert failure.partial == stream.message
    (call,) = stream.message.tool_calls
    assert (call.name, call.arguments, call.runnable) == ("clock", '{"city":"Rome"}', False)
    assert stream.message.finish_reason is None
    assert isinstance(items[-1].deltas[-1], Ended)
    assert MessageChunk.join(items).to_message().parts == stream.message.parts


async def test_a_body_that_ends_early_is_a_truncated_stream():
    model, _ = over(text_stream("Hel", "lo")[:3])
    stream, failure = await read(model)
    assert type(failure) is StreamTruncatedError
    assert (failure.partial, failure.partial.text) == (stream.message, "Hello")


async def test_a_reset_after_a_finish_reason_without_terminator_is_no_whole_message():
    model, _ = over(call_stream("clock", "{}")[:-1], replay={"reset": True})
    stream, failure = await read(model)
    assert type(failure) is ConnectionLostError
    assert not stream.message.tool_calls[0].runnable


@pytest.mark.parametrize(
    ("reply", "timeouts", "stage", "text"),
    [
        (Reply([Stall()]), Timeouts(first_chunk_s=0.05), "first_chunk", ""),
        (Reply([], before_headers=[Stall()]), Timeouts(first_chunk_s=0.05), "first_chunk", None),
        (Reply([*text_stream("a")[:2], Stall()]), Timeouts(idle_s=1), "idle", "a"),
        (Reply([*text_stream("a")[:2], Stall()]), Timeouts(total_s=1), "total", "a"),
    ],
)
async def test_each_limit_on_time_says_its_stage_and_keeps_what_came(reply, timeouts, stage, text):
    async with scripted_server([reply]) as server, at(server, timeouts=timeouts) as model:
        stream, failure = await read(model)
    assert type(failure) is StreamTimeoutError
    assert failure.stage == stage
    assert (failure.partial and failure.partial.text) == text
    assert stream.message.text == (text or "")
    assert stream.attempts == ()


async def test_nobody_there_is_tried_again_and_then_said():
    clock = StillClock(chance=1.0)
    model = Model("openai-chat:m", base_url=f"http://127.0.0.1:{free_port()}", clock=clock)
    stream, failure = await read(model)
    assert type(failure) is ConnectFailedError
    assert clock.slept == [0.5, 1.0]
    assert [failed.attempt for failed in stream.attempts] == [1, 2]
    await model.aclose()


# --- refusals


TABLE = [
    (400, "bad", InvalidRequestError),
    (401, "invalid_api_key", AuthError),
    (403, "permission_denied", AuthError),
    (404, "model_not_found", InvalidRequestError),
    (413, "request_too_large", InvalidRequestError),
    (422, "unprocessable_entity", InvalidRequestError),
    (429, "rate_limit_exceeded", RateLimitError),
    (500, "server_error", APIError),
    (503, "overloaded_error", OverloadedError),
    (529, "overloaded_error", OverloadedError),
    (400, "context_length_exceeded", ContextLengthError),
    (400, "exceed_context_size_error", ContextLengthError),
]


@pytest.mark.parametrize(("status", "code", "kind"), TABLE)
async def test_a_status_is_an_error_of_its_class_with_the_providers_words(status, code, kind):
    answer = refused(status, {"message": "so it is", "code": code}, x_request_id="req-9")
    model, _ = over(answer, retry=NO_RETRY)
    stream, failure = await read(model)
    assert type(failure) is kind
    assert (failure.status, failure.code, failure.request_id, failure.partial) == (status, code, "req-9", None)
    assert "so it is" in str(failure)
    assert "so it is" in failure.body
    assert stream.response.request_id == "req-9"
    assert stream.message.parts == ()


@pytest.mark.parametrize(("status", "code", "kind"), [row for row in TABLE if row[1] not in {"bad", "server_error"}])
async def test_the_same_error_inside_a_stream_is_of_the_same_class_and_keeps_the_message(status, code, kind):
    error = event({"error": {"message": "so it is", "code": code}})
    model, _ = over([*call_stream("clock", '{"city":"Rome"}')[:2], error], retry=NO_RETRY)
    stream, failure = await read(model)
    assert type(failure) is kind
    assert (failure.status, failure.code) == (None, code)
    assert failure.partial == stream.message
    assert not stream.message.tool_calls[0].runnable
    assert stream.message.finish_reason == "error"


@pytest.mark.parametrize(("number", "kind"), [(401, AuthError), (429, RateLimitError), (503, OverloadedError), (400, InvalidRequestError)])
async def test_a_number_inside_a_stream_is_the_status_that_it_names(number, kind):
    model, _ = over([chunk({"content": "a"}), event({"error": {"message": "no", "code": number}})])
    _, failure = await read(model)
    assert type(failure) is kind


async def test_an_error_in_a_whole_body_with_status_200_is_an_error():
    body = json.dumps({"error": {"message": "busy", "type": "overloaded_error"}}).encode()
    model, _ = over(Recorded(headers=(("content-type", "application/json"),), body=body), retry=NO_RETRY)
    _, failure = await read(model, is_streamed=False)
    assert type(failure) is OverloadedError


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "status 502"),
        (b"upstream is gone", "upstream is gone"),
        (b"<html><head><title>502 Bad Gateway</title></head></html>", "a web page: 502 Bad Gateway"),
        (b"<!doctype html>", "a web page"),
        (b'{"detail": "not there"}', "not there"),
        (b"\xff\xfe", "status 502"),
        (b"[" * 10_000, "status 502"),
    ],
)
async def test_any_body_of_a_refusal_is_read(body, said):
    model, _ = over(Recorded(status=502, headers=(), body=body), retry=NO_RETRY)
    _, failure = await read(model)
    assert type(failure) is APIError
    assert said in str(failure)
    assert len(str(failure)) < 1000


async def test_the_body_of_a_refusal_is_bounded():
    steps = [b"x" * 100_000] * 30
    async with scripted_server([Reply([*steps, Stall()], status=500)]) as server, at(server, retry=NO_RETRY) as model:
        _, failure = await read(model)
        assert len(failure.body) <= 4096
        await server.replies[0].left.wait()


async def test_a_refusal_whose_body_breaks_off_is_a_refusal():
    async with scripted_server([Reply([b'{"error"', Reset()], status=401)]) as server, at(server) as model:
        _, failure = await read(model)
    assert type(failure) is AuthError


async def test_a_redirect_is_no_answer():
    model, _ = over(Recorded(status=307, headers=(("location", "http://elsewhere.test"),)))
    _, failure = await read(model)
    assert type(failure) is APIError
    assert failure.status == 307


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>login</html>", "not_event_stream"), (chunk({"content": "a"}) + b"data: {oops\n\n" + DONE, "invalid_event")],
)
async def test_a_broken_format_says_its_kind(body, kind):
    model, replay = over(Recorded(body=body))
    stream, failure = await read(model)
    assert type(failure) is InvalidEventError
    assert (failure.kind, failure.partial) == (kind, stream.message)
    assert len(replay.requests) == 1


async def test_past_a_limit_a_peer_that_never_ends_is_left():
    events = [chunk({"content": "a"})] * 100
    async with scripted_server([[*events, Stall()]]) as server, at(server, limits={"max_total_bytes": 5000}) as model:
        stream, failure = await read(model)
        await server.replies[0].left.wait()
    assert (type(failure), failure.kind) == (InvalidEventError, "limit_exceeded")
    assert set(stream.message.text) == {"a"}


async def test_a_peer_that_never_ends_is_left_after_an_event_that_cannot_be_read():
    async with scripted_server([[chunk({"content": "a"}), b"data: {oops\n\n", Stall()]]) as server, at(server) as model:
        _, failure = await read(model)
        await server.replies[0].left.wait()
    assert failure.kind == "invalid_event"


# --- secrets


@pytest.mark.parametrize("status", [200, 401])
async def test_the_key_is_in_no_error_and_no_repr(status):
    words = {"message": f"Incorrect key {KEY} in Bearer {KEY}", "code": "invalid_api_key", "param": KEY}
    answer = refused(status, words) if status == 401 else [chunk({"content": "a"}), event({"error": words})]
    model, _ = over(answer)
    stream, failure = await read(model)
    assert type(failure) is AuthError
    shown = "".join(traceback.format_exception(failure))
    for text in (
        str(failure),
        repr(failure),
        repr(vars(failure)),
        shown,
        repr(model),
        repr(stream),
        repr(stream.response),
        str(failure.body),
    ):
        assert KEY not in text
        assert KEY[3:] not in text


async def test_the_key_is_in_no_error_of_the_network():
    model = Model("openai-chat:m", base_url=f"http://127.0.0.1:{free_port()}", api_key=KEY, retry=NO_RETRY)
    _, failure = await read(model)
    assert KEY not in "".join(traceback.format_exception(failure))
    await model.aclose()


# --- retries before the first chunk


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_status_that_may_pass_is_tried_again(status):
    clock = StillClock(chance=1.0)
    told = []
    model, replay = over(refused(status), refused(status), text_stream("a"), clock=clock, on_retry=told.append)
    items = []
    stream, failure = await read(model, items)
    assert failure is None
    assert stream.message.text == "a"
    assert not any(isinstance(item, AttemptDiscarded) for item in items)
    assert clock.slept == [0.5, 1.0]
    assert [(failed.attempt, failed.error.status, failed.delay_s, failed.chunks) for failed in stream.attempts] == [
        (1, status, 0.5, 0),
        (2, status, 1.0, 0),
    ]
    assert tuple(told) == stream.attempts
    assert replay.requests[0] == replay.requests[2]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_a_status_that_stays_is_not_tried_again(status):
    model, replay = over(refused(status), text_stream("a"))
    _, failure = await read(model)
    assert failure.status == status
    assert not failure.retryable
    assert len(replay.requests) == 1


async def test_the_last_failure_is_raised_when_the_tries_are_used_up():
    model, replay = over(refused(500), refused(502), refused(503), retry=RetryPolicy(max_retries=2))
    stream, failure = await read(model)
    assert failure.status == 503
    assert [failed.error.status for failed in stream.attempts] == [500, 502]
    assert len(replay.requests) == 3


@pytest.mark.parametrize(
    ("headers", "delay_s"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25),
        ({"retry_after": "Mon, 04 May 2026 12:00:09 GMT"}, 9.0),
        ({"retry_after": "3600"}, 0.25),
        ({}, 0.25),
    ],
)
async def test_the_server_says_how_long_to_wait(headers, delay_s):
    clock = StillClock()
    model, _ = over(refused(429, **headers), text_stream("a"), clock=clock)
    await model.request("hi")
    assert clock.slept == [delay_s]


@pytest.mark.parametrize(("status", "word", "requests"), [(500, "false", 1), (400, "true", 2)])
async def test_the_server_says_whether_to_try_again(status, word, requests):
    model, replay = over(refused(status, x_should_retry=word), text_stream("a"))
    await read(model)
    assert len(replay.requests) == requests


@pytest.mark.parametrize(
    "broken", [Recorded(body=b""), Recorded(body=b": ping\n\n"), [OVERLOADED], [*text_stream()[:1], OVERLOADED], text_stream()[:1]]
)
async def test_an_answer_that_fails_before_its_first_chunk_is_tried_again(broken):
    model, replay = over(broken, text_stream("a"))
    items = []
    stream, failure = await read(model, items)
    assert failure is None
    assert (stream.message.text, len(replay.requests)) == ("a", 2)
    assert MessageChunk.join(items).to_message().text == "a"


async def test_a_connection_that_breaks_before_the_first_chunk_is_tried_again():
    async with scripted_server([Reply([], before_headers=[Reset()]), [Reset()], text_stream("a")]) as server, at(server) as model:
        stream, failure = await read(model)
        assert failure is None
        assert stream.message.text == "a"
        assert len(server.requests) == 3


async def test_time_is_counted_from_the_attempt_that_answered():
    model, _ = over(refused(429, retry_after="30"), text_stream("a"))
    assert (await model.request("hi")).timing.total_s == 0


async def test_after_the_first_chunk_nothing_is_tried_again_unasked():
    model, replay = over(text_stream("a", "b")[:2], text_stream("a", "b"))
    _, failure = await read(model)
    assert type(failure) is StreamTruncatedError
    assert len(replay.requests) == 1


# --- retries in mid stream


@pytest.mark.parametrize("death", [b"", OVERLOADED])
async def test_a_stream_that_dies_starts_again_from_nothing_if_that_was_asked_for(death):
    clock = StillClock(chance=1.0)
    model, _ = over([*text_stream("Hel", "lo")[:2], death], text_stream("Good", "bye"), mid_stream_retries=1, clock=clock)
    items = []
    stream, failure = await read(model, items)
    assert failure is None
    position = next(n for n, item in enumerate(items) if isinstance(item, AttemptDiscarded))
    assert items[position].attempt == 1
    assert items[position].reason == str(stream.attempts[0].error)
    assert MessageChunk.join(items[position + 1 :]).to_message().text == "Goodbye"
    assert stream.message.text == "Goodbye"
    assert stream.attempts[0].chunks == position
    assert stream.attempts[0].error.partial.text == "Hel"
    assert clock.slept == [0.5]


async def test_a_stall_is_tried_again_in_mid_stream():
    replies = [[*text_stream("a")[:2], Stall()], text_stream("b")]
    async with scripted_server(replies) as server, at(server, timeouts=Timeouts(idle_s=1), mid_stream_retries=1) as model:
        assert (await model.request("hi")).text == "b"


async def test_each_kind_of_retry_has_its_own_budget():
    died = text_stream("a")[:2]
    model, replay = over(refused(503), died, refused(503), died, text_stream("b"), mid_stream_retries=1)
    stream, failure = await read(model)
    assert type(failure) is StreamTruncatedError
    assert failure.partial.text == "a"
    assert [failed.chunks for failed in stream.attempts] == [0, 2, 0]
    assert len(replay.requests) == 4


@pytest.mark.parametrize(
    "error", [{"message": "no", "code": "invalid_request_error"}, {"message": "no", "code": "context_length_exceeded"}]
)
async def test_an_error_that_stays_is_not_tried_again_in_mid_stream(error):
    model, replay = over([chunk({"content": "a"}), event({"error": error})], text_stream("b"), mid_stream_retries=3)
    _, failure = await read(model)
    assert isinstance(failure, InvalidRequestError)
    assert len(replay.requests) == 1


# --- every cut


async def test_a_stream_cut_at_any_byte_raises_with_the_partial_message_or_is_whole():
    body = b"".join(call_stream("clock", '{"city":', '"Rome"}'))
    outcomes = set()
    for cut_at in range(0, len(body) + 1, 7):
        for reset in (False, True):
            model, _ = over(Recorded(body=body), replay={"cut_at": cut_at, "reset": reset}, retry=NO_RETRY)
            stream, failure = await read(model)
            runnable = [call.runnable for call in stream.message.tool_calls]
            if failure is None:
                assert runnable == [True]
            else:
                assert isinstance(failure, (StreamTruncatedError, ConnectionLostError))
                assert failure.partial == stream.message
                assert not any(runnable)
            outcomes.add(type(failure))
    assert outcomes == {type(None), StreamTruncatedError, ConnectionLostError}


@pytest.mark.parametrize("size", [1, 3, 64])
async def test_slicing_changes_nothing(size):
    sliced, _ = over(call_stream("clock", '{"city":', '"Rome"}'), replay={"slicing": size})
    whole, _ = over(call_stream("clock", '{"city":', '"Rome"}'), replay={"slicing": "whole"})
    assert await sliced.request("hi") == await whole.request("hi")


# --- cost


async def test_a_chunk_costs_no_python_call_of_the_shell():
    """Counted, not measured: reading ten times the chunks in one read must not call the shell's functions more often."""

    async def calls_of(chunks):
        model, _ = over(text_stream(*("a" for _ in range(chunks))), replay={"slicing": "whole"})
        counted = 0

        def count(frame, what, _):
            nonlocal counted
            counted += what == "call" and frame.f_code.co_filename.endswith(("models/stream.py", "models/answer.py"))

        async with model.stream("hi") as stream:
            items = aiter(stream)
            await anext(items)
            sys.setprofile(count)
            try:
                async for _ in items:
                    pass
            finally:
                sys.setprofile(None)
        # Resuming the one generator counts as a call; nothing else may grow.
        return counted - chunks

    assert await calls_of(1000) - await calls_of(100) <= 0


async def test_a_whole_body_that_breaks_off_is_no_message():
    body = whole_body("Hello")[:-20]
    model, _ = over(Recorded(headers=(("content-type", "application/json"),), body=body), retry=NO_RETRY)
    _, failure = await read(model, is_streamed=False)
    assert isinstance(failure, (StreamTruncatedError, InvalidEventError))
