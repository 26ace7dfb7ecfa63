"""A run as AG-UI: valid by the protocol's own models and rules, whatever happens in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_world_strategies import worlds
from agui_rules import check_stream
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, TextPart
from headrace.surfaces.agui.events_out import AguiOut, knows_outcomes
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
    with_external,
    with_inner_question,
    with_invalid,
    with_nested,
    with_question,
    with_tool,
    with_void,
    with_void_after_more,
    world_legs,
)  # fmt: skip


def out(**options):
    return AguiOut("thread", "run", **{"client_version": "1.0", **options})


def shown(played, leg=-1, **options):
    log = played.legs
    leg %= len(log)
    forms = said(out(**options), log[leg], earlier=[event for one in log[:leg] for event in one])
    check_stream(forms)
    return forms


def kinds(forms):
    return [form["type"] for form in forms]


def of(forms, kind):
    return [form for form in forms if form["type"] == kind]


@given(worlds(), st.integers(0, 500), st.integers(0, 500))
def test_every_run_is_a_legal_stream_and_is_made_again_from_anywhere(world, cut, seen):
    log = world_legs(world)
    for n, leg in enumerate(log):
        check_stream(said(out(), leg, earlier=[event for one in log[:n] for event in one]))
        check_stream(said(out(), leg))  # also for one who knows nothing of the legs before
    check_resuming(out, log, cut, seen)


@given(worlds(), st.integers(0, 500))
def test_a_stream_that_breaks_off_is_legal_too(world, cut):
    leg = world_legs(world)[0]
    forms = said(out(), leg[: cut % (len(leg) + 1)])
    check_stream(forms)
    if cut % (len(leg) + 1) < len(leg):
        assert forms[-1]["type"] == "RUN_ERROR"
        assert forms[-1]["code"] == "broken_off"


def test_a_run_with_a_tool():
    forms = shown(with_tool())
    assert kinds(forms) == [
        "RUN_STARTED", "STEP_STARTED",
        "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_ARGS",
        "REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_END", "TOOL_CALL_END", "REASONING_ENCRYPTED_VALUE",
        "CUSTOM", "CUSTOM", "TOOL_CALL_RESULT",
        "STEP_FINISHED", "STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED",
        "RUN_FINISHED",
    ]  # fmt: skip
    assert forms[0]["protocolVersion"] == "1.0"
    (begun,) = of(forms, "TOOL_CALL_START")
    assert begun["toolCallName"] == "weather"
    assert begun["parentMessageId"] == of(forms, "TEXT_MESSAGE_START")[0]["messageId"]
    (result,) = of(forms, "TOOL_CALL_RESULT")
    assert (result["toolCallId"], result["content"]) == (begun["toolCallId"], "Oslo: snow")
    (sealed,) = of(forms, "REASONING_ENCRYPTED_VALUE")
    assert sealed["entityId"] == of(forms, "REASONING_MESSAGE_START")[0]["messageId"]
    assert "proof" in sealed["encryptedValue"]
    assert forms[-1]["outcome"] == {"type": "success"}
    assert forms[-1]["usage"] == [{"provider": "scripted", "model": "m", "inputTokens": 3, "outputTokens": 2, "totalTokens": 5}]


def test_an_approval_is_an_interrupt_and_the_next_leg_goes_on():
    played = with_question()
    pending = played.pending["pay"]
    forms = shown(played)
    (interrupt,) = forms[-1]["outcome"]["interrupts"]
    assert (interrupt["id"], interrupt["reason"], interrupt["toolCallId"]) == (pending.digest, "tool_call", pending.call_key)
    assert interrupt["metadata"]["headrace"]["arguments"] == {"to": "Ada", "euros": 30}
    played.resume(pending.approve())
    forms = shown(played)
    assert kinds(forms)[:3] == ["RUN_STARTED", "CUSTOM", "CUSTOM"]
    (result,) = of(forms, "TOOL_CALL_RESULT")
    assert (result["toolCallId"], result["content"]) == (pending.call_key, "paid 30 to Ada")
    assert forms[-1]["outcome"] == {"type": "success"}


def test_calls_of_the_clients_own_tools_are_named_and_their_results_are_not_repeated():
    played = with_external()
    pending = played.pending["look"]
    assert shown(played)[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [pending.call_key]}
    assert shown(played, client_version=None)[-1]["outcome"] == {"type": "success"}
    (interrupt,) = shown(played, frontend_tools=())[-1]["outcome"]["interrupts"]  # somebody else runs it
    assert interrupt["reason"] == "input_required"
    played.resume(pending.answer("a cat"))
    assert len(of(shown(played), "TOOL_CALL_RESULT")) == 1
    given = [{"id": "x", "role": "tool", "toolCallId": pending.call_key, "content": "a cat"}]
    assert of(shown(played, messages=given), "TOOL_CALL_RESULT") == []


def test_invalid_arguments_are_said():
    forms = shown(with_invalid())
    (value,) = [form["value"] for form in of(forms, "CUSTOM") if form["name"] == "headrace.invalid_arguments"]
    assert value["arguments"] == '{"city"'
    (result,) = of(forms, "TOOL_CALL_RESULT")
    assert result["metadata"] == {"headrace": {"state": "error"}}


def test_a_void_attempt_is_taken_back_by_a_snapshot():
    forms = shown(with_void(), messages=[{"id": "u1", "role": "user", "content": "go"}])
    (custom,) = [form for form in of(forms, "CUSTOM") if form["name"] == "headrace.attempt_discarded"]
    assert custom["value"]["reason"] == "it died"
    (snapshot,) = of(forms, "MESSAGES_SNAPSHOT")
    assert [message["role"] for message in snapshot["messages"]] == ["user", "assistant", "tool"]
    assert snapshot["messages"][1]["toolCalls"][0]["function"] == {"name": "weather", "arguments": '{"city":"Oslo"}'}
    starts = of(forms, "TEXT_MESSAGE_START")
    assert len(starts) == 2
    assert starts[0]["messageId"] not in {message["id"] for message in snapshot["messages"]}


def test_an_error_ends_the_stream():
    forms = shown(with_error())
    assert forms[-1]["type"] == "RUN_ERROR"
    assert "slow down" in forms[-1]["message"]


def test_a_cancelled_run_says_so_to_those_who_know_the_word():
    assert shown(interrupted())[-1]["outcome"] == {"type": "cancelled"}
    assert "outcome" not in shown(interrupted(), client_version="0.9")[-1]


def test_a_sub_agent_is_told_apart_and_its_questions_are_its_own():
    played = with_inner_question()
    forms = shown(played)
    (begun,) = of(forms, "SUBAGENT_STARTED")
    assert begun["name"] == "clerk"
    assert begun["parentToolCallId"] == of(forms, "TOOL_CALL_START")[0]["toolCallId"]
    (interrupt,) = forms[-1]["outcome"]["interrupts"]
    assert interrupt["subagentRunId"] == begun["subagentRunId"]
    (ended,) = of(forms, "SUBAGENT_FINISHED")
    assert ended["outcome"] == {"type": "suspended", "interruptIds": [interrupt["id"]]}
    played.resume(played.pending["pay"].approve())
    forms = shown(played)
    assert of(forms, "SUBAGENT_STARTED")[0]["subagentRunId"] == begun["subagentRunId"]
    assert of(forms, "SUBAGENT_FINISHED")[0]["outcome"] == {"type": "success"}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_every_scenario(scenario):
    shown(scenario())


def test_agents_inside_of_agents():
    played = with_nested()
    forms = shown(played)
    begun = {form["name"]: form for form in of(forms, "SUBAGENT_STARTED")}
    assert set(begun) == {"chief", "clerk", "broken"}
    assert begun["clerk"]["parentSubagentRunId"] == begun["chief"]["subagentRunId"]
    assert [form["subagentRunId"] for form in of(forms, "SUBAGENT_ERROR")] == [begun["broken"]["subagentRunId"]]
    (interrupt,) = forms[-1]["outcome"]["interrupts"]
    assert interrupt["subagentRunId"] == begun["clerk"]["subagentRunId"]
    outcomes = {form["subagentRunId"]: form["outcome"] for form in of(forms, "SUBAGENT_FINISHED")}
    assert outcomes[begun["clerk"]["subagentRunId"]]["interruptIds"] == [interrupt["id"]]
    assert outcomes[begun["chief"]["subagentRunId"]]["interruptIds"] == []
    played.resume(played.pending["pay"].approve())
    shown(played)
    assert played.result.message.text == "Done."


def test_a_snapshot_holds_what_was_shown_by_the_names_that_it_had():
    forms = shown(with_void_after_more())
    (snapshot,) = of(forms, "MESSAGES_SNAPSHOT")
    at = forms.index(snapshot)
    messages = snapshot["messages"]
    assert [message["role"] for message in messages] == ["reasoning", "assistant", "assistant", "tool", "tool"]
    named = {
        form["messageId"] for form in forms[:at] if form["type"] in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_RESULT")
    }
    assert {message["id"] for message in messages} < named
    assert [message.get("content") for message in messages[:3]] == ["hm", "a", "b"]
    calls_made = [form["toolCallId"] for form in of(forms[:at], "TOOL_CALL_START")]
    assert [made["id"] for made in messages[1]["toolCalls"]] == calls_made[:2]
    assert "proof" in messages[0]["encryptedValue"]
    assert any(message.get("error") for message in messages)


def test_progress_and_pieces_of_output_are_said():
    forms = shown(Played(calls(call("dig", depth=1)), "Dug."))
    (activity,) = of(forms, "ACTIVITY_SNAPSHOT")
    assert activity["content"] == {"toolCallId": activity["messageId"].removesuffix("/progress"), "message": "half", "done": 1, "total": 2}
    assert [form["value"]["output"] for form in of(forms, "CUSTOM") if form["name"] == "headrace.tool_output"] == ["some ", "earth"]


def test_media_are_parts_of_a_result_and_kept_in_answers():
    answer = AssistantMessage([TextPart("Here."), MediaPart(kind="image", url="https://e.example/x.png")])
    forms = shown(Played(calls(call("photo")), answer))
    (result,) = of(forms, "TOOL_CALL_RESULT")
    assert result["content"] == [{"type": "image", "source": {"type": "data", "value": "iVBORw==", "mimeType": "image/png"}}]
    (part,) = [form["value"]["part"] for form in of(forms, "CUSTOM") if form["name"] == "headrace.part"]
    assert part["url"] == "https://e.example/x.png"


def test_words_that_steer_are_a_message_of_the_users():
    forms = shown(steered())
    (begun,) = [form for form in of(forms, "TEXT_MESSAGE_START") if form["role"] == "user"]
    assert [form["delta"] for form in of(forms, "TEXT_MESSAGE_CONTENT") if form["messageId"] == begun["messageId"]] == ["In French."]


def test_structured_output_is_the_result():
    played = Played('{"n": 1}', output_type={"type": "object", "properties": {"n": {"type": "integer"}}})
    assert shown(played)[-1]["result"] == {"n": 1}


@pytest.mark.parametrize(("version", "knows"), [(None, False), ("0.9", False), ("1.0", True), ("1.1", True), ("2.0", True), ("new", True)])
def test_what_a_client_knows_follows_from_its_version(version, knows):
    assert knows_outcomes(version) is knows


def test_a_stream_that_never_began_says_so():
    forms = out().close("nothing came")
    check_stream(forms)
    assert kinds(forms) == ["RUN_STARTED", "RUN_ERROR"]
    surface = out()
    assert (surface.close(), surface.close(), surface.is_over) != ([], [], False)
    assert surface.write({"type": "X"}) == b'data: {"type":"X"}\n\n'
    assert surface.write({"type": "X"}, number=7) == b'id: 7\ndata: {"type":"X"}\n\n'
