"""The gate in front of every attempt: breaker and rate limits in a model, over recordings and a real server on loopback."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat_bytes import StillClock, text_stream
from headrace.errors import ConnectFailedError, InvalidRequestError, OverloadedError, RateLimitError, StreamTimeoutError, TransportError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.io.transport import Timeouts
from headrace.models.breaker import Breaker, BreakerPolicy
from headrace.models.clock import SYSTEM_CLOCK
from headrace.models.gate import breaker_of
from headrace.models.model import Model
from headrace.providers.record import Endpoint
from headrace.providers.secret import Secret
from servers import Hold, Reset, Stall, free_port, scripted_server

NO_RETRY = RetryPolicy(max_retries=0)
LONG = Timeouts(connect_s=20, first_chunk_s=20, idle_s=20)
TWICE = BreakerPolicy(failures=2, cool_down_s=10)


def said(status, **headers):
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Recorded(status=status, headers=(("content-type", "application/json"), *named), body=json.dumps({"error": "no"}).encode())


def answer(text="a", **headers):
    return Recorded(headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()), body=b"".join(text_stream(text)))


def over(*answers, clock=None, **fields):
    replay = ReplayTransport(list(answers))
    clock = clock or StillClock()
    return Model("openai-chat:m", base_url="http://lab.test/v1", transport=replay, clock=clock, environ={}, **fields), replay, clock


async def failure_of(model):
    with pytest.raises((TransportError, OverloadedError, RateLimitError, InvalidRequestError)) as caught:
        await model.request("hi")
    return caught.value


# --- rate limits


async def test_after_a_refusal_with_retry_after_the_next_request_waits_so_long():
    model, replay, clock = over(said(429, retry_after="7"), answer(), retry=NO_RETRY)
    assert type(await failure_of(model)) is RateLimitError
    clock.time_s += 3
    assert (await model.request("hi")).text == "a"
    assert (clock.slept, len(replay.requests)) == ([4], 2)


async def test_a_retry_waits_once_for_the_delay_and_the_limit():
    model, _, clock = over(said(429, retry_after="7"), said(429, x_ratelimit_remaining="0", x_ratelimit_reset="5"), answer())
    async with model.stream("hi") as stream:
        await stream.drain()
    assert clock.slept == [7, 5]
    assert [failed.delay_s for failed in stream.attempts] == [7, 5]


async def test_a_wait_that_only_the_body_says_is_obeyed_too():
    body = json.dumps({"error": {"code": 429, "message": "slow", "details": [{"retryDelay": "17s"}]}}).encode()
    busy = Recorded(status=429, headers=(("content-type", "application/json"),), body=body)
    model, _, clock = over(busy, answer(), busy, retry=RetryPolicy(max_retries=1))
    assert (await model.request("hi")).text == "a"
    assert clock.slept == [17]
    model, _, clock = over(busy, retry=NO_RETRY)
    assert (await failure_of(model)).retry_after_s == 17
    assert model.refusal().retry_after_s == 17


async def test_an_answer_that_leaves_nothing_makes_the_next_request_wait():
    spent = answer(x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="6s")
    model, _, clock = over(spent, answer("b"))
    assert (await model.request("hi")).text == "a"
    assert (await model.request("hi")).text == "b"
    assert clock.slept == [6]


async def test_a_wait_beyond_the_bound_is_left_to_the_server():
    model, replay, clock = over(said(429, retry_after="3600"), answer(), retry=NO_RETRY)
    await failure_of(model)
    await model.request("hi")
    assert (clock.slept, len(replay.requests)) == ([], 2)


async def test_a_model_says_that_a_request_would_wait():
    model, _, clock = over(said(429, retry_after="7"), retry=NO_RETRY)
    assert model.refusal() is None
    await failure_of(model)
    refusal = model.refusal()
    assert (type(refusal), refusal.retry_after_s, refusal.retryable) == (RateLimitError, 7, True)
    clock.time_s += 7
    assert model.refusal() is None


async def test_no_more_requests_begin_in_a_minute_than_the_caller_allows():
    model, _, clock = over(*[answer()] * 5, rate_limits={"requests_per_minute": 2})
    for _ in range(5):
        await model.request("hi")
        clock.time_s += 10
    assert clock.slept == [40, 40]


async def test_no_more_requests_are_on_their_way_than_the_caller_allows():
    gates = [asyncio.Event() for _ in range(4)]
    replies = [[Hold(gate), *text_stream("a")] for gate in gates]
    async with scripted_server(replies) as server:
        model = Model("openai-chat:m", base_url=server.url, timeouts=LONG, rate_limits={"max_concurrent": 2}, environ={})
        async with model, asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(model.request("hi"))
            for n, gate in enumerate(gates):
                await server.replies[min(n + 1, 3)].asked.wait()
                assert len(server.requests) <= n + 2
                gate.set()
    assert len(server.requests) == 4


async def test_a_request_that_is_left_or_cancelled_gives_its_place_back():
    async with scripted_server([[*text_stream("a")[:2], Stall()], [Stall()], text_stream("c")]) as server:
        model = Model("openai-chat:m", base_url=server.url, timeouts=LONG, rate_limits={"max_concurrent": 1}, environ={})
        async with model:
            async with model.stream("hi") as stream:
                await anext(aiter(stream))
            waits = asyncio.create_task(model.request("hi"))
            await server.replies[1].asked.wait()
            queued = asyncio.create_task(model.request("hi"))
            await asyncio.sleep(0)
            waits.cancel()
            assert (await queued).text == "c"


async def test_a_request_that_never_began_gives_its_place_back():
    waits = asyncio.Event()

    class Sleeper(StillClock):
        async def sleep(self, delay_s):
            waits.set()
            await asyncio.Event().wait()

    clock, breaker = Sleeper(), Breaker(TWICE)
    model, _, _ = over(
        said(429, retry_after="7"), answer(), clock=clock, retry=NO_RETRY, breaker=breaker, rate_limits={"max_concurrent": 1}
    )
    await failure_of(model)
    task = asyncio.create_task(model.request("hi"))
    await waits.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    clock.time_s = 7
    for _ in range(2):
        breaker.report(breaker.ask(7), "failure", 7)
    await failure_of(model)
    clock.time_s = 17
    async with asyncio.timeout(20):
        assert (await model.request("hi")).text == "a"


def test_a_bounded_model_serves_several_event_loops():
    model, _, _ = over(answer(), answer("b"), rate_limits={"max_concurrent": 1})

    async def crowd():
        return [message.text for message in await asyncio.gather(model.request("hi"), return_exceptions=False)]

    assert [asyncio.run(crowd()), asyncio.run(crowd())] == [["a"], ["b"]]


# --- the breaker


async def test_a_server_that_cannot_be_reached_is_left_alone_and_the_error_says_for_how_long():
    clock = StillClock()
    model = Model("openai-chat:m", base_url=f"http://127.0.0.1:{free_port()}", clock=clock, retry=NO_RETRY, breaker=TWICE, environ={})
    async with model:
        for _ in range(2):
            assert type(await failure_of(model)) is ConnectFailedError
        clock.time_s += 4
        error = await failure_of(model)
    assert type(error) is ConnectFailedError
    assert "circuit breaker is open" in str(error)
    assert "let through in 6 s" in str(error)
    assert str(model.refusal()) == str(error)


async def test_overload_opens_it_and_the_error_carries_the_wait():
    model, replay, clock = over(said(503), said(529), answer(), retry=NO_RETRY, breaker=TWICE)
    await failure_of(model)
    await failure_of(model)
    error = await failure_of(model)
    assert (type(error), error.retry_after_s, error.retryable, len(replay.requests)) == (OverloadedError, 10, True, 2)
    clock.time_s += 10
    assert (await model.request("hi")).text == "a"
    assert model.refusal() is None


async def test_no_retry_is_spent_on_a_breaker_that_has_opened():
    model, replay, clock = over(said(503), said(503), answer(), breaker=TWICE)
    error = await failure_of(model)
    assert (type(error), error.status, len(replay.requests)) == (OverloadedError, 503, 2)
    assert len(clock.slept) == 1


async def test_a_refusal_shows_that_the_server_is_there():
    model, replay, _ = over(said(503), said(400), said(503), said(429), said(503), answer(), retry=NO_RETRY, breaker=TWICE)
    for _ in range(5):
        await failure_of(model)
    assert (await model.request("hi")).text == "a"
    assert len(replay.requests) == 6


async def test_one_probe_goes_out_and_the_others_fail_fast_until_it_has_ended():
    hold = asyncio.Event()
    replies = [[Reset()], [Reset()], [Hold(hold), *text_stream("a")], text_stream("b")]
    clock = StillClock()
    async with scripted_server(replies) as server:
        breaker = Breaker(TWICE)
        fields = {"base_url": server.url, "clock": clock, "retry": NO_RETRY, "timeouts": LONG, "breaker": breaker, "environ": {}}
        async with Model("openai-chat:m", **fields) as model, Model("openai-chat:other", **fields) as other:
            # A connection that breaks after the answer began is no failure to connect: the head had come.
            assert [type(await failure_of(model)).__name__ for _ in range(2)] == ["ConnectionLostError"] * 2
            assert breaker.state(0) == "closed"
            for _ in range(2):
                breaker.report(breaker.ask(0), "failure", 0, reason="made up")
            clock.time_s = 10
            probe = asyncio.create_task(model.request("hi"))
            await server.replies[2].asked.wait()
            assert "a probe is on its way" in str(await failure_of(other))
            hold.set()
            assert (await probe).text == "a"
            assert (await other.request("hi")).text == "b"


async def test_a_probe_that_is_cancelled_makes_room_for_another():
    clock = StillClock()
    async with scripted_server([[Stall()], text_stream("b")]) as server:
        breaker = Breaker(TWICE)
        for _ in range(2):
            breaker.report(breaker.ask(0), "failure", 0)
        clock.time_s = 10
        model = Model("openai-chat:m", base_url=server.url, clock=clock, timeouts=LONG, breaker=breaker, environ={})
        async with model:
            probe = asyncio.create_task(model.request("hi"))
            await server.replies[0].asked.wait()
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)
            assert (await model.request("hi")).text == "b"


async def test_a_server_that_is_slow_is_neither_there_nor_away():
    async with scripted_server([[Stall()]] * 3) as server:
        breaker = Breaker(BreakerPolicy(failures=1))
        model = Model("openai-chat:m", base_url=server.url, timeouts=Timeouts(first_chunk_s=0.02), breaker=breaker, environ={})
        async with model:
            assert type(await failure_of(model)) is StreamTimeoutError
    assert breaker.state(0) == "closed"


async def test_an_overload_inside_a_stream_counts_like_its_status():
    busy = Recorded(body=b'data: {"error": {"message": "busy", "type": "overloaded_error"}}\n\n')
    model, replay, _ = over(busy, busy, answer(), retry=NO_RETRY, breaker=TWICE)
    for _ in range(3):
        assert type(await failure_of(model)) is OverloadedError
    assert len(replay.requests) == 2


async def test_without_a_breaker_every_request_goes_out():
    model, replay, _ = over(*[said(503)] * 8, retry=NO_RETRY)
    for _ in range(8):
        await failure_of(model)
    assert len(replay.requests) == 8


def endpoint(key="k", base_url="http://shared.test/v1", model="m"):
    return Endpoint(provider="lab", protocol="openai-chat", model=model, base_url=base_url, api_key=Secret(key))


def test_models_of_one_address_and_key_share_a_breaker():
    def made(choice, clock=SYSTEM_CLOCK, **fields):
        return breaker_of(endpoint(**fields), clock, choice=choice)

    shared = made(True)
    assert made(True, model="other") is shared
    assert made(BreakerPolicy()) is shared
    assert made(TWICE) is not shared
    assert made(True, key="other") is not shared
    assert made(True, base_url="http://elsewhere.test") is not shared
    assert made(True, clock=StillClock()) is not shared
    own = Breaker()
    assert made(own) is own
    assert made(None) is None
    assert made(False) is None
