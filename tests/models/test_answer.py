"""Chunks that are given to a function when they come: the same chunks in the same order, and the same failures."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from chat_bytes import DONE, StillClock, call_stream, chunk, event, text_stream
from headrace.errors import ConnectionLostError, HeadraceError, OverloadedError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.retry import RetryPolicy
from headrace.io.transport import Timeouts
from headrace.messages.chunk import MessageChunk
from headrace.models.answer import AttemptDiscarded
from headrace.models.fallback import FallbackModel
from headrace.models.model import Model
from headrace.models.scripted import ScriptedModel
from servers import Close, Hold, Pause, Reset, scripted_server

LONG = Timeouts(connect_s=20, first_chunk_s=20, idle_s=20)
NO_RETRY = RetryPolicy(max_retries=0)


def at(server, **fields):
    given = {"base_url": f"{server.url}/v1", "api_key": "k", "clock": StillClock(), "timeouts": LONG, "retry": NO_RETRY, "environ": {}}
    return Model("openai-chat:m-1", **{**given, **fields})


async def poured(model, *, wants=lambda _chunks: True):
    """Read an answer with a function that takes chunks; returns the stream, all chunks in order, who gave each, and what was raised."""
    came, by, failure = [], [], None

    def take(chunks):
        came.extend(chunks)
        by.extend("poured" for _ in chunks)
        return wants(chunks)

    stream = model.stream("hi")
    stream.pour_into(take)
    async with stream:
        try:
            async for item in stream:
                if isinstance(item, AttemptDiscarded) or item.deltas:
                    came.append(item)
                    by.append("read")
                else:
                    by.append("empty")
        except HeadraceError as error:
            failure = error
    return stream, came, by, failure


def with_pauses(events):
    return [step for one in events for step in (one, Pause(0.002))]


@pytest.mark.parametrize("events", [text_stream("a", "b", "c", "d"), call_stream("clock", '{"zone":', ' "UTC"', "}")], ids=["text", "call"])
async def test_the_chunks_are_the_same_in_the_same_order(events):
    async with scripted_server([with_pauses(events), with_pauses(events)]) as server, at(server) as model:
        stream, came, by, failure = await poured(model)
        async with model.stream("hi") as plain:
            read = [item async for item in plain]
        assert server.connections == 1
    assert failure is None
    assert "poured" in by
    assert [one.deltas for one in came] == [one.deltas for one in read]
    assert MessageChunk.join(came).to_message().parts == stream.message.parts == plain.message.parts


async def test_a_chunk_is_given_while_the_rest_is_held_back():
    go, came = asyncio.Event(), asyncio.Event()
    first, second, third, *rest = text_stream("a", "b")

    def wants(chunks):
        if chunks[-1].text == "b":
            came.set()
        return True

    async with scripted_server([[first, second, Pause(0.02), third, Hold(go), *rest]]) as server, at(server) as model:
        task = asyncio.ensure_future(poured(model, wants=wants))
        await asyncio.wait_for(came.wait(), 5)
        assert not task.done()
        go.set()
        stream, *_ = await task
    assert stream.message.text == "ab"


async def test_whoever_wants_no_more_gets_an_empty_chunk_and_then_all_the_rest():
    events = text_stream(*"abcdef")
    async with scripted_server([with_pauses(events)]) as server, at(server) as model:
        stream, came, by, _ = await poured(model, wants=lambda _chunks: False)
    assert "".join(one.text for one in came) == "abcdef" == stream.message.text
    assert all(after == "empty" for before, after in pairwise(by) if before == "poured" and after != "read")


async def test_a_transport_that_cannot_pour_gives_the_same():
    replay = ReplayTransport([Recorded(body=b"".join(text_stream(*"abcdef")))], slicing=50)
    model = Model("openai-chat:m-1", base_url="http://lab.test/v1", api_key="k", transport=replay, clock=StillClock(), environ={})
    stream, came, _, failure = await poured(model)
    assert ("".join(one.text for one in came), stream.message.text, failure) == ("abcdef", "abcdef", None)


async def test_a_model_that_never_pours_is_read():
    stream, came, by, _ = await poured(ScriptedModel("hello"))
    assert "".join(one.text for one in came) == stream.message.text == "hello"
    assert set(by) == {"read"}


@pytest.mark.parametrize("end", [Close(), Reset()])
async def test_a_stream_that_dies_raises_where_it_is_read(end):
    events = text_stream("a", "b")[:3]
    async with scripted_server([[*with_pauses(events), end]]) as server, at(server) as model:
        _, came, _, failure = await poured(model)
    assert isinstance(failure, ConnectionLostError)
    assert failure.partial.text == "ab"
    assert came[-1].deltas[-1].error.kind == "stream_truncated"


async def test_what_the_taker_raises_comes_out_where_the_stream_is_read():
    def wants(_chunks):
        raise KeyError("mine")

    async with scripted_server([with_pauses(text_stream("a", "b"))]) as server, at(server) as model:
        with pytest.raises(KeyError, match="mine"):
            await poured(model, wants=wants)


async def test_an_attempt_that_is_made_again_is_said_between_its_chunks():
    died = [*with_pauses(text_stream("a", "b")[:3]), Close()]
    async with scripted_server([died, with_pauses(text_stream("c"))]) as server, at(server, mid_stream_retries=1) as model:
        _, came, _, failure = await poured(model)
    at_discarded = next(n for n, one in enumerate(came) if isinstance(one, AttemptDiscarded))
    assert failure is None
    assert "".join(one.text for one in came[:at_discarded]) == "ab"
    assert "".join(one.text for one in came[at_discarded + 1 :]) == "c"


async def test_the_model_that_answers_in_place_of_another_pours_and_the_other_does_not():
    busy = [chunk({"role": "assistant"}), Pause(0.01), event({"error": {"message": "busy", "code": 503}}), DONE]
    async with scripted_server([busy, with_pauses(text_stream(*"abcd"))]) as server, at(server) as model:
        stream, came, by, failure = await poured(FallbackModel(model, at(server)))
    assert failure is None
    assert "poured" in by
    assert "".join(one.text for one in came) == "abcd"
    assert isinstance(stream.attempts[0].error, OverloadedError)


async def test_a_fallback_that_fails_while_it_pours_does_not_ask_the_next_one():
    died = [*with_pauses(text_stream("a", "b")[:3]), Close()]
    async with scripted_server([died, text_stream("c")]) as server, at(server) as model:
        _, came, _, failure = await poured(FallbackModel(model, at(server)))
        assert len(server.requests) == 1
    assert isinstance(failure, ConnectionLostError)
    assert "".join(one.text for one in came) == "ab"
