"""One session with an MCP server, from its start to its end, in a task of its own.

The rule of this file: the session's cancel scopes are entered and left in that one task, whoever opens, calls or closes; others
talk to it through events and through requests that carry no scope. A connection lives once: after its end a new one is made.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from headrace.agent.mcp.endpoint import LOG, Endpoint
from headrace.agent.mcp.http_client import NOT_SENT, UNSURE
from headrace.agent.mcp.listing import follow, listed, listen
from headrace.agent.mcp.progress import OnProgress
from headrace.agent.mcp.streams import SENDING, Handed, watched
from headrace.errors import ConnectFailedError, MissingExtraError

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.types import CallToolResult, Tool

_CLOSED: Final = -32000
_MAX_REASON_CHARS: Final = 2_000
_FAREWELL_S: Final = 10.0
"""How long a session may take to end well before it is made to."""
_ACKNOWLEDGED_S: Final = 2.0
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}
_TASKS: Final[set[asyncio.Task[None]]] = set()  # the loop itself holds tasks only weakly


class LostError(Exception):
    """The connection ended, or broke, under a call.

    Attributes:
        may_have_run: whether the call may have reached the server.
    """

    def __init__(self, reason: str, *, may_have_run: bool) -> None:
        """Say why, and whether the call had left."""
        super().__init__(reason)
        self.may_have_run = may_have_run


class Connection:
    """A session with a server.

    Attributes:
        tools: what the server offers, as of the last listing.
        reason: why the connection ended, or None while it lives.
    """

    def __init__(self, endpoint: Endpoint, *, name: str, connect_timeout_s: float, on_tools: Callable[[], object]) -> None:
        """Prepare; nothing starts before `start`.

        Args:
            endpoint: how to reach the server.
            name: what to call it.
            connect_timeout_s: how long it may take until its tools are listed, in seconds.
            on_tools: called whenever `tools` has changed after the start.
        """
        self.tools: tuple[Tool, ...] = ()
        self.reason: str | None = None
        self._endpoint = endpoint
        self._name = name
        self._limit_s = connect_timeout_s
        self._on_tools = on_tools
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._scope = anyio.CancelScope()
        self._opened, self._settled, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._changed, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._calls = 0

    @property
    def is_live(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None and self.reason is None

    async def start(self) -> None:
        """Connect and list the tools.

        Raises:
            ConnectFailedError: it did not work; the text says why, without secrets.
            MissingExtraError: the library is not installed.
        """
        try:
            importlib.import_module("mcp")  # here, so that its absence is no failure of the server
        except ImportError as error:
            raise MissingExtraError("mcp", feature="an MCP server", module="mcp") from error
        self._task = asyncio.create_task(self._live(), name=f"headrace-mcp-{self._name}")
        _TASKS.add(self._task)
        self._task.add_done_callback(_TASKS.discard)
        try:
            async with asyncio.timeout(self._limit_s):
                await self._settled.wait()
        except TimeoutError:
            await self._abort(f"it did not answer within {self._limit_s:g} s")
        except BaseException:
            await self._abort("it was given up while it started")
            raise
        if self.reason is not None:
            await asyncio.wait({self._task})
            raise ConnectFailedError(await self._with_last_words(self.reason))

    async def stop(self) -> None:
        """End the session and, if it is a process, the server; returns when both are gone."""
        if self._task is None:
            return
        if not self._settled.is_set():
            await self._abort("it was closed")
            return
        self._lost("it was closed")
        _done, pending = await asyncio.wait({self._task}, timeout=_FAREWELL_S)
        if pending:
            await self._abort("it was closed")

    def give_up(self, reason: str) -> None:
        """Make no new calls; those under way go on."""
        if self.reason is None:
            self.reason = reason

    async def retire(self) -> None:
        """Give it up, and end the session once the calls that are under way have ended."""
        self.give_up("a new connection was made")
        await self._idle.wait()
        await self.stop()

    async def call(self, name: str, arguments: dict[str, Any], on_progress: OnProgress | None) -> CallToolResult:
        """Call a tool; if the caller is cancelled, the server is told.

        Raises:
            LostError: the connection ended or broke.
            MCPError: the server refused the call.
            RuntimeError, ValidationError: the server's answer is against the protocol or the tool's own output schema.
        """
        from mcp import MCPError  # noqa: PLC0415 - an extra

        if self._client is None or self.reason is not None:
            raise LostError(self.reason or "it is not connected", may_have_run=False)
        mark = Handed()
        token = SENDING.set(mark)
        self._calls += 1
        self._idle.clear()
        try:
            return await self._client.call_tool(name, arguments, progress_callback=on_progress)
        except MCPError as error:
            if (lost := self._as_loss(error, mark)) is not None:
                raise lost from error
            raise
        finally:
            SENDING.reset(token)
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    def _as_loss(self, error: MCPError, mark: Handed) -> LostError | None:
        """Return what a protocol error says of the connection, or None if it is the server's answer to the call."""
        reason = self._endpoint.redacted(error.message)
        data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
        if NOT_SENT in data:
            return LostError(reason, may_have_run=False)
        is_ours = self._stopping.is_set() or error.message == "Connection closed" or error.message.startswith("SSE stream")
        if UNSURE in data or (error.code == _CLOSED and is_ours):
            return LostError(self.reason or reason, may_have_run=mark.is_handed)
        return None

    def _lost(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
        self._stopping.set()

    async def _abort(self, reason: str) -> None:
        self._lost(reason)
        assert self._task is not None
        # A process that is just being started would be left behind by a cancel: not before it is in the transport's hands.
        opened = asyncio.create_task(self._opened.wait())
        await asyncio.wait({self._task, opened}, timeout=_FAREWELL_S, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        self._scope.cancel()
        await asyncio.wait({self._task})

    async def _live(self) -> None:
        try:
            with self._scope:
                await self._serve()
        except Exception as error:  # noqa: BLE001 - a transport is a stranger's code; what it raises ends the connection
            is_known = self.reason not in (None, _ENDED)
            self.reason = self.reason if is_known else self._described(error)
        finally:
            self._lost(_ENDED)
            self._settled.set()

    async def _serve(self) -> None:
        from mcp import Client  # noqa: PLC0415 - an extra
        from mcp.types import Implementation  # noqa: PLC0415 - an extra

        # The library's own name for such a context is private.
        transport: Any = watched(self._endpoint.open(self._limit_s), self._opened.set, lambda: self._lost(_ENDED))
        client = Client(
            transport,
            cache=None,  # the listing is asked for when it has changed, and only then
            client_info=Implementation(name="headrace", version="1"),
            message_handler=self._hear,
            logging_callback=self._log,
        )
        async with client, anyio.create_task_group() as tasks:
            capability = client.server_capabilities.tools
            if capability is not None and capability.list_changed and client.session.discover_result is not None:
                acknowledged = asyncio.Event()
                tasks.start_soon(listen, client, self._changed, acknowledged)
                # First listen, then list: a change between the two would be missed.
                with anyio.move_on_after(_ACKNOWLEDGED_S):
                    await acknowledged.wait()
            if capability is not None:
                self.tools = await listed(client, self._name)
            if self._stopping.is_set():
                return
            self._client = client
            self._settled.set()
            tasks.start_soon(follow, self._changed, partial(self._list_again, client))
            await self._stopping.wait()
            tasks.cancel_scope.cancel()

    async def _list_again(self, client: Client) -> None:
        """List the tools anew; if that fails, those that are known stay."""
        try:
            with anyio.fail_after(self._limit_s):
                self.tools = await listed(client, self._name)
        except Exception as error:  # noqa: BLE001 - a server's answer is a stranger's
            LOG.warning("the MCP server %s did not list its changed tools: %s", self._name, self._described(error))
            return
        self._on_tools()

    async def _hear(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._changed.set()

    async def _log(self, params: Any) -> None:
        level = _LEVELS.get(str(params.level), logging.ERROR)
        LOG.log(level, "%s: %s", self._name, self._endpoint.redacted(str(params.data))[:_MAX_REASON_CHARS])

    def _described(self, error: BaseException) -> str:
        """Say what went wrong, without secrets."""
        texts = dict.fromkeys(_told(one) for one in _leaves(error))
        return self._endpoint.redacted("; ".join(texts))[:_MAX_REASON_CHARS]

    async def _with_last_words(self, reason: str) -> str:
        """Add what the server itself wrote last, which often says it best."""
        words = self._endpoint.redacted(await self._endpoint.last_words())
        return f"{reason}; its last words: {words[-_MAX_REASON_CHARS:]}" if words else reason


_ENDED: Final = "it ended the connection"


def _leaves(error: BaseException) -> list[BaseException]:
    """Return the errors inside nested groups."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return [leaf for inner in group.exceptions for leaf in _leaves(inner)]
    return [error]


def _told(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}"
    if type(error).__name__ == "MCPError":
        return _ENDED if text == "Connection closed" else text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
