"""A run as an editor's session: every update by the official package's own models."""

from __future__ import annotations

import pytest
from acp.schema import SessionNotification
from hypothesis import given
from hypothesis import strategies as st

from agent_world_strategies import worlds
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, TextPart
from headrace.surfaces.acp.updates_out import AcpOut, history_updates
from surface_runs import (
    SCENARIOS,
    Played,
    call,
    calls,
    check_resuming,
    interrupted,
    said,
    steered,
    with_error,
    with_inner_question,
    with_question,
    with_tool,
    with_void,
    world_legs,
)  # fmt: skip


def check(updates):
    """Check updates: each is what the package takes, each call is announced before it is updated."""
    for update in updates:
        read = SessionNotification.model_validate({"sessionId": "s", "update": update})
        assert read.model_dump(mode="json", by_alias=True, exclude_none=True)["update"] == update
    return updates


def shown(played, leg=-1, **options):
    log = played.legs
    leg %= len(log)
    surface = AcpOut(**options)
    return check(said(surface, log[leg], earlier=[event for one in log[:leg] for event in one])), surface


def of(updates, kind):
    return [update for update in updates if update["sessionUpdate"] == kind]


def statuses(updates):
    return [update["status"] for update in updates if "status" in update]


@given(worlds(), st.integers(0, 500), st.integers(0, 500))
def test_every_run_is_a_session(world, cut, seen):
    log = world_legs(world)
    known: dict[str, str] = {}
    for n, leg in enumerate(log):
        for update in check(said(AcpOut(), leg, earlier=[event for one in log[:n] for event in one])):
            if update["sessionUpdate"] == "tool_call":
                known[update["toolCallId"]] = "pending"
            elif update["sessionUpdate"] == "tool_call_update":
                assert update["toolCallId"] in known
                known[update["toolCallId"]] = update.get("status", known[update["toolCallId"]])
    waiting = {pending.call_key for pending in log[-1][-1].pending}
    assert {status for key, status in known.items() if key not in waiting} <= {"completed", "failed"}
    check_resuming(AcpOut, log, cut, seen)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_every_scenario(scenario):
    shown(scenario())


def test_a_run_with_a_tool():
    updates, surface = shown(with_tool(), kinds={"weather": "fetch"})
    assert [update["sessionUpdate"] for update in updates] == [
        "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "tool_call_update", "tool_call_update",
        "tool_call_update", "agent_message_chunk",
    ]  # fmt: skip
    begun = updates[2]
    assert (begun["title"], begun["kind"], begun["status"]) == ("weather", "fetch", "pending")
    assert (updates[3]["rawInput"], updates[3]["title"]) == ({"city": "Oslo"}, 'weather {"city":"Oslo"}')
    assert statuses(updates) == ["pending", "in_progress", "completed"]
    assert updates[-2]["content"] == [{"type": "content", "content": {"type": "text", "text": "Oslo: snow"}}]
    assert updates[-2]["rawOutput"] == "Oslo: snow"
    assert updates[-1]["content"]["text"] == "\n\nCold."
    assert surface.stop_reason == "end_turn"
    assert surface.write(updates[-1]).startswith(b'{"sessionUpdate"')


def test_a_call_that_waits_stays_pending():
    played = with_question()
    assert statuses(shown(played)[0]) == ["pending"]
    played.resume(played.pending["pay"].approve())
    assert statuses(shown(played)[0]) == ["in_progress", "completed"]


def test_ends():
    updates, surface = shown(with_error())
    assert (updates, surface.error) == ([], surface.error)
    assert "slow down" in surface.error
    updates, surface = shown(interrupted())
    assert (surface.stop_reason, statuses(updates)[-1]) == ("cancelled", "failed")
    assert shown(Played(AssistantMessage("so far", finish_reason="length")))[1].stop_reason == "max_tokens"
    surface = AcpOut()
    for event in with_tool().log[:9]:
        surface.feed(event)
    assert (statuses(surface.close("gone")), surface.error) == (["failed"], "gone")


def test_progress_pieces_media_and_words_that_steer():
    updates, _ = shown(Played(calls(call("dig", depth=1)), AssistantMessage([TextPart("Dug."), MediaPart(kind="image", data=b"x")])))
    assert [update["content"][0]["content"]["text"] for update in updates if "content" in update and "toolCallId" in update] == [
        "some ",
        "some earth",
        "some earth",
    ]
    assert [update["title"] for update in updates if "_meta" in update] == ["dig: half"]
    assert updates[-1]["content"] == {"type": "image", "data": "eA==", "mimeType": "image/png"}
    assert of(shown(steered())[0], "user_message_chunk")[0]["content"]["text"] == "In French."


def test_void_words_are_followed_by_a_break():
    texts = [update["content"]["text"] for update in of(shown(with_void())[0], "agent_message_chunk")]
    assert texts == ["wrong", "\n\nright"]


def test_calls_of_a_sub_agent_name_the_call_that_they_are_made_for():
    updates, _ = shown(with_inner_question())
    outer, inner = of(updates, "tool_call")
    assert inner["_meta"] == {"headrace": {"parentToolCallId": outer["toolCallId"]}}


def test_a_conversation_that_is_kept_is_shown_again():
    updates = check(list(history_updates(with_tool().result.messages)))
    assert [update["sessionUpdate"] for update in updates] == [
        "user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk",
    ]  # fmt: skip
