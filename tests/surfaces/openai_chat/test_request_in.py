"""A request of Chat Completions to a run."""

from __future__ import annotations

import json

from headrace.surfaces.openai_chat.request_in import read_answers, read_request
from surface_runs import with_external

TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}}


def test_a_conversation_and_the_clients_own_tools():
    body = {"model": "a", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], "tools": [TOOL]}
    request = read_request(json.dumps(body).encode())
    history, new = request.split
    assert ([message.text for message in history], [message.text for message in new]) == (["Be brief."], ["Hi"])
    assert [(tool.name, tool.options.external) for tool in request.tools] == [("look", True)]
    assert request.results == ()


def test_the_result_of_a_clients_own_tool_goes_to_the_run_that_waits():
    played = with_external()
    (pending,) = played.result.pending
    call = {"id": pending.call.id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": pending.call.id, "content": "a cat"},
    ]
    request = read_request(json.dumps({"model": "a", "messages": messages}).encode())
    (reply,) = read_answers(request, played.result.pending)
    assert reply.value == "a cat"
    assert request.split[1] == ()
    played.resume(reply)
    assert played.result.message.text == "Seen."
