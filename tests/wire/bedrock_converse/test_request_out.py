"""Requests of Converse, whole; each is held against AWS's own description of the service."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aws_service import complaints_about
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_out import encode_request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.profile import DEFAULT

IDS = st.sampled_from(["", "a", "b", "call_0", "abc.DEF:1", "functions/f", "x" * 80, "é"])
NAMES = st.sampled_from(["", "f", "get time", "n" * 80])
TEXT = st.sampled_from(["", " ", "x", "line\n", "\u00e9\U0001f600"])
TEXTS = st.builds(TextPart, TEXT) | st.builds(JsonPart, st.sampled_from([None, 1, {"a": [1]}, "s"]))
MEDIA = st.sampled_from(
    [
        MediaPart(kind="image", data=b"x"),
        MediaPart(kind="image", url="https://x/y.png"),
        MediaPart(kind="image", file_id="f"),
        MediaPart(kind="audio", data=b"x", transcript="words"),
        MediaPart(kind="video", url="s3://bucket/y.mp4"),
        MediaPart(kind="document", data=b"x", name="a  b/ü.pdf"),
        MediaPart(kind="document", url="data:text/plain;base64,eA=="),
        MediaPart(kind="image", data=b"x", media_type="image/tiff"),
    ]
)
OPAQUE = st.just(OpaquePart({"type": "text", "text": "as it came"}))
CALLS = st.builds(
    lambda **fields: make(ToolCallPart, **fields),
    id=IDS,
    name=NAMES,
    arguments=st.sampled_from(["", "{}", "null", "[1]", '{"a": 1}', '{"a": 1', "no"]),
    parsed=st.sampled_from([None, {"a": 1}]),
    kind=st.sampled_from(["function", "custom", "provider"]),
)
RESULTS = st.builds(
    ToolResultPart,
    call_id=IDS,
    name=NAMES,
    parts=st.lists(TEXTS | MEDIA | OPAQUE, max_size=2),
    state=st.sampled_from(["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"]),
)
PROVIDER_TOOLS = st.builds(
    ProviderToolPart,
    id=st.just("s"),
    name=st.just("search"),
    arguments=st.sampled_from(["", "{}", "{", '{"q":1}']),
    result=st.sampled_from([None, {"toolUseId": "s", "content": [{"text": "x"}]}]),
    provider=st.sampled_from(["bedrock", "other"]),
    provider_data=st.sampled_from([{}, {"type": "server_tool_use"}]),
)
REASONING = st.builds(ReasoningPart, TEXT, signature=st.sampled_from([None, "s"]), encrypted=st.sampled_from([None, "YQ=="]))
CITED = st.builds(TextPart, TEXT, citations=st.just(({"title": "t"},)))
ITEMS = st.builds(
    ProviderItem,
    provider=st.sampled_from(["bedrock", "other"]),
    protocol=st.sampled_from(["bedrock-converse", "openai-chat"]),
    raw=st.sampled_from([b'{"text":"kept"}', b"{"]),
)
ASSISTANT_PARTS = TEXTS | CALLS | CALLS | REASONING | CITED | MEDIA | OPAQUE | PROVIDER_TOOLS | ITEMS | st.builds(RefusalPart, TEXT)
HISTORIES = st.lists(
    st.one_of(
        st.builds(SystemMessage, TEXT),
        st.builds(UserMessage, st.lists(TEXTS | MEDIA | OPAQUE, max_size=3), name=st.sampled_from([None, "ann"])),
        st.builds(AssistantMessage, st.lists(ASSISTANT_PARTS, max_size=5), provider=st.sampled_from([None, "bedrock", "other"])),
        st.lists(RESULTS | OPAQUE, min_size=1, max_size=4).map(ToolMessage),
    ),
    max_size=8,
)
PROFILE = BEDROCK.replace(provider="bedrock")
CLOCK = ToolSpec(name="clock", description="Tells the time.", parameters={"type": "object", "properties": {"zone": {"type": "string"}}})


def encode(*messages, profile=PROFILE, model="m", **fields):
    return encode_request(Request(model=model, messages=messages or (UserMessage("hi"),), **fields), profile)


def body_of(*messages, **fields):
    body = json.loads(encode(*messages, **fields).body)
    assert not complaints_about(body)
    return body


def details(encoded):
    return [warning.detail for warning in encoded.warnings]


def test_the_model_stands_in_the_path_and_streaming_too():
    arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.some.model-v1:0"
    assert encode(model="us.some.model-v1:0").path == "/model/us.some.model-v1%3A0/converse-stream"
    assert encode(model=arn, is_streamed=False).path.endswith("%2Fus.some.model-v1%3A0/converse")
    assert dict(encode().headers) == {"content-type": "application/json", "accept": "application/vnd.amazon.eventstream"}
    assert dict(encode(is_streamed=False).headers)["accept"] == "application/json"


def test_instructions_stand_apart():
    assert body_of(SystemMessage("Be brief."), UserMessage("hi"), SystemMessage("Be kind.")) == {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "system": [{"text": "Be brief."}, {"text": "Be kind."}],
    }


def test_roles_alternate_and_the_user_speaks_first():
    body = body_of(AssistantMessage("Hello."), UserMessage("a"), UserMessage("b"), AssistantMessage("c"), AssistantMessage("d"))
    assert [(m["role"], [block["text"] for block in m["content"]]) for m in body["messages"]] == [
        ("user", ["Go on."]),
        ("assistant", ["Hello."]),
        ("user", ["a", "b"]),
        ("assistant", ["c", "d"]),
    ]


def test_results_and_the_users_next_words_are_one_message():
    calls = [ToolCallPart(id="t1", name="clock", arguments={"zone": "UTC"}), ToolCallPart(id="t2", name="clock")]
    body = body_of(
        UserMessage("hi"),
        AssistantMessage([TextPart("I look."), *calls], provider="bedrock"),
        ToolMessage("12:00", call_id="t2"),
        ToolMessage("11:00", call_id="t1"),
        UserMessage("and?"),
        tools=(CLOCK,),
    )
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"text": "I look."},
                {"toolUse": {"toolUseId": "t1", "name": "clock", "input": {"zone": "UTC"}}},
                {"toolUse": {"toolUseId": "t2", "name": "clock", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t1", "content": [{"text": "11:00"}], "status": "success"}},
                {"toolResult": {"toolUseId": "t2", "content": [{"text": "12:00"}], "status": "success"}},
                {"text": "and?"},
            ],
        },
    ]


def test_a_call_without_a_result_gets_one_and_ids_are_spelled_legally():
    body = body_of(UserMessage("hi"), AssistantMessage([ToolCallPart(id="call/1|fc", name="my tool")]))
    use, result = body["messages"][1]["content"][0]["toolUse"], body["messages"][2]["content"][0]["toolResult"]
    assert use["toolUseId"] == result["toolUseId"] != "call/1|fc"
    assert (use["name"], result["status"]) == ("my_tool", "error")


def test_an_id_is_legal_also_where_nothing_is_known_of_the_server():
    encoded = encode(UserMessage("hi"), AssistantMessage([ToolCallPart(id="a b", name="f")]), profile=DEFAULT)
    assert not complaints_about(json.loads(encoded.body))


def test_settings_go_by_their_names():
    body = body_of(settings=Settings(max_tokens=9, temperature=0.5, top_p=0.25, stop=("END",)))
    assert body["inferenceConfig"] == {"maxTokens": 9, "temperature": 0.5, "topP": 0.25, "stopSequences": ["END"]}


def test_hints_are_left_out_with_a_word_and_the_rest_is_refused():
    assert details(encode(settings=Settings(seed=1, frequency_penalty=0.5))) == [
        "settings.seed: this provider has no such setting",
        "settings.frequency_penalty: this provider has no such setting",
    ]
    with pytest.raises(UnsupportedError, match=r"settings\.n"):
        encode(settings=Settings(n=2))


def test_what_the_caller_adds_wins():
    guard = {"guardrailIdentifier": "g", "guardrailVersion": "1"}
    body = body_of(settings=Settings(max_tokens=9, extra_body={"guardrailConfig": guard, "inferenceConfig": {"maxTokens": 1}}))
    assert (body["guardrailConfig"], body["inferenceConfig"]) == (guard, {"maxTokens": 1})
    assert "inferenceConfig" not in body_of(settings=Settings(max_tokens=9, extra_body={"inferenceConfig": None}))
    assert dict(encode(settings=Settings(extra_headers={"X-A": "1"})).headers)["x-a"] == "1"


def test_nothing_to_send_is_wrong_use():
    with pytest.raises(UsageError, match="no message"):
        encode(SystemMessage("x"))


def test_a_message_of_nothing_but_spaces_is_not_sent():
    assert body_of(UserMessage("a"), AssistantMessage("  \n"), UserMessage("b"))["messages"] == [
        {"role": "user", "content": [{"text": "a"}, {"text": "b"}]}
    ]


def test_a_speakers_name_has_no_place():
    assert details(encode(UserMessage("hi", name="Ann"))) == ["messages[0]: the speaker's name 'Ann'"]


def test_cache_points_stand_where_they_were_asked_for():
    mark = {"cachePoint": {"type": "default"}}
    body = body_of(
        SystemMessage("s", metadata=mark),
        UserMessage([TextPart("a", provider_data={"cache_control": {"type": "ephemeral", "ttl": "1h"}}), TextPart("b")], metadata=mark),
        AssistantMessage("c", metadata=mark),
        tools=(ToolSpec(name="clock", provider_data=mark),),
    )
    point = {"cachePoint": {"type": "default"}}
    assert body["system"] == [{"text": "s"}, point]
    assert body["messages"][0]["content"] == [{"text": "a"}, {"cachePoint": {"type": "default", "ttl": "1h"}}, {"text": "b"}, point]
    assert body["messages"][1]["content"] == [{"text": "c"}, point]
    assert body["toolConfig"]["tools"][1] == point


def test_equal_requests_give_equal_bytes_and_a_cache_changes_nothing():
    cache = EncodingCache()
    request = Request(
        model="m",
        messages=(UserMessage("hi"), AssistantMessage([ToolCallPart(id="t", name="clock")]), ToolMessage("12", call_id="t")),
        tools=(CLOCK,),
        output=OutputFormat(schema={"type": "object"}),
        tool_choice=NamedTool("clock"),
    )
    first = encode_request(request, PROFILE, cache=cache)
    misses = cache.misses
    assert encode_request(request, PROFILE, cache=cache) == first == encode_request(request, PROFILE)
    assert cache.misses == misses


@given(HISTORIES)
def test_any_history_gives_a_body_that_the_description_allows(history):
    encoded = encode(UserMessage("hi"), *history, tools=(CLOCK,))
    body = json.loads(encoded.body)
    assert not complaints_about(body)
    roles = [m["role"] for m in body["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    assert all(m["content"] for m in body["messages"])
    for before, after in zip(body["messages"], [*body["messages"][1:], {"content": []}], strict=True):
        uses = [block["toolUse"]["toolUseId"] for block in before["content"] if "toolUse" in block and "type" not in block["toolUse"]]
        results = [block["toolResult"]["toolUseId"] for block in after["content"] if "toolResult" in block]
        assert not uses or uses == results[: len(uses)]
