"""How an answer travels: at once, whole, and not at all once the client has gone; what is odd on the way is said."""

from __future__ import annotations

import asyncio
import json
import logging
import socket

import pytest

from canonical import JUDGES
from chat_bytes import DONE, call_stream, chunk, event, text_stream, whole_body
from gateway_ground import KEY, PATHS, asked, datas, ground
from servers import Close, Hold, Reply, Reset, Stall

SERVED = ["openai-chat", "anthropic-messages"]
WORD = {"openai-chat": "data", "anthropic-messages": "content_block_delta"}
LEFT = 'headrace_gateway_clients_left_total{protocol="openai-chat"}'
NO_ID = [
    chunk({"content": "x"}),
    chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}),
    chunk(finish="tool_calls"),
    DONE,
]


def error_of(protocol, text):
    """The error that ends a stream, or None."""
    last = datas(text)[-1]
    return last["error"] if isinstance(last, dict) and last.get("error") else None


async def counted(world, name):
    """Ask for the metrics until this one is there: the answer that it counts may still be ending."""
    async with asyncio.timeout(5):
        while name not in (samples := await world.metrics()):
            pass
    return samples


async def until(lines, needle):
    """Read lines until one has the needle."""
    async for line in lines:
        if needle in line:
            return line
    raise AssertionError(f"the stream ended without {needle!r}")


# ---------------------------------------------------------------------------------------------- at once


@pytest.mark.parametrize("protocol", SERVED)
async def test_a_chunk_leaves_before_the_next_one_has_come(protocol):
    go = asyncio.Event()
    events = text_stream("first", "second")
    async with (
        ground([events[0], events[1], Hold(go), *events[2:]]) as world,
        world.client.stream("POST", PATHS[protocol], json=asked()) as response,
    ):
        lines = response.aiter_lines()
        await until(lines, "first")
        go.set()
        await until(lines, "second")


async def test_chunks_that_came_together_leave_together():
    """A hundred events in one read are not a hundred writes: the client gets them in few pieces."""
    body = b"".join(text_stream(*[f"w{n} " for n in range(100)]))
    async with ground([body]) as world, world.client.stream("POST", PATHS["openai-chat"], json=asked()) as response:
        pieces = [piece async for piece in response.aiter_raw()]
    assert b"".join(pieces).count(b"data: ") > 100
    assert len(pieces) < 10


async def test_a_silent_stream_says_that_it_lives():
    go = asyncio.Event()
    events = text_stream("late")
    async with (
        ground([Hold(go), *events], limits={"keep_alive_s": 0.05}) as world,
        world.client.stream("POST", PATHS["openai-chat"], json=asked()) as response,
    ):
        lines = response.aiter_lines()
        await until(lines, ": keep-alive")
        go.set()
        await until(lines, "late")
        await until(lines, "[DONE]")
    assert response.status_code == 200


async def test_an_upstream_that_fails_after_a_sign_of_life_ends_the_stream_with_an_error():
    """The status was sent with the sign of life, so it cannot be taken back."""
    go = asyncio.Event()
    async with (
        ground([Hold(go), event({"error": {"message": "gone", "code": 500}})], limits={"keep_alive_s": 0.05}) as world,
        world.client.stream("POST", PATHS["openai-chat"], json=asked()) as response,
    ):
        lines = response.aiter_lines()
        await until(lines, ": keep-alive")
        go.set()
        assert "gone" in await until(lines, "error")


# ---------------------------------------------------------------------------------------------- broken streams


@pytest.mark.parametrize("protocol", SERVED)
@pytest.mark.parametrize("end", [Close(), Reset()])
async def test_an_upstream_that_dies_in_the_middle_ends_the_clients_stream_with_its_own_error(protocol, end):
    async with ground([chunk({"content": "half an ans"}), end]) as world:
        response = await world.ask(protocol)
    assert response.status_code == 200
    assert "half an ans" in response.text
    assert JUDGES[protocol](response.text) == []
    assert error_of(protocol, response.text)["message"] == "the connection to the upstream up broke"


@pytest.mark.parametrize("protocol", SERVED)
async def test_an_upstream_that_says_nothing_for_too_long_is_left(protocol):
    reply = Reply([chunk({"content": "half"}), Stall()])
    async with ground(reply, timeouts={"idle_s": 0.1}) as world:
        response = await world.ask(protocol)
        await asyncio.wait_for(reply.left.wait(), 2)
    assert "took too long (stage: idle" in error_of(protocol, response.text)["message"]


async def test_an_upstream_that_never_begins_is_a_504():
    async with ground([Stall()], timeouts={"first_chunk_s": 0.1}) as world:
        response = await world.ask()
    assert response.status_code == 504


