"""Agents with MCP servers: real ones, over stdio and HTTP, that come, go, change and clash while runs are under way."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve, Deny
from headrace.agent.claims import MemoryClaims
from headrace.agent.mcp.server import MCPServer
from headrace.agent.output.spec import OutputSpec
from headrace.agent.session import MemorySessions
from headrace.errors import MissingExtraError, StateError, UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import tool
from headrace.tools.toolset import Toolset
from seed_runs import check, of, run
from wire_judge import wire_problems

mcp_http = pytest.importorskip("mcp_http_server", reason="the extra is missing: pip install 'headrace[mcp]'")
SERVER = str(Path(__file__).resolve().parents[1] / "support" / "mcp_bare_server.py")


def bare(*arguments, **options):
    return MCPServer.stdio(sys.executable, [SERVER, *arguments], **{"name": "bare", **options})


def asks(name, /, **arguments):
    return AssistantMessage([ToolCallPart(id="c", name=name, arguments=arguments)])


def offered(model):
    """By request: the names of the tools."""
    return [{spec.name for spec in request.tools} for request in model.requests]


def results(result):
    return [part for message in result.messages if message.role == "tool" for part in message.results]


def legal(model):
    for request in model.requests:
        assert wire_problems(request.messages, request.tools) == []


async def until(condition):
    while not condition():  # noqa: ASYNC110 - a process that ends sets no event
        await asyncio.sleep(0.005)


@tool
def local() -> str:
    """Answer at home."""
    return "home"


class Source:
    """A source of the test's own, that can do what no server should."""

    def __init__(self, name="own", tools=(), *, opens=None, closes=None):
        self.name, self.problem, self.toolset = name, None, Toolset(tools)
        self.log = []
        self._opens, self._closes = opens, closes

    async def open(self):
        self.log.append("open")
        if isinstance(self._opens, asyncio.Event):
            await self._opens.wait()
        elif self._opens is not None:
            raise self._opens
        return self.toolset

    async def aclose(self):
        self.log.append("close")
        if self._closes is not None:
            raise self._closes


def named(name, **options):
    @tool(name=name, **options)
    def one() -> str:
        """Do something."""
        return f"{name} is done"

    return one


# ---------------------------------------------------------------------------------------------- offered and called


async def test_the_tools_of_a_server_are_offered_and_called_beside_the_agents_own():
    both = AssistantMessage(
        [ToolCallPart(id="a", name="bare_add", arguments={"a": 2, "b": 3}), ToolCallPart(id="b", name="local", arguments={})]
    )
    model = ScriptedModel(both, "Five.")
    server = bare(prefix="bare")
    result, made = await run(Agent(model, tools=[local, server]))
    assert {"local", "bare_add", "bare_pid"} <= offered(model)[0]
    assert all(now is before for now, before in zip(model.requests[0].tools, model.requests[1].tools, strict=True))
    assert [part.parts[0] for part in results(result)] == [JsonPart({"sum": 5}), results(result)[1].parts[0]]
    assert results(result)[1].text == "home"
    assert of(made, events.ToolsChanged) == []
    assert "closed" in repr(server)
    legal(model)


async def test_two_servers_over_stdio_and_http_serve_one_agent():
    async with mcp_http.mcp_http_server() as seen:
        model = ScriptedModel(asks("web_steps"), asks("web_media"), asks("disk_progress"), "Done.")
        agent = Agent(model, tools=[bare(prefix="disk"), MCPServer.http(seen.url, prefix="web")])
        result, made = await run(agent)
    progress = [(event.message, event.done, event.total) for event in of(made, events.ToolProgress)]
    assert ("half", 1, 2) in progress
    assert progress[0][0] in ("step 1", "step 2")
    image = next(part for part in results(result)[1].parts if isinstance(part, MediaPart))
    assert (image.kind, image.data, image.media_type) == ("image", mcp_http.PNG, "image/png")
    assert [part.state for part in results(result)] == ["success"] * 3
    legal(model)


