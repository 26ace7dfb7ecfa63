"""What a Responses stream becomes; each body is written here after the format."""

from __future__ import annotations

import json

import pytest

from decoding_runs import check_result, decoded
from headrace.messages.message import AssistantMessage
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
    make,
)
from headrace.messages.usage import Usage
from responses_bytes import (
    SAMPLES,
    USAGE,
    added,
    call,
    call_item,
    done,
    ended,
    event,
    message,
    message_item,
    pieces,
    reasoning,
    reasoning_item,
    started,
)


def result_of(*pieces_of_body, **options):
    chunks, result = decoded(b"".join(pieces_of_body), protocol="openai-responses", **options)
    check_result(chunks, result)
    return result


def message_of(*pieces_of_body, **options):
    result = result_of(*pieces_of_body, **options)
    assert result.error is None
    return result.message


def calls_of(*pieces_of_body):
    return [(call.id, call.name, call.arguments, call.runnable) for call in message_of(*pieces_of_body).tool_calls]


def codes(value):
    return [warning.code for warning in value.warnings]


# --------------------------------------------------------------------------------------------- text


def test_a_text_is_its_pieces_and_every_repetition_adds_nothing():
    body = [started(), message(0, "Hel", "lo"), ended(output=[message_item("Hello")])]
    got = message_of(*body, provider="acme")
    assert got.parts == (TextPart("Hello", provider_data={"id": "msg_1"}),)
    assert (got.id, got.model, got.provider, got.finish_reason, got.finish_reason_raw) == ("resp_1", "m-1", "acme", "stop", "completed")
    assert got.usage == Usage(input_tokens=20, output_tokens=9, cache_read_tokens=4, cache_write_tokens=2, reasoning_tokens=3, raw=USAGE)
    assert got.metadata["response_id"] == "resp_1"
    assert got.warnings == ()


def test_a_text_that_only_the_repetitions_hold_is_read_from_the_first_of_them():
    place = {"output_index": 0, "content_index": 0}
    head = [started(), added(0, "message", id="msg_1", content=[])]
    for repetition in (
        event("output_text.done", **place, text="Hello"),
        event("output_item.done", output_index=0, item=message_item("Hello")),
        b"",
    ):
        assert message_of(*head, repetition, ended(output=[message_item("Hello")])).text == "Hello"
    assert message_of(started(), ended(output=[message_item("Hello")])).text == "Hello"


def test_what_is_missing_at_the_end_of_a_text_is_filled_in():
    body = [started(), added(0, "message", id="m", content=[]), pieces("output_text", 0, "Hel", content_index=0)]
    assert message_of(*body, event("output_text.done", output_index=0, content_index=0, text="Hello"), ended()).text == "Hello"
    assert message_of(*body, event("output_text.done", output_index=0, content_index=0, text="Other"), ended()).text == "Hel"


def test_contents_are_laid_beside_each_other_in_order_whatever_their_numbers():
    # One server streams its text as content 1 and shows it at place 0 of the whole item.
    body = [
        started(),
        added(0, "message", id="m", content=[]),
        pieces("output_text", 0, "a", "b", content_index=1),
        event("output_item.done", output_index=0, item=message_item("ab", id="m")),
        ended(output=[message_item("ab", "c", id="m")]),
    ]
    assert [part.text for part in message_of(*body).parts] == ["ab", "c"]


def test_messages_of_several_phases_stay_apart_and_keep_their_phase():
    first = message(0, "Let me see.", id="m1", phase="commentary")
    body = [started(), first, message(1, "42", id="m2", phase="final_answer"), ended()]
    got = message_of(*body)
    assert got.parts == (
        TextPart("Let me see.", provider_data={"id": "m1", "phase": "commentary"}),
        TextPart("42", provider_data={"id": "m2", "phase": "final_answer"}),
    )


def test_ids_that_change_in_every_event_move_nothing():
    body = [
        event("created", response={"id": "r1", "model": "m"}),
        added(0, "message", id="i1", content=[]),
        pieces("output_text", 0, "a", item_id="i2", content_index=0),
        pieces("output_text", 0, "b", item_id="i3", content_index=0),
        event("output_item.done", output_index=0, item=message_item("ab", id="i4")),
        event("completed", response={"id": "r2", "status": "completed", "output": [message_item("ab", id="i5")]}),
    ]
    got = message_of(*body)
    assert [part.text for part in got.parts] == ["ab"]
    assert (got.id, got.metadata["response_id"]) == ("r1", "r2")


def test_a_refusal_is_a_refusal():
    body = [
        started(),
        added(0, "message", id="m", content=[]),
        pieces("refusal", 0, "I ", "won't.", content_index=0),
        event("refusal.done", output_index=0, content_index=0, refusal="I won't."),
        done(0, "message", id="m", content=[{"type": "refusal", "refusal": "I won't."}]),
        ended(),
    ]
    got = message_of(*body)
    assert got.parts == (RefusalPart("I won't.", provider_data={"id": "m"}),)
    assert got.finish_reason == "stop"


