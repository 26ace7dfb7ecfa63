"""A chat's post becomes a conversation and answers; what is forged, stale or unclear is refused."""

from __future__ import annotations

import json

import pytest

from headrace.errors import StateError, UsageError
from headrace.messages.parts import MediaPart, RefusalPart
from headrace.surfaces.vercel.chunks_out import VercelOut
from headrace.surfaces.vercel.request_in import read_answers, read_request
from surface_runs import SCENARIOS, said, with_external, with_inner_question, with_question, with_tool
from vercel_rules import check_stream

SECRET = b"s"
GO = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]}


def body(*messages, **fields):
    return json.dumps({"id": "chat", "trigger": "submit-message", "messages": list(messages), **fields}).encode()


def client_of(played, **options):
    return check_stream(said(VercelOut(secret=SECRET, **options), played.legs[0]))


def answers(played, client, **options):
    return read_answers(read_request(body(GO, client.message)), played.result.pending, **{"secret": SECRET, **options})


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_every_message_that_comes_of_a_run_is_read_again(scenario):
    request = read_request(body(GO, client_of(scenario()).message))
    assert request.messages[0].text == "go"


def test_what_a_client_has_kept_of_a_run_is_the_conversation_again():
    played = with_tool()
    request = read_request(body(GO, client_of(played).message, messageId="m", mine=1))
    assert (request.chat_id, request.message_id, request.extra) == ("chat", "m", {"mine": 1})
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "assistant"]
    answer, kept = request.messages[1], played.result.messages[1]
    assert answer.provider == "scripted"
    assert answer.parts[:2] == kept.parts[:2]
    assert answer.tool_calls[0].parsed == {"city": "Oslo"}
    assert request.messages[2].results[0].text == "Oslo: snow"
    assert request.messages[2].results[0].call_id == answer.tool_calls[0].id


def test_an_answer_that_is_wanted_anew_is_left_out():
    request = read_request(body(GO, client_of(with_tool()).message, trigger="regenerate-message"))
    assert [message.role for message in request.messages] == ["user"]
    assert request.split == ((), request.messages)
    assert request.last is None


def test_parts_of_all_kinds():
    request = read_request(
        body(
            {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
            {
                "id": "u",
                "role": "user",
                "parts": [
                    {"type": "file", "url": "data:image/png;base64,eA==", "mediaType": "image/png", "filename": "x.png"},
                    {"type": "data-note", "data": {}},
                ],
            },
            {
                "id": "a",
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    {"type": "text", "text": "no", "providerMetadata": {"headrace": {"kind": "refusal"}}},
                    {
                        "type": "dynamic-tool",
                        "toolName": "look",
                        "toolCallId": "1",
                        "state": "output-available",
                        "input": {},
                        "output": {"type": "x"},
                    },
                    {"type": "tool-pay", "toolCallId": "2", "state": "output-error", "rawInput": "{", "errorText": "bad"},
                    {
                        "type": "tool-pay",
                        "toolCallId": "3",
                        "state": "output-denied",
                        "input": {"a": 1},
                        "approval": {"id": "x", "approved": False},
                    },
                    {"type": "tool-pay", "toolCallId": "4", "state": "input-streaming"},
                    {"type": "tool-pay", "toolCallId": "5", "state": "input-available", "input": [1]},
                    {
                        "type": "tool-search",
                        "toolCallId": "6",
                        "state": "output-available",
                        "input": {"q": 1},
                        "output": [],
                        "providerExecuted": True,
                    },
                    {"type": "tool-pay", "toolCallId": "7", "state": "output-available", "input": {}, "output": 1, "preliminary": True},
                    {"type": "source-url", "sourceId": "s", "url": "https://e.example"},
                    {"type": "file", "url": "https://e.example/x", "mediaType": "video/mp4"},
                ],
            },
        )
    )
    system, user, answer, results = request.messages
    assert (system.role, user.parts[0].data, user.parts[0].name) == ("system", b"x", "x.png")
    assert answer.id == "a/1"
    assert answer.has(RefusalPart)
    assert [part.id for part in answer.tool_calls] == ["1", "2", "3", "5", "7"]
    assert [part.runnable for part in answer.tool_calls] == [True, False, True, False, True]
    assert answer.first(MediaPart).kind == "video"
    assert [(one.call_id, one.state) for one in results.results] == [("1", "success"), ("2", "error"), ("3", "denied")]
    assert results.results[0].parts[0].value == {"type": "x"}