async def test_an_error_inside_the_first_event_is_a_status():
    async with ground([event({"error": {"message": "too many", "code": 429}}), DONE]) as world:
        response = await world.ask()
    assert (response.status_code, response.json()["error"]["message"]) == (
        429,
        "the upstream up: an error inside the answer (429): too many",
    )


async def test_before_its_first_word_an_upstream_is_asked_again():
    async with ground([chunk({"role": "assistant"}), Close()], text_stream("whole"), settings={"max_retries": 1}) as world:
        response = await world.ask()
        samples = await world.metrics()
    assert "whole" in response.text
    assert JUDGES["openai-chat"](response.text) == []
    assert samples['headrace_gateway_upstream_errors_total{upstream="up",error="ConnectionLostError"}'] == 1


# ---------------------------------------------------------------------------------------------- clients that leave, clients that are slow


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_a_client_that_leaves_ends_the_upstreams_work(is_streamed):
    reply = Reply([chunk({"content": "on and on"}), Stall()])
    async with ground(reply) as world:
        _, port = world.served.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        body = json.dumps(asked(stream=is_streamed)).encode()
        head = f"POST {PATHS['openai-chat']} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        if is_streamed:
            await reader.readuntil(b"on and on")
        await asyncio.wait_for(reply.asked.wait(), 2)
        writer.close()
        await asyncio.wait_for(reply.left.wait(), 2)
        samples = await counted(world, LEFT)
    assert samples['headrace_gateway_open_requests{protocol="openai-chat"}'] == 0


async def test_a_client_that_takes_nothing_slows_nobody_and_has_gone_after_a_while():
    endless = [chunk({"content": "x" * 65536})] * 400
    reply = Reply([*endless, Stall()])
    async with ground(reply, text_stream("quick"), limits={"client_stall_s": 0.3}) as world:
        _, port = world.served.url.removeprefix("http://").split(":")
        lazy = socket.socket()
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.setblocking(False)
        await asyncio.get_running_loop().sock_connect(lazy, ("127.0.0.1", int(port)))
        body = json.dumps(asked()).encode()
        head = f"POST {PATHS['openai-chat']} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        await asyncio.get_running_loop().sock_sendall(lazy, head.encode() + body)
        await reply.asked.wait()
        assert "quick" in (await world.ask()).text
        await asyncio.wait_for(reply.left.wait(), 5)
        samples = await counted(world, LEFT)
        lazy.close()
    assert samples[LEFT] == 1
    assert samples['headrace_gateway_sent_bytes_total{protocol="openai-chat"}'] < 12_000_000, "what a slow client does not take is not read"


# ---------------------------------------------------------------------------------------------- repairs


@pytest.mark.parametrize("protocol", SERVED)
async def test_a_repair_is_a_comment_a_log_line_and_a_count(protocol, caplog):
    async with ground(NO_ID) as world:
        with caplog.at_level(logging.WARNING, "headrace.gateway"):
            response = await world.ask(protocol)
        samples = await world.metrics()
    assert response.text.endswith("\n\n: headrace: missing_tool_id x1\n\n")
    assert samples['headrace_gateway_repairs_total{upstream="up",code="missing_tool_id"}'] == 1
    (record,) = caplog.records
    line = record.getMessage()
    assert f"id={response.headers['x-request-id']} protocol={protocol} model='mine' status=200 upstream=up" in line
    assert "repairs='missing_tool_id x1'" in line


async def test_a_good_stream_has_no_comment_and_no_warning(caplog):
    async with ground(call_stream("clock", '{"zone":', '"UTC"}')) as world:
        with caplog.at_level(logging.WARNING, "headrace.gateway"):
            response = await world.ask()
    assert "\n:" not in response.text
    assert caplog.records == []


