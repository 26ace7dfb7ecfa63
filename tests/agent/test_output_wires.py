"""A typed answer over real wires: what stands in the request's body, and the value that comes out of the answer's bytes."""

from __future__ import annotations

import itertools
import json

import pytest
from pydantic import BaseModel

import chat_bytes
import gemini_bytes
import messages_bytes
import responses_bytes
from chat_bytes import StillClock
from headrace.agent.agent import Agent
from headrace.agent.output.spec import OutputSpec
from headrace.errors import RefusalError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.models.model import Model
from headrace.tools.tool import tool
from run_checks import failed_run, run_checked

OSLO = {"name": "Oslo", "people": 7}
TEXT = json.dumps(OSLO)
CUT = len(TEXT) // 2
PIECES = TEXT[:CUT], TEXT[CUT:]


class City(BaseModel):
    """A city."""

    name: str
    people: int


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


def chat_call(name, arguments, call_id):
    return b"".join(chat_bytes.call_stream(name, arguments, id=call_id))


def messages_call(name, arguments, call_id):
    return messages_bytes.body(messages_bytes.call(0, name, arguments, id=call_id), word="tool_use")


def responses_call(name, arguments, call_id):
    item = responses_bytes.call_item(name, arguments, "fc_1", call_id)
    streamed = responses_bytes.call(0, name, arguments, id="fc_1", call_id=call_id)
    return responses_bytes.started() + streamed + responses_bytes.ended(output=[item])


def gemini_call(name, arguments, call_id):
    return gemini_bytes.stream((gemini_bytes.call(name, json.loads(arguments), id=call_id),), gemini_bytes.stop())


def responses_text(*pieces):
    item = responses_bytes.message_item("".join(pieces))
    return responses_bytes.started() + responses_bytes.message(0, *pieces) + responses_bytes.ended(output=[item])


def text_of(protocol, *pieces):
    """Return a whole answer in text."""
    match protocol:
        case "openai-chat":
            return b"".join(chat_bytes.text_stream(*pieces))
        case "anthropic-messages":
            return messages_bytes.body(messages_bytes.text(0, *pieces))
        case "openai-responses":
            return responses_text(*pieces)
        case _:
            return gemini_bytes.stream(*((gemini_bytes.text(piece),) for piece in pieces), gemini_bytes.stop())


CALLS = {"openai-chat": chat_call, "anthropic-messages": messages_call, "openai-responses": responses_call, "gemini": gemini_call}
WIRES = list(CALLS)
TEXTS = {protocol: text_of(protocol, *PIECES) for protocol in WIRES}


def model(protocol, *bodies):
    replay = ReplayTransport([Recorded(body=body) for body in bodies], slicing=7)
    made = Model(f"{protocol}:m-1", base_url="http://x.test/v1", api_key="k", transport=replay, clock=StillClock(), environ={})
    return made, lambda n: json.loads(replay.requests[n].body)


def schema_in(protocol, body):
    """Return the answer's schema, where a body has it by the wire's own rules, or None."""
    match protocol:
        case "openai-chat":
            return body.get("response_format", {}).get("json_schema", {}).get("schema")
        case "openai-responses":
            return body.get("text", {}).get("format", {}).get("schema")
        case "anthropic-messages":
            return body.get("output_config", {}).get("format", {}).get("schema")
        case _:
            config = body.get("generationConfig", {})
            return config.get("responseJsonSchema") or config.get("responseSchema")


def tools_in(protocol, body):
    """Return the tools' names."""
    tools = body.get("tools", [])
    match protocol:
        case "openai-chat":
            return [one["function"]["name"] for one in tools]
        case "gemini":
            return [one["name"] for entry in tools for one in entry["functionDeclarations"]]
        case _:
            return [one["name"] for one in tools]


def forced_in(protocol, body):
    """Return the name of the tool that must be called, or what stands instead."""
    match protocol:
        case "openai-chat":
            return body["tool_choice"]["function"]["name"]
        case "gemini":
            (name,) = body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"]
            return name
        case _:
            return body["tool_choice"]["name"]


def instructions_in(protocol, body):
    """Return what stands in a body as instructions."""
    match protocol:
        case "openai-chat":
            return body["messages"][0]["content"]
        case "gemini":
            return json.dumps(body["systemInstruction"])
        case "openai-responses":
            return body.get("instructions") or json.dumps(body["input"])
        case _:
            return json.dumps(body["system"])


@pytest.mark.parametrize("protocol", WIRES)
async def test_native_sends_the_schema_and_reads_the_text(protocol):
    speaking, body = model(protocol, TEXTS[protocol])
    result, _ = await run_checked(Agent(speaking, output_type=OutputSpec.of(City, mode="native")))
    assert result.output == City(**OSLO)
    schema = schema_in(protocol, body(0))
    assert set(schema["properties"]) == {"name", "people"}
    assert tools_in(protocol, body(0)) == []


@pytest.mark.parametrize("protocol", WIRES)
async def test_tool_offers_the_tool_and_reads_its_call(protocol):
    speaking, body = model(protocol, CALLS[protocol]("final_answer", TEXT, "c1"))
    result, _ = await run_checked(Agent(speaking, tools=[clock], output_type=OutputSpec.of(City, mode="tool")))
    assert result.output == City(**OSLO)
    assert tools_in(protocol, body(0)) == ["clock", "final_answer"]
    assert schema_in(protocol, body(0)) is None
    assert "final_answer" in instructions_in(protocol, body(0))


