import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, UserMessage
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import COHERE
from headrace.wire.cohere_v2.request_out import encode_request
from headrace.wire.profile import Profile

F = ToolSpec(name="f", description="does f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
G = ToolSpec(name="g")
TOOL_F = {"type": "function", "function": {"name": "f", "description": "does f", "parameters": F.parameters}}


def encoded(profile=COHERE, **fields):
    fields.setdefault("messages", (UserMessage("hi"),))
    return encode_request(Request(model="command", **fields), profile)


def body(profile=COHERE, **fields):
    return json.loads(encoded(profile, **fields).body)


def test_the_smallest_request():
    request = encoded()
    assert request.path == "/chat"
    assert json.loads(request.body) == {"model": "command", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    assert dict(request.headers) == {"content-type": "application/json", "accept": "text/event-stream"}
    assert request.warnings == ()


def test_one_whole_answer_is_asked_for_as_json():
    request = encoded(is_streamed=False)
    assert json.loads(request.body)["stream"] is False
    assert dict(request.headers)["accept"] == "application/json"


@pytest.mark.parametrize(
    ("choice", "word", "names"),
    [("auto", None, ["f", "g"]), ("none", "NONE", ["f", "g"]), ("required", "REQUIRED", ["f", "g"]), (NamedTool("g"), "REQUIRED", ["g"])],
)
def test_the_choice_is_said_in_the_wires_words(choice, word, names):
    got = body(tools=(F, G), tool_choice=choice)
    assert got.get("tool_choice") == word
    assert [tool["function"]["name"] for tool in got["tools"]] == names
    assert names != ["f", "g"] or got["tools"][0] == TOOL_F


def test_strict_tools_are_asked_for_together():
    assert body(tools=(F, ToolSpec(name="s", is_strict=True)))["strict_tools"] is True
    assert "strict_tools" not in body(tools=(F,))
    request = encoded(Profile(), tools=(ToolSpec(name="s", is_strict=True),))
    assert "strict_tools" not in json.loads(request.body)
    assert [warning.code for warning in request.warnings] == ["dropped_for_provider"]


def test_settings_have_their_names_here():
    settings = Settings(
        max_tokens=5, temperature=0.5, top_p=0.9, seed=1, frequency_penalty=0.1, presence_penalty=0.2, stop=("x",), logprobs=True, n=1
    )
    got = body(settings=settings)
    assert {key: got[key] for key in got if key not in ("model", "messages", "stream")} == {
        "max_tokens": 5, "temperature": 0.5, "p": 0.9, "seed": 1, "frequency_penalty": 0.1, "presence_penalty": 0.2,
        "stop_sequences": ["x"], "logprobs": True,
    }  # fmt: skip


@pytest.mark.parametrize(("effort", "kind"), [("none", "disabled"), ("minimal", "enabled"), ("high", "enabled")])
@pytest.mark.parametrize("profile", [COHERE, Profile()])
def test_an_effort_switches_thinking(effort, kind, profile):
    assert body(profile, settings=Settings(reasoning_effort=effort))["thinking"] == {"type": kind}


def test_an_effort_that_a_profile_lacks_is_refused():
    with pytest.raises(UnsupportedError, match="high"):
        encoded(Profile(efforts={"low": {}}), settings=Settings(reasoning_effort="high"))


def test_the_form_of_the_answer():
    schema = {"type": "object"}
    assert body(output=OutputFormat())["response_format"] == {"type": "json_object"}
    assert body(output=OutputFormat(schema=schema))["response_format"] == {"type": "json_object", "json_schema": schema}
    with pytest.raises(UnsupportedError, match="json schema"):
        encoded(Profile(output_formats=()), output=OutputFormat(schema=schema))


def test_the_callers_own_members_and_headers_come_last():
    settings = Settings(extra_body={"documents": ["d"], "stream": None}, extra_headers={"X-Client-Name": "me"})
    request = encoded(Profile(body={"safety_mode": "OFF"}), settings=settings)
    got = json.loads(request.body)
    assert (got["documents"], got["safety_mode"], "stream" in got) == (["d"], "OFF", False)
    assert dict(request.headers)["x-client-name"] == "me"


def test_parallel_calls_cannot_be_forbidden():
    request = encoded(tools=(F,), settings=Settings(parallel_tool_calls=False))
    assert [warning.detail for warning in request.warnings] == ["settings.parallel_tool_calls: this provider cannot be told"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"messages": ()}, UsageError),
        ({"messages": (SystemMessage(""), AssistantMessage([]))}, UsageError),
        ({"tool_choice": "required"}, UsageError),
        ({"tool_choice": NamedTool("x"), "tools": (F,)}, UsageError),
        ({"tools": (ToolSpec(name="c", kind="custom"),)}, UnsupportedError),
        ({"settings": Settings(n=2)}, UnsupportedError),
    ],
)
def test_what_cannot_be_asked_is_refused(fields, error):
    with pytest.raises(error):
        encoded(**fields)
