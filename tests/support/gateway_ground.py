"""A gateway between a scripted upstream and a client, all over real sockets."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from headrace.server.gateway.config import config_of
from headrace.server.gateway.serve import serving
from servers import scripted_server

KEY = "upstream-key-0123456789"
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "anthropic-messages": "/v1/messages",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/mine:streamGenerateContent?alt=sse",
}


def asked(*, stream=True, model="mine", **more):
    """A question as both Chat Completions and Messages take it."""
    return {"model": model, "stream": stream, "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}], **more}


def question(protocol, **more):
    """A question in a protocol's own words."""
    match protocol:
        case "openai-responses":
            return {"model": "mine", "stream": True, "input": "hi", **more}
        case "gemini":
            return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], **more}
        case _:
            return asked(**more)


def upstream(url, name="up", protocol="openai-chat", **more):
    """The settings of an upstream."""
    return {"name": name, "base_url": f"{url}/v1", "protocol": protocol, "api_key_env": "UP_KEY", "max_retries": 0, **more}


@dataclass
class Ground:
    """What a test talks to."""

    up: object
    served: object
    client: httpx2.AsyncClient

    async def ask(self, protocol="openai-chat", headers=None, **more):
        """Ask to the end."""
        return await self.client.post(PATHS[protocol], json=question(protocol, **more), headers=headers)

    async def metrics(self):
        """The samples, by their whole name."""
        lines = (await self.client.get("/metrics")).text.splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


@asynccontextmanager
async def ground(*replies, protocol="openai-chat", settings=None, chance=None, **config):
    """Serve a gateway with one upstream that gives these replies in order."""
    async with scripted_server(replies) as up:
        values = {"port": 0, "upstreams": [upstream(up.url, protocol=protocol, **(settings or {}))], **config}
        async with opened(values, chance=chance) as (served, client):
            yield Ground(up, served, client)


@asynccontextmanager
async def opened(values, *, chance=None, environ=None):
    """Serve a gateway of these values, with a client."""
    more = {} if chance is None else {"chance": chance}
    async with (
        serving(config_of({"port": 0, **values}), environ=environ or {"UP_KEY": KEY}, **more) as served,
        httpx2.AsyncClient(base_url=served.url, timeout=10) as client,
    ):
        yield served, client


def datas(text):
    """The JSON of each event of a stream; what is no JSON as its text."""
    found = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(data) if data.startswith("{") else data for data in found]
