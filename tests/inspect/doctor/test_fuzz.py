"""Whatever a peer sends, an examination ends, and every finding can be said."""

from __future__ import annotations

import json
import tempfile
from contextlib import asynccontextmanager

from hypothesis import given
from hypothesis import strategies as st

from doctor_ground import QUICK
from headrace._json import dumps
from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.endpoint import Endpoint
from headrace.inspect.doctor.probe import LEVELS
from headrace.inspect.doctor.probes import PROBES
from headrace.inspect.doctor.report import document_of, text_report
from headrace.inspect.doctor.switches import config_toml
from headrace.providers.config import Config
from headrace.providers.secret import Secret
from ideal_server import Answer

KEYS = (
    "choices delta message content role tool_calls function name arguments index id type usage error code finish_reason reasoning_content reasoning "
    "reasoning_details text thinking content_block candidates parts output item output_index response prompt_tokens completion_tokens done"
).split()
WORDS = [
    "",
    "assistant",
    "stop",
    "length",
    "tool_calls",
    "city_time",
    "{}",
    '{"city": "Paris"}',
    "<think>",
    "</think>",
    "content_block_start",
    "\x7f\n#",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
CHUNKS = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries({"index": st.integers(0, 1), "delta": VALUES, "finish_reason": VALUES}) | VALUES, max_size=2
        )
    },
    optional={"usage": VALUES, "id": VALUES, "error": VALUES},
)
EVENTS = st.lists(CHUNKS | VALUES, max_size=5)


class Saying:
    """A transport that says the same whatever is asked."""

    def __init__(self, status, kind, pieces):
        self.answer = status, kind, pieces

    @asynccontextmanager
    async def stream(self, request, *, timeouts=None):
        yield Answer(*self.answer)

    async def aclose(self):
        raise AssertionError("it is its owner's to close")


@given(
    probe=st.sampled_from(PROBES),
    protocol=st.sampled_from(["openai-chat", "openai-responses", "anthropic-messages", "gemini", "ollama"]),
    status=st.sampled_from([200, 200, 200, 400, 404, 500]),
    kind=st.sampled_from(["text/event-stream", "application/json", "text/html; charset=x", ""]),
    events=EVENTS,
    end=st.sampled_from([b"data: [DONE]\n\n", b"", b": ping\n\n", b"data: {", b"\xff\xfe"]),
    is_framed=st.booleans(),
)
async def test_whatever_a_peer_sends_the_examination_ends_and_can_be_said(*, probe, protocol, status, kind, events, end, is_framed):
    pieces = [b"data: " + json.dumps(value).encode() + b"\n\n" if is_framed else json.dumps(value).encode() + b"\n" for value in events]
    endpoint = Endpoint(base_url="http://h/v1", model="m", protocol=protocol, api_key=Secret("key-0123456789"))
    with tempfile.TemporaryDirectory() as folder:
        transport = Saying(status, kind, [*pieces, end] if end else pieces)
        examination = Examination(endpoint, [PROBES[0], probe], folder=folder, timeouts=QUICK, transport=transport)
        if not examination.probes:
            return
        await examination.run()
        findings = examination.findings
    assert findings
    assert {finding.level for finding in findings} <= set(LEVELS)
    assert all(finding.what and finding.probe for finding in findings)
    assert text_report(examination)
    assert json.loads(dumps(document_of(examination)))["findings"]
    text = config_toml(findings, examination.base_profile, model_id=endpoint.model_id, protocol=protocol, base_url=endpoint.base_url)
    Config.parse(text, "profile.toml")
    examination.base_profile.replace(**examination.switches)
