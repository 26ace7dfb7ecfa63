"""A typed answer through a whole run: asked for in each mode, taken once, tried again within a bound, kept as a legal history."""

from __future__ import annotations

import dataclasses
import json

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve
from headrace.agent.context.offload import MemoryResults
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.hooks import GoOn, Hooks
from headrace.agent.output.spec import OutputSpec
from headrace.agent.run_result import RunResult
from headrace.errors import (
    ConnectionLostError,
    NoStructuredOutputError,
    OutputValidationError,
    RefusalError,
    UsageError,
)
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import RefusalPart, TextPart, ToolCallPart
from headrace.messages.request import NamedTool
from headrace.models.fallback import FallbackModel
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.wire.profile import DEFAULT, Profile
from run_checks import failed_run, run_checked, sent

NATIVE = Profile()
TOOL = Profile(supports_output_with_tools=False, output_formats=())
PROMPTED = Profile(output_formats=(), tool_choices=())
MODES = {"native": NATIVE, "tool": TOOL, "prompted": PROMPTED}
OSLO = {"name": "Oslo", "people": 7}
OSLO_TEXT = json.dumps(OSLO)


class City(BaseModel):
    """A city."""

    name: str
    people: int = Field(ge=0)


@tool(idempotent=True)
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


@tool(needs_approval=True)
def write(text: str) -> str:
    """Write."""
    return f"wrote {text}"


def call(name="final_answer", arguments=OSLO, call_id="a", **fields):
    return ToolCallPart(id=call_id, name=name, arguments=arguments, **fields)


def said(*parts, **fields):
    return AssistantMessage([TextPart(part) if isinstance(part, str) else part for part in parts], **fields)


def answer_in(mode, value=OSLO):
    return said(call(arguments=value)) if mode == "tool" else json.dumps(value)


def typed(*answers, mode="native", output_type=City, profile=None, **fields):
    model = ScriptedModel(*answers, profile=MODES[mode] if profile is None else profile)
    return Agent(model, output_type=output_type, **fields), model


# ---------------------------------------------------------------------------------------------- each mode


@pytest.mark.parametrize("mode", MODES)
async def test_each_mode_gives_the_value_beside_the_message(mode):
    agent, _ = typed(answer_in(mode), mode=mode)
    result, _ = await run_checked(agent)
    assert result.output == City(name="Oslo", people=7)
    assert result.generate_reason == result.message.generate_reason == "structured_output"
    assert result.message.structured_output == OSLO
    assert result.message.structured(City) == result.output


@pytest.mark.parametrize("mode", MODES)
async def test_each_mode_asks_in_its_own_way(mode):
    agent, model = typed(answer_in(mode), mode=mode, instructions="Be brief.")
    await run_checked(agent)
    (request,) = model.requests
    instructions = request.messages[0].text
    assert instructions.startswith("Be brief.")
    assert [spec.name for spec in request.tools] == (["final_answer"] if mode == "tool" else [])
    assert (request.output is not None) == (mode == "native")
    assert ("JSON Schema" in instructions) == (mode == "prompted")
    assert ("final_answer" in instructions) == (mode == "tool")


@pytest.mark.parametrize("mode", MODES)
async def test_tools_run_before_the_typed_answer(mode):
    agent, model = typed(said(call("look", {"n": 1})), answer_in(mode), mode=mode, tools=[look])
    result, _ = await run_checked(agent)
    assert result.output == City(name="Oslo", people=7)
    assert result.rounds == 2
    assert sent(model.requests[1])["messages"][-1]["content"] == "seen 1"


async def test_prompted_asks_for_plain_json_where_the_server_has_only_that():
    agent, model = typed(OSLO_TEXT, profile=Profile(output_formats=("json_object",), tool_choices=()))
    await run_checked(agent)
    assert model.requests[0].output is not None
    assert model.requests[0].output.schema is None
    assert "JSON Schema" in model.requests[0].messages[0].text


