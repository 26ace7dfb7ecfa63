"""The shell that asks: bounds, waiting, leaving, and what is kept whatever happens."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat_bytes import DONE, chunk
from doctor_ground import IMPATIENT, QUICK, called, examined, probe, refusal, said
from headrace.errors import ConfigError
from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.endpoint import Bounds, Endpoint
from headrace.inspect.doctor.probes import PROBES, chosen
from headrace.providers.secret import Secret
from servers import Close, Reply, Stall, free_port, scripted_server

HELLO = said("Hello.")


def at(url, *names, folder, **options):
    """An examination of a scripted server by these probes."""
    endpoint = Endpoint(base_url=f"{url}/v1", model="m", **{key: options.pop(key) for key in ("api_key", "protocol") if key in options})
    return Examination(endpoint, [probe(name) for name in names], folder=folder, timeouts=options.pop("timeouts", QUICK), **options)


async def test_nobody_there_is_one_finding_and_nothing_else_is_asked(tmp_path):
    examination = at(f"http://127.0.0.1:{free_port()}", "text", "one_tool", folder=tmp_path)
    await examination.run()
    assert examination.is_nobody_there
    assert [(found.level, found.what) for found in examination.findings] == [("wrong", "No connection could be made")]
    assert examination.not_asked == ("one_tool",)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_where_the_key_or_the_address_is_wrong_nothing_else_is_asked(tmp_path, status):
    async with scripted_server([refusal(status)]) as server:
        examination = at(server.url, "text", "one_tool", folder=tmp_path)
        await examination.run()
    assert examination.is_nobody_there
    assert len(server.requests) == 1


async def test_a_server_that_never_answers_is_waited_for_once(tmp_path):
    async with scripted_server([Reply(before_headers=[Stall()])]) as server:
        examination = at(server.url, "text", "one_tool", folder=tmp_path, timeouts=IMPATIENT)
        await examination.run()
    assert [(found.level, found.what) for found in examination.findings] == [("wrong", "Nothing came")]
    assert len(server.requests) == 1


async def test_an_answer_that_stops_in_the_middle_is_not_waited_for_for_ever(tmp_path):
    seen = await examined(tmp_path, "text", [chunk({"content": "Hel"}), Stall()], timeouts=IMPATIENT)
    assert seen.said == [("wrong", "The answer stopped in the middle, and the connection stayed open")]


async def test_an_answer_without_end_is_left(tmp_path):
    endless = [chunk({"content": "word " * 1000}) for _ in range(20)]
    seen = await examined(tmp_path, "text", [*endless, Stall()])
    assert seen.said == [("wrong", "The answer goes on far beyond the tokens that were allowed")]


async def test_what_the_first_question_finds_holds_for_the_others(tmp_path):
    async with scripted_server([refusal(), HELLO, called()]) as server:
        examination = at(server.url, "text", "one_tool", folder=tmp_path)
        await examination.run()
    assert "temperature" not in json.loads(server.requests[2].body)
    assert examination.switches == {"unsupported_settings": ("temperature",)}


async def test_a_connection_that_breaks_before_any_answer_is_tried_once_more(tmp_path):
    """A server may close an idle connection just when it is used again."""
    early = Reply(before_headers=[Close()])
    seen = await examined(tmp_path / "a", "text", early, HELLO)
    assert [found.level for found in seen.findings] == ["right"]
    seen = await examined(tmp_path / "b", "text", early, early, HELLO)
    assert [found.level for found in seen.findings] == ["wrong"]
    assert len(seen.requests) == 2


async def test_a_server_that_asks_to_wait_is_asked_once_more(tmp_path):
    busy = refusal(429, headers=[("retry-after-ms", "20")])
    seen = await examined(tmp_path / "a", "text", busy, HELLO)
    assert [found.level for found in seen.findings] == ["right"]
    seen = await examined(tmp_path / "b", "text", busy, busy, HELLO)
    assert seen.said == [("unclear", "The server was too busy to answer")]
    seen = await examined(tmp_path / "c", "text", refusal(429, headers=[("retry-after", "3600")]), HELLO)
    assert len(seen.requests) == 1


async def test_no_more_requests_are_sent_than_were_allowed(tmp_path):
    async with scripted_server([HELLO] * 9) as server:
        examination = at(
            server.url, "text", "names", "no_tool", "system_messages", folder=tmp_path, bounds=Bounds(max_requests=2, side_by_side=1)
        )
        assert examination.planned_requests == 2
        await examination.run()
    assert len(server.requests) == 2
    levels = [found.level for found in examination.findings if found.probe != "stream"]
    assert levels == ["right", "right", "unclear", "unclear"]
    assert "bound" in examination.findings[2].what


async def test_no_more_tokens_are_asked_for_than_were_allowed(tmp_path):
    async with scripted_server([HELLO] * 9) as server:
        examination = at(server.url, "text", "long_text", folder=tmp_path, bounds=Bounds(max_tokens=100))
        await examination.run()
    assert len(server.requests) == 1
    assert examination.planned_tokens == 100


async def test_what_cannot_be_said_by_a_protocol_is_not_sent(tmp_path):
    seen = await examined(tmp_path, "two_answers", protocol="anthropic-messages")
    assert [found.level for found in seen.findings] == ["unsupported"]
    assert seen.requests == []
    assert seen.examination.requests == 0
    assert seen.findings[0].evidence == ()


async def test_cancelled_it_stops_and_keeps_what_was_found(tmp_path):
    async with scripted_server([HELLO, Reply([chunk({"content": "1"}), Stall()]), HELLO]) as server:
        told = []
        examination = at(server.url, "text", "no_tool", folder=tmp_path, on_progress=told.append)
        task = asyncio.create_task(examination.run())
        await server.replies[1].asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.replies[1].left.wait()
    assert [(found.probe, found.level) for found in examination.findings if found.probe != "stream"] == [("text", "right")]
    assert examination.not_asked == ("no_tool",)
    assert [(one.probe, one.done, one.total) for one in told] == [("text", 1, 2)]
    assert examination.seconds > 0


async def test_each_question_has_a_recording_of_its_own_and_the_key_is_in_none(tmp_path):
    key = "sk-secret-0123456789"
    async with scripted_server([HELLO, said("no"), called()]) as server:
        examination = at(server.url, "text", "one_tool", folder=tmp_path, api_key=Secret(key))
        await examination.run()
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {key}"] * 3
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.body"))
    assert files == ["one_tool/time-in-london/0001.body", "one_tool/time-in-paris/0001.body", "text/hello/0001.body"]
    assert not any(key in path.read_text() for path in tmp_path.rglob("*.json"))
    assert examination.findings[1].evidence == (str(tmp_path / "one_tool/time-in-london/0001.body"),)


async def test_a_key_that_the_server_repeats_is_in_no_finding(tmp_path):
    key = "sk-secret-0123456789"
    seen = await examined(tmp_path, "one_tool", *[said(f"Your key is {key}.")] * 3, api_key=Secret(key))
    assert "Your key is" in seen.findings[0].detail
    assert key not in str(seen.examination.findings)


async def test_an_earlier_examination_in_the_same_folder_is_kept_and_not_read_for_this_one(tmp_path):
    await examined(tmp_path, "text", [chunk({"content": "a"}), DONE])
    seen = await examined(tmp_path, "text", HELLO)
    assert seen.findings[0].level == "right"
    assert seen.findings[0].evidence == (str(tmp_path / "text/hello/0002.body"),)


async def test_a_wrong_endpoint_or_bound_is_wrong_use(tmp_path):
    with pytest.raises(ConfigError, match="openai-chats"):
        Examination(Endpoint(base_url="http://h/v1", model="m", protocol="openai-chats"), PROBES, folder=tmp_path)
    with pytest.raises(ConfigError):
        Examination(Endpoint(base_url="nowhere", model="m"), PROBES, folder=tmp_path)
    with pytest.raises(ConfigError, match="side_by_side"):
        Bounds(side_by_side=0)


def test_probes_are_chosen_by_name_and_the_first_is_always_with_them():
    assert [one.name for one in chosen(["stop", "one_tool"])] == ["text", "one_tool", "stop"]
    assert chosen([]) == PROBES
    with pytest.raises(ConfigError, match="one_tol"):
        chosen(["one_tol"])


def test_an_examination_says_beforehand_what_it_may_cost(tmp_path):
    endpoint = Endpoint(base_url="http://h/v1", model="m")
    examination = Examination(endpoint, PROBES, folder=tmp_path)
    assert 40 < examination.planned_requests <= 120
    assert 1_000 < examination.planned_tokens <= 20_000
    assert {one.name for one in examination.probes} >= {"stream_usage", "names"}
    other = Examination(Endpoint(base_url="http://h/v1", model="m", protocol="ollama"), PROBES, folder=tmp_path)
    assert {one.name for one in other.probes} & {"stream_usage", "names", "usage"} == {"usage"}
