"""`Model`: what is checked at once, what is sent, and that nothing shows the key. Over recordings; `test_stream.py` has the network."""

from __future__ import annotations

import json
from itertools import count

import pytest

from chat_bytes import NOON, StillClock, call_stream, chunk, event, text_stream, whole_body
from headrace.errors import ConfigError, StateError, UnsupportedError, UsageError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, OutputFormat, ToolSpec
from headrace.models.model import Model
from headrace.providers.config import Config
from headrace.providers.record import Provider
from headrace.providers.secret import Secret
from headrace.tools.tool import tool
from headrace.wire.profile import Profile

KEY = "sk-very-secret-key-123456"
JSON_BODY = (("content-type", "application/json"),)


def model(*bodies, clock=None, **fields):
    replay = ReplayTransport([body if isinstance(body, Recorded) else Recorded(body=b"".join(body)) for body in bodies])
    fields = {"base_url": "http://lab.test/v1", "environ": {}, **fields}
    return Model("openai-chat:m-1", transport=replay, clock=clock or StillClock(), **fields), replay


def sent(replay, number=0):
    return json.loads(replay.requests[number].body)


@tool
def clock(city: str) -> str:
    """Tell the time."""
    return city


# --- at construction


@pytest.mark.parametrize(
    ("model_id", "fields", "argument"),
    [
        ("nobody:m", {}, "model"),
        ("m", {}, "model"),
        ("deepseek:m", {}, "api_key"),
        ("openai-chat:m", {}, "base_url"),
        ("openai-chat:m", {"base_url": "lab"}, "base_url"),
        ("deepseek:m", {"api_key": KEY, "profile": {"nonsense": 1}}, "nonsense"),
        ("deepseek:m", {"api_key": KEY, "settings": {"temprature": 1}}, "temprature"),
        ("deepseek:m", {"api_key": KEY, "options": {"nonsense": True}}, "options.nonsense"),
        ("deepseek:m", {"api_key": KEY, "limits": {"max_parts": 0}}, "limits.max_parts"),
        ("deepseek:m", {"api_key": KEY, "headers": {"x": "a\r\nb"}}, "settings.extra_headers['x']"),
        ("deepseek:m", {"api_key": KEY, "mid_stream_retries": -1}, "mid_stream_retries"),
        ("deepseek:m", {"api_key": KEY, "proxy": "lab"}, "proxy"),
        ("local:/there/is/no.gguf", {}, "name_or_path"),
    ],
)
def test_what_is_wrong_is_said_at_construction_and_names_the_argument(model_id, fields, argument):
    with pytest.raises(UsageError) as caught:
        Model(model_id, environ={}, **fields)
    assert caught.value.argument == argument


def test_a_provider_whose_protocol_is_not_spoken_yet_is_said_at_construction():
    config = Config(changed=(Provider(id="lab", name="The lab", protocol="smoke-signals"),))
    with pytest.raises(UnsupportedError):
        Model("lab:m", api_key=KEY, environ={}, config=config)


def test_a_model_says_where_it_is_and_hides_its_key():
    made = Model("deepseek:chat", api_key=KEY, environ={})
    assert (made.id, made.provider, made.protocol, made.profile.provider) == ("deepseek:chat", "deepseek", "openai-chat", "deepseek")
    assert repr(made) == "Model('deepseek:chat', base_url='https://api.deepseek.com')"
    assert KEY not in repr(vars(made))


def test_the_key_comes_from_the_environment_that_was_given():
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        Model("deepseek:chat", environ={})
    assert Model("deepseek:chat", environ={"DEEPSEEK_API_KEY": KEY}).provider == "deepseek"


# --- what is sent


async def test_a_request_goes_to_the_address_with_the_key_and_the_body():
    asked, replay = model(text_stream("Hello"), api_key=Secret(KEY), headers={"X-Team": "a"})
    await asked.request("hi", settings={"temperature": 0.5, "extra_headers": {"x-run": "7"}})
    (request,) = replay.requests
    assert (request.method, request.url) == ("POST", "http://lab.test/v1/chat/completions")
    assert dict(request.headers) == {
        "authorization": f"Bearer {KEY}",
        "content-type": "application/json",
        "accept": "text/event-stream",
        "x-team": "a",
        "x-run": "7",
    }
    body = sent(replay)
    assert (body["model"], body["stream"], body["temperature"]) == ("m-1", True, 0.5)
    assert body["messages"] == [{"role": "user", "content": "hi"}]


async def test_without_a_key_no_key_is_sent_and_a_header_of_the_callers_own_may_carry_one():
    asked, replay = model(text_stream("a"), text_stream("b"))
    await asked.request("hi")
    await asked.request("hi", settings={"extra_headers": {"Authorization": "Custom abc"}})
    assert "authorization" not in dict(replay.requests[0].headers)
    assert dict(replay.requests[1].headers)["authorization"] == "Custom abc"


