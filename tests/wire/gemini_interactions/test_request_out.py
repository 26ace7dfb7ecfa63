import json

import pytest
from hypothesis import given

from gemini_bytes import FOUND, INTERACTIONS, SEARCH
from gemini_histories import HISTORIES
from headrace.decoding import decode_stream
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers import profiles
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.gemini_interactions.request_out import encode_request
from headrace.wire.profile import DEFAULT

OWN = profiles.INTERACTIONS.replace(provider="acme")
TOOLS = (
    ToolSpec(name="f", description="does f", is_strict=True, parameters={"type": "object"}, provider_data={"defer_loading": True}),
    ToolSpec(name="g"),
)


def body(*messages, profile=OWN, **fields):
    encoded = encode_request(Request(model="m", messages=messages or (UserMessage("hi"),), **fields), profile)
    return json.loads(encoded.body), [warning.detail for warning in encoded.warnings]


def test_a_whole_request_is_these_bytes():
    request = Request(
        model="m",
        messages=(
            SystemMessage("Be brief."),
            UserMessage("What time is it?"),
            AssistantMessage(["Looking.", ToolCallPart(id="c1", name="clock", arguments='{"city": "Oslo"}')]),
            ToolMessage("12:00", call_id="c1"),
        ),
        tools=(ToolSpec(name="clock", parameters={"type": "object"}),),
        settings=Settings(max_tokens=50),
    )
    encoded = encode_request(request, OWN)
    assert encoded.path == "/interactions"
    assert encoded.body == (
        b'{"model":"m","system_instruction":"Be brief.","input":[{"type":"user_input","content":[{"type":"text","text":"What time is it?"}]},'
        b'{"type":"model_output","content":[{"type":"text","text":"Looking."}]},'
        b'{"type":"function_call","id":"c1","name":"clock","arguments":{"city": "Oslo"}},'
        b'{"type":"function_result","call_id":"c1","name":"clock","result":"12:00"}],'
        b'"tools":[{"type":"function","name":"clock","parameters":{"type":"object"}}],'
        b'"generation_config":{"max_output_tokens":50},"stream":true,"store":false}'
    )
    assert encoded.headers == (("content-type", "application/json"), ("accept", "text/event-stream"), ("api-revision", "2026-05-20"))
    assert encoded.warnings == ()


def test_a_request_for_one_whole_answer_says_so_and_the_callers_own_members_win():
    encoded = encode_request(
        Request(model="m", messages=(UserMessage("hi"),), is_streamed=False, settings=Settings(extra_body={"store": True}))
    )
    assert ("accept", "application/json") in encoded.headers
    assert json.loads(encoded.body)["store"] is True


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("auto", None), ("none", "none"), ("required", "any"), (NamedTool("g"), {"allowed_tools": {"mode": "any", "tools": ["g"]}})],
)
def test_a_choice_of_tools_is_said(choice, expected):
    found, warnings = body(tools=TOOLS, tool_choice=choice, settings=Settings(parallel_tool_calls=False))
    assert found.get("generation_config", {}).get("tool_choice") == expected
    assert found["tools"] == [
        {"type": "function", "name": "f", "description": "does f", "parameters": {"type": "object"}, "defer_loading": True},
        {"type": "function", "name": "g"},
    ]
    assert warnings == [
        "tool f: this provider does not promise strict arguments",
        "settings.parallel_tool_calls: this provider cannot be told",
    ]


def test_a_server_without_a_word_for_none_gets_no_tools():
    assert "tools" not in body(profile=DEFAULT.replace(tool_choices=()), tools=TOOLS, tool_choice="none")[0]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"tool_choice": "required"}, UsageError),
        ({"tool_choice": NamedTool("x"), "tools": TOOLS}, UsageError),
        ({"tool_choice": "required", "tools": TOOLS, "profile": DEFAULT.replace(tool_choices=())}, UnsupportedError),
        ({"tool_choice": NamedTool("f"), "tools": TOOLS, "profile": DEFAULT.replace(tool_choices=())}, UnsupportedError),
        ({"tools": (ToolSpec(name="f", kind="custom"),)}, UnsupportedError),
        ({"output": OutputFormat(), "profile": DEFAULT.replace(output_formats=())}, UnsupportedError),
        ({"settings": Settings(n=2)}, UnsupportedError),
    ],
)
def test_what_cannot_be_left_out_unnoticed_is_an_error(fields, error):
    with pytest.raises(error):
        body(**fields)


