"""A client's request of the Messages protocol: what we write we read, what others write becomes neutral words, what is wrong is said with its place."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, OpaquePart, ProviderItem, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import ANTHROPIC
from headrace.wire.anthropic_messages.request_in import read_request
from headrace.wire.anthropic_messages.request_out import encode_request
from headrace.wire.openai_chat.request_out import encode_request as encode_chat
from headrace.wire.profile import DEFAULT
from messages_histories import HISTORIES, PROFILES

PROTOCOL = "anthropic-messages"
SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS = st.lists(
    st.builds(
        ToolSpec,
        name=st.sampled_from(["clock", "look_up"]),
        description=st.sampled_from(["", "Tells the time."]),
        parameters=st.sampled_from([{}, SCHEMA]),
        is_strict=st.sampled_from([None, True]),
        provider_data=st.sampled_from([{}, MARK]),
    ),
    min_size=1,
    max_size=2,
)
SETTINGS = st.builds(
    Settings,
    max_tokens=st.sampled_from([None, 500, 9000]),
    temperature=st.sampled_from([None, 1, 0.7]),
    top_p=st.sampled_from([None, 0.5]),
    stop=st.sampled_from([None, (), ("\n", "END")]),
    reasoning_effort=st.sampled_from([None, "low", "high"]),
    parallel_tool_calls=st.sampled_from([None, True, False]),
    extra_body=st.sampled_from(
        [{}, {"metadata": {"user_id": "ann"}, "top_k": 5}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}]
    ),
)
OUTPUTS = st.sampled_from([None, OutputFormat(schema=SCHEMA)])
PROFILE = ANTHROPIC.for_model("claude-sonnet-4-5")


def body(*messages, **fields):
    messages = list(messages) or [{"role": "user", "content": "hi"}]
    return json.dumps({"model": "m", "max_tokens": 9, "messages": messages, **fields}).encode()


def read(*blocks, role="user"):
    """The messages that some blocks of one message are."""
    return read_request(body({"role": role, "content": list(blocks)})).request.messages


def again(some, profile=DEFAULT):
    """The body that is written of what was read of a body."""
    return encode_request(read_request(some).request_for(PROTOCOL)[0], profile).body


@given(HISTORIES, PROFILES)
def test_a_history_that_we_wrote_is_written_again_as_the_same_bytes(messages, profile):
    try:
        first = encode_request(Request(model="m", messages=tuple(messages)), profile)
    except UsageError:
        return
    assert again(first.body, profile) == first.body


@given(TOOLS, st.sampled_from(["auto", "none", "required", "named"]), SETTINGS, OUTPUTS, st.booleans())
def test_tools_settings_and_output_that_we_wrote_are_written_again(tools, choice, settings, output, is_streamed):
    choice = NamedTool(tools[0].name) if choice == "named" else choice
    request = Request(
        model="m", messages=(UserMessage("hi"),), tools=tools, tool_choice=choice, output=output, settings=settings, is_streamed=is_streamed
    )
    first = encode_request(request, PROFILE)
    assert json.loads(again(first.body, PROFILE)) == json.loads(first.body)  # what we do not translate stands last
    incoming = read_request(first.body)
    assert incoming.request.is_streamed == is_streamed
    assert incoming.options.includes_usage


def test_what_every_client_asks_for_has_a_neutral_word():
    incoming = read_request(
        body(
            system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind.", **MARK}],
            stream=True,
            temperature=1,
            stop_sequences=["END"],
            tools=[{"name": "clock", "input_schema": SCHEMA}],
            tool_choice={"type": "tool", "name": "clock", "disable_parallel_tool_use": True},
            thinking={"type": "enabled", "budget_tokens": 4000},
            metadata={"user_id": "ann"},
        )
    )
    request = incoming.request
    assert request.settings == Settings(max_tokens=9, temperature=1.0, stop=("END",), parallel_tool_calls=False, reasoning_effort="medium")
    assert request.tools == (ToolSpec(name="clock", parameters=SCHEMA),)
    assert request.tool_choice == NamedTool("clock")
    assert [message.text for message in request.messages] == ["Be brief.", "Be kind.", "hi"]
    assert request.messages[1].parts[0].provider_data == MARK
    assert incoming.extra == {"thinking": {"type": "enabled", "budget_tokens": 4000}, "metadata": {"user_id": "ann"}}


@pytest.mark.parametrize(
    ("fields", "effort"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low"),
        ({"thinking": {"type": "enabled", "budget_tokens": 32000}}, "high"),
        ({"thinking": {"type": "disabled"}}, None),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}, "medium"),
        ({"output_config": {"effort": "max"}}, "high"),
    ],
)
def test_how_much_to_think_is_an_effort_and_is_kept_as_it_came(fields, effort):
    incoming = read_request(body(**fields))
    assert incoming.request.settings.reasoning_effort == effort
    assert incoming.extra == fields
    assert incoming.request_for(PROTOCOL)[0].settings.reasoning_effort is None
    assert incoming.request_for("openai-chat")[0].settings.reasoning_effort == effort


def test_an_output_schema_is_one_and_needs_no_keeping():
    incoming = read_request(body(output_config={"format": {"type": "json_schema", "schema": SCHEMA}}))
    assert (incoming.request.output, incoming.extra) == (OutputFormat(schema=SCHEMA), {})


def test_tools_that_the_provider_defines_are_kept_for_it():
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "clock", "input_schema": SCHEMA}]
    incoming = read_request(body(tools=tools, tool_choice={"type": "tool", "name": "web_search"}))
    assert [tool.name for tool in incoming.request.tools] == ["clock"]
    assert incoming.extra == {"tools": tools, "tool_choice": {"type": "tool", "name": "web_search"}}
    assert json.loads(encode_request(incoming.request_for(PROTOCOL)[0]).body)["tools"] == tools
    left = [warning.detail for warning in incoming.request_for("openai-chat")[1]]
    assert left == ["tools, which only anthropic-messages has", "tool_choice, which only anthropic-messages has"]


# --- messages ------------------------------------------------------------------------------------------


def test_results_are_messages_of_their_own_and_two_texts_stay_two():
    messages = read(
        {"type": "tool_result", "tool_use_id": "a", "content": "12:00"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True, **MARK},
        {"type": "text", "text": "And?"},
        {"type": "text", "text": "Quick."},
    )
    assert [message.parts for message in messages] == [
        (ToolResultPart(call_id="a", parts="12:00"),),
        (ToolResultPart(call_id="b", state="error", metadata=MARK),),
        (TextPart("And?"),),
        (TextPart("Quick."),),
    ]
    assert [type(message) for message in messages] == [ToolMessage, ToolMessage, UserMessage, UserMessage]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}, MediaPart(kind="image", url="data:image/png;base64,aGk=", media_type="image/png")),
        ({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}, **MARK}, MediaPart(kind="image", url="https://x/y.png", provider_data=MARK)),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "T"}, MediaPart(kind="document", file_id="file_1", name="T")),
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "h\u00e9"}, "citations": {"enabled": True}}, MediaPart(kind="document", data="h\u00e9".encode(), media_type="text/plain", provider_data={"citations": {"enabled": True}})),
        ({"type": "text", "text": "hi", **MARK}, TextPart("hi", provider_data=MARK)),
    ],
)  # fmt: skip
def test_what_a_person_gives_goes_there_and_back(block, part):
    assert read(block)[0].parts == (part,)
    assert json.loads(again(body({"role": "user", "content": [block]})))["messages"][0]["content"] == [block]


def test_a_block_that_nobody_knows_is_kept_whole():
    block = {"type": "search_result", "title": "T", "content": []}
    assert read(block)[0].parts == (OpaquePart(block),)
    other = {"type": "document", "source": {"type": "content", "content": []}}
    assert read(other)[0].parts == (OpaquePart(other),)


def test_texts_of_a_result_stay_blocks_and_stand_on_lines_where_there_are_none():
    texts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    talk = body(
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": texts}]},
    )
    assert json.loads(again(talk))["messages"][2]["content"][0]["content"] == texts
    sent = encode_chat(read_request(talk).request_for("openai-chat")[0]).body
    assert json.loads(sent)["messages"][2]["content"] == "one\ntwo"


def test_an_assistant_message_goes_there_and_back_byte_for_byte():
    blocks = (
        b'{"type":"thinking","thinking":"Hm.","signature":"sig"},{"type":"redacted_thinking","data":"zz"},'
        b'{"type":"text","text":"I look.","citations":[{"type":"char_location","n":1}]},'
        b'{"type":"server_tool_use","id":"s1","name":"web_search","input":{ "q" : 1.0 }},'
        b'{"type":"web_search_tool_result","tool_use_id":"s1","content":[ ]},'
        b'{"type":"tool_use","id":"a","name":"clock","input":{"n": 10000000000000001, "x":1e2},"caller":{"type":"direct"}}'
    )
    content = b'[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[' + blocks + b"]}]"
    some = b'{"model":"m","max_tokens":9,"messages":' + content + b"}"
    request = read_request(some, provider="mill").request
    assert blocks in again(some)
    answer = request.messages[1]
    assert isinstance(answer, AssistantMessage)
    assert answer.provider == "mill"
    assert [type(part) for part in answer.parts] == [ReasoningPart, ReasoningPart, TextPart, ProviderItem, ProviderItem, ToolCallPart]
    assert answer.tool_calls[0].arguments == '{"n": 10000000000000001, "x":1e2}'
    assert answer.tool_calls[0].parsed == {"n": 10000000000000001, "x": 100.0}


def test_content_may_be_a_text_and_thinking_may_be_unsigned():
    request = read_request(body({"role": "user", "content": "hi"}, {"role": "assistant", "content": "Yes."})).request
    assert [message.text for message in request.messages] == ["hi", "Yes."]
    assert read({"type": "thinking", "thinking": "Hm.", "signature": ""}, role="assistant")[0].parts == (ReasoningPart("Hm."),)


def test_markers_of_a_cache_do_not_reach_a_server_of_another_protocol_and_that_is_said():
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": "direct"}, **MARK}
    incoming = read_request(
        body(
            {"role": "user", "content": [{"type": "text", "text": "hi", **MARK}]},
            {"role": "assistant", "content": [call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x", **MARK}], **MARK}],
            },
            system=[{"type": "text", "text": "Be brief.", **MARK}],
            tools=[{"name": "f", "input_schema": SCHEMA, **MARK}],
        )
    )
    request, left = incoming.request_for("openai-chat")
    assert b"cache_control" not in msgspec.json.encode(request)
    assert request.messages[2].tool_calls[0].provider_data == {"caller": {"type": "direct"}}
    places = [
        "tools[0]", "messages[0].parts[0]", "messages[1].parts[0]", "messages[2].parts[0]", "messages[3].parts[0].parts[0]",
        "messages[3].parts[0]",
    ]  # fmt: skip
    assert [warning.detail for warning in left] == [f"{place}.cache_control" for place in places]
    assert {warning.code for warning in left} == {"dropped_for_provider"}


def test_nothing_is_stamped():
    message = read({"type": "text", "text": "hi"})[0]
    assert (message.id, message.created_at) == (None, None)
    assert isinstance(read_request(body(system="Be brief.")).request.messages[0], SystemMessage)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (b"{", "body"),
        (b"{}", "model"),
        (b'{"model": "m"}', "messages"),
        (b'{"model": "m", "messages": []}', "messages"),
        (body("hi"), "messages[0]"),
        (body({"role": "king", "content": "hi"}), "messages[0].role"),
        (body({"role": "user", "content": 7}), "messages[0].content"),
        (body({"role": "user", "content": ["hi"]}), "messages[0].content[0]"),
        (body({"role": "user", "content": [{"type": "text"}]}), "messages[0].content[0].text"),
        (body({"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}), "messages[0].content[0].source.url"),
        (body({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}), "messages[0].content[0].tool_use_id"),
        (
            body({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": "x"}]}),
            "messages[0].content[0].input",
        ),
        (body({"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}), "messages[0].content[0].name"),
        (body(system=[{"type": "image", "source": {"type": "url", "url": "x"}}]), "system"),
        (body(temperature="hot"), "temperature"),
        (body(max_tokens=1.5), "max_tokens"),
        (body(tool_choice={"type": "some"}), "tool_choice.type"),
        (body(tools=[{"name": "f"}]), "tools[0].input_schema"),
        (body(thinking={"type": "enabled", "budget_tokens": "much"}), "thinking.budget_tokens"),
        (body(output_config={"format": {"type": "haiku"}}), "output_config.format.type"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(wrong, argument):
    with pytest.raises(UsageError) as caught:
        read_request(wrong)
    assert caught.value.argument == argument
    assert argument in str(caught.value)


KEYS = st.sampled_from(["role", "content", "type", "text", "input", "source", "tool_use_id", "name", "model", "system", "data", "thinking"])
WORDS = st.sampled_from(["user", "assistant", "text", "image", "tool_use", "tool_result", "thinking", "base64", "x"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | WORDS,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=5),
    )
)
def test_any_json_is_read_or_refused_with_a_place(value):
    blocks = {"model": "m", "messages": [{"role": "user", "content": [value]}, {"role": "assistant", "content": [value]}]}
    for content in (value, {"model": "m", "messages": value}, {"model": "m", "messages": [value]}, blocks):
        try:
            read_request(msgspec.json.encode(content))
        except UsageError as error:
            assert error.argument  # noqa: PT017 - most values are read, and none may raise anything else