async def test_any_tool_counts_where_a_server_takes_no_schema_beside_tools():
    """Also one that the framework adds, such as the one that reads what was moved out."""
    profile = Profile(supports_output_with_tools=False)
    agent, model = typed(said(call()), profile=profile, context=ContextPolicy(max_result_tokens=100, offload=MemoryResults()))
    await run_checked(agent)
    assert model.requests[0].output is None
    assert "final_answer" in [spec.name for spec in model.requests[0].tools]


@dataclasses.dataclass
class Point:
    """A point."""

    x: int
    y: int


class Named(TypedDict):
    """Something with a name."""

    name: str


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("output_type", "wire", "value"),
    [
        (Point, {"x": 1, "y": 2}, Point(1, 2)),
        (Named, {"name": "n"}, {"name": "n"}),
        (list[int], {"items": [1, 2]}, [1, 2]),
        (int, {"value": 3}, 3),
        (bool, {"value": False}, False),
    ],
)
async def test_every_kind_of_type_comes_out(mode, output_type, wire, value):
    agent, _ = typed(answer_in(mode, wire), mode=mode, output_type=output_type)
    result, _ = await run_checked(agent)
    assert result.output == value
    assert type(result.output) is type(value)


class Dog(BaseModel):
    """A dog."""

    name: str


class Cat(BaseModel):
    """A cat."""

    name: str


async def test_of_members_that_look_alike_the_one_whose_tool_was_called_comes_out():
    agent, _ = typed(said(call("final_answer_Cat", {"name": "Tom"})), mode="tool", output_type=Dog | Cat)
    result, _ = await run_checked(agent)
    assert result.output == Cat(name="Tom")
    assert type(result.output) is Cat


# ---------------------------------------------------------------------------------------------- null


@pytest.mark.parametrize("mode", MODES)
async def test_null_is_an_answer_where_the_type_has_it(mode):
    agent, _ = typed(answer_in(mode, {"value": None}), mode=mode, output_type=City | None)
    result, _ = await run_checked(agent)
    assert result.output is None
    assert result.generate_reason == "structured_output"
    assert result.message.has_structured
    assert result.message.structured(City | None) is None
    again = type(result.message).from_json(result.message.to_json())
    assert again.has_structured
    assert again == result.message


async def test_a_message_without_a_typed_answer_has_none():
    result, _ = await run_checked(Agent(ScriptedModel("hi")))
    assert not result.message.has_structured
    with pytest.raises(NoStructuredOutputError):
        result.message.structured(City)


async def test_null_is_the_last_partial_output():
    agent, _ = typed(answer_in("native", {"value": None}), output_type=City | None)
    async with agent.stream("go") as run:
        assert [value async for value in run.partial_outputs] == [None]


# ---------------------------------------------------------------------------------------------- calls of the answer's tool


async def test_the_answer_beside_other_calls_is_taken_and_they_are_not_run():
    agent, _ = typed(
        said(call("look", {"n": 1}, "a"), call(call_id="b"), call("write", {"text": "x"}, "c")), mode="tool", tools=[look, write]
    )
    result, made = await run_checked(agent)
    assert result.output == City(name="Oslo", people=7)
    assert [part.state for part in result.messages[-1].results] == ["not_run", "success", "not_run"]
    assert not [event for event in made if isinstance(event, events.ToolStarted | events.ApprovalRequired)]


async def test_of_two_answers_the_first_that_fits_is_taken():
    wrong = call(arguments={"name": "Oslo", "people": -1}, call_id="a")
    agent, _ = typed(said(wrong, call(call_id="b"), call(arguments={"name": "Rome", "people": 1}, call_id="c")), mode="tool")
    result, _ = await run_checked(agent)
    assert result.output.name == "Oslo"
    assert [part.state for part in result.messages[-1].results] == ["not_run", "success", "not_run"]


