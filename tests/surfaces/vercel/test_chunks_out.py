"""A run as the UI message stream: each chunk by the schema, and a client that reads them has the run's message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_world_strategies import worlds
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, ProviderToolPart, TextPart
from headrace.surfaces.vercel.chunks_out import DONE, VercelOut
from headrace.surfaces.vercel.signature import is_signed
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
    with_question,
    with_tool,
    with_void,
    world_legs,
)  # fmt: skip
from vercel_rules import Client, check_stream

SECRET = b"what only the server knows"


def shown(played, leg=-1, client=None, **options):
    log = played.legs
    leg %= len(log)
    forms = said(VercelOut(**options), log[leg], earlier=[event for one in log[:leg] for event in one])
    return forms, check_stream(forms, client=client, sdk=options.get("sdk", 7))


def kinds(forms):
    return [form["type"] for form in forms]


def of(forms, kind):
    return [form for form in forms if form["type"] == kind]


def answered_by(client, leg):
    """Let the client's person give the answers that the leg goes on with."""
    for event in leg:
        if event.type == "approval_given":
            for part in client.message["parts"]:
                if part.get("approval", {}).get("id") == event.answer.digest:
                    part["approval"]["approved"] = type(event.answer).__name__ == "Approve"


@given(worlds(), st.sampled_from([6, 7]), st.integers(0, 500), st.integers(0, 500))
def test_every_run_is_one_message_over_all_its_legs(world, sdk, cut, seen):
    log = world_legs(world)
    client = Client()
    for n, leg in enumerate(log):
        answered_by(client, leg)
        client = check_stream(
            said(VercelOut(sdk=sdk, secret=SECRET), leg, earlier=[event for one in log[:n] for event in one]), sdk=sdk, client=client
        )
    waiting = {pending.call_key for pending in log[-1][-1].pending}
    for part in client.message["parts"]:
        if part["type"].startswith("tool-") and part["toolCallId"] not in waiting:
            assert part["state"].startswith("output-")
            assert not part.get("preliminary")
    check_resuming(lambda: VercelOut(sdk=sdk, secret=SECRET), log, cut, seen)


@given(worlds(), st.integers(0, 500))
def test_a_stream_that_breaks_off_is_legal_too(world, cut):
    leg = world_legs(world)[0]
    if cut % (len(leg) + 1):
        check_stream(said(VercelOut(), leg[: cut % (len(leg) + 1)]))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("sdk", [6, 7])
def test_every_scenario(scenario, sdk):
    shown(scenario(), sdk=sdk)


def test_a_run_with_a_tool():
    played = with_tool()
    forms, client = shown(played)
    assert kinds(forms) == [
        "start", "start-step", "reasoning-start", "reasoning-delta", "text-start", "text-delta", "tool-input-start", "tool-input-delta",
        "text-end", "tool-input-available", "reasoning-end", "tool-output-available", "tool-output-available",
        "finish-step", "start-step", "text-start", "text-delta", "text-end", "finish-step", "message-metadata", "finish",
    ]  # fmt: skip
    assert forms[0]["messageId"] == played.log[0].run_id
    assert [form.get("preliminary", False) for form in of(forms, "tool-output-available")] == [True, False]
    assert [part["type"] for part in client.message["parts"]] == ["step-start", "reasoning", "text", "tool-weather", "step-start", "text"]
    reasoning, tool = client.message["parts"][1], client.message["parts"][3]
    assert "proof" in reasoning["providerMetadata"]["headrace"]["sealed"]
    assert (tool["state"], tool["input"], tool["output"]) == ("output-available", {"city": "Oslo"}, "Oslo: snow")
    (metadata,) = of(forms, "message-metadata")
    assert metadata["messageMetadata"]["usage"] == {"inputTokens": 3, "outputTokens": 2}
    assert forms[-1]["finishReason"] == "stop"


def test_a_question_is_signed_and_goes_on_in_the_same_message():
    played = with_question()
    pending = played.pending["pay"]
    forms, client = shown(played, secret=SECRET)
    (asked,) = of(forms, "tool-approval-request")
    assert (asked["approvalId"], asked["toolCallId"], asked["reason"]) == (pending.digest, pending.call_key, "pay needs approval")
    held = {"approval_id": asked["approvalId"], "call_id": asked["toolCallId"], "name": "pay", "arguments": {"euros": 30, "to": "Ada"}}
    assert is_signed(SECRET, asked["signature"], **held)
    assert forms[-1]["finishReason"] == "tool-calls"
    assert "signature" not in of(shown(played)[0], "tool-approval-request")[0]
    client.answer(approved=True)
    played.resume(pending.approve())
    forms, client = shown(played, client=client)
    assert kinds(forms)[:4] == ["start", "tool-approval-response", "tool-output-available", "tool-output-available"]
    assert client.message["parts"][1]["output"] == "paid 30 to Ada"
    assert forms[0]["messageId"] == played.log[0].run_id


