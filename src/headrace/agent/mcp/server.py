"""An MCP server as a source of tools.

The rule of this file: what the server does is never an error of the run. If it cannot be reached it gives no tools; if it dies, one new
connection is tried, and a call that may have reached it is not made again unless its tool is idempotent (law 9).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final

from headrace.agent.mcp.connection import Connection, LostError
from headrace.agent.mcp.endpoint import LOG, Endpoint, Http, Stdio
from headrace.agent.mcp.progress import progress_to
from headrace.agent.mcp.results import MAX_DETAIL_CHARS, error_text, parts_of_result, refusal_text
from headrace.agent.mcp.tools import Selection
from headrace.errors import ConnectFailedError, StateError, ToolError, UsageError
from headrace.messages.parts import Part
from headrace.tools.context import Context
from headrace.tools.options import DEFAULT_MAX_OUTPUT_BYTES, ToolOptions
from headrace.tools.toolset import Toolset

DEFAULT_CONNECT_TIMEOUT_S: Final = 30.0


class MCPServer:
    """The tools of an MCP server, as a `ToolSource`; made by `stdio` or `http`.

        async with MCPServer.stdio("uvx", ["some-server"], prefix="files") as tools:
            ...

    It belongs to the event loop that opened it, and many runs there can share it: it is connected from the first `open` until
    the last `aclose`.
    """

    def __init__(self, endpoint: Endpoint, selection: Selection, *, name: str | None, connect_timeout_s: float) -> None:
        """Hold an endpoint; users call `stdio` or `http`."""
        if not isinstance(connect_timeout_s, int | float) or isinstance(connect_timeout_s, bool) or connect_timeout_s <= 0:
            message = f"connect_timeout_s is {connect_timeout_s!r}; it must be a number of seconds above 0"
            raise UsageError(message, argument="connect_timeout_s")
        self._endpoint = endpoint
        self._selection = selection
        self._name = name or selection.prefix or endpoint.name
        self._connect_timeout_s = connect_timeout_s
        self._toolset = Toolset()
        self._shown: tuple[Any, ...] = ()  # the listing that the toolset was made of
        self._version = 0
        self._problem: str | None = None
        self._users = 0
        self._attempts = 0
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._retiring: dict[asyncio.Task[None], Connection] = {}

    @classmethod
    def stdio(
        cls,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        name: str | None = None,
        prefix: str | None = None,
        tools: Sequence[str] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeout_s: float | None = None,
        connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S,
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
        trust_annotations: bool = True,
    ) -> MCPServer:
        """Start a program and speak to it over its standard input and output.

        Args:
            command: the program; it is not run by a shell.
            args: its arguments.
            env: variables for it, beside PATH, HOME and a few harmless ones of ours; it gets no others. Never shown.
            cwd: where it runs.
            name: what to call the server in messages.
            prefix: stands before the name of each tool, with a `_`.
            tools: the names of the tools to take, as the server says them, or patterns (`read_*`); None takes all.
            options: options of `ToolOptions` by tool, or by pattern: `{"delete_*": {"needs_approval": True}}`. Later ones go over earlier.
            timeout_s: how long a call may take, in seconds; None leaves it to the agent.
            connect_timeout_s: how long it may take until the tools are listed, in seconds.
            max_output_bytes: how much text and JSON of a result is kept.
            trust_annotations: take what the server says of its tools: `readOnlyHint` as `read_only` and `idempotent`, `idempotentHint` as
                `idempotent`, a `destructiveHint` that is said as `needs_approval`. False for a server that you do not trust.

        Raises:
            UsageError: an argument does not do; nothing is started yet.
        """
        base = ToolOptions(timeout_s=timeout_s, max_output_bytes=max_output_bytes)
        selection = Selection(prefix=prefix, tools=tools, options=options, base=base, trust_annotations=trust_annotations)
        return cls(Stdio(command, args, env, cwd), selection, name=name, connect_timeout_s=connect_timeout_s)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
        prefix: str | None = None,
        tools: Sequence[str] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeout_s: float | None = None,
        connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S,
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
        trust_annotations: bool = True,
    ) -> MCPServer:
        """Speak to a server at a URL over streamable HTTP.

        Args:
            url: where it is, such as `https://host/mcp`.
            headers: go with each request, such as `{"Authorization": "Bearer …"}`. Never shown.
            name: what to call the server in messages.
            prefix: as in `stdio`, and so on.
            tools: the tools to take.
            options: options by tool.
            timeout_s: how long a call may take, in seconds.
            connect_timeout_s: how long it may take until the tools are listed, in seconds.
            max_output_bytes: how much text and JSON of a result is kept.
            trust_annotations: take what the server says of its tools.

        Raises:
            UsageError: an argument does not do; nothing is sent yet.
        """
        base = ToolOptions(timeout_s=timeout_s, max_output_bytes=max_output_bytes)
        selection = Selection(prefix=prefix, tools=tools, options=options, base=base, trust_annotations=trust_annotations)
        return cls(Http(url, headers), selection, name=name, connect_timeout_s=connect_timeout_s)

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self._name

    @property
    def problem(self) -> str | None:
        """Why its tools are missing, or that it went away and the next call tries to reach it again; None if all is well."""
        lost = self._connection.reason if self._users and self._connection is not None else None
        return self._problem or (None if lost is None else f"the MCP server {self._name} went away: {lost}")

    @property
    def toolset(self) -> Toolset:
        """The tools that it offers now: anew when the server says that they changed, none when it cannot be reached."""
        return self._toolset

    @property
    def version(self) -> int:
        """How often the toolset has changed; grows by one with each new one."""
        return self._version

    async def open(self) -> Toolset:
        """Connect if it is not connected, and return its tools; if that does not work, none, and `problem` says why.

        Raises:
            MissingExtraError: the extra `mcp` is not installed.
            StateError: it is open in another event loop.
            UsageError: the options contradict each other for one of the tools.
        """
        loop = asyncio.get_running_loop()
        if self._users and self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                raise StateError(f"the MCP server {self._name} is open in another event loop: make one for each loop")
            self._users, self._connection = 0, None  # that loop ended, and the connection with it
        if not self._users:
            self._loop, self._lock = loop, asyncio.Lock()
        self._users += 1
        try:
            await self._connected()
        except ConnectFailedError:
            pass  # `problem` says it
        except BaseException:
            await self.aclose()
            raise
        return self._toolset

    async def aclose(self) -> None:
        """Undo one `open`; the last one ends the session, and the process if there is one. Without an `open`: nothing."""
        if not self._users:
            return
        self._users -= 1
        if self._users:
            return
        connection, self._connection = self._connection, None
        retiring = dict(self._retiring)
        leaving = [*retiring.values(), *([] if connection is None else [connection])]
        await asyncio.gather(*(one.stop() for one in leaving), *retiring)

    async def __aenter__(self) -> Toolset:
        return await self.open()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        state = "closed" if not self._users else "open" if self.problem is None else "lost"
        return f"MCPServer({self._name!r}, {self._endpoint!r}, {state}, {len(self._toolset)} tools)"

    async def _connected(self) -> Connection:
        """Return the live connection, or make one; of many who ask at once, one tries, and all hear how it went."""
        attempts = self._attempts
        async with self._lock:
            if self._connection is not None and self._connection.is_live:
                return self._connection
            if self._attempts != attempts:
                raise ConnectFailedError(self.problem or "it went away again")
            self._attempts += 1
            self._let_go()
            connection = Connection(
                self._endpoint, name=self._name, connect_timeout_s=self._connect_timeout_s, on_tools=lambda: self._refresh(connection)
            )
            self._connection = connection  # already now, so that `aclose` can end it while it starts
            try:
                await connection.start()
            except ConnectFailedError as error:
                if self._connection is connection:
                    self._connection, self._problem = None, f"the MCP server {self._name} cannot be reached: {error}"
                    self._publish(())
                raise
            except BaseException:
                self._attempts -= 1  # given up by the one who tried, so the others try themselves
                raise
            if self._connection is not connection:
                raise ConnectFailedError("it was closed")
            self._problem = None
            self._publish(connection.tools)
            return connection

    def _let_go(self) -> None:
        old, self._connection = self._connection, None
        if old is not None:
            task = asyncio.create_task(old.retire(), name=f"headrace-mcp-{self._name}-retiring")
            self._retiring[task] = old
            task.add_done_callback(lambda done: self._retiring.pop(done, None))

    def _publish(self, offered: Sequence[Any]) -> None:
        """Make a new toolset of a listing, if it is another one."""
        shown = tuple(one.model_dump() for one in offered)
        if shown == self._shown:
            return
        self._toolset = self._selection.toolset(offered, self._call, self._name)
        self._shown = shown
        self._version += 1

    def _refresh(self, connection: Connection) -> None:
        if connection is not self._connection:
            return
        try:
            self._publish(connection.tools)
        except UsageError as error:
            LOG.warning("the changed tools of the MCP server %s are not taken: %s", self._name, error)

    async def _call(self, name: str, arguments: dict[str, Any], context: Context[Any], is_idempotent: bool) -> list[Part] | None:  # noqa: FBT001 - see CallOffered
        """Call a tool by the server's name for it, once more if the connection was lost and that can do no harm.

        Raises:
            ToolError: the tool failed, or the server is gone; the text is for the model.
        """
        from mcp import MCPError  # noqa: PLC0415 - an extra

        is_again = False
        while True:
            closed = f"{name} was not run: the MCP server {self._name} is closed"
            if not self._users:
                raise ToolError(closed)
            try:
                connection = await self._connected()
            except ConnectFailedError as error:
                raise ToolError(f"{name} was not run: {self.problem or error}" if self._users else closed) from error
            try:
                with progress_to(context) as on_progress:
                    result = await connection.call(name, arguments, on_progress)
            except LostError as lost:
                connection.give_up(str(lost))
                if is_again or (lost.may_have_run and not is_idempotent):
                    raise ToolError(self._gone(name, lost)) from lost
                is_again = True
                continue
            except MCPError as error:
                raise ToolError(self._endpoint.redacted(refusal_text(error.message, error.data))) from error
            except Exception as error:  # against the protocol, or against the tool's own output schema
                text = self._endpoint.redacted(f"{name} ran, but its result cannot be used: {error}")[:MAX_DETAIL_CHARS]
                raise ToolError(text) from error
            if result.is_error:
                raise ToolError(self._endpoint.redacted(error_text(result)))
            return parts_of_result(result) or None

    def _gone(self, name: str, lost: LostError) -> str:
        if lost.may_have_run:
            return f"the connection to the MCP server {self._name} broke ({lost}): {name} may have run or not, and was not called again"
        return f"{name} was not run: the MCP server {self._name} is gone: {lost}"
