"""How to reach an MCP server: a command to start, or a URL.

The rule of this file: what the caller gave for the server alone (environment, headers, a password in a URL) goes there and
nowhere else. It stands in no repr, and `redacted` takes it out of every text before that text is shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import httpx2

from headrace.agent.mcp.http_client import IsolatingClient
from headrace.agent.mcp.stderr import StderrTail
from headrace.errors import UsageError
from headrace.io.redact import redact, redact_url, secrets_of

LOG: Final = logging.getLogger("headrace.mcp")
MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
"""The largest message from a server over HTTP: an image in base64 is one."""
_TAIL_WAIT_S: Final = 1.0


class Endpoint(Protocol):
    """One way to reach a server."""

    @property
    def name(self) -> str:
        """What to call the server if the caller has no name for it."""
        ...

    def open(self, connect_timeout_s: float) -> contextlib.AbstractAsyncContextManager[tuple[Any, Any]]:
        """Return a context that gives the two streams of a session: messages from the server, messages to it."""
        ...

    async def last_words(self) -> str:
        """Return what the server itself said before it ended, or ""."""
        ...

    def redacted(self, text: str) -> str:
        """Take out of a text what was given for the server alone."""
        ...


class Stdio:
    """A server that is started as a process and spoken to over its standard input and output.

    It gets a few harmless variables of our environment (PATH, HOME and such) and what is given, nothing else.
    """

    def __init__(self, command: str, args: Sequence[str], env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None) -> None:
        """Keep how to start it.

        Raises:
            UsageError: the command, its arguments or its environment are no texts.
        """
        if not isinstance(command, str) or not command:
            raise UsageError(f"command is {command!r}; it must be the name or path of a program", argument="command")
        if isinstance(args, str) or not all(isinstance(one, str) for one in args):
            raise UsageError("args must be a list of texts, one for each argument of the command", argument="args")
        for key, value in (env or {}).items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise UsageError(f"env[{key!r}] must be a text", argument="env")
        self._command, self._args, self._cwd = command, list(args), cwd
        self._env = dict(env or {})
        self._tail: StderrTail | None = None

    @property
    def name(self) -> str:
        """The program's name."""
        return PurePath(self._command).stem or self._command

    @contextlib.asynccontextmanager
    async def open(self, connect_timeout_s: float) -> AsyncGenerator[tuple[Any, Any], None]:  # noqa: ARG002 - starting a process has no limit of its own
        """Start the process and give its streams; at the end it is asked to leave, and made to if it does not.

        Raises:
            OSError: the process cannot be started.
        """
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - an extra

        cwd = None if self._cwd is None else os.fspath(self._cwd)
        parameters = StdioServerParameters(command=self._command, args=self._args, env=self._env, cwd=cwd)
        tail = self._tail = StderrTail(lambda line: LOG.debug("%s: %s", self.name, self.redacted(line)))
        try:
            async with stdio_client(parameters, errlog=tail.file) as streams:
                tail.given()
                yield streams
        finally:
            tail.given()

    async def last_words(self) -> str:
        """Return the end of what it wrote to standard error."""
        if self._tail is None:
            return ""
        await asyncio.to_thread(self._tail.wait, _TAIL_WAIT_S)
        return self._tail.text

    def redacted(self, text: str) -> str:
        """Take the values of its environment out of a text."""
        return redact(text, self._env.values())

    def __repr__(self) -> str:
        return f"stdio({self._command!r})"


class Http:
    """A server behind a URL, spoken to over streamable HTTP."""

    def __init__(self, url: str, headers: Mapping[str, str] | None) -> None:
        """Keep where it is.

        Raises:
            UsageError: the URL is none of HTTP, or a header is no text.
        """
        parts = urlsplit(url) if isinstance(url, str) else None
        if parts is None or not re.fullmatch(r"https?", parts.scheme) or not parts.hostname:
            shown = redact_url(url) if isinstance(url, str) else repr(url)
            raise UsageError(f"url is {shown}; it must begin with http:// or https:// and name a host", argument="url")
        for key, value in (headers or {}).items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise UsageError(f"headers[{key!r}] must be a text", argument="headers")
        self._url, self._host = url, parts.netloc.rpartition("@")[2]
        self._headers = dict(headers or {})
        given = [value for header in self._headers.values() for value in (header, header.partition(" ")[2])]
        self._secrets = (*given, *secrets_of(url, self._headers.items()), *([parts.query] if parts.query else []))

    @property
    def name(self) -> str:
        """The host."""
        return self._host

    @contextlib.asynccontextmanager
    async def open(self, connect_timeout_s: float) -> AsyncGenerator[tuple[Any, Any], None]:
        """Give the streams; nothing is connected before the first message."""
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - an extra

        # No limit on reading: a call may think for long, and has a limit of its own.
        timeout = httpx2.Timeout(None, connect=connect_timeout_s)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        async with (
            IsolatingClient(headers=self._headers, timeout=timeout, limits=limits) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES) as streams,
        ):
            yield streams

    async def last_words(self) -> str:
        """Return "": what it has to say is in its answers."""
        return ""

    def redacted(self, text: str) -> str:
        """Take the values of its headers, and what is secret in its URL, out of a text."""
        return redact(text, self._secrets)

    def __repr__(self) -> str:
        return f"http({self._host!r})"