@pytest.mark.parametrize("protocol", WIRES)
async def test_prompted_says_it_in_the_instructions_and_reads_the_text(protocol):
    speaking, body = model(protocol, TEXTS[protocol])
    result, _ = await run_checked(Agent(speaking, instructions="Be brief.", output_type=OutputSpec.of(City, mode="prompted")))
    assert result.output == City(**OSLO)
    said = instructions_in(protocol, body(0))
    assert "Be brief." in said
    assert "JSON Schema" in said
    assert schema_in(protocol, body(0)) is None


@pytest.mark.parametrize("protocol", WIRES)
async def test_a_forced_answer_calls_for_the_answers_tool_by_name(protocol):
    speaking, body = model(protocol, CALLS[protocol]("clock", "{}", "c1"), CALLS[protocol]("final_answer", TEXT, "c2"))
    result, _ = await run_checked(Agent(speaking, tools=[clock], max_rounds=1, output_type=OutputSpec.of(City, mode="tool")))
    assert result.output == City(**OSLO)
    assert result.generate_reason == "max_rounds"
    assert forced_in(protocol, body(1)) == "final_answer"


@pytest.mark.parametrize("protocol", WIRES)
async def test_auto_asks_as_the_server_can(protocol):
    speaking, body = model(protocol, TEXTS[protocol])
    result, _ = await run_checked(Agent(speaking, output_type=City))
    assert result.output == City(**OSLO)
    assert schema_in(protocol, body(0)) is not None


@pytest.mark.parametrize("protocol", WIRES)
async def test_auto_with_tools_asks_in_a_way_that_the_server_takes(protocol):
    probe, _ = model(protocol)
    is_native = probe.profile.supports_output_with_tools
    answer = TEXTS[protocol] if is_native else CALLS[protocol]("final_answer", TEXT, "c2")
    speaking, body = model(protocol, CALLS[protocol]("clock", "{}", "c1"), answer)
    result, _ = await run_checked(Agent(speaking, tools=[clock], output_type=City))
    assert result.output == City(**OSLO)
    for n in (0, 1):
        assert (schema_in(protocol, body(n)) is not None) == is_native
        assert ("final_answer" in tools_in(protocol, body(n))) == (not is_native)


PAIRS = list(itertools.product(WIRES, WIRES))


@pytest.mark.parametrize(("protocol", "next_protocol"), PAIRS)
async def test_after_an_answer_by_tool_every_wire_takes_the_history(protocol, next_protocol):
    """The answer's call has its result, so nothing has to be repaired; only what another provider had put beside it may be left out."""
    speaking, _ = model(protocol, CALLS[protocol]("final_answer", TEXT, "c1"))
    result, _ = await run_checked(Agent(speaking, output_type=OutputSpec.of(City, mode="tool")))
    other, body = model(next_protocol, TEXTS[next_protocol])
    after = await Agent(other).run("And now?", history=result.messages)
    assert after.generate_reason == "completed"
    assert [warning for warning in after.message.warnings if ": data of " not in (warning.detail or "")] == []
    said = json.dumps(body(0))
    assert "The answer was taken." in said
    assert said.index("The answer was taken.") < said.index("And now?")


@pytest.mark.parametrize("protocol", WIRES)
@pytest.mark.parametrize("mode", ["native", "tool"])
async def test_an_error_goes_back_over_the_wire_and_the_next_answer_counts(protocol, mode):
    wrong = json.dumps({"name": "Oslo", "people": "many"})
    if mode == "tool":
        first, second = CALLS[protocol]("final_answer", wrong, "c1"), CALLS[protocol]("final_answer", TEXT, "c2")
    else:
        first, second = text_of(protocol, wrong), TEXTS[protocol]
    speaking, body = model(protocol, first, second)
    result, _ = await run_checked(Agent(speaking, output_type=OutputSpec.of(City, mode=mode)))
    assert result.output == City(**OSLO)
    assert "people: Input should be a valid integer" in json.dumps(body(1))


async def test_a_refusal_on_the_wire_is_raised():
    refused = [
        chat_bytes.chunk({"role": "assistant", "content": None, "refusal": ""}),
        chat_bytes.chunk({"refusal": "I can't "}),
        chat_bytes.chunk({"refusal": "do that."}),
        chat_bytes.chunk(finish="stop"),
        chat_bytes.DONE,
    ]
    speaking, _ = model("openai-chat", b"".join(refused))
    error, _ = await failed_run(Agent(speaking, output_type=City), RefusalError)
    assert "I can't do that." in str(error)


async def test_a_filtered_answer_on_the_wire_ends_the_run_as_that():
    speaking, _ = model("openai-chat", b"".join(chat_bytes.text_stream(*PIECES, finish="content_filter")))
    result, _ = await run_checked(Agent(speaking, output_type=City))
    assert (result.generate_reason, result.output) == ("content_filter", None)


@pytest.mark.parametrize("protocol", WIRES)
async def test_a_type_that_is_no_object_travels_in_one(protocol):
    speaking, body = model(protocol, text_of(protocol, json.dumps({"items": [1, 2]})))
    result, _ = await run_checked(Agent(speaking, output_type=list[int]))
    assert result.output == [1, 2]
    assert list(schema_in(protocol, body(0))["properties"]) == ["items"]
