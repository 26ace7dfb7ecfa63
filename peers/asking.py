"""A client in a process and an environment of its own, asked one case after the other.

The rule of this file: whatever a client does ends as one answer. A process that ends is a `crash` of the case at hand, one that says nothing for
too long a `hang` (tried twice, since a busy machine is no fault of the client's); then it is started again for the next case.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Self

from judging import CRASH, HANG

HERE = Path(__file__).resolve().parent
START_LIMIT_S: Final = 120.0
"""For the first answer of a process: some clients take many seconds to be imported."""
LIMIT_S: Final = 15.0


class Worker:
    """One client's process."""

    def __init__(self, python: Path, script: str, *, limit_s: float = LIMIT_S) -> None:
        """Say which; nothing is started yet."""
        self._command = (str(python), str(HERE / "clients" / script))
        self._limit_s = limit_s
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._end()

    async def ask(self, base_url: str, model: str) -> dict[str, Any]:
        """Return the client's line about one case."""
        answer = await self._ask(base_url, model)
        if (answer.get("error") or {}).get("type") == HANG:
            answer = await self._ask(base_url, model)
        return answer

    async def _ask(self, base_url: str, model: str) -> dict[str, Any]:
        is_new = self._process is None
        process = self._process or await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{model} {base_url}\n".encode())
            await process.stdin.drain()
            line = await asyncio.wait_for(process.stdout.readline(), START_LIMIT_S if is_new else self._limit_s)
        except TimeoutError:
            await self._end()
            return _failed(HANG, f"nothing for {self._limit_s:g} s")
        except OSError as error:
            await self._end()
            return _failed(CRASH, str(error))
        if not line:
            code = await process.wait()
            await self._end()
            return _failed(CRASH, f"the process ended with status {code}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def _start(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 24,
            env=_environ(),
        )
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def ask_all(
    python: Path, script: str, questions: Iterable[tuple[str, str]], said: Callable[[str], None] = lambda _: None
) -> dict[str, dict[str, Any]]:
    """Ask a client about all cases, pairs of name and base URL, one after the other; returns its lines by the cases' names."""
    answers: dict[str, dict[str, Any]] = {}
    async with Worker(python, script) as worker:
        for name, base_url in questions:
            answers[name] = await worker.ask(base_url, name)
            said(name)
    return answers


def _failed(word: str, message: str) -> dict[str, Any]:
    return {"error": {"type": word, "message": message}}


def _environ() -> dict[str, str]:
    """Return the environment of clients: without keys, addresses, proxies and paths of modules, so that everybody's run is the same."""
    dropped = ("OPENAI_", "LANGCHAIN_", "LANGSMITH_", "LITELLM_", "ANTHROPIC_", "PYTHONPATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(dropped)}
