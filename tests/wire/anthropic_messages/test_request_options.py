from __future__ import annotations

import pytest

from headrace.errors import UnsupportedError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, ToolCallPart
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.wire.anthropic_messages.request_options import option_fields
from headrace.wire.anthropic_messages.request_out import encode_request
from headrace.wire.profile import Profile

BUDGET = {"high": {"thinking": {"type": "enabled", "budget_tokens": 4000}}, "none": {"thinking": {"type": "disabled"}}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
ADAPTIVE = {"high": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}}


def read(output=None, choice="auto", is_in_round_without_thinking=False, profile=None, **settings):
    request = Request(model="m", messages=(UserMessage("x"),), tool_choice=choice, output=output, settings=Settings(**settings))
    warnings = []
    profile = profile or Profile(efforts=BUDGET, output_formats=("json_schema",))
    fields = option_fields(request, profile, warnings, is_in_round_without_thinking=is_in_round_without_thinking)
    return fields, [warning.detail for warning in warnings]


class TestSettings:
    def test_a_bound_is_always_sent(self):
        assert read()[0] == {"max_tokens": 8192, "stream": True}
        assert read(max_tokens=5)[0]["max_tokens"] == 5
        assert read(profile=Profile(default_max_tokens=99))[0]["max_tokens"] == 99

    def test_those_that_there_are_have_their_names(self):
        fields, warnings = read(temperature=0.5, top_p=0.9, stop=("a", "b"))
        assert (fields["temperature"], fields["top_p"], fields["stop_sequences"], warnings) == (0.5, 0.9, ["a", "b"], [])

    def test_hints_that_the_wire_lacks_are_left_out_and_said(self):
        fields, warnings = read(seed=1, frequency_penalty=0.1, presence_penalty=0.2)
        assert fields == {"max_tokens": 8192, "stream": True}
        assert [warning.split(":")[0] for warning in warnings] == [
            "settings.seed",
            "settings.frequency_penalty",
            "settings.presence_penalty",
        ]

    @pytest.mark.parametrize("settings", [{"n": 2}, {"logprobs": True}, {"top_logprobs": 3}, {"modalities": ("audio",)}])
    def test_what_cannot_be_left_out_unnoticed_is_an_error(self, settings):
        with pytest.raises(UnsupportedError, match="no such setting"):
            read(**settings)

    def test_what_asks_for_nothing_is_nothing(self):
        assert read(n=1, logprobs=False, top_logprobs=0, modalities=("text",), stop=()) == ({"max_tokens": 8192, "stream": True}, [])

    def test_a_server_without_sampling_gets_none(self):
        fields, [warning] = read(temperature=0.5, profile=Profile(unsupported_settings=("temperature",)))
        assert ("temperature" in fields, warning) == (False, "settings.temperature: this provider has no such setting")

    def test_members_of_every_body_are_there(self):
        assert read(profile=Profile(body={"service_tier": "auto"}))[0]["service_tier"] == "auto"


class TestThinking:
    def test_a_budget_comes_on_top_of_the_usual_bound(self):
        fields, _ = read(reasoning_effort="high")
        assert (fields["thinking"], fields["max_tokens"]) == ({"type": "enabled", "budget_tokens": 4000}, 12192)

    @pytest.mark.parametrize(("bound", "budget"), [(20000, 4000), (5000, 2500), (1500, 1024)])
    def test_a_bound_of_the_callers_leaves_room_for_the_answer(self, bound, budget):
        fields, _ = read(reasoning_effort="high", max_tokens=bound)
        assert (fields["thinking"]["budget_tokens"], fields["max_tokens"]) == (budget, bound)

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"choice": "required"}, "a tool is forced"),
            ({"choice": NamedTool("f")}, "a tool is forced"),
            ({"max_tokens": 1000}, "leaves no room"),
            ({"is_in_round_without_thinking": True}, "began without any"),
        ],
    )
    def test_it_yields_to_what_cannot_stand_beside_it_and_that_is_said(self, fields, why):
        body, [warning] = read(reasoning_effort="high", **fields)
        assert "thinking" not in body
        assert why in warning

    def test_a_model_that_decides_itself_needs_no_room_and_no_beginning(self):
        profile = Profile(efforts=ADAPTIVE)
        fields, warnings = read(reasoning_effort="high", max_tokens=100, is_in_round_without_thinking=True, profile=profile)
        assert (fields["thinking"], fields["output_config"], warnings) == ({"type": "adaptive"}, {"effort": "high"}, [])

    def test_it_can_be_switched_off_and_sampling_stays(self):
        fields, warnings = read(reasoning_effort="none", temperature=0.1)
        assert (fields["thinking"], fields["temperature"], warnings) == ({"type": "disabled"}, 0.1, [])

    def test_a_model_that_thinks_takes_no_temperature(self):
        fields, warnings = read(reasoning_effort="high", temperature=0.1, top_p=0.5)
        assert not {"temperature", "top_p"} & set(fields)
        assert len(warnings) == 2
        fields, warnings = read(temperature=1, top_p=0.97, extra_body={"thinking": {"type": "enabled", "budget_tokens": 2000}})
        assert (fields["temperature"], fields["top_p"], fields["max_tokens"], warnings) == (1, 0.97, 10192, [])

    def test_an_effort_that_the_server_lacks(self):
        with pytest.raises(UnsupportedError, match="has high, none"):
            read(reasoning_effort="low")
        fields, [warning] = read(reasoning_effort="low", profile=Profile())
        assert ("thinking" in fields, warning) == (False, "settings.reasoning_effort: this provider has no such setting")

    @pytest.mark.parametrize(("parts", "is_thinking"), [((), False), ((ReasoningPart("hm", signature="s"),), True)])
    def test_a_round_that_began_with_thinking_goes_on_with_it(self, parts, is_thinking):
        messages = (
            UserMessage("x"),
            AssistantMessage([*parts, ToolCallPart(id="a", name="f")]),
            ToolMessage("1", call_id="a"),
            UserMessage("y"),
        )
        request = Request(model="m", messages=messages, tools=(ToolSpec(name="f"),), settings=Settings(reasoning_effort="high"))
        assert (b'"budget_tokens"' in encode_request(request, Profile(efforts=BUDGET)).body) == is_thinking


class TestOutput:
    def test_a_schema_is_closed_where_it_is_promised(self):
        fields, _ = read(output=OutputFormat(schema=SCHEMA))
        assert fields["output_config"] == {"format": {"type": "json_schema", "schema": {**SCHEMA, "additionalProperties": False}}}
        assert read(output=OutputFormat(schema=SCHEMA, is_strict=False))[0]["output_config"]["format"]["schema"] == SCHEMA

    def test_it_stands_beside_an_effort(self):
        profile = Profile(efforts=ADAPTIVE)
        config = read(output=OutputFormat(schema=SCHEMA), reasoning_effort="high", profile=profile)[0]["output_config"]
        assert set(config) == {"effort", "format"}

    @pytest.mark.parametrize(("output", "formats"), [(OutputFormat(), ("json_schema",)), (OutputFormat(schema={}), ())])
    def test_what_the_server_cannot_be_held_to_is_an_error(self, output, formats):
        with pytest.raises(UnsupportedError, match="a tool with that schema can"):
            read(output=output, profile=Profile(output_formats=formats))