def test_citations_come_one_by_one_and_what_is_missing_with_the_whole_item():
    cited = {"type": "output_text", "text": "a", "annotations": [{"n": 1}, {"n": 2}]}
    body = [
        started(),
        added(0, "message", id="m", content=[]),
        pieces("output_text", 0, "a", content_index=0),
        event("output_text.annotation.added", output_index=0, content_index=0, annotation_index=0, annotation={"n": 1}),
        done(0, "message", id="m", content=[cited]),
        ended(output=[{"type": "message", "id": "m", "content": [cited]}]),
    ]
    assert message_of(*body).parts[0].citations == ({"n": 1}, {"n": 2})
    assert message_of(started(), done(0, "message", content=[cited]), ended()).parts[0].citations == ({"n": 1}, {"n": 2})
    early = event("output_text.annotation.added", output_index=0, content_index=0, annotation={"n": 3})
    assert message_of(started(), early, ended()).parts[0].citations == ({"n": 3},)


def test_log_probabilities_are_joined_and_their_repetition_is_not():
    entry = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
    body = [
        started(),
        added(0, "message", id="m", content=[]),
        pieces("output_text", 0, "a", "a", content_index=0, logprobs=[entry]),
        event("output_text.done", output_index=0, content_index=0, text="aa", logprobs=[entry, entry]),
        ended(),
    ]
    assert message_of(*body).logprobs == {"content": [entry, entry]}


def test_content_that_nobody_knows_is_kept_in_its_place():
    odd = {"type": "output_hologram", "data": "x"}
    body = [started(), done(0, "message", id="m", content=[odd, {"type": "output_text", "text": "t"}, 7]), ended()]
    assert message_of(*body).parts == (OpaquePart(odd), TextPart("t", provider_data={"id": "m"}), JsonPart(7))


def test_half_characters_meet_in_neighbouring_pieces_and_think_tags_are_split_on_request():
    body = [started(), added(0, "message", id="m", content=[])]
    halves = b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a\\ud83d"}\n\n'
    halves += b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\\ude00b"}\n\n'
    assert message_of(*body, halves, ended()).text == "a\U0001f600b"
    parts = [b'"{\\"x\\":\\"\\ud83d"', b'"\\ude00\\"}"']
    template = b'data: {"type":"response.function_call_arguments.delta","output_index":1,"delta":%s}\n\n'
    call_body = [*body, added(1, "function_call", call_id="c", name="f"), *(template % part for part in parts), template % b'"\\ud83d"']
    assert result_of(*call_body[:-1], ended()).message.tool_calls[0].parsed == {"x": "\U0001f600"}
    assert result_of(*call_body, ended()).message.tool_calls[0].arguments == '{"x":"\U0001f600"}\ufffd'
    tags = pieces("output_text", 0, "<thi", "nk>why</think>because", content_index=0)
    got = message_of(*body, tags, ended(output=[message_item("<think>why</think>because")]), options={"think_tags": True})
    assert (got.reasoning, got.text) == ("why", "because")


def test_audio_comes_in_pieces():
    body = [
        started(),
        event("audio.delta", delta="AAEC"),
        event("audio.transcript.delta", delta="hi"),
        event("audio.delta", delta="?"),
        event("audio.done"),
        ended(),
    ]
    got = message_of(*body)
    assert got.parts == (MediaPart(kind="audio", data=b"\x00\x01\x02", transcript="hi"),)
    assert got.metadata["provider_fields"] == {"audio.data": "?"}


# --------------------------------------------------------------------------------------------- thinking


def test_each_summary_is_a_part_and_the_item_keeps_its_id_and_what_is_encrypted():
    body = [started(), reasoning(0, "First.", "Second."), ended(output=[reasoning_item("First.", "Second.")])]
    assert message_of(*body).parts == (
        ReasoningPart("First.", encrypted="gAAA=", provider_data={"id": "rs_1"}),
        ReasoningPart("Second.", provider_data={"id": "rs_1"}),
    )


def test_thinking_that_shows_nothing_is_a_part_since_it_has_to_go_back():
    body = [started(), added(0, "reasoning", id="rs_1", summary=[]), done(0, "reasoning", id="rs_1", summary=[]), ended()]
    assert message_of(*body).parts == (ReasoningPart(provider_data={"id": "rs_1"}),)
    assert message_of(started(), done(0, "reasoning", summary=[]), ended()).parts == ()


