"""Settings, thinking and output form of Converse."""

from __future__ import annotations

import json

import pytest

from headrace.errors import UnsupportedError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import BEDROCK
from headrace.wire.bedrock_converse.request_options import option_fields

SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NEWER = "anthropic.claude-opus-4-7"
NOVA = "us.amazon.nova-2-lite-v1:0"
GPT = "openai.gpt-oss-120b-1:0"


def options(model="m", profile=None, **fields):
    warnings = []
    request = Request(model=model, messages=(UserMessage("x"),), tools=(ToolSpec(name="f"),), **fields)
    return option_fields(request, profile or BEDROCK.for_model(model), warnings), [warning.detail for warning in warnings]


@pytest.mark.parametrize(
    ("model", "effort", "wanted"),
    [
        (SONNET, "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        (SONNET, "none", {"thinking": {"type": "disabled"}}),
        (NEWER, "high", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        (NOVA, "low", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}),
        (NOVA, "none", {"reasoningConfig": {"type": "disabled"}}),
        (GPT, "minimal", {"reasoning_effort": "low"}),
    ],
)
def test_each_family_has_its_own_word_for_an_effort(model, effort, wanted):
    assert options(model, settings=Settings(reasoning_effort=effort)) == ({"additionalModelRequestFields": wanted}, [])


def test_a_model_without_a_word_is_not_asked():
    assert options(settings=Settings(reasoning_effort="low")) == ({}, ["settings.reasoning_effort: this provider has no such setting"])


def test_an_effort_that_a_model_lacks_is_an_error():
    with pytest.raises(UnsupportedError, match="this provider has low"):
        options(profile=BEDROCK.replace(efforts={"low": {}}), settings=Settings(reasoning_effort="high"))


@pytest.mark.parametrize(("limit", "budget"), [(20_000, 8192), (4000, 2000), (1500, 1024)])
def test_the_bound_holds_for_thinking_and_answer_together(limit, budget):
    fields, warnings = options(SONNET, settings=Settings(reasoning_effort="medium", max_tokens=limit))
    assert fields["additionalModelRequestFields"]["thinking"]["budget_tokens"] == budget
    assert warnings == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"settings": Settings(reasoning_effort="low", max_tokens=1024)}, "max_tokens (1024) leaves no room for it"),
        ({"settings": Settings(reasoning_effort="low"), "tool_choice": "required"}, "a tool is forced"),
        ({"settings": Settings(reasoning_effort="low"), "tool_choice": NamedTool("f")}, "a tool is forced"),
    ],
)
def test_thinking_yields_to_what_cannot_stand_beside_it(fields, why):
    body, warnings = options(SONNET, **fields)
    assert "additionalModelRequestFields" not in body
    assert warnings == [f"settings.reasoning_effort: no thinking, since {why}"]


def test_a_schema_is_a_text_and_anything_else_is_refused():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = options(output=OutputFormat(name="answer", schema=schema))[0]["outputConfig"]["textFormat"]
    assert (form["type"], form["structure"]["jsonSchema"]["name"]) == ("json_schema", "answer")
    assert json.loads(form["structure"]["jsonSchema"]["schema"]) == schema
    with pytest.raises(UnsupportedError, match="json object"):
        options(output=OutputFormat())
    with pytest.raises(UnsupportedError, match="json schema"):
        options(profile=BEDROCK.replace(output_formats=()), output=OutputFormat(schema=schema))


def test_members_of_the_profile_join_those_of_the_settings():
    profile = BEDROCK.replace(body={"inferenceConfig": {"topP": 0.5}, "requestMetadata": {"a": "b"}})
    assert options(profile=profile, settings=Settings(max_tokens=5))[0] == {
        "inferenceConfig": {"maxTokens": 5, "topP": 0.5},
        "requestMetadata": {"a": "b"},
    }
