"""Requests to a run that is kept: what goes on, what is decided, what the client's own tools gave."""

from __future__ import annotations

import json

import pytest

from headrace.errors import StateError, UsageError
from headrace.surfaces.openai_responses.request_in import read_answers, read_request
from surface_runs import with_external, with_question

TOOL = {"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}


def body(*items, **fields):
    return json.dumps({"model": "a", "input": list(items), **fields}).encode()


def test_a_request_that_goes_on():
    request = read_request(
        body(
            {"role": "user", "content": "Hi"},
            previous_response_id="resp_1",
            background=True,
            store=False,
            stream=True,
            instructions="Be brief.",
            tools=[TOOL],
        )
    )
    assert (request.previous_id, request.is_background, request.stores, request.request.is_streamed) == ("resp_1", True, True, True)
    history, new = request.split
    assert ([message.text for message in history], [message.text for message in new]) == (["Be brief."], ["Hi"])
    assert [(tool.name, tool.options.external) for tool in request.tools] == [("look", True)]
    assert read_request(json.dumps({"model": "a", "input": "Hi", "store": False}).encode()).stores is False


def decision(played, **fields):
    (pending,) = played.result.pending
    return {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{pending.digest}", "approve": True, **fields}


@pytest.mark.parametrize(("approve", "kind"), [(True, "Approve"), (False, "Deny")])
def test_a_decision(approve, kind):
    played = with_question()
    request = read_request(body(decision(played, approve=approve, reason="so"), previous_response_id="resp_1"))
    assert request.messages == ()
    (reply,) = read_answers(request, played.result.pending)
    assert type(reply).__name__ == kind
    played.resume(reply)
    assert played.result.message.text == "Paid."


def test_a_decision_about_nothing_is_refused():
    played = with_question()
    with pytest.raises(StateError):
        read_answers(read_request(body(decision(played, approval_request_id="mcpr_0"))), played.result.pending)
    with pytest.raises(StateError):
        read_answers(read_request(body(decision(played), decision(played))), played.result.pending)


@pytest.mark.parametrize("name", ["id", "key"])
def test_the_output_of_a_clients_own_tool(name):
    played = with_external()
    (pending,) = played.result.pending
    call_id = pending.call.id if name == "id" else pending.call_key
    item = {"type": "function_call_output", "call_id": call_id, "output": '{"seen": 1}'}
    (reply,) = read_answers(read_request(body(item, {**item, "call_id": "other"})), played.result.pending)
    assert reply.value == {"seen": 1}
    played.resume(reply)
    assert played.result.message.text == "Seen."


@pytest.mark.parametrize(
    ("whole", "place"),
    [
        (b"{}", "input"),
        (b'{"model":"a","input":[]}', "input"),
        (b'{"input":"x"}', "model"),
        (b'{"model":"a","input":"x","conversation":"c"}', "conversation"),
        (b'{"model":"a","input":"x","background":1}', "background"),
        (b'{"model":"a","input":[{"type":"mcp_approval_response","approval_request_id":"a"}]}', "input[0].approve"),
        (b'{"model":"a","input":[{"type":"mcp_approval_response","approve":true}]}', "input[0].approval_request_id"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(whole, place):
    with pytest.raises(UsageError) as caught:
        read_request(whole)
    assert caught.value.argument == place


def test_tools_that_a_run_cannot_take_are_refused():
    with pytest.raises(UsageError) as caught:
        _ = read_request(body({"role": "user", "content": "x"}, tools=[{"type": "custom", "name": "grep"}])).tools
    assert caught.value.argument == "tools[0]"