async def test_two_answers_of_which_none_fits_get_one_error_and_another_try():
    wrong = {"name": "Oslo", "people": -1}
    agent, model = typed(said(call(arguments=wrong, call_id="a"), call(arguments={}, call_id="b")), said(call(call_id="c")), mode="tool")
    result, _ = await run_checked(agent)
    assert result.output.people == 7
    results = result.messages[2].results
    assert [part.state for part in results] == ["error", "not_run"]
    assert "greater than or equal to 0" in results[0].text
    sent(model.requests[1])


async def test_the_first_answers_tool_needs_no_approval_in_any_mode_of_permission():
    agent, _ = typed(said(call()), mode="tool", permissions="dont_ask")
    result, _ = await run_checked(agent)
    assert result.generate_reason == "structured_output"


async def test_a_text_in_tool_mode_is_answered_with_what_is_wanted():
    agent, model = typed("It is Oslo.", said(call()), mode="tool")
    result, made = await run_checked(agent)
    assert result.output.name == "Oslo"
    (reminder,) = [event.message for event in made if isinstance(event, events.ReminderAdded)]
    assert reminder.reminder_kind == "invalid_output"
    assert "final_answer" in reminder.text
    assert model.requests[1].messages[-1].text == reminder.text


# ---------------------------------------------------------------------------------------------- another try


@pytest.mark.parametrize("mode", MODES)
async def test_what_does_not_fit_goes_back_and_the_next_answer_counts(mode):
    agent, model = typed(answer_in(mode, {"name": "Oslo", "people": -1}), answer_in(mode), mode=mode)
    result, made = await run_checked(agent)
    assert result.output.people == 7
    assert "people: Input should be greater than or equal to 0" in json.dumps(sent(model.requests[1])["messages"][-1])
    assert [event.is_final for event in made if isinstance(event, events.RoundEnded)] == [False, True]
    if mode != "tool":
        assert result.messages[1].generate_reason is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_tries_have_a_bound(mode, retries):
    wrong = answer_in(mode, {"name": "Oslo", "people": -1})
    spec = OutputSpec.of(City, retries=retries)
    agent, model = typed(*[wrong] * 9, mode=mode, output_type=spec)
    error, made = await failed_run(agent, OutputValidationError, session="s")
    assert len(model.requests) == retries + 1
    assert f"after {retries + 1} tr" in str(error)
    assert error.result.generate_reason == "error"
    assert error.result.output is None
    assert [type(event) for event in made[-2:]] == [events.ErrorRaised, events.RunEnded]
    assert made[-2].kind == "output_validation"
    assert agent.sessions.get("s").messages == error.result.messages


async def test_the_bound_counts_answers_that_did_not_fit_and_not_rounds_of_tools():
    wrong, look_again = said(call(arguments={}, call_id="w")), said(call("look", {"n": 1}))
    agent, _ = typed(
        wrong, look_again, wrong, look_again, said(call()), mode="tool", output_type=OutputSpec.of(City, retries=2), tools=[look]
    )
    result, _ = await run_checked(agent)
    assert result.output.people == 7


async def test_a_validate_function_sees_each_answer_once_and_its_text_goes_to_the_model():
    seen = []

    def validate(city):
        seen.append(city.people)
        if city.people < 5:
            raise ValueError("too small")

    spec = OutputSpec.of(City, validate=validate)
    agent, model = typed(answer_in("native", {"name": "A", "people": 1}), OSLO_TEXT, output_type=spec)
    result, _ = await run_checked(agent)
    assert result.output.people == 7
    assert seen == [1, 7]
    assert "The answer does not do: too small" in sent(model.requests[1])["messages"][-1]["content"]


async def test_what_a_validate_function_raises_in_earnest_ends_the_run_with_the_answer_kept():
    def validate(_city):
        raise KeyError("oops")

    made = []
    agent, _ = typed(OSLO_TEXT, output_type=OutputSpec.of(City, validate=validate))
    with pytest.raises(KeyError):
        await agent.run("go", session="s", on_event=made.append)
    kept = agent.sessions.get("s").messages
    assert kept[-1].text == OSLO_TEXT
    assert kept[-1].generate_reason == "error"
    assert [type(event).__name__ for event in made[-3:]] == ["RoundEnded", "ErrorRaised", "RunEnded"]