async def test_a_tool_that_its_server_calls_destructive_waits_for_a_person_and_runs_in_another_agent():
    model = ScriptedModel(asks("count"), "Counted.")
    paused, _ = await run_to_pause(Agent(model, tools=[bare()]))
    (pending,) = paused.pending
    assert pending.call.name == "count"
    made = []
    other_model = ScriptedModel("Counted.")
    other = Agent(other_model, tools=[bare()])  # as in another process: its server is not open yet
    result = await other.resume(json.loads(json.dumps(paused.state)), [Approve(call_key=pending.call_key)], on_event=made.append)
    assert results(result)[0].state == "success"
    assert results(result)[0].text == "count"
    assert of(made, events.ToolsChanged) == []
    assert "add" in offered(other_model)[0]


async def run_to_pause(agent, given="go", **options):
    made = []
    result = await agent.run(given, on_event=made.append, **options)
    assert result.is_waiting
    return result, made


async def test_a_call_of_a_server_is_denied_or_given_up():
    model = ScriptedModel(asks("count"), "Then not.")
    agent = Agent(model, tools=[bare()])
    paused, _ = await run_to_pause(agent)
    result = await agent.resume(paused.state, [Deny(call_key=paused.pending[0].call_key, reason="no")])
    assert results(result)[0].state == "denied"
    paused, _ = await run_to_pause(Agent(ScriptedModel(asks("count")), tools=[bare()]))
    ended = await agent.give_up(paused.state)
    assert results(ended)[0].state == "interrupted"


async def test_what_was_approved_is_not_run_where_the_server_is_gone():
    agent = Agent(ScriptedModel(asks("count")), tools=[bare()])
    paused, _ = await run_to_pause(agent)
    model, made = ScriptedModel("Pity."), []
    other = Agent(model, tools=[bare("--crash")])
    result = await other.resume(paused.state, [Approve(call_key=paused.pending[0].call_key)], on_event=made.append)
    assert results(result)[0].state == "error"
    assert "count" in results(result)[0].text
    (changed,) = of(made, events.ToolsChanged)
    assert changed.tools == ()
    assert "cannot be reached" in changed.detail


async def test_a_call_that_ran_when_the_process_died_is_not_denied_where_its_server_is_gone(tmp_path):
    count = tmp_path / "count"
    agent = Agent(ScriptedModel(asks("hang")), tools=[bare(env={"COUNT_FILE": str(count)})])
    async with agent.stream("go") as run_:
        reading = asyncio.create_task(read(run_))
        await until(count.exists)
        state = json.loads(json.dumps(run_.state))
        reading.cancel()
        await asyncio.wait({reading})
    model = ScriptedModel("I do not know.")
    result = await Agent(model, tools=[bare("--crash")]).resume(state)
    assert [part.state for part in results(result)] == ["interrupted"]
    assert "what it had done by then is not known" in results(result)[0].text
    there = await Agent(ScriptedModel("never asked"), tools=[bare()], claims=MemoryClaims()).resume(state)
    assert [pending.kind for pending in there.pending] == ["in_doubt"]
    assert count.read_text().split().count("hang") == 1
    legal(model)


# ---------------------------------------------------------------------------------------------- coming and going


async def test_a_server_that_cannot_be_reached_is_said_at_the_beginning():
    model = ScriptedModel("Alone, then.")
    result, made = await run(Agent(model, tools=[local, MCPServer.stdio("no-such-program", name="missing")]))
    (changed,) = of(made, events.ToolsChanged)
    assert changed.tools == ("local",)
    assert changed.detail.startswith("missing: the MCP server missing cannot be reached")
    assert [event.type for event in made][:2] == ["run_started", "tools_changed"]
    assert result.generate_reason == "completed"


