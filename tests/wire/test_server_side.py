"""What all protocols share as servers: requests for other servers, the kinds of errors, answers that cannot be passed on."""

from __future__ import annotations

import msgspec
import pytest

from headrace.errors import UnsupportedError
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.request import Request, Settings, ToolSpec
from headrace.wire.protocols import WIRES
from headrace.wire.server_side import APART, AnswerOptions, Head, Incoming, kind_of_error, one_line

MARK = {"cache_control": {}}


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("429", "x", "rate_limit"), ("insufficient_quota", "x", "rate_limit"), ("Throttling", "x", "rate_limit"), ("529", "x", "overloaded"),
        ("overloaded_error", "x", "overloaded"), ("401", "x", "authentication"), ("403", "x", "permission"), ("404", "x", "not_found"),
        ("413", "x", "too_large"), ("422", "x", "invalid_request"), ("504", "x", "timeout"), ("500", "x", "server"), (None, "x", "server"),
        (None, "The model is overloaded.", "overloaded"), ("stream_truncated", "it ended", "server"),
    ],
)  # fmt: skip
def test_an_error_has_a_kind_by_its_code_or_else_its_words(code, message, kind):
    assert kind_of_error(StreamError("provider_error", message, code)) == kind


def incoming(**fields):
    messages = (
        SystemMessage.assemble([TextPart("Be brief.", provider_data=MARK)]),
        UserMessage.assemble([TextPart("one"), TextPart("two", provider_data=APART), MediaPart(kind="image", url="u", provider_data=MARK)]),
        AssistantMessage.assemble(
            [
                ReasoningPart("Hm.", provider_data={"ref": "r", "id": "rs_1"}),
                TextPart("I look.", provider_data={"novel": 1}),
                ToolCallPart(id="a", name="f", provider_data={**MARK, "sig": "s"}),
            ]
        ),
        ToolMessage.assemble([ToolResultPart(call_id="a", parts=[TextPart("x", provider_data=MARK)], metadata=MARK)]),
    )
    request = Request(
        model="m", messages=messages, tools=(ToolSpec(name="f", provider_data=MARK),), settings=Settings(reasoning_effort="low")
    )
    return Incoming(protocol="here", request=request, extra={"top_k": 5}, **fields)


def test_a_server_of_the_same_protocol_gets_everything_once():
    request, left = incoming(repeated=("reasoning_effort",)).request_for("here")
    assert request.messages == incoming().request.messages
    assert request.settings == Settings(extra_body={"top_k": 5})
    assert left == ()


def test_any_other_server_gets_no_member_of_the_clients_protocol_but_what_a_server_gave():
    request, left = incoming(repeated=("reasoning_effort",)).request_for("there")
    system, user, answer, tool = request.messages
    assert system.parts == (TextPart("Be brief."),)
    assert user.parts == (TextPart("one"), TextPart("\ntwo"), MediaPart(kind="image", url="u"))
    assert [part.provider_data for part in answer.parts] == [{"ref": "r"}, {}, {"sig": "s"}]
    assert tool.parts == (ToolResultPart(call_id="a", parts=[TextPart("x")]),)
    assert request.tools == (ToolSpec(name="f"),)
    assert request.settings == Settings(reasoning_effort="low")
    assert [warning.detail for warning in left] == [
        "top_k, which only here has", "tools[0].cache_control", "messages[0].parts[0].cache_control", "messages[1].parts[2].cache_control",
        "messages[2].parts[1].novel", "messages[2].parts[2].cache_control", "messages[3].parts[0].parts[0].cache_control",
        "messages[3].parts[0].cache_control",
    ]  # fmt: skip


def test_what_other_servers_need_not_be_told_goes_to_its_own_alone_and_what_they_lack_is_an_error():
    incoming = Incoming(protocol="here", request=Request(model="m", messages=(UserMessage("hi"),)), own={"store": False})
    assert incoming.request_for("here")[0].settings.extra_body == {"store": False}
    request, left = incoming.request_for("openai-chat")
    assert (request.settings.extra_body, left) == ({}, ())
    needy = msgspec.structs.replace(incoming, needed=("tools[1]: web_search",))
    assert needy.request_for("here")[1] == ()
    with pytest.raises(UnsupportedError, match="web_search") as caught:
        needy.request_for("openai-chat")
    assert caught.value.argument == "tools[1]"


BODY = b"""{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "input": "hi",
"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}"""
"""A request of any protocol that is served."""


@pytest.mark.parametrize("name", [name for name, wire in WIRES.items() if wire.serves])
def test_a_protocol_that_is_served_has_all_that_it_takes(name):
    wire = WIRES[name]
    request = wire.read_request()(BODY, model="m")
    assert (request.protocol, request.request.messages[0].text) == (name, "hi")
    out = wire.new_stream_out()(Head(id="1", model="m"), AnswerOptions())
    assert (out.media_type, out.is_over, out.repairs) == ("text/event-stream", False, ())
    assert wire.refuse()(400, "invalid_request", "No.")[0] == 400


def test_bytes_that_are_passed_on_as_they_came_break_no_line():
    raw = msgspec.Raw(b'{\r\n "a": "b\\n"\n}')
    assert one_line({"x": raw}) == b'{"x":{   "a": "b\\n" }}'
    assert one_line(["\n"]) == b'["\\n"]'
