"""The document of the API is whole and true: whatever it allows is answered as it says, whatever it does not is refused."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from app_ground import SECRETS, app_ground, bearer, key
from headrace.server.app.operations import OPERATIONS

LONG = "25"
"""How many seconds it may take."""


async def asked_by_schemathesis(ground, *options):
    """Ask for what the document says, and what it does not; returns what failed."""
    process = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).parent / "schemathesis"), "run", f"{ground.url}/openapi.json"),
        *("--max-examples", "4", "--max-time", LONG, "--continue-on-failure", "--no-color", "--seed", "1"),
        *("--generation-database", "none"),
        # What JSON Schema cannot say (which media are taken, which ids are paths) is refused though the document lets it pass.
        *("--exclude-checks", "positive_data_acceptance", "--exclude-path", "/inspect"),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return "" if process.returncode == 0 else out.decode()


async def test_every_route_is_described_and_nothing_else():
    async with app_ground() as ground:
        document = (await ground.client.get("/openapi.json")).json()
        described = {words["operationId"] for methods in document["paths"].values() for words in methods.values()}
        assert described == {route.name for route in ground.app.router.routes} == set(OPERATIONS)
        text = json.dumps(document)
        names = {one.split('"')[0] for one in text.split("#/components/schemas/")[1:]}
        assert names <= set(document["components"]["schemas"])
        assert "securitySchemes" not in document["components"]


async def test_with_keys_the_document_says_where_one_is_needed():
    async with app_ground(keys=[key("anna")]) as ground:
        document = (await ground.client.get("/openapi.json", headers=bearer("anna"))).json()
        assert document["paths"]["/runs"]["get"]["security"] == [{"key": []}]
        assert document["paths"]["/healthz"]["get"]["security"] == []
        assert set(document["paths"]["/runs"]["get"]["responses"]) >= {"200", "400", "401", "403", "404", "429", "503"}


@pytest.mark.parametrize(("has_keys", "phase"), [(False, "coverage"), (True, "fuzzing")])
async def test_the_server_does_what_its_document_says(has_keys, phase):
    keys, headers, options = (
        ([key("anna")], bearer("anna"), ["-H", f"Authorization: Bearer {SECRETS['anna']}"]) if has_keys else ([], {}, [])
    )
    async with app_ground(keys=keys, limits={"arrival_s": 5}) as ground:
        await ground.start("hello", session_id="talk", run_id="r", headers=headers)
        failed = await asked_by_schemathesis(ground, "--phases", phase, *options)
        assert not failed, failed
        assert (await ground.metrics(headers)).get("headrace_server_faults_total", 0) == 0
