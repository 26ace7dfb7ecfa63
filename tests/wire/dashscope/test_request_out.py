import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, ToolCallPart, ToolResultPart
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import DASHSCOPE
from headrace.wire.dashscope.request_out import MEDIA_PATH, TEXT_PATH, encode_request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.profile import Profile

F = ToolSpec(name="f")
PNG = MediaPart(kind="image", data=b"\x89PNG")


def encoded(profile=DASHSCOPE, cache=None, **fields):
    fields.setdefault("messages", (UserMessage("hi"),))
    return encode_request(Request(model="qwen-plus", **fields), profile, cache=cache)


def parameters(profile=DASHSCOPE, **fields):
    return json.loads(encoded(profile, **fields).body)["parameters"]


def test_the_smallest_request():
    request = encoded()
    assert request.path == TEXT_PATH
    assert json.loads(request.body) == {
        "model": "qwen-plus",
        "input": {"messages": [{"role": "user", "content": "hi"}]},
        "parameters": {"result_format": "message", "incremental_output": True},
    }
    assert dict(request.headers) == {"content-type": "application/json", "accept": "text/event-stream", "x-dashscope-sse": "enable"}


def test_one_whole_answer_is_asked_for_without_the_header_of_streams():
    request = encoded(is_streamed=False)
    assert json.loads(request.body)["parameters"] == {"result_format": "message"}
    assert dict(request.headers) == {"content-type": "application/json", "accept": "application/json"}


def test_media_go_to_the_service_for_media():
    assert encoded(messages=(UserMessage(["a", PNG]),)).path == MEDIA_PATH
    result = ToolMessage([ToolResultPart(call_id="c", parts=[PNG])])
    assert encoded(messages=(AssistantMessage([ToolCallPart(id="c", name="f")]), result)).path == MEDIA_PATH
    assert encoded(messages=(UserMessage(["a", MediaPart(kind="document", data=b"x")]),)).path == TEXT_PATH
    assert encoded(DASHSCOPE.replace(sends_all_as_media=True)).path == MEDIA_PATH


def test_a_cache_keeps_the_two_forms_apart():
    cache, message = EncodingCache(), UserMessage("hi")
    for profile in (DASHSCOPE, DASHSCOPE):
        texts = encoded(profile, cache, messages=(message,))
        media = encoded(profile, cache, messages=(message, UserMessage([PNG])))
        assert json.loads(texts.body)["input"]["messages"][0]["content"] == "hi"
        assert json.loads(media.body)["input"]["messages"][0]["content"] == [{"text": "hi"}]


def test_tools_and_the_choice_are_parameters():
    got = parameters(tools=(F,), tool_choice=NamedTool("f"), settings=Settings(parallel_tool_calls=True))
    assert got["tools"][0]["function"]["name"] == "f"
    assert (got["tool_choice"], got["parallel_tool_calls"]) == ({"type": "function", "function": {"name": "f"}}, True)
    assert parameters(tools=(F,), tool_choice="none")["tool_choice"] == "none"
    with pytest.raises(UnsupportedError):
        encoded(tools=(F,), tool_choice="required")


def test_settings_are_parameters():
    settings = Settings(
        max_tokens=5, temperature=0.5, top_p=0.9, seed=1, presence_penalty=0.1, stop=("x",), n=2, logprobs=True, top_logprobs=1
    )
    got = parameters(settings=settings)
    assert got == {
        "result_format": "message", "incremental_output": True, "max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "seed": 1,
        "presence_penalty": 0.1, "stop": ["x"], "n": 2, "logprobs": True, "top_logprobs": 1,
    }  # fmt: skip


def test_a_penalty_that_there_is_not_is_left_out_and_said():
    request = encoded(settings=Settings(frequency_penalty=0.5))
    assert b"frequency" not in request.body
    assert [warning.detail for warning in request.warnings] == ["settings.frequency_penalty: this provider has no such setting"]


@pytest.mark.parametrize(
    ("profile", "effort", "expected"),
    [
        (Profile(), "none", {"enable_thinking": False}),
        (Profile(), "high", {"enable_thinking": True}),
        (DASHSCOPE, "none", {"enable_thinking": False}),
        (DASHSCOPE, "low", {"enable_thinking": True, "thinking_budget": 4096}),
    ],
)
def test_an_effort_switches_thinking(profile, effort, expected):
    got = parameters(profile, settings=Settings(reasoning_effort=effort))
    assert {key: value for key, value in got.items() if "think" in key} == expected


def test_the_form_of_the_answer():
    schema = {"type": "object"}
    assert parameters(output=OutputFormat())["response_format"] == {"type": "json_object"}
    assert parameters(output=OutputFormat(name="a", schema=schema))["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True},
    }  # fmt: skip
    with pytest.raises(UnsupportedError, match="json object"):
        encoded(Profile(output_formats=()), output=OutputFormat())


def test_the_callers_own_parameters_are_laid_over_ours():
    extra = {"parameters": {"enable_search": True, "incremental_output": None}, "resources": [1]}
    request = encoded(Profile(body={"top_k": 5}), settings=Settings(extra_body=extra, extra_headers={"X-DashScope-WorkSpace": "w"}))
    got = json.loads(request.body)
    assert got["parameters"] == {"result_format": "message", "top_k": 5, "enable_search": True}
    assert got["resources"] == [1]
    assert dict(request.headers)["x-dashscope-workspace"] == "w"
    assert json.loads(encoded(settings=Settings(extra_body={"parameters": None})).body).keys() == {"model", "input"}


def test_there_must_be_a_message():
    with pytest.raises(UsageError):
        encoded(messages=())
