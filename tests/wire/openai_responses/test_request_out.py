"""Requests of the Responses protocol, compared with JSON that is written here after the format."""

from __future__ import annotations

import json

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
from headrace.providers.profiles import OPENAI
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.openai_responses.request_out import encode_request
from headrace.wire.profile import Profile

PROFILE = OPENAI.replace(provider="acme")
CLOCK = ToolSpec(name="clock", description="Tells the time.", parameters={"type": "object", "properties": {"zone": {"type": "string"}}})
USER = UserMessage("Go.")


def encoded(*messages, profile=PROFILE, cache=None, **fields):
    return encode_request(Request(model="m-1", messages=messages or (USER,), **fields), profile, cache=cache)


def body_of(*messages, **fields):
    return json.loads(encoded(*messages, **fields).body)


def items_of(*messages, **fields):
    return body_of(*messages, **fields)["input"]


def notes_of(*messages, **fields):
    request = encoded(*messages, **fields)
    assert {warning.code for warning in request.warnings} <= {"dropped_for_provider"}
    return [warning.detail for warning in request.warnings]


def own(*parts, **fields):
    return AssistantMessage(list(parts), provider="acme", **fields)


# --------------------------------------------------------------------------------------------- the body


def test_a_request_says_where_it_goes_and_what_it_wants_back():
    request = encoded()
    assert (request.path, request.warnings) == ("/responses", ())
    assert request.headers == (("content-type", "application/json"), ("accept", "text/event-stream"))
    assert json.loads(request.body) == {"model": "m-1", "input": [{"role": "user", "content": "Go."}], "stream": True}
    whole = encoded(is_streamed=False)
    assert (dict(whole.headers)["accept"], json.loads(whole.body)["stream"]) == ("application/json", False)


def test_instructions_that_begin_a_history_stand_by_themselves_and_later_ones_in_their_place():
    body = body_of(
        SystemMessage("Be kind."), SystemMessage(""), SystemMessage("Be short."), USER, SystemMessage("Hurry."), SystemMessage("")
    )
    assert body["instructions"] == "Be kind.\n\nBe short."
    assert body["input"] == [{"role": "user", "content": "Go."}, {"role": "system", "content": "Hurry."}]


def test_there_has_to_be_something_to_send():
    with pytest.raises(UsageError):
        encoded(SystemMessage("s"))
    extra = {"previous_response_id": "resp_1"}
    assert body_of(SystemMessage("s"), settings=Settings(extra_body=extra))["previous_response_id"] == "resp_1"


def test_the_settings_go_by_the_names_of_the_wire():
    settings = Settings(max_tokens=9, temperature=0.5, top_p=0.9, reasoning_effort="low", parallel_tool_calls=False, stop=(), n=1)
    body = body_of(settings=settings, tools=(CLOCK,))
    assert body["max_output_tokens"] == 9
    assert (body["temperature"], body["top_p"], body["reasoning"], body["parallel_tool_calls"]) == (0.5, 0.9, {"effort": "low"}, False)


def test_log_probabilities_are_asked_for_among_what_to_include():
    profile = PROFILE.replace(responses_body={"include": ["reasoning.encrypted_content"], "store": False})
    body = body_of(settings=Settings(logprobs=True, top_logprobs=3), profile=profile)
    assert body["include"] == ["reasoning.encrypted_content", "message.output_text.logprobs"]
    assert (body["top_logprobs"], body["store"], "logprobs" in body) == (3, False, False)
    assert "include" not in body_of(settings=Settings(logprobs=False))


def test_what_the_protocol_lacks_is_left_out_with_a_warning_or_refused():
    hints = Settings(seed=1, frequency_penalty=0.1, reasoning_effort="low", parallel_tool_calls=False)
    lacking = PROFILE.replace(unsupported_settings=("reasoning_effort", "parallel_tool_calls"))
    assert len(notes_of(settings=hints, profile=lacking, tools=(CLOCK,))) == 4
    assert notes_of(settings=Settings(parallel_tool_calls=True), profile=lacking, tools=(CLOCK,)) == []
    for settings in (Settings(stop=("x",)), Settings(n=2), Settings(modalities=("audio",))):
        with pytest.raises(UnsupportedError):
            encoded(settings=settings)
    with pytest.raises(UnsupportedError):
        encoded(settings=Settings(logprobs=True), profile=PROFILE.replace(unsupported_settings=("logprobs",)))