async def test_a_server_that_is_killed_between_rounds_is_said_and_started_anew_at_the_next_call():
    pids = []
    server = bare()

    async def kill(request):
        pids.append(int(request.messages[-1].results[0].text))
        os.kill(pids[0], signal.SIGKILL)
        await until(lambda: server.problem is not None)
        return asks("local")

    model = ScriptedModel(asks("pid"), kill, asks("pid"), "Done.")
    result, made = await run(Agent(model, tools=[local, server]))
    first, second = of(made, events.ToolsChanged)
    assert "went away" in first.detail
    assert "pid" in first.tools
    assert second.detail == ""
    again = int(results(result)[2].text)
    assert again != pids[0]
    legal(model)


async def test_a_server_that_stays_away_loses_its_tools_and_a_call_of_them_gets_an_error():
    async with mcp_http.mcp_http_server() as seen:
        server = MCPServer.http(seen.url, name="web", connect_timeout_s=5)

        async def stop(_request):
            await seen.stop()
            return asks("greet", name="Ada")

        model = ScriptedModel(asks("add", a=1, b=2), stop, asks("greet", name="Ada"), "Without it, then.")
        result, made = await run(Agent(model, tools=[local, server]))
    states = [part.state for part in results(result)]
    assert states == ["success", "error", "error"]
    changed = of(made, events.ToolsChanged)
    assert changed[-1].tools == ("local",)
    assert "cannot be reached" in changed[-1].detail
    assert offered(model)[-1] == {"local"}
    assert "greet" in results(result)[2].text
    legal(model)


async def test_a_server_that_came_back_is_used_by_the_next_run():
    async with mcp_http.mcp_http_server() as seen:
        port, url = seen.port, seen.url
    server = MCPServer.http(url, name="web", connect_timeout_s=5)
    model = ScriptedModel("Alone.", asks("greet", name="Ada"), "Done.")
    agent = Agent(model, tools=[server])
    _, made = await run(agent)
    assert len(of(made, events.ToolsChanged)) == 1
    async with mcp_http.mcp_http_server(port=port):
        result, made = await run(agent)
    assert of(made, events.ToolsChanged) == []
    assert results(result)[0].text == "hello Ada"


async def test_a_tool_that_a_server_adds_is_offered_from_the_next_round_on():
    server = bare(tools=["grow", "grown"])

    async def wait(_request):
        await until(lambda: "grown" in server.toolset)
        return asks("local")

    model = ScriptedModel(asks("grow"), wait, asks("grown"), "Done.")
    result, made = await run(Agent(model, tools=[local, server]))
    (changed,) = of(made, events.ToolsChanged)
    assert set(changed.tools) == {"local", "grow", "grown"}
    assert [part.text for part in results(result)] == ["grown", "home", "grown"]


async def test_a_call_under_which_the_server_dies_is_an_error_result_and_not_made_again(tmp_path):
    count = tmp_path / "count"
    model = ScriptedModel(asks("die"), "Oh.")
    result, _ = await run(Agent(model, tools=[bare(env={"COUNT_FILE": str(count)})]))
    assert results(result)[0].state == "error"
    assert "may have run or not" in results(result)[0].text
    assert count.read_text().split() == ["die"]


# ---------------------------------------------------------------------------------------------- names


async def test_two_servers_with_tools_of_one_name_fail_the_run_with_a_word_on_what_helps():
    made = []
    agent = Agent(ScriptedModel("never asked"), tools=[bare(name="one"), bare(name="two")])
    with pytest.raises(UsageError) as caught:
        await agent.run("go", session="s", on_event=made.append)
    text = str(caught.value)
    assert text.startswith("the source one and the source two both have a tool 'add'")
    assert "prefix" in text
    check(made, caught.value.result)
    assert agent.sessions.get("s").holder is None
    assert agent.model.requests == []


async def test_a_servers_tool_with_the_name_of_one_of_the_agents_own_is_refused():
    source = Source(tools=[named("local")])
    with pytest.raises(UsageError, match="the agent itself and the source own both have a tool 'local'"):
        await Agent(ScriptedModel("never asked"), tools=[local, source]).run("go")
    assert source.log == ["open", "close"]


