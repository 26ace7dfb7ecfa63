import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_runs import check_result, decoded, deltas_of
from gemini_bytes import DONE, FOUND, INTERACTIONS, SEARCH, THOUGHT, completed, created, delta, named, start, stopped
from headrace.decoding import decode_stream
from headrace.messages.parts import MediaPart, ProviderItem, ProviderToolPart, ReasoningPart, TextPart
from headrace.wire.gemini_interactions.stream_in import InteractionsDecoder
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.options import NO_OPTIONS
from slicing import bytewise, slicings

PROTOCOL = "gemini-interactions"
sample = pytest.mark.parametrize("name", INTERACTIONS)


def read(*pieces, **options):
    return decode_stream(b"".join(pieces), protocol=PROTOCOL, **options)


def step(*pieces, **options):
    """A whole stream with one step, number 0."""
    return read(created(), *pieces, stopped(0), completed(), **options)


# ---------------------------------------------------------------------------------------------- laws


@sample
def test_any_slicing_gives_the_same_chunks_and_the_message_is_their_sum(name):
    chunks, result = decoded(INTERACTIONS[name], protocol=PROTOCOL)
    check_result(chunks, result)
    again, same = decoded(bytewise(INTERACTIONS[name]), protocol=PROTOCOL)
    assert (deltas_of(again), same) == (deltas_of(chunks), result)


@sample
def test_both_ways_of_reading_say_the_same(name):
    chunks, result = decoded(INTERACTIONS[name], protocol=PROTOCOL)
    slow, same = decoded(INTERACTIONS[name], protocol=PROTOCOL, is_short_way_off=True)
    assert (deltas_of(slow), same) == (deltas_of(chunks), result)


@sample
def test_cut_anywhere_the_text_is_a_prefix_and_no_call_can_run_that_the_whole_has_not(name):
    whole = read(INTERACTIONS[name]).summary()
    calls = [(one["name"], one.get("arguments")) for one in whole["tool_calls"]]
    for at in range(len(INTERACTIONS[name])):
        part = check_result(*decoded(INTERACTIONS[name][:at], protocol=PROTOCOL))
        assert whole["text"].startswith(part["text"])
        assert all((one["name"], one["arguments"]) in calls for one in part["tool_calls"] if one["runnable"])
        assert part["error"] is not None or part["text"] == whole["text"]


@given(st.sampled_from(sorted(INTERACTIONS)), st.data())
@settings(max_examples=100, deadline=None)
def test_bytes_that_were_bent_never_raise_and_any_slicing_of_them_says_the_same(name, data):
    body = bytearray(INTERACTIONS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                body[at] = data.draw(st.integers(0, 255))
            case "cut":
                del body[at : at + data.draw(st.integers(1, 30))]
                body = body or bytearray(b"x")
            case _:
                body[at:at] = data.draw(st.sampled_from([b"null", b'"', b"{", b"[", b"\r", b"\n\n", b"\xff", b"1e400", b'"\\ud800"']))
    chunks, result = decoded(bytes(body), protocol=PROTOCOL)
    check_result(chunks, result)
    again, same = decoded(data.draw(slicings(bytes(body))), protocol=PROTOCOL)
    assert (deltas_of(again), same) == (deltas_of(chunks), result)


# ---------------------------------------------------------------------------------------------- steps


def test_thinking_and_text_are_a_part_each():
    message = read(INTERACTIONS["text"], provider="acme").message
    assert message.parts == (ReasoningPart("Let me see.", signature="U2ln"), TextPart("Two mills."))
    assert (message.id, message.model, message.provider, message.finish_reason) == ("v1", "m-1", "acme", "stop")
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_read_tokens) == (8, 9, 5, 2)


def test_calls_are_whole_when_the_stream_has_ended():
    summary = read(INTERACTIONS["calls"]).summary()
    assert [(one["id"], one["arguments"], one["runnable"]) for one in summary["tool_calls"]] == [
        ("f1", {"city": "Oslo"}, True),
        ("f2", {}, True),
    ]
    assert (summary["finish_reason"], summary["finish_reason_raw"], summary["warnings"]) == ("tool_calls", "requires_action", [])


