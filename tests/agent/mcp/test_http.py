"""MCP servers over streamable HTTP, real ones."""

from __future__ import annotations

import asyncio
import functools
import socket

import pytest

from headrace.agent.execution import run_tool
from headrace.agent.mcp.server import MCPServer
from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolCallPart
from headrace.tools.context import Context

mcp_http = pytest.importorskip("mcp_http_server", reason="the extra is missing: pip install 'headrace[mcp]'")
CONTEXT = Context(deps=None)


@pytest.fixture(params=[False, True], ids=["newer", "older"])
def serve(request):
    """Start a server that speaks the newer protocol, or one that only knows the older, with sessions."""
    return functools.partial(mcp_http.mcp_http_server, is_older=request.param)


async def call(tools, name, arguments=None, context=CONTEXT):
    return await run_tool(tools[name], ToolCallPart(id="c", name=name, arguments=arguments or {}), context)


async def until(condition):
    while not condition():  # noqa: ASYNC110 - what a server has seen sets no event
        await asyncio.sleep(0.005)


async def test_tools_over_http_are_listed_and_called(serve):
    async with serve() as seen, MCPServer.http(seen.url, prefix="real") as tools:
        assert tools["real_add"].parameters["properties"]["a"]["description"] == "the first"
        assert tools["real_add"].options.read_only
        result = await call(tools, "real_add", {"a": 2, "b": 3})
        assert (result.state, result.parts) == ("success", (JsonPart({"result": 5}),))


async def test_what_is_said_twice_comes_once():
    async with mcp_http.mcp_http_server() as seen, MCPServer.http(seen.url) as tools:
        assert (await call(tools, "greet", {"name": "Ada"})).parts == (TextPart("hello Ada"),)
        assert (await call(tools, "weather")).parts == (JsonPart({"celsius": 21.5}),)
        assert (await call(tools, "items")).parts == (JsonPart({"result": ["a", "b"]}),)


async def test_media_and_resources_come_as_parts():
    async with mcp_http.mcp_http_server() as seen, MCPServer.http(seen.url) as tools:
        parts = (await call(tools, "media")).parts
        assert parts[0] == TextPart("one\ntwo")
        assert parts[1] == MediaPart(kind="image", data=mcp_http.PNG, media_type="image/png")
        assert parts[2] == MediaPart(kind="audio", data=mcp_http.PNG, media_type="audio/wav")
        assert parts[3] == TextPart("[file:///a.txt]\nwords\n")
        assert parts[4] == MediaPart(kind="document", data=mcp_http.PNG, media_type="application/pdf", name="a b.pdf")
        assert parts[5].value["uri"] == "file:///more"
        assert parts[6].value["data"] == "!"


async def test_a_tool_that_fails_tells_the_model_why():
    async with mcp_http.mcp_http_server() as seen, MCPServer.http(seen.url) as tools:
        result = await call(tools, "boom")
        assert result.state == "error"
        assert "the disk is full" in result.text


async def test_arguments_that_the_server_refuses_are_told_to_the_model():
    async with mcp_http.mcp_http_server() as seen, MCPServer.http(seen.url) as tools:
        result = await call(tools, "add", {"a": "many", "b": 1})
        assert result.state == "error"
        assert "valid integer" in result.text


async def test_headers_go_with_every_request_and_are_never_shown():
    headers = {"Authorization": "Bearer hunter2hunter2", "X-Team": "swordfish-9"}
    async with mcp_http.mcp_http_server() as seen:
        server = MCPServer.http(seen.url, headers=headers)
        async with server as tools:
            await call(tools, "nothing")
            assert all(one["authorization"] == "Bearer hunter2hunter2" for one in seen.headers)
            shown = repr(server)
        seen.status = 401
        async with server:
            assert "the server answered HTTP 401 Unauthorized: go away" in server.problem
            shown += server.problem
    assert "hunter2" not in shown
    assert "swordfish" not in shown


