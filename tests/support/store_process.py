"""A second process with a store of its own: it does what its lines of standard input say and answers each with a line.

`{"do": "claim", "args": ["r", "me"], "more": {"epoch": 0}}` is answered with `["done", …]` or `["failed", "ConflictError", "…"]`; `{"write": "r"}` appends
event after event to a run in epoch 1 and says each number once it is kept, until it is killed.

Run as `python store_process.py sqlite PATH` or `python store_process.py postgres URL SCHEMA`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.sessions.records import Batch, Entry
from headrace.sessions.sqlite import SQLiteStore


class OtherProcess:
    """The test's end of it; use it as `async with`."""

    def __init__(self, *where):
        self._where = [str(word) for word in where]
        self._process = None

    async def __aenter__(self):
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(sys.executable, __file__, *self._where, stdin=pipe, stdout=pipe)
        assert await self._line() == "ready"
        return self

    async def __aexit__(self, *exc_info):
        if self._process.returncode is None:
            self._process.stdin.close()
            await self._process.wait()

    async def do(self, method, *args, **more):
        await self.tell(do=method, args=args, more=more)
        return await self.answer()

    async def tell(self, **line):
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        await self._process.stdin.drain()

    async def answer(self):
        return await self._line()

    async def _line(self):
        return json.loads(await self._process.stdout.readline())

    async def killed(self):
        """Kill it as if its machine had died; returns what it had said by then."""
        self._process.kill()
        rest = await self._process.stdout.read()
        await self._process.wait()
        return [json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]


async def main(kind, where, schema=None):
    if kind == "sqlite":
        store = SQLiteStore(Path(where))
    else:
        from headrace.sessions.postgres import PostgresStore

        store = PostgresStore(where, schema=schema)
    async with store:
        say("ready")
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            order = json.loads(line)
            if "write" in order:
                await write(store, order["write"])
            try:
                result = await getattr(store, order["do"])(*order["args"], **order["more"])
                say(["done", json.loads(json.dumps(result, default=str))])
            except HeadraceError as error:
                say(["failed", type(error).__name__, str(error)])


async def write(store, run_id):
    seq = (await store.run(run_id)).last_seq
    while True:
        await store.append(Batch(run_id=run_id, epoch=1, after=seq, entries=(Entry(seq + 1, b"x" * 500),), checkpoint=b"%d" % (seq + 1)))
        seq += 1
        say(seq)


def say(what):
    print(json.dumps(what), flush=True)  # noqa: T201 - it is the answer


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