def test_the_callers_own_members_are_laid_over_the_body_last():
    body = body_of(settings=Settings(temperature=0.5, extra_body={"temperature": None, "store": False, "stream": "x"}))
    assert ("temperature" in body, body["store"], body["stream"]) == (False, False, "x")


def test_an_output_format_is_a_format_of_the_text():
    schema = {"type": "object", "properties": {}}
    assert body_of(output=OutputFormat(name="a", schema=schema))["text"] == {
        "format": {"type": "json_schema", "name": "a", "schema": schema, "strict": True}
    }
    assert body_of(output=OutputFormat())["text"] == {"format": {"type": "json_object"}}
    with pytest.raises(UnsupportedError):
        encoded(output=OutputFormat(schema=schema), profile=PROFILE.replace(output_formats=("json_object",)))


# --------------------------------------------------------------------------------------------- tools


def test_tools_are_flat_and_never_strict_by_accident():
    tools = (CLOCK, ToolSpec(name="now", is_strict=True), ToolSpec(name="sql", kind="custom", provider_data={"format": {"type": "text"}}))
    assert body_of(tools=tools)["tools"] == [
        {"type": "function", "name": "clock", "description": "Tells the time.", "parameters": CLOCK.parameters, "strict": False},
        {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}, "strict": True},
        {"type": "custom", "name": "sql", "format": {"type": "text"}},
    ]
    assert "strict" not in body_of(tools=(CLOCK,), profile=Profile())["tools"][0]
    assert len(notes_of(tools=tools[1:2], profile=Profile())) == 1
    with pytest.raises(UnsupportedError):
        encoded(tools=tools[2:], profile=Profile())


def test_a_tool_of_the_providers_own_is_declared_by_its_data_alone():
    search = ToolSpec(name="web", provider_data={"type": "web_search", "search_context_size": "low"})
    body = body_of(tools=(search,), tool_choice=NamedTool("web"))
    assert body["tools"] == [{"type": "web_search", "search_context_size": "low"}]
    assert body["tool_choice"] == {"type": "web_search"}


def test_a_choice_is_never_weakened():
    sql = ToolSpec(name="sql", kind="custom")
    assert "tool_choice" not in body_of(tools=(CLOCK,))
    assert "tools" not in body_of(tool_choice="none")
    assert body_of(tools=(CLOCK,), tool_choice="none")["tool_choice"] == "none"
    assert body_of(tools=(CLOCK,), tool_choice="required")["tool_choice"] == "required"
    assert body_of(tools=(CLOCK, sql), tool_choice=NamedTool("sql"))["tool_choice"] == {"type": "custom", "name": "sql"}
    few = PROFILE.replace(tool_choices=("auto", "required"))
    assert "tools" not in body_of(tools=(CLOCK,), tool_choice="none", profile=few)
    body = body_of(tools=(CLOCK, sql), tool_choice=NamedTool("clock"), profile=few)
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (["clock"], "required")


def test_a_choice_that_cannot_be_said_is_an_error():
    auto = PROFILE.replace(tool_choices=("auto",))
    for choice, tools, profile, error in (
        ("required", (), PROFILE, UsageError),
        (NamedTool("nobody"), (CLOCK,), PROFILE, UsageError),
        ("required", (CLOCK,), auto, UnsupportedError),
        (NamedTool("clock"), (CLOCK,), auto, UnsupportedError),
    ):
        with pytest.raises(error):
            encoded(tools=tools, tool_choice=choice, profile=profile)


# --------------------------------------------------------------------------------------------- what a user says


