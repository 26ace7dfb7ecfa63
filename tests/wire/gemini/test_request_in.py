"""A client's request of generateContent: what we write we read, what others write becomes neutral words, what is wrong is said with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import decoded
from gemini_bytes import SAMPLES
from gemini_histories import HISTORIES
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, ProviderItem, ReasoningPart, TextPart, ToolResultPart
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import GOOGLE
from headrace.wire.gemini.request_in import read_request
from headrace.wire.gemini.request_out import encode_request
from headrace.wire.gemini.sealed_thoughts import seal, unseal
from headrace.wire.openai_chat.request_out import encode_request as encode_chat
from headrace.wire.profile import Profile

PROTOCOL = "gemini"
OWN = GOOGLE.replace(provider="acme")
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}}
PROFILES = st.builds(
    Profile,
    provider=st.just("acme"),
    reasoning_style=st.sampled_from(["none", "parts"]),
    supports_images_in_results=st.booleans(),
    unsigned_call=st.sampled_from([None, "skip"]),
    tool_name_pattern=st.sampled_from([None, "[A-Za-z0-9_-]"]),
)
TOOLS = st.lists(
    st.builds(
        ToolSpec,
        name=st.sampled_from(["clock", "look_up"]),
        description=st.sampled_from(["", "Tells the time."]),
        parameters=st.sampled_from([{}, SCHEMA]),
        provider_data=st.sampled_from([{}, {"behavior": "BLOCKING"}]),
    ),
    min_size=1,
    max_size=2,
)
SETTINGS = st.builds(
    Settings,
    max_tokens=st.sampled_from([None, 500]),
    temperature=st.sampled_from([None, 1, 0.7]),
    seed=st.sampled_from([None, 7]),
    stop=st.sampled_from([None, (), ("\n", "END")]),
    n=st.sampled_from([None, 2]),
    logprobs=st.sampled_from([None, True]),
    top_logprobs=st.sampled_from([None, 3]),
    modalities=st.sampled_from([None, ("text", "audio")]),
    reasoning_effort=st.sampled_from([None, "none", "low", "high"]),
    extra_body=st.sampled_from([{}, {"safetySettings": [{"category": "C"}]}, {"generationConfig": {"topK": 5, "topP": 0.5}}]),
)
OUTPUTS = st.sampled_from([None, OutputFormat(), OutputFormat(schema=SCHEMA)])


def body(*contents, **fields):
    return json.dumps({"contents": list(contents) or [{"role": "user", "parts": [{"text": "hi"}]}], **fields}).encode()


def read(*contents, **fields):
    """What was read of a request."""
    return read_request(body(*contents, **fields), model="m")


def said(*parts, role="model"):
    """The messages that the parts of one content are."""
    return read({"role": role, "parts": list(parts)}).request.messages


def again(some, profile=OWN, **options):
    """The body that is written of what was read of a body."""
    return encode_request(read_request(some, model="m", **options).request_for(PROTOCOL)[0], profile).body


# --- what we wrote -------------------------------------------------------------------------------------


@given(HISTORIES, PROFILES)
def test_a_history_that_we_wrote_is_written_again_as_the_same_bytes(messages, profile):
    try:
        first = encode_request(Request(model="m", messages=tuple(messages)), profile)
    except UsageError:
        return
    assert again(first.body, profile) == first.body


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_answer_that_goes_back_is_read_as_it_was_written(sample):
    message = decoded(SAMPLES[sample], protocol=PROTOCOL, provider="acme")[1].message
    results = [ToolMessage("done", call_id=call.id) for call in message.tool_calls]
    first = encode_request(Request(model="m", messages=(UserMessage("Go."), message, *results)), OWN)
    assert again(first.body, provider="acme") == first.body


@given(TOOLS, st.sampled_from(["auto", "none", "required", "named"]), SETTINGS, OUTPUTS, st.booleans())
def test_tools_settings_and_output_that_we_wrote_are_written_again(tools, choice, settings, output, is_streamed):
    choice = NamedTool(tools[0].name) if choice == "named" else choice
    request = Request(
        model="m", messages=(UserMessage("hi"),), tools=tools, tool_choice=choice, output=output, settings=settings, is_streamed=is_streamed
    )
    first = encode_request(request, OWN)
    assert json.loads(again(first.body)) == json.loads(first.body)
    incoming = read_request(first.body, model="models/m", is_streamed=is_streamed)
    assert (incoming.request.model, incoming.request.is_streamed) == ("m", is_streamed)


# --- what others write ---------------------------------------------------------------------------------


def test_what_every_client_asks_for_has_a_neutral_word():
    incoming = read(
        systemInstruction={"parts": [{"text": "Be brief."}]},
        tools=[{"functionDeclarations": [{"name": "clock", "description": "Tells.", "parametersJsonSchema": SCHEMA}]}],
        toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["clock"]}},
        generationConfig={
            "maxOutputTokens": 9,
            "temperature": 1,
            "topP": 0.5,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "responseModalities": ["TEXT"],
        },
        safetySettings=[],
    )
    request = incoming.request
    assert request.settings == Settings(max_tokens=9, temperature=1.0, top_p=0.5, stop=("END",), modalities=("text",))
    assert request.tools == (ToolSpec(name="clock", description="Tells.", parameters=SCHEMA),)
    assert (request.tool_choice, request.output) == (NamedTool("clock"), OutputFormat(schema=SCHEMA))
    assert [message.text for message in request.messages] == ["Be brief.", "hi"]
    assert isinstance(request.messages[0], SystemMessage)
    assert (incoming.extra, incoming.own, incoming.needed) == ({"safetySettings": []}, {}, ())


def test_names_in_snake_case_are_the_same_names():
    incoming = read(
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "aGk="}}]},
        {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a_b": 1}}, "thought_signature": "QQ=="}]},
        {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"output": "x"}}}]},
        system_instruction={"parts": [{"text": "Be brief."}]},
        generation_config={"max_output_tokens": 9, "thinking_config": {"thinking_budget": 0}},
        tool_config={"function_calling_config": {"mode": "none"}},
        tools=[{"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}],
    )
    _, user, answer, result = incoming.request.messages
    assert user.parts == (MediaPart(kind="image", url="data:image/png;base64,aGk=", media_type="image/png"),)
    assert (answer.tool_calls[0].arguments, answer.tool_calls[0].provider_data) == ('{"a_b":1}', {"thoughtSignature": "QQ=="})
    assert result.parts == (ToolResultPart(call_id="", name="f", parts="x"),)
    assert incoming.request.settings == Settings(max_tokens=9, reasoning_effort="none")
    assert (incoming.request.tool_choice, incoming.request.tools[0].parameters) == ("none", {"type": "object"})


def test_results_are_messages_of_their_own_and_two_texts_stay_two():
    messages = said(
        {"functionResponse": {"id": "a", "name": "f", "response": {"output": {"n": 1}}}},
        {"functionResponse": {"name": "f", "response": {"error": "broke"}}},
        {
            "functionResponse": {
                "name": "f",
                "response": {"result": 1},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}],
            }
        },
        {"text": "And?"},
        {"text": "Quick."},
        role="user",
    )
    assert [message.parts[0] for message in messages] == [
        ToolResultPart(call_id="a", name="f", parts=[JsonPart({"n": 1})]),
        ToolResultPart(call_id="", name="f", parts="broke", state="error"),
        ToolResultPart(call_id="", name="f", parts=[JsonPart({"result": 1}), MediaPart(kind="image", url="data:image/png;base64,aGk=", media_type="image/png")]),
        TextPart("And?"),
        TextPart("Quick."),
    ]  # fmt: skip
    assert [type(message) for message in messages] == [ToolMessage] * 3 + [UserMessage] * 2


def test_what_a_model_said_is_one_message_and_its_parts_keep_what_stands_beside_them():
    raw = {"executableCode": {"language": "PYTHON", "code": "1"}}
    (message,) = said(
        {"text": "Hm.", "thought": True},
        {"text": "Hm!", "thought": True, "thoughtSignature": "QQ=="},
        {"text": "So.", "thoughtSignature": "Qg=="},
        {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}, "thoughtSignature": "Qw=="},
        {"functionCall": {"name": "g"}},
        raw,
        {"text": ""},
    )
    first, second, text, call, other, code = message.parts
    assert (first, second) == (ReasoningPart("Hm."), ReasoningPart("Hm!", signature="QQ=="))
    assert (text.provider_data, call.id, call.provider_data) == ({"thoughtSignature": "Qg=="}, "a", {"thoughtSignature": "Qw=="})
    assert (other.id, other.parsed, other.runnable) == ("", {}, True)
    assert (json.loads(code.raw), code.protocol) == (raw, PROTOCOL)
    assert isinstance(message, AssistantMessage)


def test_a_result_that_names_its_tool_alone_answers_the_first_call_of_it_that_has_none():
    calls = [
        {"functionCall": {"id": identifier, "name": name, "args": {}}}
        for identifier, name in (("a", "f"), ("b", "g"), ("c", "f"), ("d", "f"))
    ]
    results = [
        {"functionResponse": {"name": name, "response": {"output": "x"}, **given}}
        for name, given in (("f", {"id": "c"}), ("f", {}), ("g", {}), ("f", {}), ("f", {}))
    ]
    messages = read({"role": "model", "parts": calls}, {"role": "user", "parts": results}).request.messages
    assert [message.parts[0].call_id for message in messages[1:]] == ["c", "a", "b", "d", ""]


def test_arguments_and_unknown_parts_are_the_text_that_came():
    some = b'{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x" : 1.0}}},{"novel" : 1.0}]}]}'
    call, item = read_request(some, model="m").request.messages[0].parts
    assert call.arguments == '{"x" : 1.0}'
    assert item == ProviderItem(provider="", protocol=PROTOCOL, raw=b'{"novel" : 1.0}')


def test_thinking_that_was_sealed_here_is_one_part_again():
    signature = seal(5, "sig", "", ())
    thoughts = [{"text": text, "thought": True} for text in ("a", "bcd", "ef")]
    (message,) = said(*thoughts, {"text": "", "thought": True, "thoughtSignature": signature})
    assert message.parts == (ReasoningPart("a"), ReasoningPart("bcdef", signature="sig"))
    (message,) = said({"text": "x", "thought": True}, {"text": "", "thought": True, "thoughtSignature": seal(0, "", "zz", ())})
    assert message.parts == (ReasoningPart("x"), ReasoningPart(encrypted="zz"))
    assert unseal(seal(3, "s", "e", ({"type": "x"},))) == (3, {"signature": "s", "encrypted": "e", "details": ({"type": "x"},)})
    assert [unseal(text) for text in (None, "QQ==", "no base64", "aGVhZHJhY2UtMTp7", "aGVhZHJhY2UtMTpbXQ==")] == [None] * 5


def test_schemas_of_the_wires_own_kind_are_read_and_kept():
    own = {
        "type": "OBJECT",
        "properties": {"any_of": {"type": "STRING", "nullable": True}, "n": {"type": "ARRAY", "items": {"type": "INTEGER"}}},
        "propertyOrdering": ["any_of"],
        "any_of": [{"type": "OBJECT"}],
    }
    wanted = {
        "type": "object",
        "properties": {"any_of": {"type": ["string", "null"]}, "n": {"type": "array", "items": {"type": "integer"}}},
        "anyOf": [{"type": "object"}],
    }
    config = {"responseMimeType": "application/json", "responseSchema": own}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": own}]}]
    incoming = read(generationConfig=config, tools=tools)
    assert (incoming.request.output, incoming.request.tools[0].parameters) == (OutputFormat(schema=wanted), wanted)
    sent = json.loads(encode_request(incoming.request_for(PROTOCOL)[0], OWN).body)
    assert (sent["generationConfig"], sent["tools"]) == (config, tools)
    assert incoming.request_for("openai-chat")[1] == ()


@pytest.mark.parametrize(
    ("thinking", "effort"),
    [
        ({"thinkingLevel": "LOW"}, "low"), ({"thinkingBudget": 0}, "none"), ({"thinkingBudget": 1000}, "low"), ({"thinkingBudget": 5000}, "medium"),
        ({"thinkingBudget": 99999}, "high"), ({"thinkingBudget": -1}, None), ({"includeThoughts": True}, None),
    ],
)  # fmt: skip
def test_how_much_to_think_is_an_effort_and_is_kept_as_it_came(thinking, effort):
    incoming = read(generationConfig={"thinkingConfig": thinking})
    assert incoming.request.settings.reasoning_effort == effort
    sent = json.loads(encode_request(incoming.request_for(PROTOCOL)[0], OWN).body)
    assert sent["generationConfig"] == {"thinkingConfig": thinking}


def test_what_only_the_provider_has_is_for_its_own_servers():
    tools = [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]
    incoming = read(tools=tools)
    assert json.loads(encode_request(incoming.request_for(PROTOCOL)[0], OWN).body)["tools"] == tools
    with pytest.raises(UnsupportedError, match="googleSearch") as caught:
        incoming.request_for("openai-chat")
    assert caught.value.argument == "tools[1].googleSearch"
    with pytest.raises(UnsupportedError, match="cachedContents/1"):
        read(cachedContent="cachedContents/1").request_for("openai-chat")


def test_members_without_a_neutral_word_are_kept_and_others_are_told():
    incoming = read(generationConfig={"topK": 5, "temperature": 1}, safetySettings=[{"category": "C"}])
    assert json.loads(encode_request(incoming.request_for(PROTOCOL)[0], OWN).body)["generationConfig"] == {"topK": 5, "temperature": 1}
    request, left = incoming.request_for("openai-chat")
    assert [warning.detail for warning in left] == ["generationConfig, which only gemini has", "safetySettings, which only gemini has"]
    assert json.loads(encode_chat(request).body)["temperature"] == 1.0


def test_a_choice_among_some_tools_offers_others_less():
    tools = [{"functionDeclarations": [{"name": name, "parametersJsonSchema": SCHEMA} for name in ("a", "b", "c")]}]
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}}
    incoming = read(tools=tools, toolConfig=config)
    assert ([tool.name for tool in incoming.request.tools], incoming.request.tool_choice) == (["a", "b"], "required")
    sent = json.loads(encode_request(incoming.request_for(PROTOCOL)[0], OWN).body)
    assert (sent["tools"], sent["toolConfig"]) == (tools, config)


@pytest.mark.parametrize(
    ("some", "argument", "word"),
    [
        (b"[", "body", "JSON"),
        (b'{"contents":[]}', "contents", "missing"),
        (body({"role": "robot", "parts": []}), "contents[0].role", "robot"),
        (body({"role": "user", "parts": [{"novel": 1}]}), "contents[0].parts[0]", "novel"),
        (body({"role": "user", "parts": [{"inlineData": {"mimeType": "image/png"}}]}), "contents[0].parts[0].inlineData.data", "missing"),
        (
            body({"role": "user", "parts": [{"functionResponse": {"name": "f"}}]}),
            "contents[0].parts[0].functionResponse.response",
            "missing",
        ),
        (body({"role": "model", "parts": [{"functionCall": {"args": {}}}]}), "contents[0].parts[0].functionCall.name", "missing"),
        (body(systemInstruction={"parts": [{"inlineData": {}}]}), "systemInstruction.parts[0]", "text"),
        (body(toolConfig={"functionCallingConfig": {"mode": "MAYBE"}}), "toolConfig.functionCallingConfig.mode", "MAYBE"),
        (body(generationConfig={"temperature": "hot"}), "generationConfig.temperature", "number"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(some, argument, word):
    with pytest.raises(UsageError, match=word) as caught:
        read_request(some, model="m")
    assert caught.value.argument == argument


def test_an_address_without_a_model_is_an_error():
    with pytest.raises(UsageError, match="model"):
        read_request(body())
