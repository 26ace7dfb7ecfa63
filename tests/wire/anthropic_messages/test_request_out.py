from __future__ import annotations

import json

import pytest

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.request import Request, Settings, ToolSpec
from headrace.wire.anthropic_messages.request_out import encode_request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.profile import Profile

OWN = Profile(provider="mill", call_id_pattern="[A-Za-z0-9_-]+")
MARK = {"type": "ephemeral"}


def call(id_, name="f", **fields):
    return ToolCallPart(id=id_, name=name, **fields)


def encode(*messages, profile=OWN, **fields):
    return encode_request(Request(model="m", messages=messages, **fields), profile)


def wire(*messages, **fields):
    encoded = encode(*messages, **fields)
    return json.loads(encoded.body), [warning.detail for warning in encoded.warnings]


def messages_of(*messages, **fields):
    return wire(*messages, **fields)[0]["messages"]


def text(value):
    return {"type": "text", "text": value}


def test_a_whole_request_is_these_bytes():
    encoded = encode(
        SystemMessage("Be brief."),
        UserMessage("What time is it?"),
        AssistantMessage(["Looking.", call("c1", "clock", arguments='{"city":  "Oslo"}')]),
        ToolMessage("12:00", call_id="c1"),
        tools=(ToolSpec(name="clock", parameters={"type": "object"}),),
        settings=Settings(max_tokens=50),
    )
    assert encoded.path == "/messages"
    assert encoded.body == (
        b'{"model":"m","max_tokens":50,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"What time is it?"}]},'
        b'{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"c1","name":"clock","input":{"city":  "Oslo"}}]},'
        b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"12:00"}]}],'
        b'"tools":[{"name":"clock","input_schema":{"type":"object"}}],"stream":true}'
    )
    assert encoded.headers == (
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("anthropic-version", "2023-06-01"),
    )
    assert encoded.warnings == ()


def test_headers_say_what_answer_is_wanted_and_take_the_callers():
    settings = Settings(extra_headers={"Anthropic-Beta": "x", "anthropic-version": "2099-01-01"})
    headers = dict(encode(UserMessage("hi"), is_streamed=False, settings=settings).headers)
    assert headers == {
        "content-type": "application/json",
        "accept": "application/json",
        "anthropic-version": "2099-01-01",
        "anthropic-beta": "x",
    }


@pytest.mark.parametrize(
    "messages", [(), (SystemMessage("s"),), (UserMessage(" \n"),), (ToolMessage("x", call_id="c"),), (AssistantMessage([]),)]
)
def test_nothing_to_send_is_wrong_use(messages):
    with pytest.raises(UsageError, match="no message") as caught:
        encode(*messages)
    assert caught.value.argument == "messages"


def test_the_callers_own_members_win_and_take_out():
    body, _ = wire(UserMessage("hi"), settings=Settings(extra_body={"max_tokens": 3, "stream": None, "metadata": {"user_id": "u"}}))
    assert (body["max_tokens"], body["metadata"], "stream" in body) == (3, {"user_id": "u"}, False)


class TestRoles:
    def test_results_and_the_next_words_are_one_message_results_first(self):
        results = ToolMessage([ToolResultPart(call_id="b", parts="2"), ToolResultPart(call_id="a", parts="1")])
        assert messages_of(UserMessage("hi"), AssistantMessage([call("a"), call("b")]), results, UserMessage("go on"))[2] == {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
                text("go on"),
            ],
        }

    def test_neighbours_of_one_role_are_one_message(self):
        messages = messages_of(UserMessage("a"), UserMessage("b"), AssistantMessage("c"), AssistantMessage("d"), UserMessage("e"))
        assert [(one["role"], [block["text"] for block in one["content"]]) for one in messages] == [
            ("user", ["a", "b"]),
            ("assistant", ["c", "d"]),
            ("user", ["e"]),
        ]

    def test_the_first_word_is_the_users(self):
        assert [one["role"] for one in messages_of(AssistantMessage("a"), UserMessage("b"))] == ["user", "assistant", "user"]

    def test_a_missing_result_is_filled_in_and_one_without_a_call_is_left_out_and_said(self):
        body, [warning] = wire(UserMessage("x"), AssistantMessage([call("a")]), UserMessage("y"), ToolMessage("1", call_id="zz"))
        assert body["messages"][2]["content"][0] == {
            "type": "tool_result", "tool_use_id": "a", "content": "Not run: this call has no result.", "is_error": True,
        }  # fmt: skip
        assert warning.startswith("messages[3].parts[0]: ")

    def test_ids_that_the_server_refuses_are_renamed_in_pairs(self):
        messages = messages_of(UserMessage("x"), AssistantMessage([call("functions.f:0")]), ToolMessage("1", call_id="functions.f:0"))
        wire_id = messages[1]["content"][0]["id"]
        assert wire_id.isalnum()
        assert messages[2]["content"][0]["tool_use_id"] == wire_id

    def test_an_answer_that_is_to_go_on_does_not_end_with_spaces(self):
        assert messages_of(UserMessage("a"), AssistantMessage("b \n"))[1]["content"] == [text("b")]
        assert messages_of(UserMessage("a"), AssistantMessage("b \n"), UserMessage("c"))[1]["content"] == [text("b \n")]


