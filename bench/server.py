"""Loads a server: many open streams and many new runs a second; nothing may be lost, and memory must stay flat.

    python bench/server.py                                   a minute: 1,000 streams, 200 runs a second, SQLite
    python bench/server.py --store memory: --keep-for 90s --seconds 600      ten, in memory, of which the old goes (make soak)
    python bench/server.py --streams 200 --rate 50 --seconds 10 --store memory:

The server is `headrace serve` in a process of its own; its model is scripted, and each word that it says is the time at which it says it, so a
reader knows how long the word was on its way. Of this the log holds it back for up to 30 ms, so that words which come together are kept
together. Each of the open streams follows runs that say a word every two seconds, for a minute; each new run says twenty words, is read to its end, and
must have all of them, once and in order. Some readers are cut off in the middle and come back; some take nothing at all. Beside them others open
connections and leave them half open, and ask what is no request (`abuse.py`): none of that may be felt, or answered as a fault of the server's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from abuse import Abuse

from headrace import Agent, ScriptedModel
from headrace.messages.chunk import AssistantMessageChunk
from headrace.models.scripted import ScriptedStream
from headrace.server.files import allow_many_files

WORDS = 20
PACE_S = 0.02
SLOW_PACE_S = 2.0
READY_S = 30


def agent():
    """The agent that is served."""

    class Spoken(ScriptedStream):
        """Says so many words, one when it is due; it is asked for `COUNT PACE`."""

        async def _read(self):
            count, pace_s = self._request.messages[-1].text.split()
            began_s = time.monotonic()
            for n in range(int(count)):
                await asyncio.sleep(began_s + n * float(pace_s) - time.monotonic())
                chunk = AssistantMessageChunk(content=f"{n}:{time.monotonic():.4f} ")
                self._give(chunk)
                yield chunk
            chunk = AssistantMessageChunk(finish_reason="stop")
            self._give(chunk)
            yield chunk
            for chunk in self._close(complete=True):
                yield chunk

    class Speaker(ScriptedModel):
        """Answers whatever it is asked."""

        def stream(self, messages, **more):
            return Spoken(self, super().stream(messages, **more)._request)

    return Agent(Speaker())


class Connection:
    """One connection, spoken to by hand: the client must cost less than the server."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port):
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))

    async def ask(self, method, path, body=b"", headers=""):
        """Ask, and return the status and the headers."""
        kind = "content-type: application/json\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{kind}content-length: {len(body)}\r\n{headers}\r\n"
        self.writer.write(head.encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = answer.split("\r\n")
        return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)

    async def json(self, method, path, form=None):
        status, headers = await self.ask(method, path, b"" if form is None else json.dumps(form).encode())
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return status, json.loads(body) if body.startswith(b"{") else body

    async def pieces(self):
        """Give the pieces of a stream's body."""
        while size := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()

    def close(self):
        self.writer.close()


class Reader:
    """What a client has of a run's log."""

    def __init__(self, load, run_id):
        self.load, self.run_id = load, run_id
        self.last, self.text, self.is_over = 0, "", False

    async def read(self, connection, is_enough):
        """Read from where it stands, until the end or until it is enough."""
        while True:
            status, headers = await connection.ask("GET", f"/runs/{self.run_id}/events?after={self.last}")
            if status != 503:
                break
            self.load.put_off += 1  # the server has more to do than it takes, and says so; the log is not lost
            await connection.reader.readexactly(int(headers["content-length"]))
            await asyncio.sleep(int(headers["retry-after"]))
        if status != 200:
            self.load.problems.append((status, headers))
            return
        rest = b""
        async for piece in connection.pieces():
            *frames, rest = (rest + piece).split(b"\n\n")
            for frame in frames:
                if frame.startswith(b"id:"):
                    self._take(frame)
            if is_enough() and not self.is_over:
                return

    def _take(self, frame):
        self.load.events += 1
        number, _, data = frame.partition(b"\nevent: ")
        seq = int(number[4:])
        if seq <= self.last:
            self.load.problems.append(("doubled", self.run_id, seq, self.last))
        self.last = seq
        self.is_over = data.startswith(b"run_ended")
        if data.startswith(b"text_delta"):
            said, now_s = json.loads(data.partition(b"\ndata: ")[2])["text"], time.monotonic()
            self.load.latencies_s += [now_s - float(word.partition(":")[2]) for word in said.split()]
            self.text += said