@pytest.mark.parametrize("messages", ["hi", UserMessage("hi"), [UserMessage("hi")], (UserMessage("hi"),)])
async def test_messages_are_a_text_a_message_or_several(messages):
    asked, replay = model(text_stream("a"))
    await asked.request(messages)
    assert sent(replay)["messages"] == [{"role": "user", "content": "hi"}]


async def test_tools_choice_and_output_go_along():
    asked, replay = model(text_stream("a"))
    spec = ToolSpec(name="sum", parameters={"type": "object"})
    await asked.request("hi", tools=[clock, spec], tool_choice=NamedTool("sum"), output=OutputFormat(schema={"type": "object"}))
    body = sent(replay)
    assert [one["function"]["name"] for one in body["tools"]] == ["clock", "sum"]
    assert body["tool_choice"]["function"]["name"] == "sum"
    assert body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"messages": 7}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": []}, "messages"),
        ({"messages": "hi", "tools": [print]}, "tools[0]"),
        ({"messages": "hi", "tools": [clock, clock]}, "tools[1]"),
        ({"messages": "hi", "settings": {"nonsense": 1}}, "nonsense"),
    ],
)
def test_wrong_use_is_said_before_anything_is_sent(fields, argument):
    asked, replay = model()
    with pytest.raises(UsageError) as caught:
        asked.stream(**fields)
    assert caught.value.argument == argument
    assert replay.requests == ()


async def test_settings_of_a_request_win_over_those_of_the_model():
    asked, replay = model(text_stream("a"), settings={"temperature": 1.0, "max_tokens": 5})
    await asked.request("hi", settings={"temperature": 0.0})
    body = sent(replay)
    assert (body["temperature"], body["max_tokens"]) == (0.0, 5)


async def test_nothing_is_sent_before_the_first_item_is_asked_for():
    asked, replay = model(text_stream("a"))
    async with asked.stream("hi"):
        pass
    assert replay.requests == ()


# --- what comes back


async def test_a_message_has_provider_timing_and_what_the_wire_said():
    still = StillClock()
    asked, _ = model(text_stream("Hel", "lo"), clock=still)
    message = await asked.request("hi")
    assert message.text == "Hello"
    assert (message.id, message.model, message.provider, message.finish_reason) == ("chatcmpl-7", "m-1", "lab.test", "stop")
    assert (message.timing.first_chunk_s, message.timing.total_s) == (0.0, 0.0)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 2)
    assert message.created_at.year == 2026


async def test_time_is_counted_from_the_request_to_the_first_chunk_and_to_the_end():
    still = StillClock()

    def slowly(body):
        for piece in body.split(b"\n\n"):
            still.time_s += 1
            yield piece + b"\n\n"

    replay = ReplayTransport(b"".join(text_stream("a")), slicing=slowly)
    message = await Model("openai-chat:m", base_url="http://lab.test", transport=replay, clock=still).request("hi")
    # The first event names who answers and says nothing yet.
    assert message.timing.first_chunk_s == 2
    assert message.timing.total_s == 6


async def test_id_and_time_are_stamped_where_the_wire_has_none_and_stay_the_same_over_snapshots():
    body = [event({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})]
    asked, _ = model(body, new_id=map("id-{}".format, count(1)).__next__)
    async with asked.stream("hi") as stream:
        async for _ in stream:
            assert stream.message.id == "id-1"
    assert (stream.message.id, stream.message.created_at) == ("id-1", NOON)


async def test_two_messages_without_id_get_different_ones():
    body = [event({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]})]
    asked, _ = model(body, body)
    assert (await asked.request("hi")).id != (await asked.request("hi")).id


async def test_what_could_not_be_sent_is_said_before_what_was_odd_in_the_answer():
    stream = [chunk({"content": "b"}), chunk(finish="tool_calls"), b"data: [DONE]\n\n"]
    asked, _ = model(stream, settings={"temperature": 0.1}, profile=Profile(unsupported_settings=("temperature",)))
    async with asked.stream("hi") as answer:
        message = await answer.drain()
    codes = [warning.code for warning in message.warnings]
    assert codes == ["dropped_for_provider", "finish_without_tool_calls"]
    assert answer.warnings == message.warnings


async def test_a_whole_body_and_a_stream_give_equal_messages():
    whole = Recorded(headers=JSON_BODY, body=whole_body("Hello"))
    asked, replay = model(text_stream("Hel", "lo"), whole)
    streamed, at_once = await asked.request("hi"), await asked.request("hi", is_streamed=False)
    assert sent(replay, 1).get("stream") in {None, False}
    assert dict(replay.requests[1].headers)["accept"] == "application/json"
    assert streamed == at_once


