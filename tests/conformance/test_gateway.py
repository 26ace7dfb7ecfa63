"""Every fault case of the reference behind the gateway, over real sockets: the client's stream is canonical, by a judge that shares no code with it."""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict

import pytest

from canonical import JUDGES
from conformance_folder import CONFORMANCE
from gateway_ground import ground
from headrace.wire.protocols import WIRES
from servers import Reply


def load_cases():
    spec = importlib.util.spec_from_file_location("conformance_runner", CONFORMANCE / "conformance.py")
    runner = sys.modules.get(spec.name)
    if runner is None:
        runner = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(runner)
    return runner.load_cases(CONFORMANCE / "cases")


CASES = defaultdict(list)
for one in load_cases():
    if one.protocol in WIRES:
        CASES[one.protocol, tuple(sorted((one.options or {}).items()))].append(one)
TYPES = {
    "bedrock-converse": "application/vnd.amazon.eventstream",
    "bedrock-invoke": "application/vnd.amazon.eventstream",
    "ollama": "application/x-ndjson",
}


@pytest.mark.parametrize("target", JUDGES)
@pytest.mark.parametrize(("protocol", "options"), [pytest.param(*group, id=f"{group[0]} {dict(group[1])}") for group in CASES])
async def test_every_fault_case_leaves_as_a_canonical_stream(protocol, options, target):
    cases = CASES[protocol, options]
    replies = [Reply([b"".join(case.segments)], headers=[("content-type", TYPES.get(protocol, "text/event-stream"))]) for case in cases]
    faults = {}
    async with ground(*replies, protocol=protocol, settings={"options": dict(options)}) as world:
        for case in cases:
            response = await world.ask(target)
            if response.status_code == 200:
                faults[case.name] = JUDGES[target](response.text)
            else:
                assert response.json()["error"]["message"], case.name
    assert {name: found for name, found in faults.items() if found} == {}
