"""`headrace gateway`, the real program."""

from __future__ import annotations

import json
import signal

import httpx2
import pytest

from chat_bytes import text_stream
from gateway_ground import asked
from headrace.cli.gateway import values_of
from headrace.server.keys import hash_of
from servers import scripted_server


async def test_it_says_where_it_is_serves_and_ends_by_a_signal(program):
    for end in (signal.SIGINT, signal.SIGTERM):
        async with scripted_server([text_stream("It is ", "late.")]) as up:
            process = await program.start("gateway", "--upstream", f"{up.url}/v1", "--port", "0")
            url = (await process.stdout.readline()).decode().strip()
            async with httpx2.AsyncClient() as client:
                text = (await client.post(f"{url}/v1/messages", json=asked(), timeout=20)).text
            process.send_signal(end)
            _, told = await process.communicate()
        assert "late." in text
        assert process.returncode == 0
        assert b"protocol=anthropic-messages model='mine' status=200 upstream=upstream" in told


async def test_a_file_says_the_rest(program):
    async with scripted_server([text_stream("fine")]) as up:
        (program.folder / "g.toml").write_text(
            f"port = 0\n[[upstreams]]\nname = 'own'\nbase_url = '{up.url}/v1'\nprotocol = 'openai-chat'\napi_key_env = 'OWN_KEY'\n"
            f"[[clients]]\nname = 'me'\nkey_sha256 = '{hash_of('my-key')}'\n"
        )
        process = await program.start("gateway", "--config", "g.toml", "-q", environ={"OWN_KEY": "own-upstream-key"})
        url = (await process.stdout.readline()).decode().strip()
        async with httpx2.AsyncClient() as client:
            refused = await client.post(f"{url}/v1/chat/completions", json=asked())
            answer = await client.post(f"{url}/v1/chat/completions", json=asked(), headers={"authorization": "Bearer my-key"})
        process.send_signal(signal.SIGINT)
        _, told = await process.communicate()
    assert [refused.status_code, answer.status_code] == [401, 200]
    assert up.requests[0].headers["authorization"] == "Bearer own-upstream-key"
    assert b"status=" not in told, "nothing was mended, and it was told to be quiet"


async def test_a_key_comes_with_its_hash(program):
    done = await program("gateway", "key")
    key, made = (line.split()[1] for line in done.text.splitlines())
    assert (done.code, made) == (0, hash_of(key))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs an upstream"),
        (["--upstream", "localhost"], "no address"),
        (["--upstream", "http://h/v1", "--protocol", "morse"], "no protocol"),
        (["--upstream", "http://h/v1", "--host", "0.0.0.0"], "--insecure"),
        (["--upstream", "http://h/v1", "--api-key-env", "NOT_SET"], "NOT_SET is not set"),
        (["--config", "none.toml"], "cannot be read"),
    ],
)
async def test_what_does_not_do_is_wrong_use(program, arguments, words):
    done = await program("gateway", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert words in done.err


def test_the_command_line_wins_over_the_file_and_its_upstream_stands_first(tmp_path):
    file = tmp_path / "g.toml"
    file.write_text("port = 1\nstrict = true\n[[upstreams]]\nname = 'own'\nprovider = 'deepseek'\n")
    values = values_of(file, {"port": 2, "strict": None}, {"base_url": "http://h/v1", "protocol": None, "provider": None})
    assert json.loads(json.dumps(values)) == {
        "port": 2,
        "strict": True,
        "upstreams": [
            {"name": "upstream", "base_url": "http://h/v1", "protocol": "openai-chat"},
            {"name": "own", "provider": "deepseek"},
        ],
    }
