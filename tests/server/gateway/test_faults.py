"""Whatever an upstream does wrong, a client's stream is as the vendor would send it: whole, or with an error; and it means the same."""

from __future__ import annotations

import pytest

from answers_out import essence
from canonical import JUDGES
from decoding_runs import decoded
from gateway_ground import ground
from messages_bytes import SAMPLES as MESSAGES
from servers import Reply
from stream_samples import SAMPLES as CHAT

SOURCES = {"openai-chat": CHAT, "anthropic-messages": MESSAGES}
WITH_USAGE = {"openai-chat": {"stream_options": {"include_usage": True}}, "anthropic-messages": {}}
JSON_BODY = [("content-type", "application/json")]


def reply(body):
    data = body if isinstance(body, bytes) else b"".join(body)
    return Reply([data] if data else [], headers=JSON_BODY if data.lstrip()[:1] == b"{" else ())


@pytest.mark.parametrize("target", JUDGES)
@pytest.mark.parametrize("source", SOURCES)
async def test_every_fault_of_an_upstream_gives_a_canonical_stream(source, target):
    samples = SOURCES[source]
    faults, streams = {}, 0
    async with ground(*map(reply, samples.values()), protocol=source) as world:
        for name in samples:
            response = await world.ask(target)
            if response.status_code != 200:
                assert response.json()["error"]["message"], name
                continue
            streams += 1
            faults[name] = JUDGES[target](response.text)
    assert {name: found for name, found in faults.items() if found} == {}
    assert streams > len(samples) / 2


@pytest.mark.parametrize("protocol", SOURCES)
async def test_a_stream_means_the_same_behind_the_gateway(protocol):
    """Where the upstream's stream is good, so is what a client makes of ours: the same text, calls, end and usage."""
    samples = SOURCES[protocol]
    different = {}
    async with ground(*map(reply, samples.values()), protocol=protocol) as world:
        for name, body in samples.items():
            response = await world.ask(protocol, **WITH_USAGE[protocol])
            before = decoded(body if isinstance(body, bytes) else b"".join(body), protocol=protocol)[1].summary()
            is_good = before["error"] is None and all(call["runnable"] for call in before["tool_calls"]) and response.status_code == 200
            if not is_good or "restarted_message" in before["warnings"]:  # what was sent cannot be taken back
                continue
            after = decoded(response.content, protocol=protocol)[1].summary()
            if before["usage"] is None:  # of which some protocols must say something
                before["usage"] = after["usage"]
            if essence(before, with_ids=False) != essence(after, with_ids=False):
                different[name] = (essence(before, with_ids=False), essence(after, with_ids=False))
    assert different == {}
