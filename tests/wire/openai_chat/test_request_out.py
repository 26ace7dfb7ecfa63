import json

import pytest

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, OpaquePart, ToolCallPart, ToolResultPart
from headrace.messages.request import Request, Settings, ToolSpec
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT, Profile

IMAGE = MediaPart(kind="image", url="https://x/y.png")


def call(id_, name="f"):
    return ToolCallPart(id=id_, name=name)


def encode(*messages, profile=DEFAULT, **fields):
    return encode_request(Request(model="m", messages=messages, **fields), profile)


def wire(*messages, profile=DEFAULT):
    encoded = encode(*messages, profile=profile)
    return json.loads(encoded.body)["messages"], [warning.detail for warning in encoded.warnings]


def roles(messages):
    return [message["role"] for message in messages]


def test_a_whole_request_is_these_bytes():
    encoded = encode(
        SystemMessage("Be brief."),
        UserMessage("What time is it?"),
        AssistantMessage(["Looking.", ToolCallPart(id="c1", name="clock", arguments='{"city": "Oslo"}')]),
        ToolMessage("12:00", call_id="c1"),
        tools=(ToolSpec(name="clock", parameters={"type": "object"}),),
        settings=Settings(max_tokens=50),
    )
    assert encoded.path == "/chat/completions"
    assert encoded.body == (
        b'{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What time is it?"},'
        b'{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"clock",'
        b'"arguments":"{\\"city\\": \\"Oslo\\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"12:00"}],'
        b'"tools":[{"type":"function","function":{"name":"clock","parameters":{"type":"object"}}}],'
        b'"stream":true,"stream_options":{"include_usage":true},"max_tokens":50}'
    )
    assert encoded.headers == (("content-type", "application/json"), ("accept", "text/event-stream"))
    assert encoded.warnings == ()


def test_headers_say_what_answer_is_wanted_and_take_the_callers():
    settings = Settings(extra_headers={"X-Trace": "1"})
    encoded = encode(UserMessage("hi"), is_streamed=False, settings=settings)
    assert encoded.headers == (("content-type", "application/json"), ("accept", "application/json"), ("x-trace", "1"))


@pytest.mark.parametrize("messages", [(), (SystemMessage(""),), (ToolMessage("x", call_id="c"),), (AssistantMessage([]),)])
def test_nothing_to_send_is_wrong_use(messages):
    with pytest.raises(UsageError, match="no message") as caught:
        encode(*messages)
    assert caught.value.argument == "messages"


def test_the_caller_may_bring_the_messages_in_another_way():
    encoded = encode(settings=Settings(extra_body={"messages": [{"role": "user", "content": "raw"}], "model": "other"}))
    assert json.loads(encoded.body)["messages"] == [{"role": "user", "content": "raw"}]
    assert json.loads(encoded.body)["model"] == "other"


def test_a_missing_result_is_filled_in_before_the_next_message():
    messages, _ = wire(AssistantMessage([call("a"), call("b")]), ToolMessage("1", call_id="b"), UserMessage("go on"))
    assert messages[1:] == [
        {"role": "tool", "tool_call_id": "a", "content": "Not run: this call has no result."},
        {"role": "tool", "tool_call_id": "b", "content": "1"},
        {"role": "user", "content": "go on"},
    ]


def test_a_result_without_a_call_is_left_out_and_said():
    messages, [warning] = wire(UserMessage("hi"), ToolMessage("1", call_id="zz"))
    assert roles(messages) == ["user"]
    assert warning.startswith("messages[1].parts[0]: ")
    assert "'zz'" in warning


def test_equal_ids_are_renamed_in_pairs():
    turn = (AssistantMessage([call("a")]), ToolMessage("1", call_id="a"))
    messages, _ = wire(*turn, UserMessage("again"), *turn)
    assert [message.get("tool_call_id") for message in messages] == [None, "a", None, None, "a_2"]
    assert messages[3]["tool_calls"][0]["id"] == "a_2"