def test_media_of_a_user_are_content_parts():
    parts = [
        "Look: ",
        MediaPart(kind="image", url="https://example.test/a.png", provider_data={"detail": "low"}),
        MediaPart(kind="image", data=b"\x89PNG", name="x"),
        MediaPart(kind="image", file_id="file_1"),
        MediaPart(kind="document", url="https://example.test/a.pdf"),
        MediaPart(kind="document", data=b"%PDF", name="a.pdf"),
        MediaPart(kind="document", file_id="file_2"),
        MediaPart(kind="audio", data=b"RIFF", media_type="audio/wav"),
        OpaquePart({"type": "input_odd", "x": 1}),
        JsonPart({"a": 1}),
    ]
    assert items_of(UserMessage(parts)) == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look: "},
                {"type": "input_image", "image_url": "https://example.test/a.png", "detail": "low"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
                {"type": "input_image", "file_id": "file_1"},
                {"type": "input_file", "file_url": "https://example.test/a.pdf"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
                {"type": "input_file", "file_id": "file_2"},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {"type": "input_odd", "x": 1},
                {"type": "input_text", "text": '{"a":1}'},
            ],
        }
    ]


def test_what_a_user_says_that_has_no_place_is_left_out_and_said():
    message = UserMessage(["Hi", MediaPart(kind="video", data=b"x"), MediaPart(kind="audio", url="https://example.test/a")], name="Ann")
    assert len(notes_of(message)) == 3
    assert items_of(message) == [{"role": "user", "content": "Hi"}]
    assert len(notes_of(UserMessage([MediaPart(kind="image", file_id="f")]), profile=Profile(supports_images=False))) == 1


def test_an_item_that_the_caller_wrote_stands_by_itself():
    approval = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert items_of(UserMessage([OpaquePart(approval)])) == [approval]
    assert items_of(UserMessage(["Yes.", OpaquePart(approval)])) == [{"role": "user", "content": "Yes."}, approval]


# --------------------------------------------------------------------------------------------- what an assistant said

ROUND = own(
    ReasoningPart("First.", encrypted="gAAA=", provider_data={"id": "rs_1"}),
    ReasoningPart("Second.", provider_data={"id": "rs_1"}),
    ToolCallPart(id="call_1", name="clock", arguments='{"zone": "UTC"}', provider_data={"id": "fc_1", "namespace": "n"}),
)
CALL_ITEM = {
    "type": "function_call", "id": "fc_1", "namespace": "n", "call_id": "call_1", "name": "clock", "arguments": '{"zone": "UTC"}',
}  # fmt: skip


def test_thinking_goes_back_as_the_item_that_it_was_directly_before_its_call():
    assert items_of(USER, ROUND, ToolMessage("12:00", call_id="call_1"))[1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Second."}],
            "encrypted_content": "gAAA=",
        },
        CALL_ITEM,
        {"type": "function_call_output", "call_id": "call_1", "output": "12:00"},
    ]


def test_raw_thinking_goes_back_as_content_and_thinking_without_id_item_by_item():
    raw = ReasoningPart("hm", provider_data={"id": "rs_1", "field": "content"})
    assert items_of(USER, own(raw, TextPart("x")))[1] == {
        "type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}],
    }  # fmt: skip
    nameless = own(ReasoningPart("a", encrypted="1"), ReasoningPart("b", encrypted="2"), TextPart("x"))
    assert [item.get("encrypted_content") for item in items_of(USER, nameless)[1:]] == ["1", "2", None]
    empty = AssistantMessage([ReasoningPart(), TextPart("x")], provider="other")
    assert (notes_of(USER, empty), len(items_of(USER, empty))) == ([], 2)