def test_a_call_without_arguments_in_an_answer_that_was_cut_short_cannot_run():
    result = read(created(), start(0, "function_call", id="f", name="g", arguments={}), stopped(0), completed("incomplete"))
    assert [(one.arguments, one.runnable) for one in result.message.tool_calls] == [("", False)]


@pytest.mark.parametrize(
    ("begin", "pieces"),
    [
        ({"arguments": {"a": 1}}, b""),
        ({"arguments": '{"a":1}'}, b""),
        ({"arguments": {}}, delta(0, "arguments_delta", arguments={"a": 1})),
        ({}, delta(0, "function_call", id="f", name="g", arguments={"a": 1})),
        ({"arguments": {"placeholder": 0}}, delta(0, "arguments_delta", arguments='{"a":1}') + delta(0, "arguments_delta", arguments=None)),
    ],
)
def test_arguments_come_in_any_form(begin, pieces):
    [call] = step(start(0, "function_call", id="f", name="g", future=1, **begin), pieces).message.tool_calls
    assert (call.id, call.name, call.arguments, call.runnable, call.provider_data) == ("f", "g", '{"a":1}', True, {"future": 1})


def test_what_the_provider_ran_is_one_part_with_its_result_behind_it():
    message = read(INTERACTIONS["search"]).message
    assert message.parts[0] == ProviderToolPart(
        id="s1",
        name="google_search",
        arguments='{"queries":["mills"]}',
        parsed={"queries": ["mills"]},
        result=[{"search_suggestions": "<b>"}],
        provider_data={"steps": [{**SEARCH, "signature": ""}, FOUND]},
    )
    assert message.parts[1].citations == ({"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 5},)


def test_a_result_that_is_not_next_or_of_another_call_stands_by_itself():
    search = start(0, "google_search_call", id="s1", arguments={}) + stopped(0)
    between = read(
        created(),
        search,
        start(1, "model_output"),
        delta(1, "text", text="a"),
        stopped(1),
        start(2, "google_search_result", call_id="s1"),
        stopped(2),
        completed(),
    )
    other = read(created(), search, start(1, "google_search_result", call_id="s2", is_error=True), stopped(1), completed())
    for result in (between, other):
        assert [one.name for one in result.message.parts_of(ProviderToolPart)] == ["google_search", "google_search"]
    assert other.message.parts_of(ProviderToolPart)[1].result == {"is_error": True}


@pytest.mark.parametrize(("pieces", "arguments"), [(['{"q"', ":1}"], {"q": 1}), (['{"q"'], '{"q"')])
def test_a_call_of_the_providers_own_may_stream_its_arguments(pieces, arguments):
    deltas = b"".join(delta(0, "arguments_delta", arguments=piece) for piece in pieces)
    [tool] = step(start(0, "mcp_server_tool_call", id="1", name="look", server_name="s"), deltas).message.parts
    assert (tool.name, tool.provider_data["steps"][0]["arguments"]) == ("look", arguments)


def test_media_stand_where_they_came():
    assert read(INTERACTIONS["media"]).message.parts == (
        TextPart("Look: "),
        MediaPart(kind="image", data=b"icon", media_type="image/png"),
        MediaPart(kind="image", url="https://x/y.png"),
        MediaPart(kind="audio", data=b"\x00\x01\x02" * 2, media_type="audio/l16"),
        TextPart("heard?"),
    )


def test_a_medium_that_cannot_be_read_and_a_content_that_is_not_understood_are_kept():
    result = step(start(0, "model_output"), delta(0, "image", data="!"), delta(0, "new", x=1), provider="acme")
    assert result.message.parts == (
        ProviderItem(provider="acme", protocol=PROTOCOL, raw=b'{"type":"model_output","content":[{"type":"image","data":"!"}]}'),
        ProviderItem(provider="acme", protocol=PROTOCOL, raw=b'{"type":"model_output","content":[{"type":"new","x":1}]}'),
    )


def test_a_step_that_is_not_understood_is_kept_whole():
    result = read(INTERACTIONS["odd"], provider="acme")
    assert json.loads(result.message.parts[0].raw) == {"type": "new_step", "x": 1, "y": [2]}
    assert [warning.code for warning in result.warnings] == ["missing_block_start"]
    assert (result.message.text, result.message.metadata) == ("b", {"provider_fields": {"z": 1}})


@pytest.mark.parametrize(
    ("kind", "fields", "part"),
    [
        ("thought_signature", {"signature": "U2ln"}, ReasoningPart(signature="U2ln")),
        ("text", {"text": "a"}, TextPart("a")),
        (
            "google_search_result",
            {"result": [1]},
            ProviderToolPart(name="google_search", result=[1], provider_data={"steps": [{"type": "google_search_result", "result": [1]}]}),
        ),
    ],
)
def test_a_piece_of_a_step_whose_beginning_did_not_come_says_what_it_is(kind, fields, part):
    result = read(created(), delta(7, kind, **fields), stopped(7), completed())
    assert result.message.parts == (part,)
    assert [warning.code for warning in result.warnings] == ["missing_block_start"]


def test_a_call_whose_beginning_did_not_come_has_no_name():
    result = read(created(), delta(7, "arguments_delta", arguments="{}"), completed())
    assert [(one.name, one.runnable) for one in result.message.tool_calls] == [("", False)]


def test_a_number_that_is_used_again_begins_another_step():
    result = read(
        created(), start(0, "model_output"), delta(0, "text", text="a"), start(0, "thought"), delta(0, "text", text="b"), completed()
    )
    assert result.message.parts == (TextPart("a"), ReasoningPart("b"))


def test_what_says_nothing_changes_nothing():
    result = read(
        created(),
        named("step.stop", index=5),
        start(0, "model_output", error=None),
        delta(0, "text", text=""),
        delta(0, "text", text="a"),
        stopped(0),
        stopped(0),
        b": x\n\n",
        completed(),
    )
    assert (result.message.parts, result.warnings) == ((TextPart("a"),), ())


def test_a_field_that_is_said_again_empty_keeps_its_value():
    result = step(start(0, "google_search_call", id="s1", signature="U2ln"), delta(0, "google_search_call", id="", signature=None))
    assert result.message.parts[0].provider_data == {"steps": [{"type": "google_search_call", "id": "s1", "signature": "U2ln"}]}


def test_what_stands_beside_text_and_thinking_stays_with_them():
    image = {"type": "image", "uri": "https://x"}
    result = read(
        created(),
        start(0, "thought", signature="", future=1, summary=[{"type": "text", "text": "a"}, image]),
        stopped(0),
        start(1, "model_output", future=2, content=[{"type": "text", "text": "b"}, 7]),
        stopped(1),
        completed(),
    )
    assert result.message.parts == (
        ReasoningPart("a", provider_data={"future": 1, "summary": [image]}),
        TextPart("b", provider_data={"future": 2}),
    )


def test_the_older_names_of_events_are_understood():
    result = read(
        named("interaction.start", interaction={"id": "v1", "status": "in_progress"}),
        named("content.start", index=0, content={"type": "text", "text": ""}),
        named("content.delta", index=0, delta={"type": "text", "text": "a"}),
        named("content.stop", index=0),
        named("content.start", index=1, content={"type": "function_call", "id": "f", "name": "g", "arguments": {"a": 1}}),
        named("content.stop", index=1),
        named("interaction.complete", interaction={"id": "v1", "status": "requires_action"}),
    )
    assert (result.message.text, result.message.tool_calls[0].parsed, result.error) == ("a", {"a": 1}, None)


# ---------------------------------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("status", "finish"),
    [("completed", "stop"), ("incomplete", "length"), ("failed", "error"), ("cancelled", "error"), ("budget_exceeded", "other")],
)
def test_the_state_at_the_end_says_why_it_stopped(status, finish):
    result = read(created(), start(0, "model_output"), delta(0, "text", text="a"), completed(status))
    assert (result.message.finish_reason, result.message.finish_reason_raw, result.error) == (finish, status, None)


def test_a_final_state_ends_a_body_that_says_no_more():
    text = created() + start(0, "model_output") + delta(0, "text", text="a")
    assert read(text, named("interaction.status_update", status="cancelled")).message.finish_reason == "error"
    assert read(text, named("interaction.status_update", status="queued")).error.kind == "stream_truncated"
    assert decoded(text + completed(), protocol=PROTOCOL, complete=False)[1].error is None


@pytest.mark.parametrize(
    "pieces",
    [
        named("error", error={"code": "503", "message": "busy"}),
        named("interaction.completed", interaction={"status": "failed", "errors": [{"code": "503", "message": "busy"}]}),
        start(1, "model_output", error={"code": 503, "message": "busy"}),
        b'event: error\ndata: {"code": 503, "message": "busy"}\n\n',
        b"event: error\ndata: busy\n\n",
    ],
)
def test_every_form_of_an_error_is_one_and_what_had_come_is_kept(pieces):
    result = read(created(), start(0, "model_output"), delta(0, "text", text="Half"), pieces)
    assert (result.error.kind, result.error.message, result.message.text) == ("provider_error", "busy", "Half")


def test_a_terminator_ends_the_stream():
    result = read(created(), start(0, "model_output"), delta(0, "text", text="a"), DONE, delta(0, "text", text="b"))
    assert (result.message.text, result.error, [one.code for one in result.warnings]) == ("a", None, ["finish_reason_missing"])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "stream_truncated"),
        (b"<html>", "not_event_stream"),
        (b'{"a": 1}', "invalid_event"),
        (b"[1]", "invalid_event"),
        (b"data: 7\n\n", "invalid_event"),
        (b'{"error": {"message": "busy"}}', "provider_error"),
        (b'data: {"new": ' + b"[" * 245 + b"]" * 245 + b"}\n\n", "invalid_event"),
        (created() + named("x", usage={"total_input_tokens": 1, "deep": json.loads("[" * 245 + "]" * 245)}) + completed(), "invalid_event"),
    ],
)
def test_a_body_that_is_no_answer_is_an_error(body, kind):
    assert read(body).error.kind == kind


