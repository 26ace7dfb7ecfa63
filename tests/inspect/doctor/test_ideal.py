"""A whole examination of a server that does everything as it should: nothing is held against it, over each protocol."""

from __future__ import annotations

import pytest

from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.endpoint import Bounds, Endpoint
from headrace.inspect.doctor.probes import PROBES
from headrace.providers.secret import Secret
from ideal_server import MODEL, IdealTransport

LACKING = {
    "openai-chat": {"two_answers"},
    "anthropic-messages": {"two_answers", "json_object"},
    "openai-responses": {"two_answers", "stop"},
    "gemini": {"two_answers", "single_tool"},
}
"""What a protocol has no word for, or this server does not do."""


@pytest.mark.parametrize("protocol", LACKING)
async def test_nothing_is_held_against_a_server_that_does_everything_right(tmp_path, protocol):
    transport = IdealTransport(protocol)
    endpoint = Endpoint(base_url="http://ideal/v1", model=MODEL, protocol=protocol, api_key=Secret("k"))
    examination = Examination(endpoint, PROBES, folder=tmp_path, transport=transport, bounds=Bounds(side_by_side=4))
    await examination.run()
    by_level = {}
    for finding in examination.findings:
        by_level.setdefault(finding.level, []).append(finding)
    assert by_level.get("wrong", []) == []
    assert by_level.get("unclear", []) == []
    assert {finding.probe for finding in by_level.get("unsupported", [])} == LACKING[protocol]
    assert set(examination.switches) <= {"reasoning_style", "reasoning_field", "unsupported_settings"}
    assert set(examination.switches.get("unsupported_settings", ())) <= {"n", *examination.base_profile.unsupported_settings}
    assert examination.not_asked == ()
    [sampling] = [finding for finding in examination.findings if finding.probe == "sampling"]
    assert ("has no seed" in sampling.detail) == (protocol in {"anthropic-messages", "openai-responses"})
    assert 1 < transport.most <= 4
    assert examination.requests <= examination.planned_requests