def test_a_no_is_a_state_of_its_own():
    played = with_question()
    _, client = shown(played)
    client.answer(approved=False)
    played.resume(played.pending["pay"].deny("no"))
    forms, client = shown(played, client=client)
    assert of(forms, "tool-approval-response")[0]["reason"] == "no"
    assert client.message["parts"][1]["state"] == "output-denied"


def test_calls_that_the_client_runs_wait_for_it():
    forms, client = shown(with_external())
    assert forms[-1]["finishReason"] == "tool-calls"
    assert client.message["parts"][-1]["state"] == "input-available"
    assert of(forms, "tool-approval-request") == []


def test_invalid_arguments_are_an_error_of_the_call():
    forms, client = shown(with_invalid())
    (error,) = of(forms, "tool-input-error")
    assert error["input"] == '{"city"'
    assert client.message["parts"][1]["state"] == "output-error"


def test_a_void_attempt_is_taken_back():
    forms, client = shown(with_void())
    assert "reset-step" in kinds(forms)
    assert [part["text"] for part in client.message["parts"] if part["type"] == "text"] == ["right"]
    assert [part["state"] for part in client.message["parts"] if part["type"] == "tool-weather"] == ["output-available"]
    assert "reset-step" not in kinds(shown(with_void(), sdk=6)[0])


def test_errors_and_interruptions():
    forms, _ = shown(with_error())
    assert "slow down" in of(forms, "error")[0]["errorText"]
    assert forms[-1] == {"type": "finish", "finishReason": "error"}
    forms, _ = shown(interrupted())
    assert forms[-1] == {"type": "abort", "reason": "interrupted"}


def test_what_a_sub_agent_does_is_data_and_what_it_asks_is_a_call():
    played = with_inner_question()
    forms, client = shown(played)
    inside = [form["data"]["chunk"]["type"] for form in of(forms, "data-subrun")]
    assert inside[:3] == ["start", "start-step", "tool-input-start"]
    assert inside[-1] == "finish"
    asked = client.message["parts"][-1]
    assert (asked["type"], asked["state"]) == ("tool-pay", "approval-requested")
    assert client.message["parts"][-2] == {"type": "step-start"}  # the outer call is not done, and the SDK waits for all of a step
    assert asked["callProviderMetadata"] == {"headrace": {"path": [client.message["parts"][1]["toolCallId"]]}}
    client.answer(approved=True)
    played.resume(played.pending["pay"].approve())
    _, client = shown(played, client=client)
    assert [part["state"] for part in client.message["parts"] if part["type"] == "tool-pay"] == ["output-available"]


def test_pieces_of_output_are_preliminary_and_cost_a_few_times_their_length():
    forms, client = shown(Played(calls(call("dig", depth=1)), "Dug."))
    assert [form["output"] for form in of(forms, "tool-output-available")] == ["some ", "some earth", "some earth"]
    assert of(forms, "data-tool-progress")[0]["data"]["message"] == "half"
    assert client.message["parts"][1]["output"] == "some earth"


def test_parts_that_came_whole():
    cited = TextPart("Mills.", citations=({"type": "url_citation", "url_citation": {"url": "https://e.example", "title": "E"}}, "x", {}))
    answer = AssistantMessage(
        [
            cited,
            MediaPart(kind="image", data=b"x", media_type="image/png"),
            JsonPart({"a": 1}),
            ProviderToolPart(name="web_search", arguments='{"q":1}', parsed={"q": 1}, result=[1]),
        ]
    )
    forms, _ = shown(Played(answer))
    assert of(forms, "source-url")[0]["url"] == "https://e.example"
    assert of(forms, "file")[0]["url"] == "data:image/png;base64,eA=="
    assert of(forms, "data-json")[0]["data"] == {"a": 1}
    assert of(forms, "tool-input-available")[0]["providerExecuted"]
    assert of(forms, "tool-output-available")[0]["output"] == [1]


def test_words_that_steer_are_said():
    assert [form["data"] for form in of(shown(steered())[0], "data-steering")] == [{"text": "In French."}]


def test_how_it_goes_over_the_wire():
    assert VercelOut.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert VercelOut.tail == DONE
    assert VercelOut().write({"type": "start"}) == b'data: {"type":"start"}\n\n'
