import json

import pytest

from headrace.errors import UnsupportedError
from headrace.messages.message import UserMessage
from headrace.messages.request import OutputFormat, Request, Settings
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT, Profile

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
BASE = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, "stream_options": {"include_usage": True}}


def encode(profile=DEFAULT, *, output=None, is_streamed=True, **settings):
    request = Request(model="m", messages=(UserMessage("hi"),), output=output, is_streamed=is_streamed, settings=Settings(**settings))
    encoded = encode_request(request, profile)
    return json.loads(encoded.body), [warning.detail for warning in encoded.warnings]


def test_what_nobody_asked_for_is_not_in_the_body():
    assert encode() == (BASE, [])


def test_usage_is_asked_for_only_of_a_stream_and_only_where_that_is_known():
    assert encode(is_streamed=False)[0] == {"model": "m", "messages": BASE["messages"], "stream": False}
    assert "stream_options" not in encode(Profile(supports_stream_usage=False))[0]


def test_settings_stand_under_their_names_on_the_wire():
    settings = {
        "temperature": 0.5,
        "top_p": 0.9,
        "frequency_penalty": 1.0,
        "presence_penalty": -1.0,
        "stop": ("a", "b"),
        "n": 2,
        "logprobs": True,
        "top_logprobs": 3,
        "modalities": ("text", "audio"),
    }
    body, warnings = encode(**settings)
    assert body == BASE | settings | {"stop": ["a", "b"], "modalities": ["text", "audio"]}
    assert warnings == []


def test_two_settings_have_a_name_of_the_servers_own():
    body, _ = encode(Profile(max_tokens_field="max_completion_tokens", seed_field="random_seed"), max_tokens=9, seed=7)
    assert body == BASE | {"max_completion_tokens": 9, "random_seed": 7}


@pytest.mark.parametrize("name", ["temperature", "top_p", "frequency_penalty", "presence_penalty", "seed", "reasoning_effort"])
def test_a_hint_that_the_server_lacks_is_left_out_and_said(name):
    value = "low" if name == "reasoning_effort" else 1
    body, [warning] = encode(Profile(unsupported_settings=(name,)), **{name: value})
    assert body == BASE
    assert f"settings.{name}" in warning


@pytest.mark.parametrize(
    ("name", "value"), [("n", 2), ("logprobs", True), ("top_logprobs", 2), ("stop", ("x",)), ("modalities", ("audio",)), ("max_tokens", 5)]
)
def test_a_setting_that_cannot_be_done_without_is_an_error_where_the_server_lacks_it(name, value):
    with pytest.raises(UnsupportedError, match=name) as caught:
        encode(Profile(unsupported_settings=(name,)), **{name: value})
    assert caught.value.argument == name


@pytest.mark.parametrize(("name", "value"), [("n", 1), ("logprobs", False), ("top_logprobs", 0), ("stop", ()), ("modalities", ("text",))])
def test_a_setting_that_asks_for_nothing_is_no_error_where_the_server_lacks_it(name, value):
    assert encode(Profile(unsupported_settings=(name,)), **{name: value}) == (BASE, [])


def test_an_effort_is_what_the_server_calls_it():
    profile = Profile(efforts={"none": {"enable_thinking": False}, "high": {"enable_thinking": True, "thinking_budget": 9}})
    assert encode(reasoning_effort="low")[0] == BASE | {"reasoning_effort": "low"}
    assert encode(profile, reasoning_effort="none")[0] == BASE | {"enable_thinking": False}
    assert encode(profile, reasoning_effort="high")[0] == BASE | {"enable_thinking": True, "thinking_budget": 9}
    with pytest.raises(UnsupportedError, match="none, high"):
        encode(profile, reasoning_effort="low")


def test_the_profiles_own_members_are_in_every_body():
    assert encode(Profile(body={"reasoning_split": True}))[0] == BASE | {"reasoning_split": True}


def test_the_answer_can_be_held_to_json_and_to_a_schema():
    assert encode(output=OutputFormat())[0]["response_format"] == {"type": "json_object"}
    assert encode(output=OutputFormat(name="sum", schema=SCHEMA, is_strict=False))[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "sum", "schema": SCHEMA, "strict": False},
    }


@pytest.mark.parametrize(("output", "has"), [(OutputFormat(), ()), (OutputFormat(schema=SCHEMA), ("json_object",))])
def test_a_form_that_the_server_cannot_be_held_to_is_an_error(output, has):
    with pytest.raises(UnsupportedError, match="json") as caught:
        encode(Profile(output_formats=has), output=output)
    assert caught.value.argument == "output"


def test_the_callers_own_members_win_whole_and_none_takes_one_out():
    extra = {"stream_options": None, "temperature": 0.1, "thinking": {"type": "enabled"}, "never_there": None, "reasoning_split": False}
    body, _ = encode(Profile(body={"reasoning_split": True}), temperature=0.9, extra_body=extra)
    assert body == {
        "model": "m",
        "messages": BASE["messages"],
        "stream": True,
        "temperature": 0.1,
        "thinking": {"type": "enabled"},
        "reasoning_split": False,
    }
