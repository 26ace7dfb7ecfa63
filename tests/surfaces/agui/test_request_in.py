"""A request of AG-UI becomes a conversation, tools and answers; what the package's own client model writes is read."""

from __future__ import annotations

import json

import pytest
from ag_ui.core import RunAgentInput

from headrace.errors import StateError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart
from headrace.surfaces.agui.answers_in import read_answers
from headrace.surfaces.agui.events_out import AguiOut
from headrace.surfaces.agui.request_in import read_request
from surface_runs import said, with_external, with_inner_question, with_question, with_tool


def body(*messages, **fields):
    whole = {"threadId": "t", "runId": "r", "messages": list(messages), **fields}
    RunAgentInput.model_validate(whole)  # the protocol's own model takes it
    return json.dumps(whole).encode()


def client_messages(forms):
    """Build the messages as a client does that reads the stream."""
    held = {}
    for form in forms:
        match form["type"]:
            case "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START":
                held[form["messageId"]] = {"id": form["messageId"], "role": form["role"], "content": ""}
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                held[form["messageId"]]["content"] += form["delta"]
            case "TOOL_CALL_START":
                parent = held.setdefault(form["parentMessageId"], {"id": form["parentMessageId"], "role": "assistant"})
                function = {"name": form["toolCallName"], "arguments": ""}
                parent.setdefault("toolCalls", []).append({"id": form["toolCallId"], "type": "function", "function": function})
            case "TOOL_CALL_ARGS":
                (one,) = [c for m in held.values() for c in m.get("toolCalls", ()) if c["id"] == form["toolCallId"]]
                one["function"]["arguments"] += form["delta"]
            case "TOOL_CALL_RESULT":
                held[form["messageId"]] = {
                    "id": form["messageId"], "role": "tool", "toolCallId": form["toolCallId"], "content": form["content"]
                }  # fmt: skip
            case "REASONING_ENCRYPTED_VALUE":
                held[form["entityId"]]["encryptedValue"] = form["encryptedValue"]
            case _:
                pass
    return list(held.values())


def test_what_a_client_has_kept_of_a_run_is_the_conversation_again():
    played = with_tool()
    forms = said(AguiOut("t", "r"), played.log)
    request = read_request(body({"id": "u", "role": "user", "content": "go"}, *client_messages(forms)))
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "assistant"]
    answer = request.messages[1]
    kept = played.result.messages[1]
    assert answer.id == kept.id
    assert answer.provider == "scripted"
    assert [part.type for part in answer.parts] == ["reasoning", "text", "tool_call"]
    assert answer.parts[:2] == kept.parts[:2]  # the proof of the thinking included
    assert (answer.tool_calls[0].name, answer.tool_calls[0].parsed) == ("weather", {"city": "Oslo"})
    assert request.messages[2].results[0].call_id == answer.tool_calls[0].id


def test_a_request_with_everything():
    request = read_request(
        body(
            {"id": "s", "role": "system", "content": "Be brief."},
            {"id": "d", "role": "developer", "content": "Really."},
            {"id": "a", "role": "activity", "activityType": "x", "content": {}},
            {"id": "i", "role": "assistant", "content": "inside", "subagentRunId": "sub"},
            {
                "id": "u", "role": "user", "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image", "source": {"type": "data", "value": "iVBORw==", "mimeType": "image/png"}},
                    {"type": "document", "source": {"type": "url", "value": "https://e.example/a.pdf"}},
                    {"type": "audio", "source": {"type": "file", "value": "file_1"}},
                ],
            },
            protocolVersion="1.0", parentRunId="p", state={"a": 1}, forwardedProps={"b": 2},
            context=[{"description": "The page", "value": "/home"}],
            tools=[{"name": "scroll", "description": "Scroll.", "parameters": {"type": "object", "properties": {"y": {"type": "number"}}}}],
            extra="kept out",
        )
    )  # fmt: skip
    assert (request.thread_id, request.run_id, request.parent_run_id, request.protocol_version) == ("t", "r", "p", "1.0")
    assert [type(message) for message in request.messages] == [SystemMessage, SystemMessage, UserMessage]
    media = request.messages[2].parts_of(MediaPart)
    assert [(part.kind, part.data, part.url, part.file_id) for part in media] == [
        ("image", b"\x89PNG", None, None),
        ("document", None, "https://e.example/a.pdf", None),
        ("audio", None, None, "file_1"),
    ]
    (tool,) = request.tools
    assert (tool.name, tool.options.external, tool.parameters["properties"]) == ("scroll", True, {"y": {"type": "number"}})
    assert request.context_text == "The page: /home"
    assert (request.state, request.forwarded) == ({"a": 1}, {"b": 2})
    history, new = request.split
    assert (len(history), [message.text for message in new]) == (2, ["What is this?"])


