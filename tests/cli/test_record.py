"""`headrace record`, the real program between a real client and a real server; and where its routes lead."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import pytest

from chat_bytes import call_stream, text_stream
from headrace.cli.record import Routes, environment, routes_of, secrets_in
from headrace.errors import ConfigError
from headrace.io.httpx_transport import HttpTransport
from headrace.io.transport import HTTPRequest, read_bounded
from servers import Hold, scripted_server

KEY = "sk-very-secret-key-123456"
SAY = "import os, sys; print(os.environ[sys.argv[1]])"


def test_with_an_upstream_every_variable_leads_there_by_its_own_path():
    routes = routes_of("http://lab:8000/v1/", {})
    assert (routes.upstreams, routes.base_path) == ({"": "http://lab:8000"}, "/v1")
    assert (routes.variables["OPENAI_BASE_URL"], routes.variables["DEEPSEEK_BASE_URL"]) == ("/v1", "/v1")
    assert routes.variables["ANTHROPIC_BASE_URL"] == ""  # its tools add the version
    assert routes_of("http://lab", {}) == Routes({"": "http://lab"}, dict.fromkeys(routes.variables, ""), "")


def test_without_an_upstream_each_provider_goes_where_it_would_have_gone():
    routes = routes_of(None, {"GROQ_BASE_URL": "http://lab:1/groq/v2"})
    assert routes.base_path is None
    assert routes.upstreams["/deepseek"] == "https://api.deepseek.com"
    assert routes.upstreams["/openai"] == "https://api.openai.com"
    assert (routes.upstreams["/groq"], routes.variables["GROQ_BASE_URL"]) == ("http://lab:1", "/groq/groq/v2")
    assert (routes.variables["OPENAI_BASE_URL"], routes.variables["ANTHROPIC_BASE_URL"]) == ("/openai/v1", "/anthropic")
    assert "/azure" not in routes.upstreams  # nobody said where
    assert "/local" not in routes.upstreams


def test_an_upstream_that_is_no_address_is_said():
    with pytest.raises(ConfigError, match="upstream"):
        routes_of("lab", {})


def test_a_programs_environment_leads_here_and_past_any_proxy():
    routes = Routes({}, {"OPENAI_BASE_URL": "/openai/v1"}, None)
    assert environment({"A": "b", "OPENAI_BASE_URL": "x"}, routes, "http://here:1") == {
        "A": "b",
        "OPENAI_BASE_URL": "http://here:1/openai/v1",
    }
    proxied = environment({"https_proxy": "http://p", "NO_PROXY": "x"}, routes, "http://here:1")
    assert (proxied["NO_PROXY"], proxied["no_proxy"]) == ("x,127.0.0.1,localhost", "127.0.0.1,localhost")


def test_keys_of_the_environment_are_known_as_secrets():
    assert secrets_in({"OPENAI_API_KEY": KEY, "GROQ_API_KEY": " ", "OTHER": "x"}) == (KEY,)


async def test_a_run_is_recorded_and_replayed_and_says_the_same(program):
    """Without the server and without the key the same command has the same answer."""
    rounds = [call_stream("city_time", '{"ci', 'ty":"Tokyo"}'), text_stream("It is ", "late.")]
    ask = ("run", "How late is it?", "-q", "-m", "deepseek:m-1", "-T", "time")
    python = (sys.executable, "-m", "headrace")
    async with scripted_server(rounds) as server:
        environ = {"DEEPSEEK_API_KEY": KEY}
        done = await program("record", "--upstream", f"{server.url}/v1", "--folder", "tape", "--", *python, *ask, environ=environ.items())
    assert (done.code, done.text) == (0, "It is late.\n")
    assert done.err == "2 exchanges recorded in tape\n"
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    folder = program.folder / "tape"
    assert sorted(path.suffix for path in folder.iterdir()) == [".body"] * 2 + [".json"] * 4
    assert KEY.encode() not in b"".join(path.read_bytes() for path in folder.iterdir())
    assert (folder / "0002.body").read_bytes() == b"".join(rounds[1])

    replay = await program.start("replay", "tape", "--speed", "fast", "--slice", "7")
    url = (await replay.stdout.readline()).decode().strip()
    assert url.endswith("/v1")
    environ = {"DEEPSEEK_API_KEY": "another-key", "DEEPSEEK_BASE_URL": url}
    again = await program(*ask, environ=environ.items())
    assert (again.code, again.text) == (0, "It is late.\n")
    third = await program(*ask, environ=environ.items())
    assert third.code == 1
    assert "all 2 recordings have been served" in third.err
    replay.send_signal(signal.SIGINT)
    _, said = await replay.communicate()
    assert (replay.returncode, said) == (0, b"2 recordings to serve at any path; Ctrl-C ends\n")


async def test_the_address_stands_for_itself_in_the_command(program):
    async with scripted_server([text_stream("Hi.")]) as server:
        ask = ("run", "?", "-q", "-m", "openai-chat:m", "--base-url", "{base_url}")
        done = await program("record", "--upstream", f"{server.url}/v1", "--", sys.executable, "-m", "headrace", *ask)
    assert (done.code, done.text) == (0, "Hi.\n")
    assert (program.folder / "recordings" / "0001.body").exists()


async def test_without_an_upstream_variables_name_each_provider(program):
    done = await program("record", sys.executable, "-c", SAY, "GROQ_BASE_URL")
    assert done.text.startswith("http://127.0.0.1:")
    assert done.text.endswith("/groq/openai/v1\n")
    assert done.err == "0 exchanges recorded in recordings\n"


async def test_an_answer_passes_while_it_is_said(program):
    gate = asyncio.Event()
    events = text_stream("Once ", "upon a time.")
    async with scripted_server([[*events[:2], Hold(gate), *events[2:]]]) as server:
        ask = ("run", "?", "-q", "-m", "openai-chat:m", "--base-url", "{base_url}")
        process = await program.start("record", "--upstream", f"{server.url}/v1", "--", sys.executable, "-m", "headrace", *ask)
        assert await process.stdout.readexactly(5) == b"Once "
        gate.set()
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"upon a time.\n")


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(7)", 7), ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143)])
async def test_the_commands_status_is_that_of_record(program, code, status):
    done = await program("record", "--upstream", "http://lab/v1", "--", sys.executable, "-c", code)
    assert done.code == status


async def test_a_command_that_is_not_there_is_wrong_use(program):
    done = await program("record", "--upstream", "http://lab/v1", "--", "there-is-no-such-program")
    assert (done.code, "cannot run 'there-is-no-such-program'" in done.err) == (2, True)
    done = await program("record", "--", "echo", "{base_url}")
    assert (done.code, "--upstream" in done.err) == (2, True)


async def test_ctrl_c_is_the_commands_to_answer(program):
    code = "import signal, sys; print('on', flush=True); signal.sigwait([signal.SIGTERM]); print('asked'); sys.exit(9)"
    masked = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); " + code
    process = await program.start("record", "--upstream", "http://lab/v1", "--", sys.executable, "-c", masked)
    assert await process.stdout.readline() == b"on\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    out, _ = await process.communicate()
    assert (process.returncode, out) == (9, b"asked\n")


async def test_without_a_command_it_serves_until_ctrl_c(program):
    async with scripted_server([text_stream("Hi.")]) as server:
        process = await program.start("record", "--upstream", f"{server.url}/v1", "--folder", "tape")
        url = (await process.stdout.readline()).decode().strip()
        async with HttpTransport() as client:
            request = HTTPRequest("POST", f"{url}/chat/completions", (("x-api-key", KEY),), json.dumps({"user": KEY}).encode())
            async with client.stream(request) as response:
                assert await read_bounded(response) == b"".join(text_stream("Hi."))
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"1 exchanges recorded in tape\n")
    assert KEY.encode() not in b"".join(path.read_bytes() for path in (program.folder / "tape").iterdir())


async def test_without_a_command_and_an_upstream_it_prints_the_variables(program):
    process = await program.start("record")
    line = await process.stdout.readline()
    assert line.startswith(b"export ")
    process.send_signal(signal.SIGINT)
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert b"export OPENAI_BASE_URL=http://127.0.0.1:" in line + out