def test_a_server_that_stores_nothing_gets_only_thinking_that_it_can_read():
    bare = own(ReasoningPart("a", provider_data={"id": "r"}), ReasoningPart("b", provider_data={"id": "r"}), TextPart("x"))
    stored = [item["type"] for item in items_of(USER, bare)[1:]]
    assert stored == ["reasoning", "message"]
    unstored = Settings(extra_body={"store": False})
    cache = EncodingCache()
    assert [item["type"] for item in items_of(USER, bare, settings=unstored, cache=cache)[1:]] == ["message"]
    assert [item["type"] for item in items_of(USER, bare, cache=cache)[1:]] == stored
    assert items_of(USER, ROUND, settings=unstored)[1]["encrypted_content"] == "gAAA="


def test_thinking_that_led_to_nothing_is_not_sent():
    assert items_of(USER, own(ReasoningPart("a", encrypted="x", provider_data={"id": "r"})), UserMessage("?")) == [
        {"role": "user", "content": "Go."},
        {"role": "user", "content": "?"},
    ]


def test_messages_go_back_under_their_ids_with_their_phase_and_citations():
    message = own(
        TextPart("Let me see.", provider_data={"id": "m1", "phase": "commentary"}),
        TextPart("4", citations=({"n": 1},), provider_data={"id": "m2", "phase": "final_answer"}),
        TextPart("2", provider_data={"id": "m2"}),
        RefusalPart("No.", provider_data={"id": "m2"}),
        TextPart("", provider_data={"id": "m3"}),
        JsonPart([1]),
    )
    head = {"type": "message", "role": "assistant", "status": "completed"}
    assert items_of(USER, message)[1:] == [
        {**head, "id": "m1", "phase": "commentary", "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}]},
        {
            **head,
            "id": "m2",
            "phase": "final_answer",
            "content": [
                {"type": "output_text", "text": "4", "annotations": [{"n": 1}]},
                {"type": "output_text", "text": "2", "annotations": []},
                {"type": "refusal", "refusal": "No."},
                {"type": "output_text", "text": "[1]", "annotations": []},
            ],
        },
    ]
    plain = items_of(USER, own(RefusalPart("No.")), profile=Profile(provider="acme"))[1]
    assert plain["content"] == [{"type": "output_text", "text": "No.", "annotations": []}]


def test_what_the_provider_ran_itself_goes_back_as_it_came():
    call = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search"}}
    output = {"type": "shell_call_output", "id": "o", "output": []}
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    raw = b'{"type":"compaction",  "id":"c", "n":1.50}'
    message = own(
        ProviderToolPart(name="web_search", provider_data={"item": call}),
        ProviderToolPart(name="shell", provider_data={"item": {"type": "shell_call"}, "output_item": output}),
        ProviderToolPart(name="image_generation", provider_data={"item": image}),
        MediaPart(kind="image", data=b"\x01", provider_data={"id": "ig_1"}),
        ProviderItem(provider="acme", protocol="openai-responses", raw=raw),
        OpaquePart({"type": "output_odd", "x": 1}),
    )
    request = encoded(USER, message)
    assert (request.warnings, raw in request.body) == ((), True)
    assert json.loads(request.body)["input"][1:] == [
        call,
        {"type": "shell_call"},
        output,
        {**image, "result": "AQ=="},
        json.loads(raw),
        {"type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_odd", "x": 1}]},
    ]


def test_what_came_from_another_provider_is_said_in_words_or_left_out_with_a_warning():
    message = AssistantMessage(
        [
            ReasoningPart("t", signature="s"),
            TextPart("Hi", citations=({"n": 1},), provider_data={"id": "m1"}),
            ProviderToolPart(name="web_search", provider_data={"item": {"type": "x"}}),
            ProviderItem(provider="other", protocol="openai-responses", raw=b"{}"),
            ProviderItem(provider="acme", protocol="openai-chat", raw=b"{}"),
            ProviderItem(provider="acme", protocol="openai-responses", raw=b"[]"),
            ProviderItem(provider="acme", protocol="openai-responses", raw=b"{"),
            MediaPart(kind="image", data=b"x"),
            OpaquePart({"type": "odd"}),
            ToolCallPart(id="c", name="clock", provider_data={"id": "toolu"}),
            ToolCallPart(id="p", name="shell_call", kind="provider", arguments={"commands": ["ls"]}),
        ],
        provider="other",
        name="Bo",
    )
    assert len(notes_of(USER, message)) == 10
    assert items_of(USER, message)[1:-2] == [
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"},
        {"type": "function_call", "call_id": "p", "name": "shell_call", "arguments": '{"commands":["ls"]}'},
    ]