class Load:
    """What is asked, and what came of it."""

    def __init__(self, port, options):
        self.port, self.options, self.abuse = port, options, Abuse(port)
        self.latencies_s, self.start_s = [], []
        self.begun = self.ended = self.events = self.wrong = self.cut = self.refused = self.put_off = 0
        self.problems = []
        self.paused_s = 0.0
        self._idle = []

    async def _connection(self):
        while self._idle:
            connection, since_s = self._idle.pop()
            if time.monotonic() - since_s < 3:  # the server closes one that is idle for 5 s
                return connection
            connection.close()
        return await Connection.open(self.port)

    async def one(self, words, pace_s, *, is_cut=False, until=None):
        """Begin a run and read it to its end, or until a time; in between the reader may be cut off and come back."""
        connection = await self._connection()
        began_s = time.monotonic()
        status, view = await connection.json("POST", "/runs", {"input": f"{words} {pace_s}"})
        self.start_s.append(time.monotonic() - began_s)
        if status != 202:
            self.refused += 1
            if status != 503:
                self.problems.append((status, str(view)[:200]))
            return
        self.begun += 1
        reader = Reader(self, view["id"])
        if is_cut:
            await reader.read(connection, lambda: reader.last > 3)
            if not reader.is_over:
                self.cut += 1
                connection.close()
                connection = await self._connection()
        if not reader.is_over:
            await reader.read(connection, lambda: until is not None and time.monotonic() > until)
        if reader.is_over:
            self.ended += 1
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()
        said = [int(word.partition(":")[0]) for word in reader.text.split()]
        if said != list(range(len(said))) or (until is None and len(said) != words):
            self.wrong += 1
            self.problems.append(("lost", view["id"], len(said)))

    async def again(self, until):
        """Follow one run after the other, each for a minute."""
        while time.monotonic() < until:
            await self.one(30, SLOW_PACE_S, until=until)

    async def idle_reader(self, until):
        """Ask for a stream and take nothing of it."""
        connection = await self._connection()
        _, view = await connection.json("POST", "/runs", {"input": "3000 0.02"})
        connection.writer.transport.pause_reading()
        connection.writer.write(f"GET /runs/{view['id']}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        await asyncio.sleep(until - time.monotonic())
        connection.close()

    async def run(self, pid):
        options = self.options
        until = time.monotonic() + options.seconds + options.streams / 250
        tasks = set()

        def begin(work):
            task = asyncio.create_task(work)
            tasks.add(task)
            task.add_done_callback(self._done(tasks))

        for n in range(options.streams):  # not all at the same moment
            begin(self.again(until))
            if n % 10 == 9:
                await asyncio.sleep(0.04)
        for _ in range(options.idle):
            begin(self.idle_reader(until))
        await asyncio.sleep(1)
        self.latencies_s.clear()
        began_s, cpu_s, begun, stolen_s = time.monotonic(), cpu_of(pid), self.begun, stolen()
        memory, looked, halves, bad = [], 0, 0, 0
        while (now_s := time.monotonic()) < until - 1:
            due = int((now_s - began_s) * options.rate)
            for n in range(self.begun_new(), due):
                self._asked += 1
                begin(self.one(WORDS, PACE_S, is_cut=n % 50 == 0))
            for _ in range(int((now_s - began_s) * options.half_open) - halves):
                halves += 1
                begin(self.abuse.leave_half_open(asyncio.get_running_loop().time() + until - now_s))
            for _ in range(int((now_s - began_s) * options.bad) - bad):
                bad += 1
                begin(self.abuse.ask_badly())
            if now_s - began_s >= looked:
                memory.append((now_s - began_s, memory_of(pid)))
                looked += max(1, options.seconds // 30)
            await asyncio.sleep(0.005)
            self.paused_s = max(self.paused_s, time.monotonic() - now_s)
        took_s = time.monotonic() - began_s
        while tasks:
            await asyncio.wait(tasks, timeout=5)
        used_s = cpu_of(pid) - cpu_s
        return {
            "open streams": options.streams + options.idle,
            "new runs a second": round((self._asked) / took_s, 1),
            "seconds": round(took_s, 1),
            "runs begun": self.begun - begun,
            "events read": self.events,
            "readers cut off that came back": self.cut,
            "runs refused, readers put off": [self.refused, self.put_off],
            "lost or doubled": self.wrong,
            "left half open, at once, in all": [self.abuse.most_half_open, halves],
            "bad requests answered": dict(sorted(self.abuse.answers.items())),
            "word on its way, ms": percentiles(self.latencies_s),
            "run begun, ms": percentiles(self.start_s),
            "load's own longest pause, ms": round(self.paused_s * 1000),
            "taken from this machine, s": round(stolen() - stolen_s, 1),
            "server's CPU, share of a core": round(used_s / (time.monotonic() - began_s), 2),
            "server's CPU, ms a new run": round(used_s * 1000 / max(self.begun - begun, 1), 2),
            "server's memory, MiB": [round(value) for _, value in memory],
        }

    _asked = 0

    def begun_new(self):
        return self._asked

    def _done(self, tasks):
        def done(task):
            tasks.discard(task)
            if not task.cancelled() and task.exception() is not None:
                self.problems.append(repr(task.exception()))

        return done


def percentiles(values):
    if len(values) < 100:
        return None
    cuts = statistics.quantiles(values, n=100)
    return {
        "p50": round(cuts[49] * 1000, 1),
        "p95": round(cuts[94] * 1000, 1),
        "p99": round(cuts[98] * 1000, 1),
        "max": round(max(values) * 1000, 1),
    }


def memory_of(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stolen():
    """Return how long the host of a virtual machine let others work instead, in seconds of one core."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=200, help="new runs a second")
    parser.add_argument("--idle", type=int, default=20, help="readers that take nothing")
    parser.add_argument("--half-open", type=int, default=50, help="connections a second that are left half open")
    parser.add_argument("--bad", type=int, default=50, help="requests a second that are none")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--store", default="", help="where runs are kept; by default a SQLite file that is thrown away")
    parser.add_argument(
        "--keep-for", default="", help="how long the server keeps what does not change any more, such as 90s; by default for ever"
    )
    options = parser.parse_args()
    allow_many_files()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server must not outlive this
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"{folder}/runs.db"
        command = [sys.executable, "-m", "headrace", "serve", f"{Path(__file__).resolve()}:agent", "--store", store, "--port", "0", "-q"]
        command += ["--keep-for", options.keep_for] if options.keep_for else []
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline().rpartition(":")[2])
            load = Load(port, options)
            figures = asyncio.run(load.run(server.pid))
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
    for name, value in figures.items():
        print(f"{name:34} {value}")
    load.problems += load.abuse.faults.items()
    for problem in load.problems[:10]:
        print("problem:", problem)
    memory = figures["server's memory, MiB"]
    # Runs that are kept in memory, and for ever, are meant to stay there.
    is_growing = options.store == "memory:" and not options.keep_for
    is_short = options.seconds < 300  # it still fills up, whatever goes
    is_flat = is_short or is_growing or memory[-1] <= 1.25 * max(memory[len(memory) // 3], 1)
    print("ended with status", server.returncode, "" if is_flat else "; MEMORY GREW")
    sys.exit(bool(load.problems or figures["lost or doubled"] or load.refused or not is_flat))


if __name__ == "__main__":
    main()
