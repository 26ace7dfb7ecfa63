"""`headrace doctor`, the real program, against a scripted server."""

from __future__ import annotations

import json
import signal
import tomllib
from pathlib import Path

import pytest

from chat_bytes import chunk
from doctor_ground import called, refusal, said
from headrace.cli.doctor import Wanted, doctor_command
from headrace.errors import UsageError
from servers import Reply, Stall, free_port, scripted_server

HELLO = said("Hello.")


def options(url, *more):
    return ("doctor", "--base-url", f"{url}/v1", "--model", "m", "--side-by-side", "1", *more)


def only(*names):
    return [word for name in names for word in ("--only", name)]


async def test_an_endpoint_without_faults_is_status_0(program):
    async with scripted_server([HELLO, HELLO]) as server:
        done = await program(*options(server.url, *only("no_tool")))
    assert done.code == 0
    assert "m at http://127.0.0.1" in done.text
    assert "right (3)" in done.text
    assert "2 probes, at most 6 requests" in done.err
    assert "recordings go to doctor" in done.err
    assert (program.folder / "doctor/no_tool/time/0001.body").is_file()


async def test_something_wrong_is_status_1_and_the_profile_is_written(program):
    async with scripted_server([HELLO, called()]) as server:
        done = await program(*options(server.url, *only("named_tool"), "--profile", "lab.toml", "--out", "kept"))
    assert done.code == 1
    assert "wrong (1)" in done.text
    assert "profile: tool_choices (in lab.toml)" in done.text
    assert "kept/named_tool/against-the-question/0001.body" in done.text
    tables = tomllib.loads((program.folder / "lab.toml").read_text(encoding="utf-8"))
    assert tables["models"]["openai-chat:m"]["profile"] == {"tool_choices": ["auto", "none", "required"]}


async def test_as_json_it_is_one_line_on_standard_output_and_nothing_else(program):
    async with scripted_server([HELLO, refusal()]) as server:
        done = await program(*options(server.url, *only("two_answers"), "--json"))
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    assert done.out.count(b"\n") == 1
    assert document["counts"] == {"wrong": 0, "unsupported": 1, "unclear": 0, "right": 2}
    assert document["profile"] == {"unsupported_settings": ["n"]}


async def test_the_key_comes_from_the_environment_and_is_shown_nowhere(program):
    key = "sk-secret-0123456789"
    async with scripted_server([HELLO, said(key)]) as server:
        done = await program(
            *options(server.url, *only("no_tool"), "--api-key-env", "LAB_KEY", "--profile", "lab.toml"), environ={"LAB_KEY": key}
        )
    assert done.code == 0
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {key}"] * 2
    written = [path.read_bytes() for path in program.folder.rglob("*") if path.is_file()]
    assert not any(key.encode() in text for text in (done.out, done.err.encode(), *written))
    assert 'key_variables = ["LAB_KEY"]' in (program.folder / "lab.toml").read_text(encoding="utf-8")


async def test_nobody_there_is_status_1_and_no_profile(program):
    done = await program(*options(f"http://127.0.0.1:{free_port()}", "--profile", "lab.toml"))
    assert done.code == 1
    assert "nobody answers there" in done.text
    assert not (program.folder / "lab.toml").exists()


async def test_wrong_use_is_status_2(program):
    done = await program(*options("http://127.0.0.1:1", "--only", "one_tol"))
    assert (done.code, done.out) == (2, b"")
    assert "one_tol" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": "soap"}, "soap"),
        ({"base_url": "nowhere"}, "base_url"),
        ({"key_variable": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"profile": Path(__file__)}, "exists already"),
        ({"timeout_s": -1.0}, "first_chunk_s"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(tmp_path, monkeypatch, changes, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(UsageError, match=words):
        doctor_command(Wanted(**{"base_url": "http://127.0.0.1:1/v1", "model": "m", **changes}))
    assert list(tmp_path.iterdir()) == []


async def test_ctrl_c_shows_what_was_found_by_then(program):
    async with scripted_server([HELLO, Reply([chunk({"content": "1"}), Stall()])]) as server:
        process = await program.start(*options(server.url, *only("no_tool")))
        await server.replies[1].asked.wait()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        await server.replies[1].left.wait()
    assert process.returncode == 130
    assert b"right (2)" in out
    assert b"not finished: no_tool" in out
    assert b"Traceback" not in err


async def test_on_a_terminal_each_finding_is_shown_as_it_comes(program, on_terminal):
    async with scripted_server([HELLO, called()]) as server:
        terminal = await on_terminal(*options(server.url, *only("named_tool")))
        await terminal.until("1/2 right")
        await terminal.until("2/2 wrong")
        await terminal.until("not called: another one was")
        assert await terminal.ended() == 1