async def test_secrets_in_a_url_are_never_shown():
    server = MCPServer.http("http://ada:hunter2hunter2@127.0.0.1:9/mcp?token=hunter3hunter3")
    async with server as tools:
        assert len(tools) == 0
        assert "hunter" not in f"{server!r} {server.problem}"


async def test_a_url_where_nobody_listens_gives_no_tools_and_says_why():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = MCPServer.http(f"http://127.0.0.1:{free.getsockname()[1]}/mcp", name="away")
        async with server as tools:
            assert len(tools) == 0
            assert server.problem.startswith("the MCP server away cannot be reached: no connection could be made")


async def test_a_server_that_is_silent_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = MCPServer.http(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", name="silent", connect_timeout_s=0.3)
        async with server as tools:
            assert len(tools) == 0
            assert "it did not answer within 0.3 s" in server.problem


@pytest.mark.parametrize("options", [{}, {"stateless_http": True}, {"json_response": True}], ids=["sessions", "stateless", "json"])
async def test_many_calls_at_once_get_their_own_answers(options):
    async with mcp_http.mcp_http_server(**options) as seen, MCPServer.http(seen.url) as tools:
        results = await asyncio.gather(*(call(tools, "add", {"a": n, "b": 1}) for n in range(40)))
        assert [result.parts[0].value["result"] for result in results] == [n + 1 for n in range(40)]


async def test_a_new_tool_appears_when_the_server_says_so(serve):
    async with serve() as seen:
        server = MCPServer.http(seen.url)
        async with server as tools:
            await call(tools, "grow")
            await until(lambda: "grown" in server.toolset)


async def test_cancelling_a_call_cancels_it_at_the_server(serve):
    async with serve() as seen, MCPServer.http(seen.url) as tools:
        task = asyncio.create_task(call(tools, "wait"))
        await until(lambda: seen.calls == ["wait"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: seen.calls == ["wait", "cancelled"])
        assert (await call(tools, "add", {"a": 1, "b": 1})).state == "success"


async def test_a_server_that_was_started_anew_is_found_again(serve):
    async with serve() as first:
        server = MCPServer.http(first.url)
        async with server as tools:
            await call(tools, "add", {"a": 1, "b": 1})
            await first.stop()
            async with serve(port=first.port) as second:
                assert (await call(tools, "nothing")).state == "success"
                assert second.calls == ["nothing"]
                assert server.problem is None


async def test_news_of_a_server_that_was_started_anew_is_heard_again():
    async with mcp_http.mcp_http_server() as first, MCPServer.http(first.url):
        await first.stop()
        async with mcp_http.mcp_http_server(port=first.port) as second:
            await until(lambda: "tools/list" in [headers.get("mcp-method") for headers in second.headers])
            asked = [headers["mcp-method"] for headers in second.headers]
            assert asked == ["subscriptions/listen", "tools/list"]


async def test_a_server_that_is_gone_drops_its_tools(serve):
    async with serve() as seen:
        server = MCPServer.http(seen.url, name="real")
        async with server as tools:
            await seen.stop()
            result = await call(tools, "nothing")
            assert result.text.startswith("nothing was not run: the MCP server real cannot be reached: no connection could be made")
            assert len(server.toolset) == 0
            assert seen.calls == []


async def test_a_call_under_which_the_server_went_away_is_not_made_again(serve):
    async with serve() as first, MCPServer.http(first.url) as tools:
        task = asyncio.create_task(call(tools, "wait"))
        await until(lambda: first.calls == ["wait"])
        await first.stop()
        async with serve(port=first.port) as second:
            result = await task
            assert result.state == "error"
            assert "wait may have run or not" in result.text
            assert second.calls == []


async def test_a_refused_request_is_an_error_of_its_call_alone(serve):
    async with serve() as seen, MCPServer.http(seen.url) as tools:
        slow = asyncio.create_task(call(tools, "wait"))
        await until(lambda: seen.calls == ["wait"])
        seen.status = 503
        result = await call(tools, "nothing")
        assert (result.state, result.text) == ("error", "the server answered HTTP 503 Service Unavailable: go away")
        seen.status = None
        seen.release.set()
        assert (await slow).text == "waited"