def test_a_server_that_wants_no_foreign_members_gets_none():
    profile = PROFILE.replace(sends_provider_data=False)
    assert "id" not in items_of(USER, ROUND, profile=profile)[2]


# --------------------------------------------------------------------------------------------- calls and results


def test_every_call_has_one_result_and_every_id_is_used_once():
    first = own(ToolCallPart(id="call_0", name="clock", provider_data={"id": "fc_a"}))
    second = own(ToolCallPart(id="call_0", name="clock", provider_data={"id": "fc_b"}))
    items = items_of(USER, first, ToolMessage("1", call_id="call_0"), second)
    assert [(item["type"], item["call_id"], item.get("id")) for item in items[1:]] == [
        ("function_call", "call_0", "fc_a"),
        ("function_call_output", "call_0", None),
        ("function_call", "call_0_2", None),
        ("function_call_output", "call_0_2", None),
    ]
    assert items[-1]["output"].startswith("Not run")
    assert len(notes_of(USER, ToolMessage("1", call_id="nobody"))) == 1


def test_arguments_that_are_none_go_back_inside_of_an_object():
    message = own(ToolCallPart(id="c", name="clock", arguments='{"zone":'))
    assert items_of(USER, message)[1]["arguments"] == '{"_invalid_arguments":"{\\"zone\\":"}'
    assert items_of(USER, own(ToolCallPart(id="c", name="a tool", arguments="{}")))[1]["name"] == "a_tool"
    assert len(notes_of(USER, own(ToolCallPart(id="c", name="a tool", arguments="{}")))) == 1


def test_a_custom_call_goes_as_one_where_there_are_such():
    message = own(ToolCallPart(id="c", name="sql", kind="custom", arguments="select 1", provider_data={"id": "ct_1"}))
    result = ToolMessage("1", call_id="c")
    assert items_of(USER, message, result)[1:] == [
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
    ]
    plain = items_of(USER, message, result, profile=Profile(provider="acme"))[1:]
    assert [item["type"] for item in plain] == ["function_call", "function_call_output"]
    assert plain[0]["arguments"] == '{"input":"select 1"}'