async def test_a_whole_body_and_a_stream_give_equal_calls():
    whole = Recorded(headers=JSON_BODY, body=whole_body(None, calls=[("call_a", "clock", '{"city":"Rome"}')], finish="tool_calls"))
    asked, _ = model(call_stream("clock", '{"city":', '"Rome"}'), whole)
    streamed, at_once = await asked.request("hi", tools=[clock]), await asked.request("hi", tools=[clock], is_streamed=False)
    (first,), (second,) = streamed.tool_calls, at_once.tool_calls
    assert first.runnable
    assert (first.id, first.name, first.parsed, first.runnable) == (second.id, second.name, second.parsed, second.runnable)


async def test_the_sum_of_the_items_is_the_message():
    asked, _ = model(call_stream("clock", '{"city":', '"Rome"}'))
    async with asked.stream("hi") as stream:
        total = sum([item async for item in stream])
    assert total.to_message().parts == stream.message.parts
    assert stream.message.tool_calls[0].runnable


async def test_all_choices_are_there():
    body = [event({"choices": [{"index": n, "delta": {"content": f"answer {n}"}, "finish_reason": "stop"}]}) for n in (0, 1)]
    asked, _ = model([*body, b"data: [DONE]\n\n"])
    async with asked.stream("hi", settings={"n": 2}) as stream:
        await stream.drain()
    assert [message.text for message in stream.choices] == ["answer 0", "answer 1"]
    assert stream.choices[0] == stream.message
    assert {message.provider for message in stream.choices} == {"lab.test"}


async def test_options_of_the_profile_and_of_the_model_reach_the_decoder():
    body = text_stream("<think>hm</think>", "yes")
    by_profile, _ = model(body, profile={"decode_options": {"think_tags": True}})
    by_option, _ = model(body, options={"think_tags": True})
    over, _ = model(body, profile={"decode_options": {"think_tags": True}}, options={"think_tags": False})
    assert (await by_profile.request("hi")).reasoning == "hm"
    assert (await by_option.request("hi")).reasoning == "hm"
    assert (await over.request("hi")).reasoning == ""


# --- closing


async def test_a_transport_of_the_callers_own_stays_open():
    asked, replay = model(text_stream("a"), text_stream("b"))
    async with asked:
        await asked.request("hi")
    other = Model("openai-chat:m", base_url="http://lab.test", transport=replay)
    assert (await other.request("hi")).text == "b"


async def test_a_closed_model_says_so():
    made = Model("openai-chat:m", base_url="http://127.0.0.1:9/v1", environ={})
    await made.aclose()
    with pytest.raises(StateError, match="closed"):
        await made.request("hi")


async def test_an_answer_is_read_once_and_inside_its_block():
    asked, _ = model(text_stream("a"))
    stream = asked.stream("hi")
    with pytest.raises(StateError, match="inside its block"):
        aiter(stream)
    async with stream:
        await stream.drain()
    with pytest.raises(StateError, match="inside its block"):
        aiter(stream)
    with pytest.raises(StateError, match="once"):
        await stream.__aenter__()
    assert stream.message.text == "a"


# --- a model in this process


async def test_a_model_in_this_process_is_talked_to_like_any_other(local_weights):
    made = Model("local:smollm2", settings={"max_tokens": 8, "temperature": 0}, environ={})
    assert (made.provider, repr(made)) == ("local", "Model('local:smollm2', base_url=None)")
    async with made:
        async with made.stream("Say hello.") as stream:
            items = [item async for item in stream]
        at_once = await made.request("Say hello.", is_streamed=False)
    assert len(items) > 2
    assert stream.message.text
    assert at_once.text
    assert stream.message.usage.input_tokens == at_once.usage.input_tokens


# --- calls in the text


async def test_text_becomes_a_call_only_of_a_tool_that_was_offered():
    text = '<tool_call>{"name": "%s", "arguments": {"city": "Oslo"}}</tool_call>'
    for name, tools, options, expected in (
        ("clock", [clock], {"inline_tool_calls": True}, ["clock"]),
        ("clock", [clock], {"inline_tool_calls": ("hermes",)}, ["clock"]),
        ("clock", [clock], {}, []),
        ("clock", [], {"inline_tool_calls": True}, []),
        ("other", [clock], {"inline_tool_calls": True}, []),
        ("other", [clock], {"inline_tool_calls": True, "inline_tool_names": ["other"]}, ["other"]),
    ):
        asked, _ = model(text_stream(text % name), options=options)
        message = await asked.request("?", tools=tools)
        assert [call.name for call in message.tool_calls if call.runnable] == expected


async def test_bare_text_in_such_a_call_is_what_the_tools_schema_says():
    text = "<tool_call><function=clock><parameter=city>5</parameter></function></tool_call>"
    asked, _ = model(text_stream(text), profile=Profile(decode_options={"inline_tool_calls": True}))
    message = await asked.request("?", tools=[clock])
    assert message.tool_calls[0].parsed == {"city": "5"}
