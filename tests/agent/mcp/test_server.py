"""MCP servers over stdio, real ones: what they offer, what calls give, and what happens when they go away."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

from headrace.agent.execution import run_tool
from headrace.agent.mcp.server import MCPServer
from headrace.errors import MissingExtraError, StateError, UsageError
from headrace.messages.parts import JsonPart, TextPart, ToolCallPart
from headrace.tools.context import Context
from headrace.tools.notes import ProgressNote
from headrace.tools.source import ToolSource, opened

pytest.importorskip("mcp", reason="the extra is missing: pip install 'headrace[mcp]'")
SERVER = str(Path(__file__).resolve().parents[2] / "support" / "mcp_bare_server.py")
CONTEXT = Context(deps=None)


def bare(*arguments, **options):
    return MCPServer.stdio(sys.executable, [SERVER, *arguments], name="bare", **options)


async def call(tools, name, arguments=None, context=CONTEXT, **options):
    made = tools[name]
    return await run_tool(made, ToolCallPart(id="c", name=name, arguments=arguments or {}), context, **options)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until(condition):
    """Wait, as long as the test may, until something is so that nobody announces."""
    while not condition():  # noqa: ASYNC110 - a process and a file set no events
        await asyncio.sleep(0.005)


async def pid_of(tools):
    return int((await call(tools, "pid")).text)


async def test_the_tools_of_a_server_are_listed_and_called():
    server = bare()
    async with server as tools:
        assert tools["add"].description == "Add two numbers."
        assert tools["add"].parameters["required"] == ["a", "b"]
        result = await call(tools, "add", {"a": 2, "b": 3})
        assert (result.state, result.parts) == ("success", (JsonPart({"sum": 5}), TextPart("5")))
        assert server.problem is None
        assert server.toolset is tools


async def test_a_server_is_a_tool_source():
    source: ToolSource = bare()
    async with opened(source) as tools:
        assert "add" in tools
    assert (await call(source.toolset, "add", {"a": 1, "b": 2})).text == "add was not run: the MCP server bare is closed"


async def test_arguments_that_miss_what_is_required_do_not_reach_the_server():
    async with bare() as tools:
        result = await call(tools, "add", {"a": 1})
        assert result.state == "error"
        assert "b" in result.text


async def test_names_that_providers_refuse_are_changed_without_collisions():
    async with bare(prefix="disk") as tools:
        assert all(name.startswith("disk_") for name in tools.names)
        changed = [name for name in tools.names if name.startswith("disk_files_read_all_")]
        assert len(changed) == 1
        assert (await call(tools, changed[0])).text == "files/read.all"
        assert (await call(tools, "disk_files_read_all")).text == "files_read_all"


async def test_only_the_tools_that_are_named_are_taken(caplog):
    async with bare(tools=["add", "files*", "fly"]) as tools:
        assert tools.names[0] == "add"
        assert len(tools) == 3
    assert "offers no tool 'fly'" in caplog.text


async def test_options_come_from_the_servers_words_and_the_callers_go_over_them():
    options = {"*": {"group": "disk"}, "die*": {"needs_approval": True}, "pid": {"idempotent": False, "timeout_s": 7}}
    async with bare(options=options, timeout_s=5, max_output_bytes=99) as tools:
        assert tools["add"].options.read_only
        assert tools["add"].options.idempotent
        assert tools["count"].options.needs_approval is True
        assert tools["die"].options.needs_approval is True
        assert tools["die_again"].options.idempotent
        assert (tools["pid"].options.idempotent, tools["pid"].options.timeout_s) == (False, 7)
        assert (tools["env"].options.timeout_s, tools["env"].options.max_output_bytes, tools["env"].options.group) == (5, 99, "disk")
    async with bare(trust_annotations=False) as tools:
        assert not tools["add"].options.read_only
        assert tools["count"].options.needs_approval is False


async def test_all_pages_of_a_listing_are_read():
    async with bare("--pages", "4") as tools:
        assert {"add", "refuse", "files_read_all"} <= set(tools.names)
        assert len(tools) == 16


async def test_a_listing_without_end_is_ended(caplog):
    async with bare("--cursor-loop") as tools:
        assert tools.names == ("add", "pid")
    assert "without end" in caplog.text


async def test_a_tool_that_is_new_appears_when_the_server_says_so():
    server = bare()
    async with server as tools:
        assert "grown" not in tools
        before = server.version
        await call(tools, "grow")
        await until(lambda: "grown" in server.toolset)
        assert server.version == before + 1
        assert (await call(server.toolset, "grown")).text == "grown"


async def test_tools_stay_when_the_changed_listing_cannot_be_read(caplog):
    server = bare()
    async with server as tools:
        await call(tools, "spoil")
        await until(lambda: "did not list its changed tools" in caplog.text)
        assert server.toolset is tools
        assert server.problem is None


async def test_tools_stay_when_the_options_do_not_suit_the_changed_ones(caplog):
    server = bare(options={"grown": {"retries": 2}})
    async with server as tools:
        await call(tools, "grow")
        await until(lambda: "are not taken: options of the tool 'grown': retries=2" in caplog.text)
        assert server.toolset is tools


async def test_content_of_a_kind_that_nobody_knows_is_kept():
    async with bare() as tools:
        result = await call(tools, "strange")
        assert result.parts == (JsonPart({"type": "hologram", "depth": 3}), TextPart("and words"))


async def test_a_call_that_the_server_refuses_tells_the_model_why_but_no_secret():
    async with bare(env={"SECRET": "hunter2hunter2"}) as tools:
        result = await call(tools, "refuse")
        assert (result.state, result.text) == ("error", 'no, not with ***: {"field":"x"}')


async def test_progress_reaches_whoever_watches_and_is_not_asked_for_otherwise():
    async with bare() as tools:
        heard = []
        assert (await call(tools, "progress", on_output=heard.append)).text == "done"
        assert heard == [ProgressNote("half", 1.0, 2.0), TextPart("done")]
        assert (await call(tools, "progress")).text == "nobody asked"


async def test_what_the_server_logs_is_logged_without_secrets(caplog):
    with caplog.at_level(logging.INFO, "headrace.mcp"):
        async with bare(env={"SECRET": "hunter2hunter2"}) as tools:
            await call(tools, "log")
            await until(lambda: "look out" in caplog.text)
    assert "look out, ***" in caplog.text
    assert "hunter2" not in caplog.text


async def test_the_process_gets_a_safe_environment_and_what_is_given(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "ours")
    async with bare(env={"GIVEN": "yes"}) as tools:
        names = (await call(tools, "env")).text.split()
    assert "GIVEN" in names
    assert "PATH" in names
    assert "OPENAI_API_KEY" not in names


async def test_many_calls_at_once_get_their_own_answers():
    async with bare() as tools:
        results = await asyncio.gather(*(call(tools, "add", {"a": n, "b": 1}) for n in range(200)))
        assert [result.parts[0].value["sum"] for result in results] == [n + 1 for n in range(200)]


async def test_a_slow_call_does_not_hold_up_others():
    async with bare() as tools:
        slow = asyncio.create_task(call(tools, "slow"))
        while not slow.done():
            assert (await call(tools, "add", {"a": 1, "b": 1})).state == "success"
        assert slow.result().text == "slow"


async def test_a_call_that_hangs_is_timed_out_and_cancelled_at_the_server(tmp_path):
    file = tmp_path / "count"
    async with bare(env={"COUNT_FILE": str(file)}, options={"hang": {"timeout_s": 0.2}}) as tools:
        assert (await call(tools, "hang")).state == "timed_out"
        await until(lambda: file.exists() and file.read_text().endswith("cancelled\n"))
        assert file.read_text() == "hang\ncancelled\n"
        assert (await call(tools, "add", {"a": 1, "b": 1})).state == "success"


async def test_cancelling_a_call_cancels_it_at_the_server(tmp_path):
    file = tmp_path / "count"
    async with bare(env={"COUNT_FILE": str(file)}) as tools:
        task = asyncio.create_task(call(tools, "hang"))
        await until(file.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: "cancelled" in file.read_text())


async def test_a_server_that_was_killed_between_calls_is_started_again():
    server = bare()
    async with server as tools:
        first = await pid_of(tools)
        os.kill(first, signal.SIGKILL)
        await until(lambda: server.problem)
        assert server.problem == "the MCP server bare went away: it ended the connection"
        second = await pid_of(tools)
        assert second != first
        assert server.problem is None
    assert not is_running(second)


async def test_many_calls_of_a_killed_server_start_it_once():
    server = bare()
    async with server as tools:
        os.kill(await pid_of(tools), signal.SIGKILL)
        await until(lambda: server.problem)
        assert len(set(await asyncio.gather(*(pid_of(tools) for _ in range(20))))) == 1


async def test_a_call_under_which_the_server_died_is_not_made_again(tmp_path):
    file = tmp_path / "count"
    async with bare(env={"COUNT_FILE": str(file)}) as tools:
        result = await call(tools, "die")
        assert result.state == "error"
        assert "die may have run or not, and was not called again" in result.text
        assert file.read_text() == "die\n"
        assert (await call(tools, "add", {"a": 1, "b": 1})).state == "success"


async def test_a_call_of_an_idempotent_tool_is_made_once_more_but_not_for_ever(tmp_path):
    file = tmp_path / "count"
    async with bare(env={"COUNT_FILE": str(file)}) as tools:
        result = await call(tools, "die_again")
        assert result.state == "error"
        assert file.read_text() == "die_again\ndie_again\n"


async def test_a_server_that_is_gone_for_good_drops_its_tools_and_says_so(tmp_path):
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
    program.chmod(0o700)
    server = MCPServer.stdio(str(program), name="bare")
    async with server as tools:
        pid = await pid_of(tools)
        program.unlink()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: server.problem)
        result = await call(tools, "pid")
        assert result.state == "error"
        assert result.text.startswith("pid was not run: the MCP server bare cannot be reached: there is no program")
        assert len(server.toolset) == 0
        assert server.problem in result.text


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (lambda: MCPServer.stdio("no-such-program-here", name="x"), "there is no program 'no-such-program-here'"),
        (lambda: bare("--crash", env={"SECRET": "hunter2hunter2"}), "its last words: ModuleNotFoundError: no such thing ***"),
        (lambda: bare("--deaf", connect_timeout_s=0.3), "it did not answer within 0.3 s"),
        (lambda: MCPServer.stdio(sys.executable, ["-c", "print('hello')"], name="x"), "it ended the connection"),
    ],
    ids=["no program", "crashes", "says nothing", "speaks another language"],
)
async def test_a_server_that_cannot_be_reached_gives_no_tools_and_says_why(server, words):
    made = server()
    async with made as tools:
        assert len(tools) == 0
        assert f"the MCP server {made.name} cannot be reached: " in made.problem
        assert words in made.problem
        assert "hunter2" not in made.problem


async def test_opening_again_tries_again(tmp_path):
    program = tmp_path / "program"
    server = MCPServer.stdio(str(program), name="bare")
    async with server as tools:
        assert len(tools) == 0
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
        program.chmod(0o700)
        async with server as again:
            assert "add" in again
            assert server.problem is None


async def test_a_server_lives_until_the_last_one_closes_it():
    server = bare()
    async with server as tools:
        pid = await pid_of(tools)
        async with server as again:
            assert await pid_of(again) == pid
        assert await pid_of(tools) == pid
    assert not is_running(pid)
    await server.aclose()
    async with server as tools:
        assert await pid_of(tools) != pid


async def test_it_can_be_opened_called_and_closed_in_different_tasks():
    server = bare()
    tools = await asyncio.create_task(server.open())
    pid = await asyncio.create_task(pid_of(tools))
    await asyncio.create_task(server.aclose())
    assert not is_running(pid)


async def test_a_process_that_does_not_want_to_leave_is_made_to():
    async with bare("--stubborn") as tools:
        pid = await pid_of(tools)
    assert not is_running(pid)


async def test_a_server_that_went_away_tells_its_last_words_when_it_does_not_come_back(tmp_path):
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
    program.chmod(0o700)
    server = MCPServer.stdio(str(program), name="bare")
    async with server as tools:
        pid = await pid_of(tools)
        program.write_text("#!/bin/sh\necho the licence has run out >&2\nexit 1\n")
        os.kill(pid, signal.SIGKILL)
        await until(lambda: server.problem)
        assert (await call(tools, "pid")).text.endswith("its last words: the licence has run out")


async def test_closing_it_while_it_is_started_again_leaves_nothing(tmp_path):
    program, started = tmp_path / "program", tmp_path / "started"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
    program.chmod(0o700)
    server = MCPServer.stdio(str(program), name="bare")
    tools = await server.open()
    pid = await pid_of(tools)
    program.write_text(f"#!/bin/sh\necho $$ > {started}\nexec {sys.executable} {SERVER} --deaf\n")
    os.kill(pid, signal.SIGKILL)
    await until(lambda: server.problem)
    task = asyncio.create_task(call(tools, "pid"))
    await until(lambda: started.exists() and started.read_text().endswith("\n"))
    await server.aclose()
    assert (await task).text == "pid was not run: the MCP server bare is closed"
    assert not is_running(int(started.read_text()))
    assert server.problem is None


async def test_calls_that_are_under_way_when_it_is_closed_end_as_errors(tmp_path):
    file = tmp_path / "count"
    server = bare(env={"COUNT_FILE": str(file)})
    tools = await server.open()
    task = asyncio.create_task(call(tools, "hang"))
    await until(file.exists)
    await server.aclose()
    assert "the MCP server bare broke (it was closed)" in (await task).text


@pytest.mark.parametrize("steps", range(0, 40, 4))
async def test_cancelling_while_it_opens_leaves_no_process(steps):
    server = bare("--deaf")
    task = asyncio.create_task(server.open())
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [one for one in asyncio.all_tasks() if "headrace-mcp" in one.get_name()]


def test_a_server_that_nobody_closed_ends_with_the_loop():
    server = bare()

    async def main():
        return await pid_of(await server.open())

    assert not is_running(asyncio.run(main()))
    assert not is_running(asyncio.run(main()))


async def test_one_server_in_two_loops_is_refused():
    server = bare()
    async with server:

        async def elsewhere():
            with pytest.raises(StateError, match="another event loop"):
                await server.open()

        await asyncio.to_thread(asyncio.run, elsewhere())


async def test_a_repr_shows_no_secret_and_no_argument():
    server = bare("--key", "hunter2hunter2", env={"SECRET": "hunter2hunter2"})
    assert repr(server) == f"MCPServer('bare', stdio({sys.executable!r}), closed, 0 tools)"


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: MCPServer.stdio(""), "command"),
        (lambda: MCPServer.stdio("x", "one text"), "args"),
        (lambda: MCPServer.stdio("x", env={"A": 1}), "env"),
        (lambda: MCPServer.stdio("x", prefix="a b"), "prefix"),
        (lambda: MCPServer.stdio("x", tools="add"), "tools"),
        (lambda: MCPServer.stdio("x", options={"add": {"colour": 1}}), "colour"),
        (lambda: MCPServer.stdio("x", timeout_s=-1), "timeout_s"),
        (lambda: MCPServer.stdio("x", connect_timeout_s=0), "connect_timeout_s"),
        (lambda: MCPServer.http("ftp://host"), "url"),
        (lambda: MCPServer.http("http://"), "url"),
        (lambda: MCPServer.http("http://host", headers={"a": 1}), "headers"),
    ],
)
def test_wrong_arguments_are_told_when_it_is_made(make, argument):
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.argument == argument


async def test_options_that_contradict_a_tool_are_wrong_use():
    server = bare(options={"env": {"retries": 2}})
    with pytest.raises(UsageError, match="options of the tool 'env': retries=2"):
        await server.open()
    assert "closed" in repr(server)


async def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r"headrace\[mcp\]"):
        await bare().open()
