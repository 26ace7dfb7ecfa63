"""A run whose process died, and that another one went on with: what both of them logged is one leg on every surface."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

import agui_rules
import responses_rules
import vercel_rules
from agent_plays import Left, play
from agent_world_strategies import worlds
from headrace.decoding import decode_stream
from headrace.surfaces.acp.updates_out import AcpOut
from headrace.surfaces.agui.events_out import AguiOut
from headrace.surfaces.openai_chat.events_out import ChatOut
from headrace.surfaces.openai_responses.events_out import ResponsesOut
from headrace.surfaces.surface import legs
from headrace.surfaces.vercel.chunks_out import VercelOut
from headrace.wire.server_side import Head
from surface_runs import said


def crashed(world, dies_at):
    """Play a world that dies at an event and is gone on with; return the legs of its log, or None if it did not die."""
    before, after = [], []
    try:
        asyncio.run(play(world, dies_at=dies_at, made=before))
    except Left as left:
        asyncio.run(play(world, state=left.state, skip=left.skip, mark="q", made=after))
        return legs([*(event for event in before if event.seq <= left.seq), *after])
    return None


@given(worlds(), st.integers(1, 60))
def test_what_two_processes_logged_is_legal(world, dies_at):
    log = crashed(world, dies_at)
    if log is None:
        return
    client = vercel_rules.Client()
    for n, leg in enumerate(log):
        earlier = [event for one in log[:n] for event in one]
        agui_rules.check_stream(said(AguiOut("t", "r"), leg, earlier=earlier))
        responses_rules.check_stream(said(ResponsesOut("resp_1", "m"), leg, earlier=earlier))
        said(AcpOut(), leg, earlier=earlier)
        result = decode_stream(b"".join(said(ChatOut(Head(id="1", model="m")), leg, earlier=earlier)), protocol="openai-chat")
        assert (result.error is not None) == (leg[-1].generate_reason in ("error", "interrupted"))
        for event in leg:
            for part in client.message["parts"] if event.type == "approval_given" else ():
                if part.get("approval", {}).get("id") == event.answer.digest:
                    part["approval"]["approved"] = type(event.answer).__name__ == "Approve"
        client = vercel_rules.check_stream(said(VercelOut(), leg, earlier=earlier), client=client)