async def test_a_tool_that_comes_later_under_a_name_that_is_taken_is_left_out_and_said():
    first, second = Source("first", [named("look")]), Source("second", [named("fly")])

    def clash(_request):
        second.toolset = Toolset([named("fly"), named("look")])
        return asks("look")

    model = ScriptedModel(clash, asks("look"), "Done.")
    result, made = await run(Agent(model, tools=[first, second]))
    (changed,) = of(made, events.ToolsChanged)
    assert changed.tools == ("look", "fly")
    assert "both have a tool 'look'; the second one is left out" in changed.detail
    assert [part.state for part in results(result)] == ["success", "success"]


async def test_a_server_with_the_tool_by_which_the_answer_comes_is_refused():
    output = OutputSpec.of(int, mode="tool")
    (name,) = output.tool_names
    with pytest.raises(UsageError, match="the type of the answer and the source own both have a tool"):
        await Agent(ScriptedModel("never asked"), tools=[Source(tools=[named(name)])], output_type=output).run("go")


# ---------------------------------------------------------------------------------------------- open and closed


async def test_without_a_block_each_run_opens_and_closes_its_server():
    model = ScriptedModel(asks("pid"), "One.", asks("pid"), "Two.")
    server = bare()
    agent = Agent(model, tools=[server])
    pids = [int(results((await run(agent))[0])[0].text) for _ in range(2)]
    assert pids[0] != pids[1]
    assert server.problem is None
    assert "closed" in repr(server)


async def test_a_block_keeps_a_server_open_over_runs_also_where_blocks_overlap():
    model = ScriptedModel(*[asks("pid"), "Done."] * 4)
    server = bare()
    agent = Agent(model, tools=[server])
    async with agent:
        async with agent:
            pids = [int(results((await run(agent))[0])[0].text) for _ in range(2)]
        pids.append(int(results((await run(agent))[0])[0].text))
        assert "open" in repr(server)
    assert len(set(pids)) == 1
    assert "closed" in repr(server)
    await agent.aclose()


async def test_runs_side_by_side_share_a_server():
    server = bare()
    agents = [Agent(ScriptedModel(asks("pid"), "Done."), tools=[server]) for _ in range(5)]
    async with agents[0]:
        pids = {results(result)[0].text for result, _ in await asyncio.gather(*(run(agent) for agent in agents))}
    assert len(pids) == 1
    assert "closed" in repr(server)


def test_a_server_serves_synchronous_runs_one_after_the_other():
    agent = Agent(ScriptedModel(*[asks("add", a=1, b=2), "Three."] * 2), tools=[bare()])
    for _ in range(2):
        assert results(agent.run_sync("go"))[0].parts[0] == JsonPart({"sum": 3})


async def test_a_sub_agent_has_its_own_servers_and_what_they_say_is_seen_outside():
    inner = Agent(ScriptedModel(asks("progress"), "Half."), tools=[bare()])
    result, made = await run(Agent(ScriptedModel(asks("ask", task="go"), "Done."), tools=[inner.as_tool("ask", "Asks.")]))
    assert results(result)[0].text == "Half."
    assert any(isinstance(event.event, events.ToolProgress) for event in of(made, events.SubRun))


async def test_a_call_of_a_server_in_a_sub_agent_waits_outside_and_goes_on():
    inner = Agent(ScriptedModel(asks("count")), tools=[bare()])
    paused, _ = await run_to_pause(Agent(ScriptedModel(asks("ask", task="go")), tools=[inner.as_tool("ask", "Asks.")]))
    (pending,) = paused.pending
    assert (pending.call.name, len(pending.path)) == ("count", 1)
    inner = Agent(ScriptedModel("Counted."), tools=[bare()])
    outer = Agent(ScriptedModel("Done."), tools=[inner.as_tool("ask", "Asks.")])
    result = await outer.resume(json.loads(json.dumps(paused.state)), [Approve(call_key=pending.call_key)])
    assert (results(result)[0].text, result.message.text) == ("Counted.", "Done.")


