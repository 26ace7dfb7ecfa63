"""A client's request of Chat Completions: what we write we read, what others write becomes neutral words, what is wrong is said with its place."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_histories import HISTORIES, PROFILES
from headrace.errors import UsageError
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.wire.openai_chat.request_in import read_request
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}}
TOOLS = st.lists(
    st.builds(
        ToolSpec,
        name=st.sampled_from(["clock", "look_up"]),
        description=st.sampled_from(["", "Tells the time."]),
        parameters=st.sampled_from([{}, SCHEMA]),
        provider_data=st.sampled_from([{}, {"cache_control": {"type": "ephemeral"}}]),
    ),
    min_size=1,
    max_size=2,
)
SETTINGS = st.builds(
    Settings,
    max_tokens=st.sampled_from([None, 1, 500]),
    temperature=st.sampled_from([None, 0.0, 1, 0.7]),
    top_p=st.sampled_from([None, 0.5]),
    seed=st.sampled_from([None, 7]),
    stop=st.sampled_from([None, (), ("\n", "END")]),
    n=st.sampled_from([None, 1, 3]),
    reasoning_effort=st.sampled_from([None, "none", "high"]),
    parallel_tool_calls=st.sampled_from([None, True, False]),
    logprobs=st.sampled_from([None, True]),
    top_logprobs=st.sampled_from([None, 2]),
    modalities=st.sampled_from([None, ("text", "audio")]),
    extra_body=st.sampled_from([{}, {"user": "ann", "logit_bias": {"5": 1}}, {"reasoning_effort": "extreme"}]),
)
OUTPUTS = st.sampled_from([None, OutputFormat(), OutputFormat(schema=SCHEMA), OutputFormat(name="x", schema={}, is_strict=False)])


def body(**fields):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}).encode()


def again(encoded, profile=DEFAULT):
    """The body that is written of what was read of a body."""
    return encode_request(read_request(encoded.body).request_for("openai-chat")[0], profile)


@given(HISTORIES, PROFILES)
def test_a_history_that_we_wrote_is_written_again_as_the_same_bytes(messages, profile):
    if profile.needs_assistant_after_tool:  # the message that bridges the gap has no thinking; read again, it is one like the others
        profile = profile.replace(reasoning_filler=None)
    try:
        first = encode_request(Request(model="m", messages=tuple(messages)), profile)
    except UsageError:
        return
    # The marks that a profile puts into texts are there already.
    tags = profile.reasoning_style == "think_tags"
    assert again(first, profile.replace(reasoning_style="none") if tags else profile).body == first.body


@given(TOOLS, st.sampled_from(["auto", "none", "required", "named"]), SETTINGS, OUTPUTS, st.booleans())
def test_tools_settings_and_output_that_we_wrote_are_written_again_as_the_same_bytes(tools, choice, settings, output, is_streamed):
    choice = NamedTool(tools[0].name) if choice == "named" else choice
    messages = read_request(body()).request.messages
    request = Request(
        model="m", messages=messages, tools=tools, tool_choice=choice, output=output, settings=settings, is_streamed=is_streamed
    )
    first = encode_request(request)
    incoming = read_request(first.body)
    assert again(first).body == first.body
    assert incoming.request.is_streamed == is_streamed
    assert incoming.options.includes_usage == is_streamed
    assert [tool.name for tool in incoming.request.tools] == [tool.name for tool in tools]


def test_what_every_client_asks_for_has_a_neutral_word():
    incoming = read_request(
        body(
            stream=True,
            stream_options={"include_usage": True, "include_obfuscation": False},
            max_completion_tokens=9,
            stop="END",
            temperature=1,
            user="ann",
            tools=[{"type": "function", "function": {"name": "clock", "parameters": SCHEMA, "strict": True}}],
            tool_choice={"type": "function", "function": {"name": "clock"}},
            response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}},
        )
    )
    request = incoming.request
    assert request.settings == Settings(max_tokens=9, stop=("END",), temperature=1.0)
    assert request.tools == (ToolSpec(name="clock", parameters=SCHEMA, is_strict=True),)
    assert request.tool_choice == NamedTool("clock")
    assert request.output == OutputFormat(name="a", schema=SCHEMA)
    assert incoming.options.includes_usage
    assert incoming.extra == {"user": "ann"}
    assert incoming.request_for("openai-chat")[0].settings.extra_body == {"user": "ann"}


def test_usage_is_given_only_to_who_asks_for_it():
    assert not read_request(body(stream=True)).options.includes_usage
    assert not read_request(body(stream=True, stream_options={"include_usage": False})).options.includes_usage


def test_of_two_bounds_the_smaller_holds():
    assert read_request(body(max_tokens=5, max_completion_tokens=9)).request.settings.max_tokens == 5


def test_members_without_a_neutral_word_are_kept_for_a_server_of_the_same_protocol():
    search = [{"type": "web_search", "filters": {}}, {"type": "function", "function": {"name": "clock"}}]
    incoming = read_request(
        body(
            tools=search,
            reasoning_effort="extreme",
            tool_choice={"type": "web_search"},
            stream_options={"include_usage": False, "novel": 1},
            response_format={"type": "json_schema", "json_schema": {"name": "a", "description": "b", "schema": SCHEMA}},
        )
    )
    assert [tool.name for tool in incoming.request.tools] == ["clock"]
    assert incoming.extra == {
        "tools": search,
        "reasoning_effort": "extreme",
        "tool_choice": {"type": "web_search"},
        "stream_options": {"include_usage": True, "novel": 1},
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "description": "b", "schema": SCHEMA}},
    }
    sent = json.loads(encode_request(incoming.request_for("openai-chat")[0]).body)
    assert {name: sent[name] for name in incoming.extra} == incoming.extra


def test_a_choice_among_some_tools_offers_only_those():
    functions = [{"type": "function", "function": {"name": name}} for name in ("a", "b", "c")]
    allowed = {"mode": "required", "tools": functions[:2]}
    request = read_request(body(tools=functions, tool_choice={"type": "allowed_tools", "allowed_tools": allowed})).request
    assert [tool.name for tool in request.tools] == ["a", "b"]
    assert request.tool_choice == "required"


def test_the_address_names_the_model_where_the_body_does_not():
    anonymous = b'{"messages": [{"role": "user", "content": "hi"}]}'
    assert read_request(anonymous, model="m", is_streamed=True).request.model == "m"
    assert read_request(anonymous, model="m", is_streamed=True).request.is_streamed
    assert not read_request(body(stream=False), is_streamed=True).request.is_streamed


def test_assistant_messages_get_the_provider_that_is_known_to_have_made_them():
    talk = body(messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert read_request(talk, provider="mill").request.messages[1].provider == "mill"
    assert read_request(talk).request.messages[1].provider is None


def test_nothing_is_stamped():
    message = read_request(body()).request.messages[0]
    assert (message.id, message.created_at) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (b"{", "body"),
        (b"[]", "body"),
        (b"{}", "model"),
        (b'{"model": "m"}', "messages"),
        (body(messages=[]), "messages"),
        (body(messages={"role": "user"}), "messages"),
        (body(messages=["hi"]), "messages[0]"),
        (body(messages=[{"content": "hi"}]), "messages[0].role"),
        (body(messages=[{"role": "king", "content": "hi"}]), "messages[0].role"),
        (body(messages=[{"role": "user", "content": 7}]), "messages[0].content"),
        (body(messages=[{"role": "user", "content": [{"text": "hi"}]}]), "messages[0].content[0].type"),
        (body(messages=[{"role": "user", "content": [{"type": "text"}]}]), "messages[0].content[0].text"),
        (body(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]), "messages[0].content[0].image_url.url"),
        (body(messages=[{"role": "user", "content": [{"type": "file", "file": {}}]}]), "messages[0].content[0].file"),
        (body(messages=[{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]), "messages[0].content[0]"),
        (body(messages=[{"role": "tool", "content": "12"}]), "messages[0].tool_call_id"),
        (body(messages=[{"role": "assistant", "tool_calls": [{"id": "a", "type": "riddle"}]}]), "messages[0].tool_calls[0].type"),
        (
            body(messages=[{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"arguments": "{}"}}]}]),
            "messages[0].tool_calls[0].function.name",
        ),
        (body(messages=[{"role": "assistant", "function_call": {"name": "f"}}]), "messages[0].function_call"),
        (body(functions=[{"name": "f"}]), "functions"),
        (body(temperature="hot"), "temperature"),
        (body(seed=1.5), "seed"),
        (body(temperature=10**400), "temperature"),
        (body(stop=[1]), "stop[0]"),
        (body(stream="yes"), "stream"),
        (body(tool_choice="maybe"), "tool_choice"),
        (body(tools=[{"type": "function", "function": {}}]), "tools[0].function.name"),
        (body(tools=[{"type": "function", "function": {"name": "f", "parameters": []}}]), "tools[0].function.parameters"),
        (body(response_format={"type": "haiku"}), "response_format.type"),
        (b'{"model": "m", "messages": ' + b"[" * 300 + b"]" * 300 + b"}", "body"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}', "body"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(wrong, argument):
    with pytest.raises(UsageError) as caught:
        read_request(wrong)
    assert caught.value.argument == argument
    assert argument in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["role", "content", "type", "text", "tool_calls", "function", "name", "messages", "model", "user"]),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_any_json_is_read_or_refused_with_a_place(value):
    for content in (value, {"model": "m", "messages": value}, {"model": "m", "messages": [value]}):
        try:
            read_request(msgspec.json.encode(content))
        except UsageError as error:
            assert error.argument  # noqa: PT017 - most values are read, and none may raise anything else