async def test_repairs_of_an_answer_in_one_body_are_a_header():
    body = json.dumps({"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "stop"}]})
    async with ground(Reply([body.encode()], headers=[("content-type", "application/json")])) as world:
        response = await world.ask(stream=False)
    assert "missing_tool_id x1" in response.headers["x-headrace-repairs"]
    (call,) = response.json()["choices"][0]["message"]["tool_calls"]
    assert call["id"]


@pytest.mark.parametrize("protocol", SERVED)
async def test_a_strict_gateway_ends_a_stream_that_needs_a_repair(protocol):
    go = asyncio.Event()
    async with ground([NO_ID[0], Hold(go), *NO_ID[1:]], strict=True) as world:
        async with world.client.stream("POST", PATHS[protocol], json=asked()) as response:
            lines = response.aiter_lines()
            await until(lines, '"x"')
            go.set()
            rest = "\n".join([line async for line in lines])
        samples = await world.metrics()
    assert "missing_tool_id" in error_of(protocol, rest)["message"]
    assert samples['headrace_gateway_strict_refusals_total{upstream="up",code="missing_tool_id"}'] == 1


async def test_a_strict_gateway_refuses_with_a_status_where_nothing_was_said_yet():
    async with ground([b"".join(NO_ID)], strict=True) as world:
        response = await world.ask()
    assert (response.status_code, "missing_tool_id" in response.text) == (502, True)


async def test_a_strict_gateway_lets_good_streams_through_and_those_that_a_bound_cut():
    cut = call_stream("clock", '{"zone": "Eu', finish="length")
    async with ground(text_stream("fine"), cut, strict=True) as world:
        texts = [(await world.ask()).text for _ in range(2)]
    assert [JUDGES["openai-chat"](text) for text in texts] == [[], []]
    assert [error_of("openai-chat", text) for text in texts] == [None, None]
    assert '"finish_reason":"length"' in texts[1]


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("protocol", SERVED)
async def test_a_call_that_cannot_be_run_is_reported_as_broken(protocol, is_streamed):
    stream = call_stream("clock", '{"zone": nonsense}')
    body = Reply(
        [whole_body("", calls=[("a", "clock", '{"zone": nonsense}')], finish="tool_calls")], headers=[("content-type", "application/json")]
    )
    async with ground(stream if is_streamed else body) as world:
        response = await world.ask(protocol, stream=is_streamed)
    if is_streamed:
        assert "cannot be run" in error_of(protocol, response.text)["message"]
    else:
        assert (response.status_code, "cannot be run" in response.text) == (502, True)


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("finish", ["length", "content_filter", "tool_calls"])
@pytest.mark.parametrize("protocol", SERVED)
async def test_a_call_that_was_cut_off_is_an_error_where_that_is_wanted(protocol, finish, is_streamed):
    cut = '{"zone": "Eu'
    body = Reply([whole_body("", calls=[("a", "clock", cut)], finish=finish)], headers=[("content-type", "application/json")])
    async with ground(call_stream("clock", cut, finish=finish) if is_streamed else body, refuse_cut_calls=True) as world:
        response = await world.ask(protocol, stream=is_streamed)
        samples = await world.metrics()
    if is_streamed:
        assert JUDGES[protocol](response.text) == []
        assert "was cut off and cannot be run" in error_of(protocol, response.text)["message"]
    else:
        assert (response.status_code, "was cut off and cannot be run" in response.text) == (502, True)
    assert samples['headrace_gateway_upstream_errors_total{upstream="up",error="malformed_function_call"}'] == 1


@pytest.mark.parametrize("stream", [text_stream("cut", finish="length"), call_stream("clock", "{}", finish="length")], ids=["text", "call"])
async def test_an_answer_that_was_cut_elsewhere_is_none(stream):
    async with ground(stream, refuse_cut_calls=True) as world:
        response = await world.ask()
    assert error_of("openai-chat", response.text) is None
    assert '"finish_reason":"length"' in response.text


# ---------------------------------------------------------------------------------------------- secrets, recordings


async def test_no_key_address_or_word_of_the_talk_stands_in_logs_metrics_or_errors(caplog):
    echo = f"Incorrect API key provided: {KEY}. You sent: private question"
    replies = [
        Reply([json.dumps({"error": {"message": echo}}).encode()], status=status, headers=[("content-type", "application/json")])
        for status in (400, 401, 500)
    ]
    inside = [chunk({"content": "private answer"}), event({"error": {"message": echo, "code": 400}})]
    async with ground(*replies, inside, NO_ID, [b"<html>private page"]) as world:
        with caplog.at_level(logging.DEBUG, "headrace"):
            answers = [await world.ask(messages=[{"role": "user", "content": "private question"}]) for _ in range(6)]
        metrics = (await world.client.get("/metrics")).text
        address = world.up.url.removeprefix("http://")
    told = "".join(answer.text + str(answer.headers) for answer in answers)
    assert KEY not in told + caplog.text + metrics
    assert address not in told + metrics
    assert "private" not in caplog.text + metrics
    assert "private page" not in told


async def test_what_an_upstream_says_can_be_recorded_without_its_key(tmp_path):
    async with ground(text_stream("kept"), record=str(tmp_path / "kept")) as world:
        await world.ask()
    files = {file.name: file.read_text() for file in (tmp_path / "kept").iterdir()}
    assert sorted(files) == ["0001.body", "0001.request.json", "0001.response.json"]
    assert "kept" in files["0001.body"]
    assert KEY not in "".join(files.values())
