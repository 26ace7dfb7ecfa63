"""What clients of the server's protocols send, and what they read."""

from __future__ import annotations

import json

import openai
from ag_ui.core import Event
from pydantic import TypeAdapter

AGUI = TypeAdapter(Event)


def datas(text):
    """The JSON of each event of a stream."""
    found = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(data) if data.startswith("{") else data for data in found]


def openai_client(ground, api_key="none"):
    """The vendor's SDK, in front of a server."""
    return openai.AsyncOpenAI(base_url=f"{ground.url}/v1", api_key=api_key, max_retries=0)


def said(*pairs):
    """Messages of Chat Completions."""
    return [{"role": role, "content": text} for role, text in pairs]


def agui(thread, run, *messages, **more):
    """What an AG-UI client posts."""
    return {
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "tools": [], "context": [], "forwardedProps": {},
        "messages": [{"id": f"m{n}", "role": role, "content": text} for n, (role, text) in enumerate(messages)], **more,
    }  # fmt: skip


async def agui_events(ground, body, headers=None):
    """The events of a post, each of them judged by the protocol's own package."""
    response = await ground.client.post("/agui", json=body, headers=headers)
    assert response.status_code == 200, response.text
    events = datas(response.text)
    for event in events:
        AGUI.validate_python(event)
    return events
