"""The doctor's probes against a server that does on purpose what a test wants."""

from __future__ import annotations

import json
from dataclasses import dataclass

from chat_bytes import DONE, chunk
from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.endpoint import Endpoint
from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.doctor.probes import PROBES
from headrace.io.transport import Timeouts
from headrace.messages.message import AssistantMessage
from servers import Reply, scripted_server

QUICK = Timeouts(connect_s=5.0, first_chunk_s=20.0, idle_s=20.0, total_s=40.0)
IMPATIENT = Timeouts(connect_s=5.0, first_chunk_s=0.2, idle_s=0.2, total_s=40.0)
JSON = [("content-type", "application/json")]
USAGE = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}


@dataclass
class Examined:
    """What came of an examination, and what was asked."""

    examination: Examination
    requests: list

    @property
    def findings(self):
        """The probe's own findings, without those of the streams."""
        return [found for found in self.examination.findings if found.probe != "stream"]

    @property
    def stream(self):
        """The findings about the streams."""
        return [found for found in self.examination.findings if found.probe == "stream"]

    @property
    def said(self):
        """Each of the probe's findings as its level and sentence."""
        return [(found.level, found.what) for found in self.findings]

    @property
    def bodies(self):
        """The bodies of the requests."""
        return [json.loads(request.body) for request in self.requests]


def probe(name):
    """The probe of this name."""
    return next(one for one in PROBES if one.name == name)


async def examined(folder, name, *replies, protocol="openai-chat", api_key=None, timeouts=QUICK, **options):
    """Run one probe against a server that gives these replies, in order."""
    async with scripted_server(replies) as server:
        endpoint = Endpoint(base_url=f"{server.url}/v1", model="m", protocol=protocol, api_key=api_key)
        examination = Examination(endpoint, [probe(name)], folder=folder, timeouts=timeouts, **options)
        await examination.run()
        return Examined(examination, server.requests)


def evidence(**fields):
    """Evidence by hand, for a judge."""
    message = AssistantMessage.assemble((), finish_reason="stop")
    return Evidence(**{"ask": "by-hand", "message": message, "choices": (fields.get("message", message),), **fields})


def refusal(status=400, message="no such thing", headers=(), **fields):
    """A refusal as servers send it."""
    error = {"message": message, "type": "invalid_request_error", "code": None, **fields}
    return Reply([json.dumps({"error": error}).encode()], status=status, headers=[*JSON, *headers], framing="length")


def whole(body):
    """An answer that is not streamed."""
    return Reply([body], headers=JSON, framing="length")


def usage(**fields):
    """The event with the usage."""
    return chunk(choices=[], usage={**USAGE, **fields})


def answer(*deltas, finish="stop", end=None):
    """An answer of these deltas; usage and terminator end it, or what is given."""
    end = (usage(), DONE) if end is None else end
    return [chunk({"role": "assistant", "content": ""}), *(chunk(delta) for delta in deltas), chunk(finish=finish), *end]


def said(*pieces, **options):
    """An answer in text."""
    return answer(*({"content": piece} for piece in pieces), **options)


def call(index=0, id="call_1", name="city_time", arguments='{"city": "Paris"}', **fields):  # noqa: A002 - the wire's word
    """A delta with one whole call."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": id, "type": "function", "function": function, **fields}]}


def called(*deltas, finish="tool_calls", **options):
    """An answer that calls."""
    return answer(*(deltas or (call(),)), finish=finish, **options)
