"""The real program for tests: in a process of its own, and on a terminal of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
# A test that waits longer than this for the program waits for something that does not come.
PATIENCE_S = 60


@dataclass
class Done:
    """A program that has ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode()


class Program:
    """Runs `headrace` with an environment of its own; arguments are those of the command."""

    def __init__(self, folder):
        self.folder = folder
        kept = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "SYSTEMROOT", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
            if name in os.environ
        }
        self.environ = {
            **kept,
            "HOME": str(folder),
            "HEADRACE_STATE": str(folder / "state"),
            "PYTHONPATH": str(SOURCE),
            "PYTHONUTF8": "1",
            "PYTHONWARNINGS": "error",
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }

    async def start(self, *arguments, python=("-m", "headrace"), environ=(), **streams):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return await asyncio.create_subprocess_exec(
            sys.executable, *python, *arguments, env={**self.environ, **dict(environ)}, cwd=self.folder, **pipes
        )

    async def __call__(self, *arguments, given=b"", **options):
        """Run to the end."""
        process = await self.start(*arguments, **options)
        try:
            out, err = await asyncio.wait_for(process.communicate(given), PATIENCE_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Done(process.returncode, out, err.decode())


class Terminal:
    """A program on a pseudo-terminal: type, wait for what it shows."""

    def __init__(self, master, process):
        self.process = process
        self.raw = ""
        self._master = master
        self._news = asyncio.Event()
        self._mark = 0
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self):
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so when the other end is closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
        self.raw += data.decode(errors="replace")
        self._news.set()

    @property
    def shown(self):
        """What was shown so far, without the terminal's own language."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07", "", self.raw).replace("\r\n", "\n")

    async def until(self, words):
        """Wait until the program shows these words after what was waited for before."""
        try:
            at = await asyncio.wait_for(self._find(words), PATIENCE_S)
        except TimeoutError:
            pytest.fail(f"{words!r} was not shown; shown was:\n{self.shown[self._mark :]}")
        self._mark = at + len(words)

    async def _find(self, words):
        while (at := self.shown.find(words, self._mark)) < 0:
            assert self.process.returncode is None, f"it ended without showing {words!r}:\n{self.shown}"
            self._news.clear()
            await self._news.wait()
        return at

    def type(self, text):
        os.write(self._master, text.encode())

    async def ended(self):
        """Wait for the end of the program; return its exit status."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    async def close(self):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)


@pytest.fixture
def program(tmp_path):
    """Run `headrace` in an empty home, with no model chosen and no key set."""
    return Program(tmp_path)


@pytest.fixture
async def on_terminal(program):
    """Start `headrace` on a terminal: `terminal = await on_terminal("chat", …)`."""
    opened = []

    async def start(*arguments, **options):
        import fcntl
        import pty
        import struct
        import termios

        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        process = await program.start(
            *arguments, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lambda: os.login_tty(slave), **options
        )
        os.close(slave)
        opened.append(Terminal(master, process))
        return opened[-1]

    yield start
    for terminal in opened:
        await terminal.close()
