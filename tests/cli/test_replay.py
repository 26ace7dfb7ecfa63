"""`headrace replay`, the real program asked by real clients."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from contextlib import asynccontextmanager

import pytest

from chat_bytes import text_stream
from headrace.cli.replay import speed_of
from headrace.errors import ConnectionLostError, StreamTruncatedError, UsageError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.transport import HTTPRequest, read_bounded
from headrace.models.model import Model

BODY = b"".join(text_stream("It is ", "late."))


@asynccontextmanager
async def replaying(program, *arguments, body=BODY):
    """Replay a file; gives its URL."""
    (program.folder / "a.sse").write_bytes(body)
    process = await program.start("replay", "a.sse", "--speed", "fast", *arguments)
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.send_signal(signal.SIGINT)
        await process.communicate()


async def get(url):
    async with HttpTransport() as client, client.stream(HTTPRequest("POST", f"{url}/chat/completions")) as response:
        return response.status, await read_bounded(response)


async def test_a_model_gets_its_answer_again_as_often_as_the_loop_goes(program):
    async with replaying(program, "--loop", "--slice", "5") as url, Model("openai-chat:m", base_url=url) as model:
        assert [(await model.request("?")).text for _ in range(3)] == ["It is late."] * 3


async def test_when_it_has_run_out_it_says_so(program):
    async with replaying(program) as url:
        assert await get(url) == (200, BODY)
        status, body = await get(url)
    assert status == 410
    assert json.loads(body)["error"]["code"] == "replay_exhausted"


async def test_a_body_that_is_cut_is_a_stream_that_was_cut(program):
    cut_at = str(BODY.index(b"late."))
    async with replaying(program, "--cut-at", cut_at, "--loop") as url, Model("openai-chat:m", base_url=url) as model:
        with pytest.raises(StreamTruncatedError) as caught:
            await model.request("?")
    assert caught.value.partial.text.startswith("It is ")


async def test_a_reset_is_a_lost_connection(program):
    async with replaying(program, "--cut-at", "20", "--reset") as url, HttpTransport() as client:
        with pytest.raises(ConnectionLostError):
            async with client.stream(HTTPRequest("POST", url)) as response:
                await read_bounded(response)


async def test_another_client_gets_the_same_bytes(program):
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("install curl")
    async with replaying(program, "--slice", "3") as url:
        asked = await asyncio.create_subprocess_exec(curl, "-sSN", "-d", "{}", f"{url}/x", stdout=asyncio.subprocess.PIPE)
        out, _ = await asked.communicate()
    assert (asked.returncode, out) == (0, BODY)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.sse"], "cannot read"),
        (["a.sse", "--speed", "soon"], "recorded, fast"),
        (["a.sse", "--speed", "2", "--delay", "1"], "exclude each other"),
        (["a.sse", "--slice", "0"], "at least 1 byte"),
        (["a.sse", "--by-path"], "which path"),
        (["a.sse", "--host", "203.0.113.1"], "cannot listen"),
    ],
)
async def test_wrong_use_is_said_and_has_status_two(program, arguments, words):
    (program.folder / "a.sse").write_bytes(BODY)
    done = await program("replay", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert words in done.err


@pytest.mark.parametrize(("text", "speed"), [("recorded", 1.0), ("fast", None), ("2", 2.0), ("0.5", 0.5)])
def test_speeds_are_words_or_numbers(text, speed):
    assert speed_of(text) == speed


def test_another_speed_is_wrong_use():
    with pytest.raises(UsageError, match="--speed soon"):
        speed_of("soon")
