"""`headrace run` that waits for a person: the status, what it says, the file that keeps it, and how it goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from chat_bytes import DONE, call_stream, chunk, text_stream
from headrace.agent.event_codec import decode_event
from headrace.agent.fold import fold
from headrace.agent.run_result import RunResult
from headrace.cli.main import main
from legal_history import problems
from servers import Reply, scripted_server

TOOLS = '''
import os, pathlib
from headrace import tool

@tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"

@tool(external=True)
def sense(room: str) -> int:
    """The temperature of a room."""

@tool
def pay(amount: int) -> str:
    """Pay; the first time the program dies of it."""
    if not pathlib.Path("died").exists():
        pathlib.Path("died").write_text("")
        os.kill(os.getpid(), 9)
    return f"paid {amount}"
'''
MCP_SERVER = Path(__file__).parents[1] / "support" / "mcp_bare_server.py"
REFUSED = Reply([b'{"error":{"message":"no"}}'], status=400, headers=[("content-type", "application/json")])


def both():
    calls = [("delete", '{"path": "a.txt"}'), ("sense", '{"room": "attic"}')]
    made = [
        {"index": n, "id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    return [chunk({"role": "assistant", "content": "I shall.", "tool_calls": made}), chunk(finish="tool_calls"), DONE]


@pytest.fixture
def run(program):
    """Run `headrace run` with the tools: `done = await run(server, …)`."""
    (program.folder / "my.py").write_text(TOOLS)

    async def start(server, *arguments):
        options = ("-m", "openai-chat:m-1", "--base-url", f"{server.url}/v1", "-T", "my:delete", "-T", "my:sense", "-T", "my:pay")
        return await program("run", *arguments, *options)

    return start


def results(request):
    return [message["content"] for message in json.loads(request.body)["messages"] if message["role"] == "tool"]


async def test_a_run_that_waits_ends_with_status_3_and_says_what_waits_and_that_it_is_not_kept(run, program):
    async with scripted_server([both()]) as server:
        done = await run(server, "Go.")
    assert (done.code, done.text) == (3, "")
    assert done.err.count("waits for approval: delete") == 1
    assert '1. waits for approval: delete {"path": "a.txt"}\n   key ' in done.err
    assert '2. waits for a result from elsewhere: sense {"room": "attic"}' in done.err
    assert "--state FILE" in done.err
    assert sorted(path.name for path in program.folder.iterdir() if path.suffix == ".json") == []


async def test_with_json_the_last_event_says_what_waits(run):
    async with scripted_server([both()]) as server:
        done = await run(server, "Go.", "--json", "-q")
    last = decode_event(done.out.splitlines()[-1])
    assert done.code == 3
    assert [(pending.kind, pending.call.name) for pending in last.pending] == [("approval", "delete"), ("external", "sense")]


async def test_a_kept_run_is_answered_in_part_and_then_to_its_end(run, program):
    async with scripted_server([both(), text_stream("All done.")]) as server:
        done = await run(server, "Go.", "--state", "s.json", "--json")
        lines = done.out.splitlines()
        assert (done.code, "--resume s.json" in done.err) == (3, True)
        kept = RunResult.from_state((program.folder / "s.json").read_bytes())
        assert len(kept.pending) == 2
        done = await run(server, "--resume", "s.json", "--approve", '1={"path": "b.txt"}', "--json")
        lines += done.out.splitlines()
        assert (done.code, "--answer KEY=VALUE" in done.err, "--approve" in done.err) == (3, True, False)
        done = await run(server, "--resume", "s.json", "--answer", f"{kept.pending[1].call_key}=21", "--json")
        lines += done.out.splitlines()
    assert done.code == 0
    assert "b.txt is gone" in results(server.requests[1])[0]
    assert results(server.requests[1])[1] == "21"
    assert not (program.folder / "s.json").exists()
    events = [decode_event(line) for line in lines]
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    messages = fold(events)
    assert problems(messages) == []
    assert messages[-1].text == "All done."


async def test_a_resumed_run_in_a_pipe_gives_the_answer_alone(run):
    async with scripted_server([both(), text_stream("All done.")]) as server:
        await run(server, "Go.", "--state", "s.json")
        done = await run(server, "--resume", "s.json", "--reject", "1=not that one", "--answer", "2=!no sensor")
    assert (done.code, done.text) == (0, "All done.\n")
    assert "denied: not that one" in done.err
    assert "not that one" in results(server.requests[1])[0]
    assert "no sensor" in results(server.requests[1])[1]


async def test_a_call_that_had_started_when_the_program_died_is_asked_about_and_not_run_by_itself(run, program):
    async with scripted_server([call_stream("pay", '{"amount": 3}'), text_stream("Paid.")]) as server:
        done = await run(server, "Pay.", "--state", "s.json")
        assert done.code == -9 if sys.platform != "win32" else done.code
        done = await run(server, "--resume", "s.json")
        assert (done.code, len(server.requests)) == (3, 1)
        assert '1. in doubt, it may have run before: pay {"amount": 3}' in done.err
        done = await run(server, "--resume", "s.json", "--answer", "1=paid, as the bank says")
    assert (done.code, done.text) == (0, "Paid.\n")
    assert results(server.requests[1]) == ["paid, as the bank says"]


async def test_a_run_that_failed_goes_on_from_before_the_failure(run, program):
    (program.folder / "died").write_text("")
    async with scripted_server([call_stream("pay", '{"amount": 3}'), REFUSED, text_stream("Paid.")]) as server:
        done = await run(server, "Pay.", "--state", "s.json")
        assert (done.code, "--resume goes on from there" in done.err) == (1, True)
        done = await run(server, "--resume", "s.json")
    assert (done.code, done.text) == (0, "Paid.\n")
    assert results(server.requests[2]) == ["paid 3"]
    assert not (program.folder / "s.json").exists()


async def test_a_run_that_needs_nobody_leaves_no_file(run, program):
    async with scripted_server([text_stream("Hi.")]) as server:
        done = await run(server, "Hi.", "--state", "s.json")
    assert (done.code, done.text) == (0, "Hi.\n")
    assert not (program.folder / "s.json").exists()


async def test_modes_rules_and_limits_hold_in_a_run(run):
    async with scripted_server([call_stream("delete", '{"path": "a"}'), text_stream("One.")] * 2) as server:
        done = await run(server, "Go.", "--allow", "delete")
        assert (done.code, done.text) == (0, "One.\n")
        done = await run(server, "Go.", "--mode", "bypass", "--limit", "tool_calls=1")
    assert "limit reached: tool_calls (1)" in done.err
    assert [results(request) for request in server.requests[1::2]] == [["a is gone"]] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["?", "--approve", "all"], "--resume FILE"),
        (["?", "--resume", "s.json"], "there is no question"),
        (["--resume", "nowhere.json"], "nowhere.json: No such file"),
        (["--resume", "my.py"], "no JSON"),
        (["--resume", "s.json", "--state", "s.json"], "exclude each other"),
        (["?", "--state", "my.py"], "there is a run already"),
        (["?", "--state", "no/folder/s.json"], "No such file"),
        (["?", "--mode", "loud"], "no mode 'loud'"),
        (["?", "--limit", "rounds=3"], "--limit 'rounds=3'"),
        (["?", "--deny", "x("], "--deny 'x('"),
        (["?", "--mcp", ""], "--mcp is empty"),
    ],
)
def test_wrong_use_is_2(monkeypatch, capsys, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(TOOLS)
    assert main(["run", *arguments, "-m", "openai-chat:m-1", "--base-url", "http://127.0.0.1:1/v1"]) == 2
    said = capsys.readouterr()
    assert (said.out, words in said.err) == ("", True), said.err


async def test_an_answer_that_does_not_fit_is_2_and_the_run_can_still_be_answered(run):
    async with scripted_server([both(), text_stream("All done.")]) as server:
        await run(server, "Go.", "--state", "s.json")
        for wrong in (("--approve", "9"), ("--answer", "2=warm")):
            done = await run(server, "--resume", "s.json", *wrong)
            assert (done.code, done.out) == (2, b""), done.err
        done = await run(server, "--resume", "s.json", "--approve", "all", "--answer", "2=21")
    assert (done.code, done.text) == (0, "All done.\n")


async def test_a_server_of_tools_is_started_for_a_run(run, program):
    pytest.importorskip("mcp", reason="needs the extra mcp")
    (program.folder / "mcp_server.py").write_text(MCP_SERVER.read_text())
    async with scripted_server([call_stream("add", '{"a": 2, "b": 3}'), text_stream("Five.")]) as server:
        done = await run(server, "2+3?", "--mcp", f"'{sys.executable}' mcp_server.py")
    assert (done.code, done.text) == (0, "Five.\n"), done.err
    assert "5" in results(server.requests[1])[0]
