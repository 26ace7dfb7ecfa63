"""The real server with the page, in front of the agent of `page_agent`: in a thread of its own, or in a process that can be killed.

    with ServedChat() as chat: chat.url, chat.drop(), chat.back()

The rule of this file: both have the same small face, so that a test does not know what it talks to but by its fixture.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from headrace.server.app.app import make_app
from headrace.server.app.keys import Key
from headrace.server.app.serve import serving
from headrace.server.keys import hash_of
from headrace.sessions.memory import MemoryStore
from headrace.sessions.runs import Runs
from page_agent import make_agent

SUPPORT = Path(__file__).parent
SOURCE = SUPPORT.parents[1] / "src"


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class ServedChat:
    """The server in a thread, its runs in memory: they go on while nothing listens.

    Attributes:
        url: where it listens, with a slash at the end.
    """

    def __init__(self, *, key: str | None = None, secret: bytes | None = None) -> None:
        """Take the key that it asks for, or None, and what signs questions."""
        self._keys = () if key is None else (Key(name="miller", sha256=hash_of(key)),)
        self._secret = secret
        self._port = free_port()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._kept, self._open = AsyncExitStack(), AsyncExitStack()
        self._runs: Any = None
        self.url = f"http://127.0.0.1:{self._port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._begin())
        self.back()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.drop()
        self._call(self._kept.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def drop(self) -> None:
        """Listen no more, and end every stream."""
        self._call(self._open.aclose())

    def back(self) -> None:
        """Listen again, at the same place."""
        self._call(self._listen())

    async def _begin(self) -> None:
        store = await self._kept.enter_async_context(MemoryStore())
        self._runs = await self._kept.enter_async_context(Runs(make_agent(), store))

    async def _listen(self) -> None:
        app = make_app(self._runs, keys=self._keys, name="Mill", secret=self._secret)
        await self._open.enter_async_context(serving(app, port=self._port))

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


class KilledChat:
    """`headrace serve` as a process of its own, its runs in a file; `drop` kills it as a power cut would."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of its file."""
        self._port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}/"

    def __enter__(self) -> Self:
        self.back()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.drop()

    def drop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None

    def back(self) -> None:
        """Start it, and wait until it answers."""
        command = [
            sys.executable,
            "-m",
            "headrace",
            "serve",
            "page_agent:agent",
            "--port",
            str(self._port),
            "--store",
            str(self._folder / "runs.db"),
        ]
        environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{SUPPORT}"}
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, cwd=self._folder, stdout=log, stderr=log)
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{self.url}healthz", timeout=5).close()
            except (urllib.error.URLError, ConnectionError):
                assert self._process.poll() is None, (self._folder / "server.log").read_text()
                time.sleep(0.1)
            else:
                return
        raise AssertionError((self._folder / "server.log").read_text())