def test_an_encrypted_value_of_another_agent_is_kept_as_it_is():
    request = read_request(body({"id": "x", "role": "reasoning", "content": "", "encryptedValue": "abc"}))
    (message,) = request.messages
    assert isinstance(message, AssistantMessage)
    assert message.parts[0].encrypted == "abc"


def test_a_result_with_an_error_is_one():
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    request = read_request(
        body(
            {"id": "m", "role": "assistant", "toolCalls": [call]},
            {"id": "r", "role": "tool", "toolCallId": "c", "content": "", "error": "no page"},
        )
    )
    message = request.messages[1]
    assert isinstance(message, ToolMessage)
    assert (message.results[0].state, message.results[0].text, message.results[0].name) == ("error", "no page", "look")
    assert request.split[1] == ()


@pytest.mark.parametrize(
    ("whole", "place"),
    [
        (b"[]", "body"),
        (b"{", "body"),
        (b'{"runId":"r","messages":[]}', "threadId"),
        (b'{"threadId":"t","runId":"r"}', "messages"),
        (b'{"threadId":"t","runId":"r","messages":[{"id":"a","role":"ghost"}]}', "messages[0].role"),
        (b'{"threadId":"t","runId":"r","messages":[{"id":"a","role":"user"}]}', "messages[0].content"),
        (b'{"threadId":"t","runId":"r","messages":[{"id":"a","role":"user","content":[{"type":"x"}]}]}', "messages[0].content[0].type"),
        (
            b'{"threadId":"t","runId":"r","messages":[{"id":"a","role":"user","content":[{"type":"image","source":{"type":"x","value":"y"}}]}]}',
            "messages[0].content[0].source.type",
        ),
        (b'{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"a b"}]}', "tools[0]"),
        (b'{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"a","status":"?"}]}', "resume[0].status"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(whole, place):
    with pytest.raises(UsageError) as caught:
        read_request(whole)
    assert caught.value.argument == place


# --- answers --------------------------------------------------------------------------------------------


def answers(played, *entries, messages=()):
    return read_answers(read_request(body(*messages, resume=list(entries))), played.result.pending)


def entry(played, payload=None, status="resolved"):
    (pending,) = played.result.pending
    return {"interruptId": pending.digest, "status": status, "payload": payload}


@pytest.mark.parametrize(
    ("payload", "kind", "fields"),
    [
        (True, "Approve", {"arguments": None}),
        ({"approved": True}, "Approve", {"arguments": None}),
        ({"approved": True, "editedArgs": {"to": "Ada", "euros": 3}}, "Approve", {"arguments": {"to": "Ada", "euros": 3}}),
        (False, "Deny", {"reason": ""}),
        ({"approved": False, "reason": "too much"}, "Deny", {"reason": "too much"}),
    ],
)
def test_a_yes_and_a_no(payload, kind, fields):
    played = with_question()
    (reply,) = answers(played, entry(played, payload))
    assert type(reply).__name__ == kind
    assert reply.digest == played.result.pending[0].digest
    assert {name: getattr(reply, name) for name in fields} == fields


def test_always_is_a_rule_and_a_question_that_was_left_is_a_no():
    played = with_question()
    (reply,) = answers(played, entry(played, {"approved": True, "always": True}))
    assert reply.rules == played.result.pending[0].suggestions[:1] != ()
    (reply,) = answers(played, entry(played, status="cancelled"))
    assert type(reply).__name__ == "Deny"


@pytest.mark.parametrize(
    "payload", [None, {}, "yes", 1, {"approved": "yes"}, {"approved": True, "editedArgs": [1]}, {"approved": False, "reason": 1}]
)
def test_what_is_no_clear_answer_is_refused(payload):
    played = with_question()
    with pytest.raises(UsageError):
        answers(played, entry(played, payload))


def test_an_answer_to_another_question_and_a_second_one_are_refused():
    played = with_question()
    with pytest.raises(StateError):
        answers(played, {"interruptId": "0" * 32, "status": "resolved", "payload": True})
    with pytest.raises(StateError):
        answers(played, entry(played, True), entry(played, True))


@pytest.mark.parametrize(("content", "value"), [("a cat", "a cat"), ('{"a": 1}', {"a": 1}), ([{"type": "text", "text": "5"}], 5)])
def test_the_result_of_a_clients_own_tool_is_an_answer_once(content, value):
    played = with_external()
    key = played.result.pending[0].call_key
    message = {"id": "x", "role": "tool", "toolCallId": key, "content": content}
    (reply,) = answers(played, messages=[message, {**message, "id": "y"}])
    assert (reply.value, reply.is_error) == (value, False)
    (reply,) = answers(played, messages=[{**message, "error": "no page"}])
    assert reply.is_error
    played.resume(reply)
    assert played.result.message.text == "Seen."


def test_what_a_sub_agent_asks_is_answered_in_the_same_way():
    played = with_inner_question()
    played.resume(*answers(played, entry(played, True)))
    assert played.result.message.text == "Done."
