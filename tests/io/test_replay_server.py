"""Recordings served again: which one a request gets, in which manner, and what is said when none is left."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError, ConnectionLostError, UsageError
from headrace.io.http_server import RefusedError
from headrace.io.record import RecordTransport
from headrace.io.replay import Recorded, ReplayTransport
from headrace.io.replay_server import Exchange, Manner, Replayer, base_path, load
from headrace.io.transport import HTTPRequest, read_bounded

READS = Recorded(body=b"abcdef", reads=((0, 10.0), (2, 30.0), (4, 30.0)))


def replayer(*answers, **manner):
    exchanges = [one if isinstance(one, Exchange) else Exchange(one) for one in answers]
    return Replayer(exchanges, Manner(**{"speed": None, **manner}))


async def pieces(replay, path="/x", method="POST"):
    async with replay(HTTPRequest(method, path)) as response:
        return [chunk async for chunk in response.chunks()]


def at(path, body, method="POST"):
    return Exchange(Recorded(body=body), method, path)


async def test_answers_come_in_order_whatever_is_asked_and_then_no_more():
    replay = replayer(Recorded(body=b"a"), Recorded(body=b"a"), Recorded(body=b"b"))
    assert [await pieces(replay, path) for path in ("/1", "/2", "/1")] == [[b"a"], [b"a"], [b"b"]]
    with pytest.raises(RefusedError, match="all 3 recordings") as caught:
        await pieces(replay)
    assert (caught.value.status, caught.value.code) == (410, "replay_exhausted")


async def test_in_a_loop_the_first_comes_again():
    replay = replayer(Recorded(body=b"a"), Recorded(body=b"b"), is_looping=True)
    assert [await pieces(replay) for _ in range(5)] == [[b"a"], [b"b"], [b"a"], [b"b"], [b"a"]]


async def test_by_path_each_path_has_its_own_order():
    replay = replayer(at("/1", b"a"), at("/2", b"b"), at("/1", b"c"), at("/1", b"d", "GET"), is_by_path=True)
    assert [await pieces(replay, path) for path in ("/2?x=1", "/1", "/1")] == [[b"b"], [b"a"], [b"c"]]
    assert await pieces(replay, "/1", "GET") == [b"d"]
    for path, status in (("/1", 410), ("/3", 404)):
        with pytest.raises(RefusedError) as caught:
            await pieces(replay, path)
        assert caught.value.status == status


async def test_by_path_in_a_loop_each_path_begins_again_by_itself():
    replay = replayer(at("/1", b"a"), at("/2", b"b"), at("/1", b"c"), is_by_path=True, is_looping=True)
    assert [await pieces(replay, path) for path in ("/1", "/1", "/1", "/2", "/1")] == [[b"a"], [b"c"], [b"a"], [b"b"], [b"c"]]


@pytest.mark.parametrize(
    ("manner", "expected"),
    [
        ({}, [b"ab", b"cd", b"ef"]),
        ({"speed": 1e6}, [b"ab", b"cd", b"ef"]),
        ({"delay_s": 0.0}, [b"ab", b"cd", b"ef"]),
        ({"slice_size": 4}, [b"abcd", b"ef"]),
        ({"cut_at": 3}, [b"ab", b"c"]),
        ({"cut_at": 0}, []),
    ],
)
async def test_the_manner_is_as_asked(manner, expected):
    assert await pieces(replayer(READS, **manner)) == expected


async def test_a_reset_breaks_the_answer():
    with pytest.raises(ConnectionLostError):
        await pieces(replayer(READS, is_reset=True, cut_at=3))


def test_a_speed_divides_the_recorded_times():
    transport = replayer(READS, speed=10.0)._transport(READS)
    assert transport._answers[0].reads == ((0, 1.0), (2, 3.0), (4, 3.0))
    assert transport._delay_s == "recorded"


@pytest.mark.parametrize(
    ("answers", "manner", "argument"),
    [
        ([], {}, "source"),
        ([READS], {"speed": 0.0}, "speed"),
        ([READS], {"speed": float("nan")}, "speed"),
        ([READS], {"delay_s": -1.0}, "delay_s"),
        ([READS], {"slice_size": 0}, "slicing"),
        ([READS], {"cut_at": -1}, "cut_at"),
        ([READS], {"is_by_path": True}, "by_path"),
    ],
)
def test_what_does_not_fit_is_said_at_once(answers, manner, argument):
    with pytest.raises(UsageError) as caught:
        replayer(*answers, **manner)
    assert caught.value.argument == argument


async def test_a_folder_of_recordings_is_loaded_with_what_was_asked(tmp_path):
    async with RecordTransport(ReplayTransport([b"a", Recorded(status=429, body=b"b")]), tmp_path) as transport:
        for path in ("/v1/chat/completions?x=1", "/v1/models"):
            async with transport.stream(HTTPRequest("POST", f"http://host{path}")) as response:
                await read_bounded(response)
    first, second = load(tmp_path)
    assert (first.method, first.path, first.answer.status, first.answer.body) == ("POST", "/v1/chat/completions", 200, b"a")
    assert (second.path, second.answer.status) == ("/v1/models", 429)
    assert base_path((first, second)) == "/v1"


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("/v1/chat/completions", "/v1"),
        ("/v1/messages", "/v1"),
        ("/v1beta/models/m:streamGenerateContent", "/v1beta"),
        ("/model/m/converse-stream", ""),
        ("/api/chat", "/api"),
        ("/else", ""),
        (None, ""),
    ],
)
def test_the_base_of_a_path_is_what_stands_before_its_endpoint(path, base):
    assert base_path([Exchange(READS, "POST", path)]) == base


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.sse", "text/event-stream"),
        ("a.json", "application/json"),
        ("a.bin", "application/vnd.amazon.eventstream"),
        ("a", "text/event-stream"),
    ],
)
def test_a_plain_body_has_the_type_that_its_name_says(tmp_path, name, kind):
    (tmp_path / name).write_bytes(b"abc")
    (exchange,) = load(tmp_path / name)
    assert (exchange.answer.status, dict(exchange.answer.headers)["content-type"], exchange.answer.body) == (200, kind, b"abc")


def test_facts_beside_a_plain_body_are_its_own(tmp_path):
    (tmp_path / "a.sse").write_bytes(b"abc")
    (tmp_path / "a.response.json").write_text('{"status": 503, "headers": [["x-a", "b"]], "reads": [[0, 1.0]], "is_complete": true}')
    (exchange,) = load(tmp_path / "a.sse")
    assert exchange.answer == Recorded(status=503, headers=(("x-a", "b"),), body=b"abc", reads=((0, 1.0),))


def test_what_cannot_be_loaded_is_said(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "0001.request.json").write_text("{")
    (tmp_path / "empty").mkdir()
    for source, words in (
        (tmp_path / "none.sse", "cannot read"),
        (tmp_path / "empty", "no recordings"),
        (tmp_path / "broken", "no recording"),
    ):
        with pytest.raises(ConfigError, match=words):
            load(source)
