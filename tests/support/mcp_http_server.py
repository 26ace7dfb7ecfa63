"""A real MCP server over streamable HTTP, in the test's own loop, on a port of its own.

async with mcp_http_server() as server:
    ... server.url, server.calls, server.headers
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
from dataclasses import dataclass, field
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import Field

PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class HttpServer:
    """What a test sees of the server.

    Attributes:
        url: where it listens.
        calls: what its tools have done, in order.
        headers: the headers of each request.
        status: if set, every request is answered with this status and no more.
        release: lets `wait` go on.
        port: the port, to start another server at the same place.
    """

    url: str
    port: int
    calls: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    status: int | None = None
    release: asyncio.Event = field(default_factory=asyncio.Event)
    stop: object = None


def _tools(seen: HttpServer) -> MCPServer:  # noqa: C901 - a list of tools
    server = MCPServer("real")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: Annotated[int, Field(description="the first")], b: int) -> int:
        """Add two numbers."""
        seen.calls.append("add")
        return a + b

    @server.tool()
    def greet(name: str) -> str:
        return f"hello {name}"

    @server.tool()
    def weather() -> dict[str, float]:
        return {"celsius": 21.5}

    @server.tool()
    def items() -> list[str]:
        return ["a", "b"]

    @server.tool()
    def nothing() -> None:
        seen.calls.append("nothing")

    @server.tool()
    def boom() -> str:
        raise ToolError("the disk is full")

    @server.tool()
    def media() -> CallToolResult:
        data = base64.b64encode(PNG).decode()
        blob = BlobResourceContents(uri="file:///a%20b.pdf", blob=data, mime_type="application/pdf")
        text = TextResourceContents(uri="file:///a.txt", text="words")
        return CallToolResult(
            content=[
                TextContent(text="one"),
                TextContent(text="two"),
                ImageContent(data=data, mime_type="image/png"),
                AudioContent(data=data, mime_type="audio/wav"),
                EmbeddedResource(resource=text),
                EmbeddedResource(resource=blob),
                ResourceLink(name="more", uri="file:///more"),
                ImageContent(data="!", mime_type="image/png"),
            ]
        )

    @server.tool()
    async def wait() -> str:
        seen.calls.append("wait")
        try:
            await seen.release.wait()
        except asyncio.CancelledError:
            seen.calls.append("cancelled")
            raise
        return "waited"

    @server.tool()
    async def steps(context: Context) -> str:
        for n in (1, 2):
            await context.report_progress(n, 2, f"step {n}")
        return "done"

    @server.tool()
    async def grow(context: Context) -> str:
        server.add_tool(lambda: "grown", name="grown", description="")
        await context.notify_tools_changed()
        await context.session.send_tool_list_changed()
        return "grown"

    return server


@contextlib.asynccontextmanager
async def mcp_http_server(*, port: int = 0, is_older: bool = False, **options):
    """Serve the tools; `is_older` knows only the protocol with sessions; other options are those of `streamable_http_app`."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    port = listening.getsockname()[1]
    seen = HttpServer(f"http://127.0.0.1:{port}/mcp", port)
    app = _tools(seen).streamable_http_app(**options)

    async def watched(scope, receive, send):
        if scope["type"] == "http":
            seen.headers.append({key.decode(): value.decode() for key, value in scope["headers"]})
            status = 404 if is_older and seen.headers[-1].get("mcp-method") == "server/discover" else seen.status
            if status is not None:
                await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
                await send({"type": "http.response.body", "body": b"go away"})
                return
        await app(scope, receive, send)

    config = uvicorn.Config(watched, log_config=None, timeout_graceful_shutdown=0, ws="none")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:  # noqa: ASYNC110 - uvicorn sets no event
        await asyncio.sleep(0.005)

    async def stop():
        for connection in list(server.server_state.connections):
            connection.transport.abort()  # as a process that was killed leaves its clients
        server.should_exit = server.force_exit = True
        await asyncio.wait({task})

    seen.stop = stop
    try:
        yield seen
    finally:
        await stop()
