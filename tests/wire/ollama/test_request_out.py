import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import OLLAMA_NATIVE
from headrace.wire.ollama.request_out import encode_request
from headrace.wire.profile import Profile

F = ToolSpec(name="f", description="does f")


def encoded(profile=OLLAMA_NATIVE, **fields):
    fields.setdefault("messages", (UserMessage("hi"),))
    return encode_request(Request(model="qwen3:4b", **fields), profile)


def body(profile=OLLAMA_NATIVE, **fields):
    return json.loads(encoded(profile, **fields).body)


def test_the_smallest_request():
    request = encoded()
    assert request.path == "/api/chat"
    assert json.loads(request.body) == {"model": "qwen3:4b", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    assert dict(request.headers) == {"content-type": "application/json", "accept": "application/x-ndjson"}


def test_one_whole_answer_is_asked_for():
    request = encoded(is_streamed=False)
    assert (json.loads(request.body)["stream"], dict(request.headers)["accept"]) == (False, "application/json")


def test_tools_are_declared_unless_they_must_not_be_called():
    tool = {"type": "function", "function": {"name": "f", "description": "does f", "parameters": {"type": "object", "properties": {}}}}
    assert body(tools=(F,))["tools"] == [tool]
    assert "tools" not in body(tools=(F,), tool_choice="none")


@pytest.mark.parametrize("choice", ["required", NamedTool("f")])
def test_a_call_cannot_be_forced(choice):
    with pytest.raises(UnsupportedError, match="cannot be made to call"):
        encoded(tools=(F,), tool_choice=choice)


def test_settings_are_options_but_for_those_that_stand_beside_them():
    settings = Settings(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        seed=1,
        stop=("x",),
        frequency_penalty=0.1,
        presence_penalty=0.2,
        logprobs=True,
        top_logprobs=2,
    )
    got = body(settings=settings)
    assert got["options"] == {
        "num_predict": 5, "temperature": 0.5, "top_p": 0.9, "seed": 1, "stop": ["x"], "frequency_penalty": 0.1, "presence_penalty": 0.2,
    }  # fmt: skip
    assert (got["logprobs"], got["top_logprobs"]) == (True, 2)


@pytest.mark.parametrize(("effort", "think"), [("none", False), ("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "high")])
def test_an_effort_is_how_much_to_think(effort, think):
    assert body(settings=Settings(reasoning_effort=effort))["think"] == think


def test_the_form_of_the_answer():
    assert body(output=OutputFormat())["format"] == "json"
    assert body(output=OutputFormat(schema={"type": "object"}))["format"] == {"type": "object"}
    with pytest.raises(UnsupportedError, match="json object"):
        encoded(Profile(output_formats=()), output=OutputFormat())


def test_the_profiles_and_the_callers_own_members_come_last():
    settings = Settings(temperature=1.0, extra_body={"keep_alive": "5m", "options": {"num_ctx": 8192}}, extra_headers={"X-A": "b"})
    request = encoded(Profile(body={"keep_alive": "1m", "truncate": False}), settings=settings)
    got = json.loads(request.body)
    assert (got["keep_alive"], got["truncate"], got["options"]) == ("5m", False, {"num_ctx": 8192})
    assert dict(request.headers)["x-a"] == "b"


def test_one_call_at_a_time_cannot_be_asked_for():
    assert len(encoded(tools=(F,), settings=Settings(parallel_tool_calls=False)).warnings) == 1


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"messages": ()}, UsageError),
        ({"settings": Settings(n=2)}, UnsupportedError),
        ({"settings": Settings(modalities=("audio",))}, UnsupportedError),
    ],
)
def test_what_cannot_be_asked_is_refused(fields, error):
    with pytest.raises(error):
        encoded(**fields)
