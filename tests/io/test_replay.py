"""Answers from memory: sliced, delayed and cut as asked."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError, ConnectionLostError, StateError, StreamTimeoutError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.transport import DEFAULT_TIMEOUTS, HTTPRequest, Timeouts

BODY = b"data: 1\n\ndata: 2\n\n"
READS = Recorded(body=BODY, reads=((0, 5.0), (4, 10.0), (9, 10.0)))


def request(name="a"):
    return HTTPRequest("POST", f"http://host/{name}")


async def read_all(transport, timeouts=DEFAULT_TIMEOUTS):
    async with transport.stream(request(), timeouts=timeouts) as response:
        return [chunk async for chunk in response.chunks()]


@pytest.mark.parametrize(
    ("source", "slicing", "chunks"),
    [
        (BODY, "recorded", [BODY]),
        (BODY, "whole", [BODY]),
        (BODY, 8, [b"data: 1\n", b"\ndata: 2", b"\n\n"]),
        (BODY, 1, [bytes([byte]) for byte in BODY]),
        (BODY, 100, [BODY]),
        (BODY, lambda body: [body[:3], b"", body[3:]], [b"dat", BODY[3:]]),
        (READS, "recorded", [b"data", b": 1\n\n", b"data: 2\n\n"]),
        (READS, "whole", [BODY]),
        (b"", "whole", []),
    ],
)
async def test_a_body_is_sliced_as_asked(source, slicing, chunks):
    assert await read_all(ReplayTransport(source, slicing=slicing)) == chunks


@given(body=st.binary(max_size=50), size=st.integers(1, 60), cut_at=st.one_of(st.none(), st.integers(0, 60)))
async def test_no_slicing_changes_the_bytes(body, size, cut_at):
    transport = ReplayTransport([body, body], slicing=size, cut_at=cut_at)
    assert b"".join(await read_all(transport)) == body[:cut_at]


async def test_a_cut_ends_the_body_and_keeps_the_recorded_reads():
    assert await read_all(ReplayTransport(READS, cut_at=6)) == [b"data", b": "]
    assert await read_all(ReplayTransport(READS, cut_at=0)) == []


async def test_a_reset_gives_the_bytes_and_then_the_loss():
    async with ReplayTransport(BODY, slicing=4, cut_at=6, reset=True).stream(request()) as response:
        chunks = response.chunks()
        got = [await anext(chunks), await anext(chunks)]
        with pytest.raises(ConnectionLostError):
            await anext(chunks)
    assert got == [b"data", b": "]


async def test_answers_come_in_order_and_what_was_asked_is_kept():
    async with ReplayTransport(
        [b"a", Recorded(status=429, headers=(("Retry-After", "1"), ("X", "1"), ("x", "2")), body=b"b")]
    ) as transport:
        async with transport.stream(request("first")) as response:
            assert (response.status, response.headers) == (200, {"content-type": "text/event-stream"})
        async with transport.stream(request("second")) as response:
            assert (response.status, response.headers) == (429, {"retry-after": "1", "x": "1, 2"})
        with pytest.raises(StateError, match="holds 2 answers, and this is request 3"):
            await read_all(transport)
        assert transport.requests == (request("first"), request("second"))


async def test_a_delay_longer_than_a_limit_ends_as_that_timeout():
    with pytest.raises(StreamTimeoutError) as caught:
        await read_all(ReplayTransport(BODY, delay_s=100), Timeouts(first_chunk_s=0.01))
    assert (caught.value.stage, caught.value.timeout_s, caught.value.chunks) == ("first_chunk", 0.01, 0)
    with pytest.raises(StreamTimeoutError) as caught:
        await read_all(ReplayTransport(Recorded(body=BODY, reads=((0, 0.0), (4, 99_000.0))), delay_s="recorded"), Timeouts(idle_s=0.01))
    assert (caught.value.stage, caught.value.chunks) == ("idle", 1)


async def test_recorded_delays_are_those_of_the_reads_whatever_the_slicing(monkeypatch):
    slept = []
    sleep = asyncio.sleep

    async def counted(seconds):
        slept.append(round(seconds, 6))
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", counted)
    assert len(await read_all(ReplayTransport(READS, delay_s="recorded"))) == 3
    assert slept == [0.005, 0.005]
    await read_all(ReplayTransport(READS, delay_s="recorded", slicing="whole"))
    assert slept[2:] == [0.01]


async def test_a_body_can_be_read_once_and_a_closed_transport_serves_nothing():
    transport = ReplayTransport([b"a", b"b"])
    async with transport.stream(request()) as response:
        response.chunks()
        with pytest.raises(StateError, match="once"):
            response.chunks()
    await transport.aclose()
    with pytest.raises(StateError, match="closed"):
        await read_all(transport)


async def test_closing_from_another_task_ends_the_read():
    async with ReplayTransport([b"ab"], slicing=1, delay_s=0.01).stream(request()) as response:
        chunks = response.chunks()
        await anext(chunks)
        reader = asyncio.ensure_future(chunks.__anext__())
        await asyncio.sleep(0)
        await response.aclose()
        with pytest.raises(ConnectionLostError):
            await reader


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slicing", 0),
        ("slicing", -3),
        ("slicing", "bytes"),
        ("cut_at", -1),
        ("delay_s", -0.1),
        ("delay_s", float("nan")),
        ("delay_s", "slow"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ConfigError, match=name) as caught:
        ReplayTransport(b"", **{name: value})
    assert caught.value.argument == name


def test_a_folder_without_recordings_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no recordings"):
        ReplayTransport(tmp_path)


def test_a_broken_recording_is_refused_by_name(tmp_path):
    (tmp_path / "0001.request.json").write_text("{}")
    (tmp_path / "0001.response.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"0001\.response\.json"):
        ReplayTransport(tmp_path)


async def test_a_recording_that_was_never_finished_is_a_lost_connection(tmp_path):
    (tmp_path / "0001.request.json").write_text("{}")
    (tmp_path / "0001.body").write_bytes(b"half")
    with pytest.raises(ConnectionLostError, match="0001 was never finished"):
        await read_all(ReplayTransport(tmp_path))


async def test_recordings_are_served_in_the_order_of_their_numbers(tmp_path):
    for number in (2, 10000, 9999):
        stem = tmp_path / f"{number:04d}"
        stem.with_suffix(".request.json").write_text("{}")
        stem.with_suffix(".body").write_bytes(b"%d" % number)
        stem.with_suffix(".response.json").write_text(json.dumps({"status": 200, "is_complete": True}))
    transport = ReplayTransport(str(tmp_path))
    assert [await read_all(transport) for _ in range(3)] == [[b"2"], [b"9999"], [b"10000"]]
