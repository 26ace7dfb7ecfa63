"""A run as a response: each event by the vendor's own models, numbers that let a client come back, items that are the run's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_world_strategies import worlds
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, RefusalPart
from headrace.surfaces.openai_responses.events_out import ResponsesOut, after_number
from headrace.wire.openai_responses.request_in import read_request
from responses_rules import WHOLE, check_stream, forms_of
from surface_runs import (
    SCENARIOS,
    THOUGHT,
    Played,
    call,
    calls,
    check_resuming,
    interrupted,
    said,
    with_error,
    with_external,
    with_inner_question,
    with_invalid,
    with_question,
    with_tool,
    with_void,
    world_legs,
)  # fmt: skip


def out(**options):
    return ResponsesOut("resp_1", "my-agent", **options)


def shown(played, leg=-1, **options):
    log = played.legs
    leg %= len(log)
    return check_stream(said(out(**options), log[leg], earlier=[event for one in log[:leg] for event in one]))


def kinds(forms):
    return [form["type"].removeprefix("response.") for form in forms]


def output_of(forms):
    return forms[-1]["response"]["output"]


@given(worlds(), st.booleans(), st.integers(0, 500), st.integers(0, 500))
def test_every_run_is_a_legal_response_and_goes_on_from_any_number(world, shows_tools, cut, seen):
    log = world_legs(world)

    def make():
        return out(shows_tools=shows_tools, client_tools={"outside"})

    for n, leg in enumerate(log):
        earlier = [event for one in log[:n] for event in one]
        items = said(make(), leg, earlier=earlier)
        forms = check_stream(items)
        number = seen % len(items)
        again = after_number(make(), number)
        again.surface.recall(earlier)
        rest = [item for event in leg for _, item in again.feed(event)]
        assert rest == items[number + 1 :]
        if shows_tools and "response" in forms[-1]:
            named = [item["call_id"] for item in output_of(forms) if item["type"] == "function_call"]
            assert len(named) == len(set(named))
    check_resuming(make, log, cut, seen)


@given(worlds(), st.integers(0, 500))
def test_a_stream_that_breaks_off_is_legal_too(world, cut):
    leg = world_legs(world)[0]
    check_stream(said(out(), leg[: cut % (len(leg) + 1)]))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_every_scenario_and_what_it_leaves_is_read_again(scenario):
    forms = shown(scenario(), is_background=True, previous_id="resp_0")
    response = forms[-1]["response"]
    assert (response["background"], response["previous_response_id"]) == (True, "resp_0")
    items = [item for item in response["output"] if item["type"] != "mcp_approval_request"]
    asked = [{"type": "message", "role": "user", "content": "go"}]
    read_request(json.dumps({"model": "m", "input": asked + items}).encode())


def test_a_run_with_a_tool():
    forms = shown(with_tool())
    assert kinds(forms) == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "mcp_call_arguments.done", "mcp_call.in_progress", "mcp_call.completed", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
        "completed",
    ]  # fmt: skip
    thinking, text, made, answer = output_of(forms)
    assert "proof" in thinking["encrypted_content"]
    assert text["content"][0]["text"] == "Let me look. "
    assert (made["type"], made["name"], made["arguments"]) == ("mcp_call", "weather", '{"city":"Oslo"}')
    assert (made["status"], made["output"], made["error"]) == ("completed", "Oslo: snow", None)
    assert answer["content"][0]["text"] == "Cold."
    assert forms[-1]["response"]["usage"]["total_tokens"] == 5
    assert forms[-1]["response"]["model"] == "my-agent"


def test_without_a_stream_it_is_the_same_response():
    played = with_tool()
    surface = out()
    forms = check_stream(said(surface, played.legs[0]))
    assert json.loads(surface.body) == forms[-1]["response"]
    fresh = out()
    for event in played.legs[0][:8]:
        fresh.feed(event)
    assert fresh.response["status"] == "in_progress"
    WHOLE.validate_python(fresh.response)


def test_tools_of_the_runs_own_can_stay_hidden():
    assert [item["type"] for item in output_of(shown(with_tool(), shows_tools=False))] == ["reasoning", "message", "message"]
    items = output_of(shown(with_external(), shows_tools=False, client_tools={"look"}))
    assert [item["type"] for item in items] == ["message", "function_call"]


def test_a_question_is_an_approval_request():
    played = with_question()
    pending = played.pending["pay"]
    forms = shown(played)
    (asked,) = output_of(forms)
    assert asked == {
        "id": f"mcpr_{pending.digest}",
        "type": "mcp_approval_request",
        "name": "pay",
        "arguments": '{"to":"Ada","euros":30}',
        "server_label": "headrace",
    }
    assert forms[-1]["response"]["status"] == "completed"
    played.resume(pending.approve())
    made, answer = output_of(shown(played))
    assert (made["approval_request_id"], made["arguments"], made["output"]) == (asked["id"], asked["arguments"], "paid 30 to Ada")
    assert answer["content"][0]["text"] == "Paid."
    assert [item["type"] for item in output_of(shown(with_inner_question()))] == ["mcp_call", "mcp_approval_request"]


def test_a_call_that_the_client_runs_has_no_output_here():
    played = with_external()
    assert [item["type"] for item in output_of(shown(played))] == ["message", "function_call"]
    played.resume(played.pending["look"].answer("a cat"))
    assert [item["type"] for item in output_of(shown(played))] == ["message"]


def test_a_call_of_the_clients_is_told_as_it_comes_if_it_is_known_for_one():
    (asked,) = [item for item in output_of(shown(with_external(), client_tools={"look"})) if item["type"] == "function_call"]
    assert asked == next(item for item in output_of(shown(with_external())) if item["type"] == "function_call") | {"id": asked["id"]}


def test_a_yes_to_other_arguments_and_a_no():
    played = with_question()
    played.resume(played.pending["pay"].approve({"to": "Ada", "euros": 1}))
    made, _ = output_of(shown(played))
    assert made["arguments"] == '{"to":"Ada","euros":1}'
    assert made["output"].endswith("paid 1 to Ada")
    played = with_question()
    played.resume(played.pending["pay"].deny("too much"))
    made, *_ = output_of(shown(played))
    assert (made["type"], made["status"], made["output"]) == ("mcp_call", "failed", None)
    assert "too much" in made["error"]["content"][0]["text"]


def test_invalid_arguments_and_void_attempts():
    made, _ = output_of(shown(with_invalid()))
    assert (made["status"], made["arguments"]) == ("failed", '{"city"')
    forms = shown(with_void())
    assert [item["type"] for item in output_of(forms)] == ["mcp_call", "message"]
    assert output_of(forms)[-1]["content"][0]["text"] == "right"


def test_ends():
    forms = shown(with_error())
    assert kinds(forms)[-2:] == ["error", "failed"]
    assert "slow down" in forms[-1]["response"]["error"]["message"]
    assert shown(interrupted())[-1]["response"]["status"] == "cancelled"
    response = shown(Played(AssistantMessage("so far", finish_reason="length")))[-1]["response"]
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert kinds(forms_of(out().close("nothing"))) == ["error"]


def test_ids_that_a_provider_uses_twice_are_told_apart():
    played = Played(calls(call("weather", city="Oslo")), calls(call("weather", city="Rome")), "Cold and warm.")
    assert len({item["id"] for item in output_of(shown(played))}) == 3
    items = output_of(shown(Played(calls(call("look", what="a"), call("look", what="b")), "Seen."), client_tools={"look"}))
    assert len({item["call_id"] for item in items}) == 2


def test_thinking_that_goes_on_after_other_words_is_one_item():
    played = Played(calls(THOUGHT, RefusalPart("No."), MediaPart(kind="image", data=b"x", media_type="image/png")))
    items = output_of(shown(played))
    assert [item["type"] for item in items] == ["reasoning", "message", "image_generation_call"]
    assert items[1]["content"][0] == {"type": "refusal", "refusal": "No."}


def test_a_response_in_the_background_waits_first():
    assert kinds(shown(with_tool(), is_background=True))[:3] == ["created", "queued", "in_progress"]