async def test_a_pause_closes_a_server_and_a_run_that_is_left_does_too():
    server = bare()
    agent = Agent(ScriptedModel(asks("count"), asks("pid")), tools=[server])
    await run_to_pause(agent)
    assert "closed" in repr(server)
    async with agent.stream("go") as run_:
        async for event in run_:
            if isinstance(event, events.ToolStarted):
                break
    assert "closed" in repr(server)


@pytest.mark.parametrize("way", ["interrupt", "cancel"])
async def test_a_run_that_is_left_while_a_source_opens_leaves_nothing_open_and_its_session_free(way):
    ready, never = Source("ready"), Source("never", opens=asyncio.Event())
    agent = Agent(ScriptedModel("Hello."), tools=[ready, never])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as run_:
        reading = asyncio.create_task(read(run_))
        await until(lambda: never.log == ["open"])
        if way == "interrupt":
            run_.interrupt()
        else:
            reading.cancel()
        await asyncio.wait({reading})
    assert reading.cancelled() == (way == "cancel")
    assert (ready.log, never.log) == (["open", "close"], ["open"])
    kept = agent.sessions.get("s")
    assert kept.holder is None
    if way == "interrupt":  # its input is kept, as that of any run that is interrupted
        check(made, run_.result)
        assert run_.result.generate_reason == "interrupted"
        assert kept.messages == run_.result.messages
        return
    assert (made, kept.messages) == ([], ())
    with pytest.raises(StateError, match="never began"):
        _ = run_.result


async def read(run_):
    async for _ in run_:
        pass


async def test_a_resume_that_is_interrupted_while_a_source_opens_closes_its_calls():
    sell = named("sell", needs_approval=True)
    paused, _ = await run_to_pause(Agent(ScriptedModel(asks("sell")), tools=[sell], sessions=(sessions := MemorySessions())), session="s")
    never = Source("never", opens=asyncio.Event())
    other = Agent(ScriptedModel("never asked"), tools=[sell, never], sessions=sessions)
    async with other.resume_stream(paused.state, [Approve(call_key=paused.pending[0].call_key)]) as run_:
        reading = asyncio.create_task(run_.finish())
        await until(lambda: never.log == ["open"])
        run_.interrupt()
        result = await reading
    assert [part.state for part in results(result)] == ["interrupted"]
    assert sessions.get("s").messages == result.messages
    assert sessions.get("s").holder is None


async def test_a_state_can_be_used_again_when_its_resume_failed_before_it_began():
    broken = Source("broken", opens=MissingExtraError("mcp", feature="an MCP server", module="mcp"))
    sell = named("sell", needs_approval=True)
    paused, _ = await run_to_pause(Agent(ScriptedModel(asks("sell")), tools=[sell]))
    reply = Approve(call_key=paused.pending[0].call_key)
    with pytest.raises(MissingExtraError):
        await Agent(ScriptedModel("never asked"), tools=[sell, broken]).resume(paused.state, [reply])
    result = await Agent(ScriptedModel("Done."), tools=[sell]).resume(paused.state, [reply])
    assert result.message.text == "Done."


async def test_where_one_source_fails_to_open_the_others_are_closed():
    good, bad = Source("good"), Source("bad", opens=StateError("not here"))
    agent = Agent(ScriptedModel("Hello."), tools=[good, bad])
    with pytest.raises(StateError, match="not here"):
        await agent.run("go", session="s")
    assert good.log == ["open", "close"]
    assert agent.sessions.get("s").holder is None
    with pytest.raises(StateError, match="not here"):
        await agent.__aenter__()
    assert good.log == ["open", "close"] * 2


async def test_a_source_that_cannot_be_closed_does_not_spoil_the_run(caplog):
    first, second = Source("first"), Source("second", closes=RuntimeError("stuck"))
    result, _ = await run(Agent(ScriptedModel("Hello."), tools=[first, second]))
    assert result.message.text == "Hello."
    assert (first.log, second.log) == (["open", "close"], ["open", "close"])
    assert "the source of tools second could not be closed" in caplog.text