def test_one_message_that_stands_twice_is_encoded_with_its_own_ids_each_time():
    turn = AssistantMessage([call("a")])
    cache = EncodingCache()
    body = encode_request(Request(model="m", messages=(turn, turn)), DEFAULT, cache=cache).body
    assert [message["tool_calls"][0]["id"] for message in json.loads(body)["messages"] if message["role"] == "assistant"] == ["a", "a_2"]


def test_images_of_results_follow_when_all_results_are_there():
    results = ToolMessage([ToolResultPart(call_id="a", parts=[IMAGE]), ToolResultPart(call_id="b", parts="2")])
    messages, _ = wire(AssistantMessage([call("a", "look"), call("b")]), results, UserMessage("well?"))
    assert roles(messages) == ["assistant", "tool", "tool", "user", "user"]
    assert messages[3]["content"] == [
        {"type": "text", "text": "From the result of look (a):"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
    ]


@pytest.mark.parametrize("result", ["1", [IMAGE]])
def test_an_assistant_message_stands_between_a_tools_and_a_users_where_the_server_insists(result):
    profile = Profile(needs_assistant_after_tool=True)
    messages, _ = wire(AssistantMessage([call("a")]), ToolMessage(result, call_id="a"), UserMessage("stop"), profile=profile)
    expected = ["assistant", "tool", "assistant", "user"] + ["user"] * (result != "1")
    assert roles(messages) == expected
    assert messages[2]["content"]


def test_no_assistant_message_is_put_where_one_stands():
    profile = Profile(needs_assistant_after_tool=True)
    messages, _ = wire(
        UserMessage("hi"),
        AssistantMessage([call("a")]),
        ToolMessage("1", call_id="a"),
        AssistantMessage("done"),
        UserMessage("ok"),
        profile=profile,
    )
    assert roles(messages) == ["user", "assistant", "tool", "assistant", "user"]


def test_several_instructions_become_one_at_the_front_where_only_one_may_be():
    history = (SystemMessage("a"), UserMessage("hi"), SystemMessage(""), SystemMessage("b"))
    assert roles(wire(*history)[0]) == ["system", "user", "system"]
    messages, _ = wire(*history, profile=Profile(supports_several_system_messages=False))
    assert messages == [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "hi"}]
    assert roles(wire(UserMessage("hi"), profile=Profile(supports_several_system_messages=False))[0]) == ["user"]


def test_a_warning_says_which_message_and_which_part():
    encoded = encode(UserMessage("hi"), UserMessage(["a", OpaquePart({"type": "x"})]), SystemMessage("s", name="a b"))
    assert [(warning.code, warning.part, warning.detail.split(":")[0]) for warning in encoded.warnings] == [
        ("dropped_for_provider", 1, "messages[1].parts[1]"),
        ("dropped_for_provider", None, "messages[2]"),
    ]


# ------------------------------------------------------------------------------------------------ cost


def test_a_message_is_encoded_once_however_many_requests_hold_it():
    tools = tuple(ToolSpec(name=f"t{n}") for n in range(5))
    cache, history = EncodingCache(), [SystemMessage("s"), UserMessage("u")]
    for n in range(50):
        encode_request(Request(model="m", messages=tuple(history), tools=tools), DEFAULT, cache=cache)
        history += [AssistantMessage([call(f"c{n}")]), ToolMessage(str(n), call_id=f"c{n}")]
    assert cache.misses == 5 + 2 + 49 * 2


def test_a_cache_changes_no_byte_and_no_warning():
    cache = EncodingCache()
    history = [UserMessage(["a", OpaquePart({"type": "x"})]), AssistantMessage([call("a"), call("a")]), ToolMessage([IMAGE], call_id="a")]
    for length in (1, 2, 3, 3):
        for profile in (DEFAULT, Profile(names_tool_results=True)):
            request = Request(model="m", messages=tuple(history[:length]))
            assert encode_request(request, profile, cache=cache) == encode_request(request, profile)
