import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers import profiles
from headrace.wire.gemini.request_out import encode_request
from headrace.wire.profile import DEFAULT

TOOLS = (ToolSpec(name="f", description="does f", is_strict=True, provider_data={"behavior": "BLOCKING"}), ToolSpec(name="g"))


def body(profile=DEFAULT, **fields):
    encoded = encode_request(Request(model="m", messages=(UserMessage("hi"),), **fields), profile)
    return json.loads(encoded.body), [warning.detail for warning in encoded.warnings]


def config(profile=DEFAULT, output=None, **settings):
    return body(profile, output=output, settings=Settings(**settings))[0].get("generationConfig")


def test_settings_have_their_own_names_here():
    asked = config(
        max_tokens=1, temperature=0.5, top_p=0.5, seed=3, frequency_penalty=0.1, presence_penalty=0.2, stop=("x",), n=2, logprobs=True,
        top_logprobs=4, modalities=("text", "image"),
    )  # fmt: skip
    assert asked == {
        "maxOutputTokens": 1, "temperature": 0.5, "topP": 0.5, "seed": 3, "frequencyPenalty": 0.1, "presencePenalty": 0.2, "stopSequences": ["x"],
        "candidateCount": 2, "responseLogprobs": True, "logprobs": 4, "responseModalities": ["TEXT", "IMAGE"],
    }  # fmt: skip
    assert config() is None


@pytest.mark.parametrize(
    ("model", "effort", "thinking"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "high", {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-3-flash-preview", "none", {"thinkingLevel": "minimal"}),
        ("models/gemini-3.1-pro-preview", "none", {"thinkingLevel": "low"}),
        ("gemini-3.8-flash", "medium", {"includeThoughts": True, "thinkingLevel": "medium"}),
        ("gemini-10-pro", "minimal", {"includeThoughts": True, "thinkingLevel": "low"}),
    ],
)
def test_an_effort_is_a_budget_or_a_level_by_the_models_generation(model, effort, thinking):
    profile = profiles.GOOGLE.for_model(model)
    assert config(profile, reasoning_effort=effort, max_tokens=9) == {"maxOutputTokens": 9, "thinkingConfig": thinking}


@pytest.mark.parametrize("model", ["gemini-2.0-flash", "gemini-1.5-pro", "gemma-3-27b-it"])
def test_a_model_that_does_not_think_is_asked_without_an_effort_and_that_is_said(model):
    found, warnings = body(profiles.GOOGLE.for_model(model), settings=Settings(reasoning_effort="low"))
    assert "generationConfig" not in found
    assert warnings == ["settings.reasoning_effort: this model does not think"]


def test_members_of_the_profile_are_joined_with_the_settings():
    assert config(DEFAULT.replace(body={"generationConfig": {"topK": 3}}), max_tokens=1) == {"maxOutputTokens": 1, "topK": 3}


def test_an_answer_can_be_held_to_a_schema():
    assert config(output=OutputFormat(schema={"type": "object"})) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "object"},
    }
    assert config(output=OutputFormat()) == {"responseMimeType": "application/json"}
    with pytest.raises(UnsupportedError, match="json schema"):
        body(DEFAULT.replace(output_formats=()), output=OutputFormat(schema={}))


def test_tools_are_declared_and_what_is_not_promised_is_said():
    found, warnings = body(tools=TOOLS, settings=Settings(parallel_tool_calls=False))
    assert found["tools"] == [{"functionDeclarations": [{"name": "f", "description": "does f", "behavior": "BLOCKING"}, {"name": "g"}]}]
    assert warnings == [
        "tool f: this provider does not promise strict arguments",
        "settings.parallel_tool_calls: this provider cannot be told",
    ]


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NamedTool("g"), {"mode": "ANY", "allowedFunctionNames": ["g"]}),
    ],
)
def test_a_choice_is_a_mode(choice, config):
    found, _ = body(tools=TOOLS, tool_choice=choice)
    assert found.get("toolConfig") == (None if config is None else {"functionCallingConfig": config})
    assert len(found["tools"][0]["functionDeclarations"]) == 2


def test_a_server_without_a_word_for_none_gets_no_tools():
    found, _ = body(DEFAULT.replace(tool_choices=("auto",)), tools=TOOLS, tool_choice="none")
    assert not {"tools", "toolConfig"} & set(found)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"tool_choice": "required"}, UsageError),
        ({"tool_choice": NamedTool("x"), "tools": TOOLS}, UsageError),
        ({"tools": (ToolSpec(name="f", kind="custom"),)}, UnsupportedError),
    ],
)
def test_a_choice_without_tools_and_a_tool_of_free_text_are_errors(fields, error):
    with pytest.raises(error):
        body(**fields)


@pytest.mark.parametrize("choice", ["required", NamedTool("f")])
def test_a_choice_is_never_weakened(choice):
    with pytest.raises(UnsupportedError):
        body(DEFAULT.replace(tool_choices=("auto",)), tools=TOOLS, tool_choice=choice)