async def test_a_types_own_validator_that_breaks_ends_the_run_in_good_order():
    class Odd(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def check(cls, _value):
            raise RuntimeError("broken")

    agent, _ = typed(said(call(arguments={"name": "x"})), mode="tool", output_type=Odd)
    made = []
    with pytest.raises(RuntimeError, match="broken"):
        await agent.run("go", on_event=made.append)
    assert isinstance(made[-1], events.RunEnded)
    assert [event.result.state for event in made if isinstance(event, events.ToolEnded)] == ["not_run"]


def test_a_validate_function_must_not_be_async():
    async def validate(city):
        """Check nothing."""

    with pytest.raises(UsageError, match="validate is async"):
        OutputSpec.of(City, validate=validate)


# ---------------------------------------------------------------------------------------------- no answer


@pytest.mark.parametrize("mode", MODES)
async def test_a_refusal_is_raised_with_its_words(mode):
    agent, model = typed(AssistantMessage([RefusalPart("I will not.")], finish_reason="stop"), mode=mode)
    error, _ = await failed_run(agent, RefusalError, session="s")
    assert "I will not." in str(error)
    assert error.partial.parts == error.result.message.parts
    assert len(model.requests) == 1
    model._answers = [None, OSLO_TEXT if mode != "tool" else said(call())]
    result, _ = await run_checked(agent, "again", session="s")
    assert result.output == City(name="Oslo", people=7)
    sent(model.requests[1])


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_that_was_cut_off_ends_the_run_as_length(mode):
    cut = said(call(arguments='{"name": "Os'), finish_reason="length") if mode == "tool" else said('{"name": "Os', finish_reason="length")
    agent, _ = typed(cut, mode=mode)
    result, _ = await run_checked(agent)
    assert result.generate_reason == "length"
    assert result.output is None


@pytest.mark.parametrize("mode", MODES)
async def test_a_filtered_answer_ends_the_run_as_that(mode):
    answer = said(call(), finish_reason="content_filter") if mode == "tool" else said(OSLO_TEXT, finish_reason="content_filter")
    agent, _ = typed(answer, mode=mode)
    result, _ = await run_checked(agent)
    assert result.generate_reason == "content_filter"
    assert result.output is None
    assert not result.message.has_structured


async def test_a_stream_that_dies_gives_no_answer_however_much_of_it_had_come():
    agent, _ = typed(Scripted(said(OSLO_TEXT), slice_chars=4, dies_after=8))
    error, _ = await failed_run(agent, ConnectionLostError)
    assert error.result.output is None
    assert not error.result.message.has_structured


async def test_an_empty_answer_is_reminded_once_and_then_the_run_ends_without_a_value():
    agent, _ = typed(" ", OSLO_TEXT)
    result, _ = await run_checked(agent)
    assert result.output.people == 7
    agent, _ = typed(" ", " ")
    result, _ = await run_checked(agent)
    assert result.output is None


# ---------------------------------------------------------------------------------------------- the forced answer


async def test_at_the_last_round_the_answers_tool_alone_is_called_for():
    agent, model = typed(said(call("look", {"n": 1})), said(call()), mode="tool", tools=[look], max_rounds=1)
    result, _ = await run_checked(agent)
    assert result.output == City(name="Oslo", people=7)
    assert result.generate_reason == "max_rounds"
    assert model.requests[0].tool_choice == "auto"
    assert model.requests[1].tool_choice == NamedTool("final_answer")


async def test_of_several_answers_tools_one_is_required_and_nothing_else_is_offered():
    agent, model = typed(
        said(call("look", {"n": 1})), said(call("final_answer_Cat", {"name": "Tom"})), mode="tool", tools=[look], max_rounds=1,
        output_type=Dog | Cat,
    )  # fmt: skip
    result, _ = await run_checked(agent)
    assert type(result.output) is Cat
    assert model.requests[1].tool_choice == "required"
    assert [spec.name for spec in model.requests[1].tools] == ["final_answer_Dog", "final_answer_Cat"]


async def test_where_nothing_can_be_forced_only_the_answers_tool_is_offered():
    profile = Profile(output_formats=(), tool_choices=("auto",))
    agent, model = typed(said(call("look", {"n": 1})), said(call()), profile=profile, tools=[look], max_rounds=1)
    result, _ = await run_checked(agent)
    assert result.output.people == 7
    assert model.requests[1].tool_choice == "auto"
    assert [spec.name for spec in model.requests[1].tools] == ["final_answer"]


@pytest.mark.parametrize("mode", ["native", "prompted"])
async def test_a_forced_answer_in_text_is_of_the_type_as_well(mode):
    agent, model = typed(said(call("look", {"n": 1})), OSLO_TEXT, mode=mode, tools=[look], max_rounds=1)
    result, _ = await run_checked(agent)
    assert result.output == City(name="Oslo", people=7)
    assert result.generate_reason == "max_rounds"
    assert model.requests[1].tool_choice == "none"
    assert model.requests[1].output == model.requests[0].output


@pytest.mark.parametrize("mode", MODES)
async def test_a_forced_answer_that_does_not_fit_ends_the_run_without_a_value(mode):
    agent, _ = typed(said(call("look", {"n": 1})), answer_in(mode, {"name": 1}), mode=mode, tools=[look], max_rounds=1)
    result, _ = await run_checked(agent)
    assert result.output is None
    assert result.generate_reason == "max_rounds"
    assert not result.message.has_structured


# ---------------------------------------------------------------------------------------------- pauses, sessions, steering


@pytest.mark.parametrize("mode", MODES)
async def test_a_typed_run_that_pauses_goes_on_from_json(mode):
    wrong = answer_in(mode, {"name": "Oslo", "people": -1})
    answers = [wrong, said(call("write", {"text": "x"})), answer_in(mode)]
    spec = OutputSpec.of(City, retries=1)
    first, _ = typed(*answers[:2], mode=mode, tools=[write], output_type=spec)
    paused, _ = await run_checked(first)
    assert paused.generate_reason == "awaiting_approval"
    assert paused.output is None
    state = json.loads(json.dumps(paused.state))
    second, _ = typed(*answers[2:], mode=mode, tools=[write], output_type=spec)
    result = await second.resume(state, Approve(paused.pending[0].call_key))
    assert result.output == City(name="Oslo", people=7)
    assert result.run_id == paused.run_id
    again = RunResult.from_state(json.loads(json.dumps(result.state)))
    assert again.output == OSLO
    assert again.message == result.message


async def test_tries_are_counted_over_a_pause():
    wrong = said(call(arguments={}, call_id="w"))
    spec = OutputSpec.of(City, retries=1)
    first, _ = typed(wrong, said(call("write", {"text": "x"})), mode="tool", tools=[write], output_type=spec)
    paused, _ = await run_checked(first)
    second, model = typed(wrong, wrong, mode="tool", tools=[write], output_type=spec)
    with pytest.raises(OutputValidationError, match="after 2 tries"):
        await second.resume(paused.state, Approve(paused.pending[0].call_key))
    assert len(model.requests) == 1


@pytest.mark.parametrize("keep", ["rounds", "answers"])
@pytest.mark.parametrize("mode", MODES)
async def test_the_next_run_of_a_session_has_a_legal_history_with_the_answer_in_it(mode, keep):
    agent, model = typed(answer_in(mode), answer_in(mode, {"name": "Rome", "people": 1}), mode=mode)
    await run_checked(agent, "Which city?", session="s", keep=keep)
    result, _ = await run_checked(agent, "And another?", session="s", keep=keep)
    assert result.output.name == "Rome"
    body = sent(model.requests[1])
    assert "Oslo" in json.dumps(body["messages"])
    assert body["messages"][-1]["content"] == "And another?"
    if keep == "answers":
        assert [message["role"] for message in body["messages"] if message["role"] != "system"] == ["user", "assistant", "user"]


@pytest.mark.parametrize("mode", MODES)
async def test_words_that_come_while_a_typed_answer_streams_lead_to_another_round(mode):
    agent, model = typed(answer_in(mode), answer_in(mode, {"name": "Rome", "people": 1}), mode=mode)
    made = []
    async with agent.stream("go") as run:
        async for event in run:
            made.append(event)
            if isinstance(event, events.RoundStarted) and event.round == 1:
                run.steer("Not Oslo.")
    assert run.result.output.name == "Rome"
    assert run.result.undelivered == ()
    assert [event.is_final for event in made if isinstance(event, events.RoundEnded)] == [False, True]
    assert sent(model.requests[1])["messages"][-1]["content"] == "Not Oslo."


async def test_a_hook_may_send_a_typed_answer_back():
    class Once(Hooks):
        async def after_run(self, here, message):
            return GoOn("Look again.") if here.round == 1 else None

    agent, model = typed(said(call()), said(call(arguments={"name": "Rome", "people": 1}, call_id="b")), mode="tool", hooks=[Once()])
    result, _ = await run_checked(agent)
    assert result.output.name == "Rome"
    assert sent(model.requests[1])["messages"][-1]["content"] == "Look again."


# ---------------------------------------------------------------------------------------------- fallback, wrong use


async def test_a_fallback_asks_in_the_way_that_all_its_models_take():
    first = ScriptedModel(ConnectionLostError("gone"), profile=NATIVE)
    second = ScriptedModel(said(call()), profile=TOOL)
    model = FallbackModel(first, second, falls_over=["transport"])
    assert model.profile.output_formats == ()
    result, _ = await run_checked(Agent(model, output_type=City))
    assert result.output == City(name="Oslo", people=7)
    assert [spec.name for spec in first.requests[0].tools] == ["final_answer"]


async def test_a_fallback_whose_models_all_take_schemas_asks_natively():
    first, second = ScriptedModel(OSLO_TEXT, profile=NATIVE), ScriptedModel(profile=NATIVE)
    result, _ = await run_checked(Agent(FallbackModel(first, second), output_type=City))
    assert result.output == City(name="Oslo", people=7)
    assert first.requests[0].output is not None


def test_a_fallback_with_a_model_that_says_nothing_of_itself_says_nothing():
    class Bare:
        id, provider = "bare", "bare"

        def stream(self, *args, **options):
            """Give nothing."""

    assert FallbackModel(ScriptedModel(), Bare()).profile is None
    assert FallbackModel(ScriptedModel(profile=DEFAULT)).profile == DEFAULT


def test_a_tool_cannot_have_the_name_of_the_answers():
    @tool
    def final_answer(x: int) -> int:
        """Answer."""
        return x

    with pytest.raises(UsageError, match="tools has a tool 'final_answer'"):
        Agent(ScriptedModel(), tools=[final_answer], output_type=City)
    Agent(ScriptedModel(), tools=[final_answer], output_type=OutputSpec.of(City, name="city"))
    Agent(ScriptedModel(), tools=[final_answer])


async def test_an_output_type_of_text_is_no_type():
    result, _ = await run_checked(Agent(ScriptedModel("hi"), output_type=str))
    assert (result.output, result.generate_reason) == ("hi", "completed")


async def test_histories_with_a_typed_answer_by_tool_are_read_by_a_plain_agent():
    agent, _ = typed(said(call()), mode="tool")
    result, _ = await run_checked(agent)
    model = ScriptedModel("fine")
    after = await Agent(model).run("go on", history=result.messages)
    assert after.output == "fine"
    body = sent(model.requests[0])
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "user"]
    assert isinstance(result.messages[-1], ToolMessage)
    assert isinstance(result.messages[0], UserMessage)