def test_each_tool_is_encoded_once():
    cache = EncodingCache()
    request = Request(model="m", messages=(UserMessage("hi"),), tools=TOOLS)
    assert [encode_request(request, OWN, cache=cache) for _ in range(2)] == [encode_request(request, OWN)] * 2
    assert cache.misses == 3


def test_how_to_answer():
    found, _ = body(
        output=OutputFormat(schema={"type": "object"}), settings=Settings(reasoning_effort="low", stop=("x",), modalities=("text", "image"))
    )
    assert found["generation_config"] == {"stop_sequences": ["x"], "thinking_level": "low", "thinking_summaries": "auto"}
    assert found["response_format"] == {"type": "text", "mime_type": "application/json", "schema": {"type": "object"}}
    assert found["response_modalities"] == ["text", "image"]


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        (
            "text",
            [
                {"type": "thought", "signature": "U2ln", "summary": [{"type": "text", "text": "Let me see."}]},
                {"type": "model_output", "content": [{"type": "text", "text": "Two mills."}]},
            ],
        ),
        (
            "calls",
            [
                {"type": "function_call", "id": "f1", "name": "clock", "arguments": {"city": "Oslo"}},
                {"type": "function_call", "id": "f2", "name": "clock", "arguments": {}},
                {"type": "function_result", "call_id": "f1", "name": "clock", "result": "result 0"},
                {"type": "function_result", "call_id": "f2", "name": "clock", "result": "result 1"},
            ],
        ),
        (
            "search",
            [
                {**SEARCH, "signature": ""},
                FOUND,
                {
                    "type": "model_output",
                    "content": [
                        {
                            "type": "text",
                            "text": "Found.",
                            "annotations": [{"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 5}],
                        }
                    ],
                },
            ],
        ),
        (
            "media",
            [
                {
                    "type": "model_output",
                    "content": [
                        {"type": "text", "text": "Look: "},
                        {"type": "image", "data": "aWNvbg==", "mime_type": "image/png"},
                        {"type": "image", "uri": "https://x/y.png"},
                        {"type": "audio", "data": "AAECAAEC", "mime_type": "audio/l16"},
                        {"type": "text", "text": "heard?"},
                    ],
                }
            ],
        ),
        ("odd", [{"type": "new_step", "x": 1, "y": [2]}, {"type": "model_output", "content": [{"type": "text", "text": "b"}]}]),
    ],
)
def test_what_came_goes_back(name, steps):
    message = decode_stream(INTERACTIONS[name], protocol="gemini-interactions", provider="acme").message
    results = [ToolMessage(f"result {n}", call_id=call.id) for n, call in enumerate(message.tool_calls)]
    found, warnings = body(UserMessage("q"), message, *results)
    assert (found["input"][1:], warnings) == (steps, [])


@given(HISTORIES)
def test_whatever_the_history_every_call_has_its_result_and_a_cache_changes_nothing(history):
    request, cache = Request(model="m", messages=tuple(history)), EncodingCache()
    try:
        encoded = encode_request(request, OWN, cache=cache)
    except UsageError as error:
        if error.argument != "messages":
            raise
        return
    assert encode_request(request, OWN, cache=cache) == encoded == encode_request(request, OWN)
    waiting, seen = [], set()
    for step in json.loads(encoded.body)["input"]:
        if step["type"] == "function_call":
            assert step["id"] not in seen
            assert isinstance(step["arguments"], dict)
            seen.add(step["id"])
            waiting.append(step["id"])
        elif step["type"] == "function_result":
            assert step["call_id"] == waiting.pop(0)
        else:
            assert step["type"] != "user_input" or not waiting
    assert not waiting