def test_raw_thinking_says_that_it_is_content():
    item = {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hmm"}]}
    for opening in ("content_part.added", "reasoning_part.added"):
        body = [
            started(),
            added(0, "reasoning", id="rs", summary=[], content=[]),
            event(opening, output_index=0, content_index=0, part={"type": "reasoning_text", "text": ""}),
            pieces("reasoning_text", 0, "h", "mm", content_index=0),
            event("reasoning_text.done", output_index=0, content_index=0, text="hmm"),
            event("output_item.done", output_index=0, item=item),
            ended(output=[item]),
        ]
        assert message_of(*body).parts == (ReasoningPart("hmm", provider_data={"id": "rs", "field": "content"}),)
    assert message_of(started(), ended(output=[item])).reasoning == "hmm"


# --------------------------------------------------------------------------------------------- the caller's own tools


def test_calls_are_told_apart_by_their_place_and_go_by_their_call_id():
    got = message_of(SAMPLES["interleaved"])
    assert [(call.id, call.name, call.parsed, call.index, call.runnable) for call in got.tool_calls] == [
        ("call_a", "f", {"x": 1}, 0, True),
        ("call_b", "g", {"y": 2}, 1, True),
    ]
    assert (got.finish_reason, got.finish_reason_raw, got.warnings) == ("tool_calls", "completed", ())


def test_arguments_that_only_a_repetition_holds_are_read_from_it():
    head = [started(), added(0, "function_call", id="fc_1", call_id="call_1", name="clock", arguments="")]
    item = call_item(arguments='{"x":1}')
    for repetition in (
        event("function_call_arguments.done", output_index=0, arguments='{"x":1}'),
        event("output_item.done", output_index=0, item=item),
        b"",
    ):
        assert calls_of(*head, repetition, ended(output=[item])) == [("call_1", "clock", '{"x":1}', True)]
    assert calls_of(started(), ended(output=[item, call_item("two", id="fc_2", call_id="call_2")])) == [
        ("call_1", "clock", '{"x":1}', True),
        ("call_2", "two", "{}", True),
    ]


def test_what_else_a_call_has_is_kept_with_it():
    got = message_of(started(), call(0, "f", "{}", namespace="crm", caller={"type": "program"}), ended())
    assert got.tool_calls[0].provider_data == {"id": "fc_1", "namespace": "crm", "caller": {"type": "program"}}


def test_a_call_without_a_call_id_goes_by_its_item_id_and_one_without_any_gets_one():
    assert calls_of(started(), added(0, "function_call", id="fc_9", name="f", arguments=""), ended())[0][0] == "fc_9"
    got = message_of(started(), added(0, "function_call", name="f", arguments=""), ended())
    assert (got.tool_calls[0].id, got.tool_calls[0].id_made_up) == ("call_1", True)
    assert "missing_tool_id" in codes(got)


def test_blank_arguments_are_an_empty_object_only_when_the_response_has_ended_well():
    body = [started(), added(0, "function_call", call_id="c", name="f", arguments="")]
    assert calls_of(*body, ended()) == [("c", "f", "", True)]
    cut = result_of(*body).message.tool_calls[0]
    assert (cut.parsed, cut.runnable) == (None, False)
    short = message_of(*body, ended("incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert (short.tool_calls[0].runnable, short.finish_reason) == (False, "length")


def test_arguments_that_are_no_text_are_taken_with_a_warning():
    got = message_of(started(), done(0, "function_call", call_id="c", name="f", arguments={"x": 1}), ended())
    assert (got.tool_calls[0].parsed, codes(got)) == ({"x": 1}, ["arguments_not_string"])


def test_a_call_id_that_changes_keeps_the_first_and_is_said():
    body = [
        started(),
        added(0, "function_call", id="i1", call_id="c1", name="f", arguments=""),
        done(0, "function_call", id="i2", call_id="c2", name="f", arguments="{}"),
        ended(),
    ]
    assert (calls_of(*body), codes(message_of(*body))) == ([("c1", "f", "{}", True)], ["changing_tool_id"])


def test_a_custom_call_takes_free_text():
    (call,) = [call for call in message_of(SAMPLES["tools of the client"]).tool_calls if call.kind == "custom"]
    assert (call.id, call.name, call.arguments, call.parsed, call.runnable) == ("call_c", "sql", "select 1", None, True)
    assert message_of(started(), done(0, "custom_tool_call", call_id="c", name="s", input=""), ended()).tool_calls[0].runnable


def test_a_custom_call_that_nobody_declared_was_the_providers_own():
    search = done(0, "custom_tool_call", id="ct", call_id="xs", name="x_search", input='{"q":1}')
    tools = [{"type": "x_search"}, {"type": "custom", "name": "sql"}]
    got = message_of(started(tools=tools), search, done(1, "custom_tool_call", call_id="c", name="sql", input="s"), ended())
    assert [call.name for call in got.tool_calls] == ["sql"]
    assert [(part.name, part.parsed) for part in got.parts_of(ProviderToolPart)] == [("x_search", {"q": 1})]
    assert message_of(started(tools=[{"type": "namespace"}]), search, ended()).has(ToolCallPart)


# --------------------------------------------------------------------------------------------- tools that a provider defines

CLIENT_RUN = [
    ({"type": "computer_call", "action": {"type": "click", "x": 1}}, {"type": "click", "x": 1}),
    ({"type": "computer_call", "actions": [{"type": "click"}]}, {"actions": [{"type": "click"}]}),
    ({"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}}, {"type": "exec", "command": ["ls"]}),
    ({"type": "shell_call", "action": {"commands": ["ls"]}}, {"commands": ["ls"]}),
    ({"type": "shell_call", "action": {"commands": ["ls"]}, "environment": {"type": "local"}}, {"commands": ["ls"]}),
    ({"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}}, {"type": "delete_file", "path": "a"}),
    ({"type": "tool_search_call", "execution": "client", "arguments": {"goal": "x"}}, {"goal": "x"}),
]


@pytest.mark.parametrize(("item", "arguments"), CLIENT_RUN)
def test_what_the_client_has_to_run_is_a_call_of_the_provider_kind(item, arguments):
    form = {"id": "it_1", "call_id": "call_1", "status": "completed", **item}
    announced = {**form, "action": None, "operation": {}, "arguments": {}, "call_id": "not_yet"}
    body = [started(), event("output_item.added", output_index=0, item=announced), event("output_item.done", output_index=0, item=form)]
    (call,) = message_of(*body, ended(output=[form])).tool_calls
    assert (call.id, call.name, call.kind, call.parsed, call.runnable) == ("call_1", item["type"], "provider", arguments, True)


def test_input_that_streams_stands_in_where_the_whole_item_never_came():
    body = [
        started(),
        added(0, "shell_call", call_id="s", action={"commands": []}),
        event("shell_call_command.added", output_index=0, command_index=0, command=""),
        pieces("shell_call_command", 0, "l", "s", command_index=0),
        added(1, "apply_patch_call", call_id="p", operation={"type": "update_file", "path": "a", "diff": ""}),
        pieces("apply_patch_call_operation_diff", 1, "-a\n", "+b\n"),
    ]
    shell, patch = result_of(*body).message.tool_calls
    assert (shell.parsed, shell.runnable) == ({"commands": ["ls"]}, False)
    assert (patch.parsed, patch.runnable) == ({"type": "update_file", "path": "a", "diff": "-a\n+b\n"}, False)


PROVIDER_RUN = [
    ({"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}}, "web_search", {"type": "search", "query": "q"}, None),
    ({"type": "file_search_call", "id": "f", "queries": ["q"], "results": [{"n": 1}]}, "file_search", {"queries": ["q"]}, [{"n": 1}]),
    ({"type": "mcp_call", "id": "m", "name": "zip", "arguments": '{"a":1}', "output": "done"}, "zip", {"a": 1}, "done"),
    ({"type": "mcp_list_tools", "id": "l", "tools": [{"name": "zip"}]}, "mcp_list_tools", None, [{"name": "zip"}]),
    ({"type": "mcp_approval_request", "id": "r", "name": "zip", "arguments": "{}"}, "mcp_approval_request", {}, None),
    ({"type": "tool_search_call", "id": "t", "call_id": None, "execution": "server", "arguments": {"p": 1}}, "tool_search", {"p": 1}, None),
    ({"type": "program", "id": "p", "call_id": "c", "code": "x()"}, "program", {"code": "x()"}, None),
    ({"type": "hover_call", "id": "h", "input": "free"}, "hover", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("item", "name", "arguments", "result"), PROVIDER_RUN)
def test_what_the_provider_ran_itself_is_no_call_and_is_kept_whole(item, name, arguments, result):
    body = [started(), added(0, item["type"], id=item["id"]), event("output_item.done", output_index=0, item=item)]
    got = message_of(*body, ended(output=[item]), provider="acme")
    (part,) = got.parts
    assert (part.name, part.parsed, part.result, part.provider) == (name, arguments, result, "acme")
    assert part.provider_data == {"item": item}
    assert (got.tool_calls, got.finish_reason) == ((), "stop")


def test_code_and_the_arguments_of_remote_tools_stream_as_arguments():
    (search, code, item, text) = message_of(SAMPLES["hosted tools"]).parts
    assert (code.name, code.parsed, code.result) == ("code_interpreter", {"code": 'print("hé")\n'}, [{"type": "logs", "logs": "hé"}])
    assert (search.id, text.provider_data["phase"]) == ("ws_1", "final_answer")
    assert item == ProviderItem(
        provider="", protocol="openai-responses", raw=b'{"type":"compaction","id":"cmp_1","encrypted_content":"gBBB"}'
    )
    remote = [
        started(),
        added(0, "mcp_call", id="m", name="zip", arguments=""),
        pieces("mcp_call_arguments", 0, '{"a"', ":1}"),
        event("mcp_call_arguments.done", output_index=0, arguments='{"a":1}'),
    ]
    assert result_of(*remote).message.parts[0].parsed == {"a": 1}
    whole = done(0, "mcp_call", id="m", name="zip", arguments='{"a":1}', output="x")
    assert message_of(*remote, whole, ended()).parts[0].arguments == '{"a":1}'


def test_code_that_is_cut_or_changed_says_what_came():
    head = [started(), added(0, "code_interpreter_call", id="c", code="")]
    cut = result_of(*head, pieces("code_interpreter_call_code", 0, "print(1")).message.parts[0]
    assert (cut.arguments, cut.parsed) == ('{"code":"print(1', None)
    half = b'data: {"type":"response.code_interpreter_call_code.delta","output_index":0,"delta":"\\ud83d"}\n\n'
    changed = message_of(*head, half, done(0, "code_interpreter_call", id="c", code="\U0001f600"), ended()).parts[0]
    assert changed.provider_data["item"]["code"] == "\U0001f600"


def test_an_output_of_the_providers_own_belongs_to_its_call():
    call_form = {
        "type": "shell_call",
        "id": "s",
        "call_id": "c",
        "action": {"commands": ["ls"]},
        "environment": {"type": "container_reference"},
    }
    output = {"type": "shell_call_output", "id": "o", "call_id": "c", "output": [{"stdout": "x"}]}
    body = [
        started(),
        event("output_item.done", output_index=0, item=call_form),
        event("output_item.done", output_index=1, item=output),
        ended(),
    ]
    (part,) = message_of(*body).parts
    assert (part.name, part.result, part.provider_data) == ("shell", [{"stdout": "x"}], {"item": call_form, "output_item": output})
    (alone,) = message_of(started(), event("output_item.done", output_index=0, item=output), ended()).parts
    assert json.loads(alone.raw) == output


def test_an_image_is_a_preview_until_it_is_there():
    head = [started(), added(0, "image_generation_call", id="ig")]
    preview = event("image_generation_call.partial_image", output_index=0, partial_image_b64="AAEC", partial_image_index=0)
    (_, part) = result_of(*head, preview).message.parts
    assert (part.data, part.provider_data) == (b"\x00\x01\x02", {"id": "ig", "is_partial": True})
    whole = done(0, "image_generation_call", id="ig", result="AwQ=", output_format="webp", revised_prompt="a boat")
    tool, part = message_of(*head, preview, whole, ended()).parts
    assert (part.data, part.media_type, part.provider_data) == (b"\x03\x04", "image/webp", {"id": "ig"})
    assert (tool.parsed, "result" in tool.provider_data["item"]) == ({"revised_prompt": "a boat"}, False)
    address = done(0, "image_generation_call", id="ig", result="https://example.test/a.png")
    assert message_of(started(), address, ended()).parts[1].url == "https://example.test/a.png"
    broken = done(0, "image_generation_call", id="ig", result="no base64")
    assert message_of(started(), broken, ended()).parts[0].result == "no base64"


def test_an_item_that_nobody_knows_is_kept_as_the_bytes_that_came():
    raw = b'{"type":"oracle", "n": 1.50, "deep":{"a":[]}}'
    body = b'data: {"type":"response.output_item.done","output_index":0,"item":' + raw + b"}\n\n"
    kept = make(ProviderItem, provider="acme", protocol="openai-responses", raw=raw)
    assert message_of(started(), body, ended(), provider="acme").parts == (kept,)
    response = b'{"id":"r","object":"response","status":"completed","output":[' + raw + b"]}"
    assert message_of(b'data: {"type":"response.completed","response":' + response + b"}\n\n", provider="acme").parts == (kept,)
    assert message_of(response, provider="acme").parts == (kept,)
    twice = [b'data: {"type":"response.output_item.done","output_index":0,"item":' + raw + b"}\n\n"] * 2
    assert message_of(started(), *twice, ended(), provider="acme").parts == (kept,)
    together = started().rstrip() + b"\n" + body
    assert json.loads(result_of(together).message.parts[0].raw) == json.loads(raw)


# --------------------------------------------------------------------------------------------- places


def test_without_places_the_id_tells_and_else_the_order_of_arrival():
    got = message_of(SAMPLES["without places"])
    assert (got.reasoning, got.text, [part.type for part in got.parts]) == ("hmm", "ab", ["reasoning", "text"])
    nameless = [started(), added(None, "message", content=[]), pieces("output_text", None, "a"), ended(output=[message_item("a", id="")])]
    assert (message_of(*nameless).text, codes(message_of(*nameless))) == ("a", ["missing_item_id"])


def test_a_piece_of_an_item_that_was_not_announced_begins_it_and_is_said():
    got = message_of(pieces("output_text", 0, "a", item_id="m", content_index=0), ended())
    assert (got.text, codes(got)) == ("a", ["missing_block_start"])
    call_got = message_of(
        pieces("function_call_arguments", 1, "{", "}"), done(1, "function_call", call_id="c", name="f", arguments="{}"), ended()
    )
    assert [(call.id, call.name, call.parsed) for call in call_got.tool_calls] == [("c", "f", {})]


def test_items_that_share_one_place_are_told_apart_by_their_ids():
    body = [
        started(),
        added(0, "function_call", id="a", call_id="call_a", name="f", arguments=""),
        added(0, "function_call", id="b", call_id="call_b", name="g", arguments=""),
        pieces("function_call_arguments", 0, '{"x":1}', item_id="a"),
        pieces("function_call_arguments", 0, '{"y":2}', item_id="b"),
        done(0, "function_call", id="a", call_id="call_a", name="f", arguments='{"x":1}'),
        done(0, "function_call", id="b", call_id="call_b", name="g", arguments='{"y":2}'),
        event("output_item.done", output_index=0, item=message_item("one", id="m1")),
        event("output_item.done", output_index=0, item=message_item("two", id="m2")),
        event("output_item.done", output_index=0, item=message_item("two", id="m3")),
        ended(),
    ]
    got = message_of(*body)
    assert [(call.id, call.parsed) for call in got.tool_calls] == [("call_a", {"x": 1}), ("call_b", {"y": 2})]
    assert [part.text for part in got.parts_of(TextPart)] == ["one", "two"]


def test_pieces_with_a_place_that_is_wrong_go_by_their_id():
    body = [
        started(),
        added(0, "function_call", id="a", call_id="call_a", name="f", arguments=""),
        added(1, "function_call", id="b", call_id="call_b", name="g", arguments=""),
        pieces("function_call_arguments", 0, '{"x":1', item_id="a"),
        pieces("function_call_arguments", 0, '{"y":2', item_id="b"),
        pieces("function_call_arguments", 0, "}", item_id="a"),
        pieces("function_call_arguments", 0, "}", item_id="b"),
        ended(),
    ]
    assert [call.parsed for call in message_of(*body).tool_calls] == [{"x": 1}, {"y": 2}]
    whole = b"".join(body)
    assert decoded(whole, protocol="openai-responses") == decoded(whole, protocol="openai-responses", is_short_way_off=True)


def test_an_announcement_that_comes_twice_opens_nothing_new():
    head = added(0, "function_call", id="a", call_id="c", name="f", arguments="")
    assert calls_of(started(), head, head, pieces("function_call_arguments", 0, "{}"), ended()) == [("c", "f", "{}", True)]


def test_parts_stand_by_their_place_whatever_came_first():
    body = [started(), message(1, "second", id="m2"), message(0, "first", id="m1"), ended()]
    assert [part.text for part in message_of(*body).parts] == ["first", "second"]


@pytest.mark.parametrize("odd", [-1, "0", 1.5, None, 2**40, True])
def test_a_place_that_is_none_says_nothing(odd):
    body = [started(), event("output_item.added", output_index=odd, item={"type": "message", "id": "m", "content": []})]
    assert message_of(*body, pieces("output_text", odd, "a", item_id="m", content_index=odd), ended()).text == "a"


# --------------------------------------------------------------------------------------------- how it ends


@pytest.mark.parametrize(
    ("word", "fields", "reason", "raw"),
    [
        ("completed", {}, "stop", "completed"),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length", "max_output_tokens"),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "content_filter", "content_filter"),
        ("incomplete", {"incomplete_details": {"reason": "a new one"}}, "other", "a new one"),
        ("incomplete", {"incomplete_details": None}, "length", "incomplete"),
    ],
)
def test_how_the_response_ended(word, fields, reason, raw):
    got = message_of(started(), message(0, "x"), ended(word, **fields))
    assert (got.finish_reason, got.finish_reason_raw) == (reason, raw)


def test_the_status_wins_over_the_name_of_the_last_event():
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert message_of(started(), message(0, "x"), event("completed", response=response)).finish_reason == "length"
    assert message_of(started(), message(0, "x"), event("done", response={"status": "in_progress"})).finish_reason == "stop"
    assert message_of(started(), message(0, "x"), event("completed")).finish_reason == "stop"


@pytest.mark.parametrize("tail", [b"", b"data: [DONE]\n\n"])
def test_a_stream_without_its_last_event_is_truncated_whatever_came(tail):
    result = result_of(started(), message(0, "x"), call(1, "f", "{}"), tail)
    assert (result.error.kind, result.message.text, result.message.finish_reason) == ("stream_truncated", "x", None)
    assert not result.message.tool_calls[0].runnable
    assert codes(result) == (["missing_terminal_event"] if tail else [])


def test_a_terminator_behind_the_last_event_and_all_behind_it_says_nothing():
    got = message_of(started(), message(0, "x"), ended(), b"data: [DONE]\n\n", message(1, "y"), b"data: {oops\n\n")
    assert got.text == "x"


def test_a_resumed_stream_starts_in_the_middle():
    got = message_of(event("queued", response={"id": "r", "model": "m", "status": "queued"}), message(0, "x"), ended())
    assert (got.id, got.text) == ("r", "x")


def test_keepalives_obfuscation_and_padding_say_nothing():
    body = [
        b": ping\n\n",
        started(),
        b'event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n',
        message(0, "x"),
        pieces("output_text", 0, "y", content_index=0, obfuscation="Zm9v", sequence_number=9),
        ended(),
    ]
    got = message_of(*body)
    assert (got.text, "provider_fields" in got.metadata) == ("xy", False)


def test_what_nobody_understands_is_kept():
    body = [started(), event("telepathy.delta", delta="x"), event("in_progress", response={}, moon=1), ended(service_tier="flex")]
    assert message_of(*body).metadata["provider_fields"] == {
        "event.response.telepathy.delta": {"type": "response.telepathy.delta", "delta": "x"},
        "moon": 1,
        "response.service_tier": "flex",
    }


def test_events_without_a_type_go_by_their_name():
    body = b"".join(
        line.replace(b'"type":"response.', b'"typ":"response.') if line.startswith(b"data:") else line
        for line in SAMPLES["tool round"].splitlines(keepends=True)
    )
    expected = message_of(SAMPLES["tool round"])
    assert message_of(body).parts == expected.parts


# --------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("body", "code", "words", "is_retryable"),
    [
        (b'{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}', "rate_limit_exceeded", "slow", True),
        (b'{"type":"error","sequence_number":2,"error":{"type":"insufficient_quota","code":"q","message":"m"}}', "q", "m", False),
        (b'{"error":{"code":500,"message":"m","type":"server_error"}}', "500", "m", True),
        (b'{"detail":"Not found"}', None, "Not found", False),
        (b'{"message":"boom","code":"server_error"}', "server_error", "boom", True),
    ],
)
def test_errors_flat_nested_and_bare(body, code, words, is_retryable):
    result = result_of(started(), message(0, "Half"), b"data: " + body + b"\n\n")
    error = result.error
    assert (error.kind, error.code, error.message, error.retryable) == ("provider_error", code, words, is_retryable)
    assert (result.message.text, result.message.finish_reason) == ("Half", "error")


def test_an_event_named_error_is_an_error_whatever_it_says():
    assert result_of(started(), b"event: error\ndata: it broke\n\n").error.message == "it broke"
    assert result_of(started(), b'event: error\ndata: {"a":1}\n\n').error.kind == "provider_error"
    assert result_of(ended().replace(b"event: response.completed", b"event: error")).error.kind == "provider_error"


def test_a_failed_response_carries_its_error_and_the_first_one_counts():
    failed = ended("failed", error={"code": "server_error", "message": "Internal"})
    result = result_of(started(), message(0, "Half"), failed)
    assert (result.error.code, result.error.message, result.message.text) == ("server_error", "Internal", "Half")
    assert result.message.finish_reason_raw == "failed"
    first = b'data: {"type":"error","code":"first","message":"x"}\n\n'
    assert result_of(started(), first, failed).error.code == "first"
    assert result_of(ended("cancelled")).error.message == "the response was cancelled"
    assert result_of(ended("failed")).error.kind == "provider_error"
    assert result_of(ended("failed", error="in words")).error.message == "in words"


def test_events_that_are_no_json_end_the_reading():
    assert result_of(started(), b"data: {oops\n\n", message(0, "x"), ended()).error.kind == "invalid_event"
    deep = b'data: {"type":"response.output_item.done","item":{"type":"function_call","x":' + b"[" * 250 + b"]" * 250 + b"}}\n\n"
    assert result_of(started(), deep).error.kind == "invalid_event"
    announced = deep.replace(b"item.done", b"item.added").replace(b"function_call", b"message").replace(b'"x":', b'"content":')
    assert result_of(started(), announced, ended()).error.kind == "invalid_event"


# --------------------------------------------------------------------------------------------- whole bodies


def test_a_whole_body_is_read_as_the_answer_that_it_is():
    got = message_of(SAMPLES["one whole answer"])
    assert (got.reasoning, got.text, got.finish_reason) == ("Why.", "Hi", "tool_calls")
    assert got.tool_calls[0].runnable
    assert got.usage.input_tokens == 20


def test_a_body_of_a_response_that_still_runs_is_not_whole():
    result = result_of(json.dumps({"object": "response", "id": "r", "status": "queued", "output": []}).encode())
    assert (result.error.kind, result.message.id) == ("stream_truncated", "r")
    assert "queued" in result.error.message


def test_a_body_that_is_an_error_or_nothing_known():
    assert result_of(b'{"error":{"message":"no key","code":"invalid_api_key"}}').error.code == "invalid_api_key"
    assert result_of(b'{"choices":[]}').error.kind == "invalid_event"
    assert result_of(b"").error.kind == "stream_truncated"
    assert result_of(b"<html>").error.kind == "not_event_stream"


# --------------------------------------------------------------------------------------------- limits


def test_limits_end_the_reading():
    many = b"".join(added(n, "message", id=f"m{n}", content=[]) for n in range(20))
    assert result_of(started(), many, limits={"max_parts": 5}).error.which == "parts"
    long_call = [started(), added(0, "function_call", call_id="c", name="f"), pieces("function_call_arguments", 0, *["x" * 9] * 5)]
    assert result_of(*long_call, ended(), limits={"max_argument_bytes": 20}).error.which == "argument_bytes"
    long_patch = [started(), added(0, "apply_patch_call", call_id="c"), pieces("apply_patch_call_operation_diff", 0, *["x" * 9] * 5)]
    assert result_of(*long_patch, ended(), limits={"max_argument_bytes": 20}).error.which == "argument_bytes"
    listed = [message_item("x", id=f"m{n}") for n in range(9)]
    assert result_of(started(), ended(output=listed), limits={"max_parts": 5}).error.which == "parts"


def test_an_empty_response_is_an_empty_message():
    assert message_of(started(), ended()) == AssistantMessage.assemble(
        [], id="resp_1", model="m-1", usage=message_of(started(), ended()).usage, finish_reason="stop", finish_reason_raw="completed",
        metadata={"response_id": "resp_1"},
    )  # fmt: skip


# --------------------------------------------------------------------------------------------- oddities


def test_empty_pieces_say_nothing():
    body = [started(), added(0, "message", id="m", content=[]), pieces("output_text", 0, "", "a", "", content_index=0)]
    body += [added(1, "function_call", call_id="c", name="f"), pieces("function_call_arguments", 1, "", "{}")]
    body += [added(2, "code_interpreter_call", id="ci", code=""), pieces("code_interpreter_call_code", 2, "")]
    body += [added(3, "image_generation_call", id="ig"), event("image_generation_call.partial_image", output_index=3, partial_image_b64="")]
    got = message_of(*body, event("output_text.done", output_index=0, content_index=0, text=""), ended())
    assert (got.text, got.tool_calls[0].arguments) == ("a", "{}")
    assert [part.arguments for part in got.parts_of(ProviderToolPart)] == ["", ""]


KINDS = (
    "output_text output_text.annotation refusal reasoning_summary_text reasoning_text function_call_arguments custom_tool_call_input "
    "mcp_call_arguments code_interpreter_call_code shell_call_command apply_patch_call_operation_diff audio output_item"
).split()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["delta", "done", "added"])
def test_events_that_lack_what_they_should_bring_say_nothing(kind, ending):
    got = message_of(
        started(), event(f"{kind}.{ending}", output_index=0, delta=None, text=7, arguments=None, item=[]), message(1, "x"), ended()
    )
    assert (got.text, got.tool_calls) == ("x", ())


def test_a_response_that_is_none_says_nothing():
    assert message_of(event("created", response=7), message(0, "x"), event("completed", response=None)).text == "x"
    nothing = {"status": "completed", "output": None, "usage": [], "error": None}
    assert message_of(event("created"), message(0, "x"), event("completed", response=nothing)).text == "x"
    assert message_of(started(), ended(output=["x", {}, {"type": ""}, message_item("y")])).text == "y"


def test_usage_may_use_the_words_of_chat_completions_and_may_count_nothing():
    raw = {"prompt_tokens": 3.0, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    usage = message_of(started(), ended(usage=raw)).usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_read_tokens) == (3, 2, 1, None)
    assert message_of(started(), ended(usage={"total": 1})).usage is None


def test_a_time_that_is_none_is_no_time():
    assert message_of(started(created_at=1_700_000_000.5), ended()).created_at.year == 2023
    for odd in (0, -1, 10**14, "x", True):
        assert message_of(started(created_at=odd), ended()).created_at is None


def test_contents_of_other_kinds_than_those_that_streamed_change_nothing():
    body = [started(), added(0, "message", id="m", content=[]), pieces("output_text", 0, "a", content_index=0)]
    refusal = {"type": "refusal", "refusal": "no"}
    assert [part.type for part in message_of(*body, done(0, "message", id="m", content=[refusal]), ended()).parts] == ["text"]
    odd = {"type": "odd"}
    assert [part.type for part in message_of(*body, done(0, "message", id="m", content=[odd]), ended()).parts] == ["text"]
    twice = done(0, "message", id="m", content=[odd, odd])
    assert (
        message_of(started(), twice, ended(output=[{"type": "message", "id": "m", "content": [odd, odd]}])).parts == (OpaquePart(odd),) * 2
    )
    single = done(0, "message", id="m", content="just text")
    assert message_of(started(), single, ended()).text == "just text"


def test_contents_beyond_counting_share_the_last_place():
    many = [{"type": "output_text", "text": "x"}] * 1010
    got = message_of(started(), done(0, "message", id="m", content=many), message(1, "y"), ended())
    assert (got.text[-1], got.parts[-1].text) == ("y", "y")


def test_a_repetition_is_compared_only_so_often():
    whole = event("output_text.done", output_index=0, content_index=0, text="ab")
    body = [started(), added(0, "message", id="m", content=[]), pieces("output_text", 0, "a", content_index=0)]
    wrong = event("output_text.done", output_index=0, content_index=0, text="x")
    assert message_of(*body, wrong * 5, whole, ended()).text == "ab"
    assert message_of(*body, wrong * 9, whole, ended()).text == "a"
    settled = event("function_call_arguments.done", output_index=0, arguments="{")
    call_body = [
        started(),
        added(0, "function_call", call_id="c", name="f"),
        settled * 9,
        done(0, "function_call", call_id="c", arguments="{}"),
    ]
    assert message_of(*call_body, ended()).tool_calls[0].arguments == "{"


def test_a_phase_that_only_the_whole_item_knows_is_added():
    late = event("output_item.done", output_index=0, item=message_item("a", id="m", phase="final_answer"))
    body = [started(), added(0, "message", id="m", content=[]), pieces("output_text", 0, "a", content_index=0), late, ended()]
    assert message_of(*body).parts[0].provider_data == {"id": "m", "phase": "final_answer"}


def test_a_custom_call_that_begins_without_announcement_is_the_clients():
    body = [started(tools=[{"type": "function", "name": "f"}]), pieces("custom_tool_call_input", 0, "a")]
    assert result_of(*body).message.tool_calls[0].kind == "custom"


def test_items_are_kept_raw_also_where_the_output_cannot_be_laid_beside_it():
    body = started() + ended(output=[{"type": "oracle", "n": 1}])
    broken = body.replace(b'"n":1', b'"n":"\\ud800"')
    assert json.loads(message_of(broken).parts[0].raw) == {"type": "oracle", "n": "�"}


@pytest.mark.parametrize(("status", "is_runnable"), [("completed", True), ("incomplete", False)])
def test_of_free_text_the_item_alone_says_whether_it_is_whole(status, is_runnable):
    item = {"id": "ctc_1", "type": "custom_tool_call", "status": status, "call_id": "c", "name": "draw", "input": "a bri"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress", "input": ""}},
        {"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ctc_1", "delta": "a bri"},
        {"type": "response.custom_tool_call_input.done", "output_index": 0, "item_id": "ctc_1", "input": "a bri"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}},
    ]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    _, result = decoded(body, protocol="openai-responses")
    (call,) = result.message.tool_calls
    assert (call.arguments, call.runnable) == ("a bri", is_runnable)