def test_results_may_hold_media_and_say_how_they_ended():
    def output(parts, state="success"):
        result = ToolMessage([ToolResultPart(call_id="call_1", parts=parts, state=state)])
        return items_of(USER, ROUND, result)[-1]["output"]

    assert output(["It is ", JsonPart({"a": 1})]) == 'It is \n{"a":1}'
    assert output(["boom"], "error") == "Error: boom"
    assert output([], "denied").startswith("Denied")
    assert output(["See", MediaPart(kind="image", data=b"\x89PNG")], "error") == [
        {"type": "input_text", "text": "Error: See"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
    ]
    assert output([MediaPart(kind="video", data=b"x")]) == "[video, which could not be passed on]"
    assert output([ProviderItem(provider="x", protocol="y", raw=b"{}")]) == ""


def call_of(kind, arguments, **data):
    return own(ToolCallPart(id="c", name=kind, kind="provider", arguments=arguments, provider_data={"id": "it_1", **data}))


PNG = MediaPart(kind="image", data=b"\x89PNG")
OUTPUTS = [
    ("shell_call", ["hi"], "success", {"output": [{"stdout": "hi", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}),
    ("shell_call", ["no"], "error", {"output": [{"stdout": "", "stderr": "Error: no", "outcome": {"type": "exit", "exit_code": 1}}]}),
    ("shell_call", [], "timed_out", {"output": [{"stdout": "", "stderr": "Timed out: the tool took too long.", "outcome": {"type": "timeout"}}]}),
    ("shell_call", [JsonPart([{"stdout": "x"}])], "success", {"output": [{"stdout": "x"}]}),
    ("shell_call", [JsonPart({"stdout": "x"})], "success", {"output": [{"stdout": "x"}]}),
    ("shell_call", [JsonPart({"output": [1]})], "success", {"output": [1]}),
    ("local_shell_call", ["a", JsonPart(1)], "success", {"output": "a1"}),
    ("apply_patch_call", ["done"], "success", {"status": "completed", "output": "done"}),
    ("apply_patch_call", ["no"], "error", {"status": "failed", "output": "Error: no"}),
    ("tool_search_call", [JsonPart({"tools": [{"name": "f"}]})], "success",
     {"execution": "client", "status": "completed", "tools": [{"name": "f"}]}),
    ("computer_call", [PNG], "success", {"output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw=="}}),
    ("computer_call", [MediaPart(kind="image", url="https://example.test/a")], "success",
     {"output": {"type": "computer_screenshot", "image_url": "https://example.test/a"}}),
    ("computer_call", [MediaPart(kind="image", file_id="f")], "success", {"output": {"type": "computer_screenshot", "file_id": "f"}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parts", "state", "expected"), OUTPUTS)
def test_a_tool_that_the_provider_defines_is_answered_by_its_own_item(kind, parts, state, expected):
    result = ToolMessage([ToolResultPart(call_id="c", parts=parts, state=state)])
    output = items_of(USER, call_of(kind, {"x": 1}), result)[-1]
    word = "tool_search_output" if kind == "tool_search_call" else f"{kind}_output"
    assert output == {"type": word, "call_id": "c", **expected}


def test_the_action_of_a_call_goes_back_in_the_field_of_its_kind():
    def item(message):
        return items_of(USER, message)[1]

    head = {"id": "it_1", "call_id": "c", "status": "completed"}
    assert item(call_of("shell_call", {"commands": ["ls"]})) == {"type": "shell_call", **head, "action": {"commands": ["ls"]}}
    assert item(call_of("apply_patch_call", {"path": "a"})) == {"type": "apply_patch_call", **head, "operation": {"path": "a"}}
    assert item(call_of("computer_call", {"type": "click"}))["action"] == {"type": "click"}
    assert item(call_of("computer_call", {"actions": [1]}))["actions"] == [1]
    broken = own(ToolCallPart(id="c", name="shell_call", kind="provider", arguments="{"))
    assert item(broken)["type"] == "function_call"


def test_what_an_output_has_no_place_for_is_said():
    assert len(notes_of(USER, call_of("shell_call", {}), ToolMessage([PNG], call_id="c"))) == 1
    assert len(notes_of(USER, call_of("computer_call", {}), ToolMessage("text", call_id="c"))) == 1
    assert len(notes_of(USER, call_of("tool_search_call", {}), ToolMessage("text", call_id="c"))) == 1
    checks = ToolMessage([ToolResultPart(call_id="c", parts=[PNG], metadata={"acknowledged_safety_checks": [1], "mine": 2})])
    output = items_of(USER, call_of("computer_call", {}), checks)[-1]
    assert (output["acknowledged_safety_checks"], "mine" in output) == ([1], False)


# --------------------------------------------------------------------------------------------- cost


def test_each_message_is_encoded_once_and_the_bytes_are_the_same():
    cache = EncodingCache()
    history = (SystemMessage("s"), USER, ROUND, ToolMessage("12:00", call_id="call_1"), UserMessage("And now?"))
    first = encoded(*history, tools=(CLOCK,), cache=cache)
    misses = cache.misses
    assert encoded(*history, tools=(CLOCK,), cache=cache).body == first.body == encoded(*history, tools=(CLOCK,)).body
    assert cache.misses == misses
    encoded(*history, UserMessage("!"), tools=(CLOCK,), cache=cache)
    assert cache.misses == misses + 1
