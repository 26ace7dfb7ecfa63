"""A network between a client and PostgreSQL that loses what a test wants it to lose."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path


class PostgresProxy:
    """Passes bytes on, by a socket of its own; use it as `async with`.

    Attributes:
        lose_answers: so many answers to a COMMIT are lost: the server commits, and the connection breaks before it says so.
        lose_commits: so many COMMITs are lost: the connection breaks before the server hears of them.
        lost: how often something was lost.
    """

    def __init__(self, folder):
        self._server_socket = str(Path(folder) / ".s.PGSQL.5432")
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-px-")
        self._server = None
        self._serving = set()
        self.lose_answers = 0
        self.lose_commits = 0
        self.lost = 0

    @property
    def url(self):
        return f"postgresql://headrace@/postgres?host={self._folder.name}"

    async def __aenter__(self):
        self._server = await asyncio.start_unix_server(self._serve, str(Path(self._folder.name) / ".s.PGSQL.5432"))
        return self

    async def __aexit__(self, *exc_info):
        self._server.close()
        await asyncio.gather(*self._serving)  # its clients have gone
        self._folder.cleanup()

    async def _serve(self, client_in, client_out):
        self._serving.add(asyncio.current_task())
        try:
            await self._pass_on(client_in, client_out)
        finally:
            self._serving.discard(asyncio.current_task())

    async def _pass_on(self, client_in, client_out):
        server_in, server_out = await asyncio.open_unix_connection(self._server_socket)
        state = {"is_mute": False}
        ways = [self._upstream(client_in, server_out, state), self._downstream(server_in, client_out, state)]
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in (client_out, server_out):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _upstream(self, reader, writer, state):
        while data := await reader.read(65536):
            if b"COMMIT" in data and self.lose_commits:
                self.lose_commits -= 1
                self.lost += 1
                return
            if b"COMMIT" in data and self.lose_answers:
                self.lose_answers -= 1
                self.lost += 1
                state["is_mute"] = True
            writer.write(data)
            await writer.drain()

    async def _downstream(self, reader, writer, state):
        while data := await reader.read(65536):
            if state["is_mute"]:  # the answer is there, so it was committed
                return
            writer.write(data)
            await writer.drain()