def test_a_whole_answer_is_read_as_that_answer():
    message = read(INTERACTIONS["answer"]).message
    assert [type(part).__name__ for part in message.parts] == ["ReasoningPart", "ProviderToolPart", "TextPart", "ToolCallPart"]
    assert (message.tool_calls[0].runnable, message.finish_reason, message.usage.input_tokens) == (True, "tool_calls", 8)
    older = {"id": "v1", "status": "completed", "outputs": [{"type": "text", "text": "a"}, {"type": "thought", "signature": "s"}, 7]}
    assert read(json.dumps(older).encode()).message.parts == (TextPart("a"), ReasoningPart(signature="s"))


def test_steps_that_the_end_repeats_are_not_read_again():
    result = read(created(), THOUGHT, completed(steps=[{"type": "thought", "signature": "other"}]))
    assert result.message.parts == (ReasoningPart("Let me see.", signature="U2ln"),)


def test_usage_that_comes_on_the_way_is_kept():
    result = read(
        created(), named("step.delta", index=0, delta={"type": "text", "text": "a"}, metadata={"usage": {"total_input_tokens": 3}})
    )
    assert (result.message.usage.input_tokens, result.error.kind) == (3, "stream_truncated")


def test_more_steps_than_there_may_be_end_the_stream():
    many = b"".join(start(n, "model_output") for n in range(4))
    assert read(created(), many, limits={"max_parts": 3}).error.which == "parts"
    assert read(created(), many, delta(9, "text", text="a"), limits={"max_parts": 4}).error.which == "parts"


def test_events_without_names_are_told_by_their_type():
    lines = [line + b"\n\n" for line in INTERACTIONS["text"].split(b"\n") if line.startswith(b"data: ")]
    assert decoded(b"".join(lines), protocol=PROTOCOL)[1].message == read(INTERACTIONS["text"]).message


def test_a_body_of_another_kind_is_an_error_also_where_nobody_said_so():
    decoder = InteractionsDecoder(limits=DEFAULT_LIMITS, options=NO_OPTIONS)
    decoder.close("other", complete=True)
    assert decoder.output.error.kind == "not_event_stream"


def test_tags_of_thinking_are_split_on_request():
    result = step(start(0, "model_output"), delta(0, "text", text="<think>Hm.</think>So"), options={"think_tags": True})
    assert (result.message.reasoning, result.message.text) == ("Hm.", "So")
