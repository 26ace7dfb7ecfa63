"""A client's request of the Responses protocol: what we write we read, what others write becomes neutral words, what is wrong is said with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import decoded
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, ProviderItem, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import OPENAI
from headrace.wire.openai_chat.request_out import encode_request as encode_chat
from headrace.wire.openai_responses.request_in import read_request
from headrace.wire.openai_responses.request_out import encode_request
from messages_histories import HISTORIES, PROFILES
from responses_bytes import SAMPLES

PROTOCOL = "openai-responses"
PROFILE = OPENAI.replace(provider="acme", call_id_pattern=None)
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}}
TOOLS = st.lists(
    st.builds(
        ToolSpec,
        name=st.sampled_from(["clock", "look_up"]),
        description=st.sampled_from(["", "Tells the time."]),
        parameters=st.sampled_from([{}, SCHEMA]),
        is_strict=st.sampled_from([None, True]),
        provider_data=st.sampled_from([{}, {"defer_loading": True}]),
    )
    | st.builds(ToolSpec, name=st.just("sql"), kind=st.just("custom"), provider_data=st.sampled_from([{}, {"format": {"type": "text"}}]))
    | st.just(ToolSpec(name="web_search", provider_data={"type": "web_search", "filters": {"x": 1}})),
    min_size=1,
    max_size=2,
)
SETTINGS = st.builds(
    Settings,
    max_tokens=st.sampled_from([None, 500]),
    temperature=st.sampled_from([None, 1, 0.7]),
    top_p=st.sampled_from([None, 0.5]),
    reasoning_effort=st.sampled_from([None, "low", "high"]),
    parallel_tool_calls=st.sampled_from([None, True, False]),
    logprobs=st.sampled_from([None, True]),
    extra_body=st.sampled_from(
        [
            {},
            {"metadata": {"user": "ann"}, "truncation": "auto"},
            {"store": False, "include": ["reasoning.encrypted_content"]},
            {"reasoning": {"effort": "xhigh", "summary": "auto"}},
            {"text": {"format": {"type": "text"}, "verbosity": "low"}},
        ]
    ),
)
OUTPUTS = st.sampled_from([None, OutputFormat(), OutputFormat(name="a", schema=SCHEMA)])


def body(*items, **fields):
    return json.dumps({"model": "m", "input": list(items) or "hi", **fields}).encode()


def read(*items):
    """The messages that some items are."""
    return read_request(body(*items)).request.messages


def again(some, profile=PROFILE, **options):
    """The body that is written of what was read of a body."""
    return encode_request(read_request(some, **options).request_for(PROTOCOL)[0], profile).body


# --- what we wrote -------------------------------------------------------------------------------------


@given(HISTORIES, PROFILES)
def test_a_history_that_we_wrote_is_written_again_as_the_same_bytes(messages, profile):
    try:
        first = encode_request(Request(model="m", messages=tuple(messages)), profile)
    except UsageError:
        return
    if json.loads(first.body)["input"][0].get("role") != "system":  # which would join the instructions
        assert again(first.body, profile) == first.body


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_answer_that_goes_back_is_read_as_it_was_written(sample):
    message = decoded(SAMPLES[sample], protocol=PROTOCOL, provider="acme")[1].message
    results = [ToolMessage([JsonPart(["done"])], call_id=call.id) for call in message.tool_calls]
    first = encode_request(Request(model="m", messages=(UserMessage("Go."), message, *results)), PROFILE)
    assert again(first.body, provider="acme") == first.body


@given(TOOLS, st.sampled_from(["auto", "none", "required", "named"]), SETTINGS, OUTPUTS, st.booleans())
def test_tools_settings_and_output_that_we_wrote_are_written_again(tools, choice, settings, output, is_streamed):
    choice = NamedTool(tools[0].name) if choice == "named" else choice
    request = Request(
        model="m", messages=(UserMessage("hi"),), tools=tools, tool_choice=choice, output=output, settings=settings, is_streamed=is_streamed
    )
    first = encode_request(request, PROFILE)
    assert json.loads(again(first.body)) == json.loads(first.body)
    assert read_request(first.body).request.is_streamed == is_streamed


# --- what others write ---------------------------------------------------------------------------------


def test_what_every_client_asks_for_has_a_neutral_word():
    tools = [{"type": "function", "name": "clock", "parameters": SCHEMA, "strict": False}]
    incoming = read_request(
        body(
            instructions="Be brief.",
            stream=True,
            temperature=1,
            max_output_tokens=9,
            tools=tools,
            tool_choice={"type": "function", "name": "clock"},
            parallel_tool_calls=False,
            reasoning={"effort": "low"},
            text={"format": {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}},
            include=["message.output_text.logprobs"],
            top_logprobs=2,
            metadata={"user": "ann"},
            user=None,
        )
    )
    request = incoming.request
    assert request.settings == Settings(
        max_tokens=9, temperature=1.0, parallel_tool_calls=False, reasoning_effort="low", logprobs=True, top_logprobs=2
    )
    assert request.tools == (ToolSpec(name="clock", parameters=SCHEMA, is_strict=False),)
    assert (request.tool_choice, request.output) == (NamedTool("clock"), OutputFormat(name="a", schema=SCHEMA))
    assert [message.text for message in request.messages] == ["Be brief.", "hi"]
    assert (incoming.extra, incoming.own) == ({"metadata": {"user": "ann"}}, {})
    assert incoming.options.echoed["tools"] == tools
    assert "user" not in incoming.options.echoed


def test_what_an_answer_said_thought_and_called_is_one_message_and_each_result_is_one():
    messages = read(
        {"role": "user", "content": [{"type": "input_text", "text": "One."}, {"type": "input_text", "text": "Two."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "clock", "arguments": '{"x" : 1}', "status": "completed"},
        {"type": "custom_tool_call", "call_id": "b", "name": "sql", "input": "select 1"},
        {"type": "function_call_output", "call_id": "a", "output": "12:00"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "1"}, {"type": "input_image", "image_url": "https://x/y.png"}]},
        {"role": "developer", "content": "Hurry."},
        {"role": "assistant", "content": "So."},
    )  # fmt: skip
    assert [type(message) for message in messages] == [
        UserMessage, AssistantMessage, ToolMessage, ToolMessage, SystemMessage, AssistantMessage,
    ]  # fmt: skip
    assert [part.text for part in messages[0].parts] == ["One.", "Two."]
    thought, text, call, custom = messages[1].parts
    assert thought == ReasoningPart("Hm.", encrypted="gA", provider_data={"id": "rs_1"})
    assert text == TextPart("I look.", provider_data={"id": "msg_1"})
    assert (call.id, call.arguments, call.parsed, call.runnable) == ("a", '{"x" : 1}', {"x": 1}, True)
    assert (custom.kind, custom.arguments) == ("custom", "select 1")
    assert messages[2].parts == (ToolResultPart(call_id="a", parts="12:00"),)
    assert messages[3].parts[0].parts == (TextPart("1"), MediaPart(kind="image", url="https://x/y.png"))
    assert (messages[4].text, messages[5].text) == ("Hurry.", "So.")


def test_two_texts_of_a_person_stay_two():
    content = [{"type": "input_text", "text": "One."}, {"type": "input_text", "text": "Two."}]
    assert json.loads(again(body({"role": "user", "content": content})))["input"] == [{"role": "user", "content": content}]
    chat = encode_chat(read_request(body({"role": "user", "content": content})).request_for("openai-chat")[0])
    assert json.loads(chat.body)["messages"] == [{"role": "user", "content": "One.\nTwo."}]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "input_image", "image_url": "https://x/y.png", "detail": "low"},
        {"type": "input_image", "file_id": "file_1", "detail": "auto"},
        {"type": "input_file", "file_id": "file_1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        {"type": "input_file", "file_url": "https://x/y.pdf"},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        {"type": "input_novel", "x": 1},
    ],
)
def test_what_a_person_gives_goes_there_and_back(item):
    assert json.loads(again(body({"role": "user", "content": [item]})))["input"][0]["content"] == [item]


def test_summaries_of_thinking_without_an_id_stay_one_item():
    item = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        "encrypted_content": "gA",
    }
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "a", "output": "1"}
    items = [{"role": "user", "content": "Go."}, item, call, result]
    assert json.loads(again(body(*items)))["input"] == items
    thought = read(*items)[1].parts[0]
    assert (thought.text, thought.encrypted) == ("a\n\nb", "gA")
    request, left = read_request(body(*items)).request_for("openai-chat")
    assert (request.messages[1].parts[0].provider_data, left) == ({}, ())


def test_an_item_that_nobody_knows_stays_as_the_bytes_that_came():
    raw = b'{"type":"compaction", "n" : 1.0}'
    messages = read_request(b'{"model":"m","input":[{"role":"user","content":"hi"},' + raw + b"]}").request.messages
    assert messages[1].parts == (ProviderItem(provider="", protocol=PROTOCOL, raw=raw),)
    assert read({"type": "mcp_approval_response", "approve": True})[0].parts == (
        OpaquePart({"type": "mcp_approval_response", "approve": True}),
    )


def test_tools_that_the_provider_defines_are_for_its_own_servers():
    tools = [{"type": "web_search", "filters": {}}, {"type": "function", "name": "clock", "parameters": SCHEMA, "strict": False}]
    incoming = read_request(body(tools=tools, tool_choice={"type": "web_search"}))
    sent = json.loads(encode_request(incoming.request_for(PROTOCOL)[0], PROFILE).body)
    assert (sent["tools"], sent["tool_choice"]) == (tools, {"type": "web_search"})
    with pytest.raises(UnsupportedError, match="web_search"):
        incoming.request_for("openai-chat")


def test_a_tool_that_says_nothing_of_strictness_goes_as_it_came():
    tools = [{"type": "function", "name": "clock", "parameters": SCHEMA}]
    incoming = read_request(body(tools=tools))
    assert json.loads(encode_request(incoming.request_for(PROTOCOL)[0], PROFILE).body)["tools"] == tools
    assert incoming.request_for("openai-chat")[1] == ()


def test_a_choice_among_some_tools_offers_others_less():
    tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": True} for name in ("a", "b")]
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "b"}]}
    incoming = read_request(body(tools=tools, tool_choice=choice))
    assert ([tool.name for tool in incoming.request.tools], incoming.request.tool_choice) == (["b"], "required")
    sent = json.loads(encode_request(incoming.request_for(PROTOCOL)[0], PROFILE).body)
    assert (sent["tools"], sent["tool_choice"]) == (tools, choice)


def test_how_much_to_think_is_an_effort_and_is_kept_as_it_came():
    incoming = read_request(body(reasoning={"effort": "xhigh", "summary": "auto"}))
    assert (incoming.request.settings.reasoning_effort, incoming.extra) == ("high", {"reasoning": {"effort": "xhigh", "summary": "auto"}})
    assert incoming.request_for(PROTOCOL)[0].settings.reasoning_effort is None


def test_what_asks_other_servers_for_nothing_is_left_out_unsaid():
    incoming = read_request(body(store=False, stream_options={"include_obfuscation": False}, include=["reasoning.encrypted_content"]))
    assert incoming.request_for("openai-chat")[1] == ()
    sent = json.loads(encode_request(incoming.request_for(PROTOCOL)[0], PROFILE).body)
    assert (sent["store"], sent["include"]) == (False, ["reasoning.encrypted_content"])


# --- what is wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("some", "argument", "word"),
    [
        (b"{", "body", "JSON"),
        (b'{"input":"hi"}', "model", "missing"),
        (b'{"model":"m"}', "input", "missing"),
        (body(previous_response_id="resp_1"), "previous_response_id", "whole conversation"),
        (body(conversation={"id": "c"}), "conversation", "whole conversation"),
        (body(background=True), "background", "stream"),
        (body({"type": "item_reference", "id": "msg_1"}), "input[0]", "item itself"),
        (body({"type": "function_call", "name": "f"}), "input[0].call_id", "missing"),
        (body({"role": "robot", "content": "hi"}), "input[0].role", "robot"),
        (body({"role": "user", "content": [{"type": "input_image"}]}), "input[0].content[0]", "image_url"),
        (body({"role": "user", "content": [{"type": "input_file"}]}), "input[0].content[0]", "file_data"),
        (body({"role": "system", "content": [{"type": "input_image", "file_id": "f"}]}), "input[0].content[0]", "text"),
        (body(tool_choice="maybe"), "tool_choice", "maybe"),
        (body(text={"format": {"type": "grammar"}}), "text.format.type", "grammar"),
        (body(temperature="hot"), "temperature", "number"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(some, argument, word):
    with pytest.raises(UsageError, match=word) as caught:
        read_request(some)
    assert caught.value.argument == argument


def test_the_model_of_the_address_counts_where_the_body_names_none():
    assert read_request(b'{"input":"hi"}', model="x", is_streamed=True).request.is_streamed
    assert isinstance(read({"type": "function_call", "call_id": "a", "name": "f", "arguments": ""})[0].parts[0], ToolCallPart)