@pytest.mark.parametrize(
    ("whole", "place"),
    [
        (b"1", "body"),
        (b'{"messages":[]}', "id"),
        (b'{"id":"c"}', "messages"),
        (b'{"id":"c","messages":[],"trigger":"x"}', "trigger"),
        (b'{"id":"c","messages":[{"role":"tool"}]}', "messages[0].role"),
        (b'{"id":"c","messages":[{"role":"user","parts":[{}]}]}', "messages[0].parts[0].type"),
        (b'{"id":"c","messages":[{"role":"user","parts":[{"type":"text"}]}]}', "messages[0].parts[0].text"),
        (b'{"id":"c","messages":[{"role":"assistant","parts":[{"type":"tool-x"}]}]}', "messages[0].parts[0].toolCallId"),
    ],
)
def test_what_is_no_post_is_refused_with_its_place(whole, place):
    with pytest.raises(UsageError) as caught:
        read_request(whole)
    assert caught.value.argument == place


# --- answers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("approved", "kind"), [(True, "Approve"), (False, "Deny")])
def test_a_yes_and_a_no(approved, kind):
    played = with_question()
    client = client_of(played)
    assert answers(played, client) == ()
    client.answer(approved=approved, reason="so")
    (reply,) = answers(played, client)
    assert (type(reply).__name__, reply.digest) == (kind, played.result.pending[0].digest)
    played.resume(reply)
    assert played.result.message.text == "Paid."


def test_what_a_sub_agent_asks_is_answered_in_the_same_way():
    played = with_inner_question()
    client = client_of(played)
    client.answer(approved=True)
    played.resume(*answers(played, client))
    assert played.result.message.text == "Done."
    assert [part.name for part in read_request(body(GO, client.message)).messages[1].tool_calls] == ["clerk"]


@pytest.mark.parametrize(
    "forge",
    [
        lambda part: part["approval"].pop("signature"),
        lambda part: part["approval"].update(signature="x"),
        lambda part: part["input"].update(euros=31),
        lambda part: part.update(type="tool-other"),
        lambda part: part.update(toolCallId="other/0"),
        lambda part: part["approval"].update(id="0" * 32),
        lambda part: part["approval"].update(approved="yes"),
        lambda part: part["approval"].pop("approved"),
        lambda part: part.pop("approval"),
        lambda part: part["approval"].update(reason=1),
    ],
)
def test_what_is_not_a_clear_answer_to_the_signed_question_is_refused(forge):
    played = with_question()
    client = client_of(played)
    client.answer(approved=True)
    forge(client.message["parts"][1])
    with pytest.raises(UsageError):
        answers(played, client)


def test_without_a_secret_the_digest_alone_binds():
    played = with_question()
    client = client_of(played)
    client.answer(approved=True)
    client.message["parts"][1]["approval"].pop("signature")
    assert len(answers(played, client, secret=None)) == 1
    client.message["parts"][1]["approval"]["id"] = "0" * 32
    with pytest.raises(StateError):
        answers(played, client, secret=None)


def test_only_the_last_message_answers():
    played = with_question()
    client = client_of(played)
    client.answer(approved=True)
    request = read_request(body(GO, client.message, {"role": "user", "parts": []}))
    assert read_answers(request, played.result.pending, secret=SECRET) == ()


@pytest.mark.parametrize(
    ("fields", "value", "is_error"),
    [
        ({"state": "output-available", "output": {"a": 1}}, {"a": 1}, False),
        ({"state": "output-error", "errorText": "no page"}, "no page", True),
    ],
)
def test_the_output_of_a_clients_own_tool_is_an_answer(fields, value, is_error):
    played = with_external()
    client = client_of(played)
    client.message["parts"][-1].update(fields)
    (reply,) = answers(played, client)
    assert (reply.value, reply.is_error) == (value, is_error)
    played.resume(reply)
    assert played.result.message.text == "Seen."