async def test_sources_open_side_by_side():
    both = asyncio.Barrier(2)

    class Slow(Source):
        async def open(self):
            await both.wait()
            return await super().open()

    result, _ = await run(Agent(ScriptedModel("Hello."), tools=[Slow("a"), Slow("b")]))
    assert result.message.text == "Hello."


async def test_an_agent_without_the_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    agent = Agent(ScriptedModel("Hello."), tools=[bare()])
    with pytest.raises(MissingExtraError, match=r"headrace\[mcp\]"):
        await agent.run("go", session="s")
    assert agent.sessions.get("s").holder is None


# ---------------------------------------------------------------------------------------------- groups


async def test_the_groups_of_a_server_are_switched_like_the_agents_own():
    server = bare(tools=["add", "pid"], options={"*": {"group": "numbers"}})
    model = ScriptedModel(asks("switch_tools", on=["numbers"]), asks("add", a=1, b=2), "Three.")
    result, made = await run(Agent(model, tools=[local, server], groups=[]))
    assert offered(model)[0] == {"local", "switch_tools"}
    description = next(spec.description for spec in model.requests[0].tools if spec.name == "switch_tools")
    assert "- numbers: add, pid" in description
    assert results(result)[0].text == "On: numbers (add, pid). Off: none."
    assert offered(model)[1] == {"local", "switch_tools", "add", "pid"}
    assert results(result)[1].parts[0] == JsonPart({"sum": 3})
    assert len(of(made, events.ToolsChanged)) == 1


async def test_a_group_that_no_source_has_fails_the_run_and_one_of_a_server_that_is_away_does_not():
    agent = Agent(ScriptedModel("never asked"), tools=[Source(tools=[named("fly", group="air")])], groups=["sea"])
    with pytest.raises(UsageError, match="there is no group 'sea'; the groups are: air"):
        await agent.run("go")
    away = Agent(ScriptedModel("Alone."), tools=[MCPServer.stdio("no-such-program", name="missing")], groups=["sea"])
    result, _ = await run(away)
    assert result.message.text == "Alone."


async def test_a_tool_switches_the_groups_of_a_source_where_the_model_cannot():
    def tools():
        @tool
        def land(context: Context) -> str:
            """Land."""
            return ", ".join(sorted(context.switch_groups(off=["air"])))

        return [land, Source(tools=[named("fly", group="air"), named("swim", group="sea"), named("sell", needs_approval=True)])]

    both = AssistantMessage([ToolCallPart(id="a", name="land", arguments={}), ToolCallPart(id="b", name="sell", arguments={})])
    model = ScriptedModel(both)
    paused, _ = await run_to_pause(Agent(model, tools=tools()))
    assert offered(model) == [{"land", "fly", "swim", "sell"}]
    model = ScriptedModel(asks("fly"), "Done.")
    result = await Agent(model, tools=tools()).resume(json.loads(json.dumps(paused.state)), [Approve(call_key=paused.pending[0].call_key)])
    assert offered(model)[0] == {"land", "swim", "sell"}
    assert [part.state for part in results(result)] == ["success", "success", "error"]


async def test_switched_groups_of_a_source_hold_after_a_pause():
    def source():
        return Source(tools=[named("fly", group="air"), named("sell", needs_approval=True)])

    model = ScriptedModel(asks("switch_tools", on=["air"]), asks("sell"))
    paused, _ = await run_to_pause(Agent(model, tools=[source()], groups=[]))
    model, made = ScriptedModel(asks("fly"), "Done."), []
    agent = Agent(model, tools=[source()], groups=[])
    result = await agent.resume(json.loads(json.dumps(paused.state)), [Approve(call_key=paused.pending[0].call_key)], on_event=made.append)
    assert [part.text for part in results(result)[-2:]] == ["sell is done", "fly is done"]
    assert of(made, events.ToolsChanged) == []