class TestInstructions:
    def test_one_is_a_text_and_several_are_blocks_wherever_they_stood(self):
        body, _ = wire(SystemMessage("a"), UserMessage("hi"), SystemMessage("b"))
        assert body["system"] == [text("a"), text("b")]
        assert len(body["messages"]) == 1

    def test_an_empty_one_is_not_sent_and_a_name_is_said_to_be_left_out(self):
        body, [warning] = (
            wire(SystemMessage("", name="ann"), UserMessage("hi", name="bob"), profile=OWN)[0],
            wire(UserMessage("hi", name="bob"))[1],
        )
        assert "system" not in body
        assert warning == "messages[0]: the speaker's name 'bob'"


class TestCacheMarkers:
    def test_a_message_marks_its_last_block(self):
        messages = (
            SystemMessage("s", metadata={"cache_control": MARK}),
            UserMessage(["a", "b"], metadata={"cache_control": MARK}),
            AssistantMessage(["c", ReasoningPart("d")], metadata={"cache_control": MARK}),
            UserMessage("e"),
        )
        body, _ = wire(*messages)
        assert body["system"] == [{**text("s"), "cache_control": MARK}]
        assert body["messages"][0]["content"] == [{**text("ab"), "cache_control": MARK}]
        assert body["messages"][1]["content"] == [{**text("c"), "cache_control": MARK}, {"type": "thinking", "thinking": "d"}]

    def test_a_result_a_part_and_a_tool_mark_themselves(self):
        result = ToolResultPart(call_id="a", parts="1", metadata={"cache_control": MARK})
        first = UserMessage([TextPart("long", provider_data={"cache_control": MARK}), "short"])
        tools = (ToolSpec(name="f", provider_data={"cache_control": MARK}),)
        body, _ = wire(first, AssistantMessage([call("a")]), ToolMessage([result]), tools=tools)
        assert body["messages"][0]["content"] == [{**text("long"), "cache_control": MARK}, text("short")]
        assert body["messages"][2]["content"][0]["cache_control"] == MARK
        assert body["tools"][0]["cache_control"] == MARK

    def test_a_marker_that_is_none_marks_nothing(self):
        assert messages_of(UserMessage("a", metadata={"cache_control": True}))[0]["content"] == [text("a")]


class TestContainer:
    @pytest.mark.parametrize(
        ("caller", "provider", "expected"),
        [
            ({"type": "code_execution", "tool_id": "srv_1"}, "mill", "c_1"),
            ({"type": "direct"}, "mill", None),
            ({"type": "code_execution", "tool_id": "srv_1"}, "other", None),
        ],
    )
    def test_it_goes_back_where_code_in_it_waits_for_a_result(self, caller, provider, expected):
        message = AssistantMessage(
            [call("a", provider_data={"caller": caller})], provider=provider, metadata={"provider_fields": {"container": {"id": "c_1"}}}
        )
        assert wire(UserMessage("x"), message, ToolMessage("1", call_id="a"))[0].get("container") == expected

    def test_one_that_nobody_named_is_not_made_up(self):
        message = AssistantMessage([call("a", provider_data={"caller": {"tool_id": "s"}})], metadata={"provider_fields": 5})
        assert "container" not in wire(UserMessage("x"), message)[0]


class TestTheCache:
    def test_it_changes_nothing_but_the_work(self):
        cache = EncodingCache()
        history = (UserMessage("a"), AssistantMessage([call("a")]), ToolMessage("1", call_id="a"))
        tools = (ToolSpec(name="f"),)
        first = encode_request(Request(model="m", messages=history, tools=tools), OWN, cache=cache)
        missed = cache.misses
        again = encode_request(Request(model="m", messages=(*history, UserMessage("b")), tools=tools), OWN, cache=cache)
        assert cache.misses == missed + 1
        assert again == encode_request(Request(model="m", messages=(*history, UserMessage("b")), tools=tools), OWN)
        assert first.body != again.body


def test_an_answer_is_the_last_also_where_nothing_is_sent_of_what_follows():
    talk = (UserMessage("q"), AssistantMessage("line\n"))
    assert messages_of(*talk, UserMessage(())) == messages_of(*talk)
    assert messages_of(*talk)[-1]["content"] == [text("line")]
