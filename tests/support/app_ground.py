"""A server of an agent with a scripted model, over real sockets, and a client of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from headrace.agent.agent import Agent
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.server.app.app import App, make_app
from headrace.server.app.keys import Key
from headrace.server.app.limits import Limits
from headrace.server.app.serve import serving
from headrace.server.keys import hash_of
from headrace.sessions.memory import MemoryStore
from headrace.sessions.runs import Runs
from headrace.tools.tool import tool

SECRETS = {"anna": "hr-anna-0123456789", "bert": "hr-bert-0123456789"}


@tool(needs_approval=True)
def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    return f"paid {euros} to {to}"


@tool(external=True)
def temperature(room: str) -> float:
    """Read a thermometer."""


@tool
async def grind(sacks: int):
    """Grind sacks of grain."""
    for n in range(sacks):
        await asyncio.sleep(0.02)
        yield f"sack {n} is flour\n"


def words_of(request) -> list[str]:
    """What a person said last."""
    return next((message.text.split() for message in reversed(request.messages) if isinstance(message, UserMessage)), [])


def paced(count: int, pause_s: float) -> list:
    """An answer of so many words with pauses before them."""
    loop = asyncio.get_running_loop()
    steps: list = []
    for n in range(count):
        gate = asyncio.Event()
        loop.call_later(pause_s * n, gate.set)
        steps += [gate, AssistantMessageChunk(content=f"w{n} ")]
    return [*steps, AssistantMessageChunk(usage=Usage(input_tokens=5, output_tokens=count), finish_reason="stop")]


def play(request) -> Any:
    """Answer by the first word of what was said, or by what tools gave."""
    words, last = words_of(request), request.messages[-1]
    if last.role == "tool":
        texts = [part.text for result in last.parts for part in result.parts if isinstance(part, TextPart)]
        return AssistantMessage(f"Done: {' '.join(texts).strip() or 'it'}", usage=Usage(input_tokens=10, output_tokens=5))
    match words:
        case ["pay", to, euros]:
            call = ToolCallPart(id="c1", name="pay", arguments={"to": to, "euros": int(euros)})
            return AssistantMessage([TextPart("I will."), call], usage=Usage(input_tokens=10, output_tokens=5))
        case ["temperature"]:
            return AssistantMessage([ToolCallPart(id="c2", name="temperature", arguments={"room": "B2"})])
        case ["grind", sacks]:
            return AssistantMessage([ToolCallPart(id="c3", name="grind", arguments={"sacks": int(sacks)})])
        case ["call", name, *given] if any(spec.name == name for spec in request.tools):
            return AssistantMessage([ToolCallPart(id="c4", name=name, arguments=json.loads(" ".join(given) or "{}"))])
        case ["slowly", count, *_]:
            return paced(int(count), 0.01)
        case ["big", count]:
            return Scripted("0123456789abcdef" * (int(count) * 64), 4096)
        case ["boom"]:
            raise RuntimeError("the script went wrong")
    return AssistantMessage(f"You said: {' '.join(words)}", usage=Usage(input_tokens=10, output_tokens=5))


def make_agent(**options) -> Agent:
    """The agent that is served."""
    return Agent(
        ScriptedModel(*[play] * 100_000, slice_chars=6), tools=[pay, temperature, grind], instructions="You run a mill.", **options
    )


def key(name: str, **bounds) -> Key:
    """A key whose secret is in `SECRETS`."""
    return Key(name=name, sha256=hash_of(SECRETS[name]), **bounds)


def bearer(name: str) -> dict[str, str]:
    """The header with a key."""
    return {"authorization": f"Bearer {SECRETS[name]}"}


@dataclass
class Ground:
    """What a test talks to."""

    app: App
    runs: Runs
    store: Any
    url: str
    client: httpx2.AsyncClient

    async def start(self, words, *, headers=None, **more):
        """Begin a run and return its view."""
        response = await self.client.post("/runs", json={"input": words, **more}, headers=headers)
        assert response.status_code == 202, response.text
        return response.json()

    async def done(self, run_id, status="ended"):
        """The view of a run once it stands so."""
        async with asyncio.timeout(60):
            while True:
                view = (await self.client.get(f"/runs/{run_id}")).json()
                if view["status"] == status:
                    return view
                await asyncio.sleep(0.01)

    async def asked(self, words, status="ended", **more):
        """Begin a run and wait until it stands so."""
        return await self.done((await self.start(words, **more))["id"], status)

    async def said(self, word):
        """The newest run, once it is there and has said a word."""
        async with asyncio.timeout(60):
            while True:
                for run in (await self.client.get("/runs")).json()["runs"][:1]:
                    entries = await self.store.entries(run["id"], 0, 10_000)
                    if any(word.encode() in entry.data for entry in entries):
                        return run
                await asyncio.sleep(0.01)

    async def events(self, run_id, *, headers=None, **params):
        """The events of a run, to the end of the stream."""
        response = await self.client.get(f"/runs/{run_id}/events", params=params, headers=headers)
        assert response.status_code == 200, response.text
        return events_in(response.text)

    async def closed(self, headers=None):
        """Wait until the server has noticed that all its readers have left."""
        async with asyncio.timeout(60):
            while any(value for name, value in (await self.metrics(headers)).items() if "open_streams" in name):  # noqa: ASYNC110 - as a client sees it
                await asyncio.sleep(0.01)

    async def metrics(self, headers=None):
        """The samples, by their whole name."""
        lines = (await self.client.get("/metrics", headers=headers)).text.splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


@asynccontextmanager
async def app_ground(*, agent=None, store=None, limits=None, runs_options=None, **options):
    """Serve an agent, with a client of it."""
    bounds = Limits(**(limits or {}))
    async with store or MemoryStore() as kept, Runs(agent or make_agent(), kept, **(runs_options or {})) as runs:
        app = make_app(runs, limits=bounds, **options)
        async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=60) as client:
            yield Ground(app, runs, kept, url, client)


def events_in(text: str) -> list[dict]:
    """The events of a stream: what each is, and the number that came with it as `id`."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields:
            event = json.loads(fields["data"])
            assert event["type"] == fields["event"]
            assert event["seq"] == int(fields["id"])
            found.append(event)
    return found


def text_of(events) -> str:
    """The text that events add up to."""
    return "".join(event["text"] for event in events if event["type"] == "text_delta")
