import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_runs import check_result, decoded
from headrace.messages.parts import JsonPart, MediaPart, ProviderToolPart, ReasoningPart, TextPart
from slicing import bytewise, slicings
from wire_bytes import dumped, result, said, said_texts


def calling(arguments, name="f", finish="null", number=1, **call):
    entry = {"index": 0, "type": "function", "function": {"name": name, "arguments": arguments}, **call}
    return said({"content": "", "tool_calls": [entry]}, finish, number)


SAMPLES = {
    "pieces": b"".join(said_texts("It", " is", " \u00e9\U0001f600", " 5", ".")),
    "repetitions": b"".join(said_texts("It", "It is", "It is 5.")),
    "thinking": said({"content": "", "reasoning_content": "Hm"}) + said({"content": "", "reasoning_content": "."}) + said({"content": "It"}, "stop"),
    "call": calling("", id="c") + calling('{"a"', "", id="") + calling(":1}", "", "tool_calls", id=""),
    "growing call": calling("", id="c") + calling('{"a"', id="c") + calling('{"a":1}', finish="tool_calls", id="c"),
    "not after all": b"".join(said_texts("ha", "haha", "!", "!")),
    "error": said({"content": "It"}) + result({"code": "Throttling.AllocationQuota", "message": "slow down"}, 2, event="error", status=429),
    "text format": result({"output": {"finish_reason": "null", "text": "It"}}) + result({"output": {"finish_reason": "stop", "text": "It is"}}),
    "no finish": said({"content": "It"}) + said({"content": " is"}),
    "list contents": said({"content": []}) + said({"content": [{"text": "It"}]}) + said({"content": [{"text": "It is"}]}, "stop"),
}  # fmt: skip


def read(body, incremental=None, **options):
    options = {**options, "options": {"incremental_output": incremental, **options.get("options", {})}}
    chunks, got = decoded(body, protocol="dashscope", **options)
    check_result(chunks, got)
    return got


def warned(got):
    return [warning.code for warning in got.warnings]


@pytest.mark.parametrize("incremental", [None, True, False])
@pytest.mark.parametrize("name", SAMPLES)
def test_any_slicing_and_both_ways_give_the_same_chunks(name, incremental):
    body, options = SAMPLES[name], {"protocol": "dashscope", "options": {"incremental_output": incremental}}
    whole = decoded(body, **options)
    check_result(*whole)
    assert decoded(bytewise(body), **options) == whole
    assert decoded(body, is_short_way_off=True, **options) == whole


@given(st.data())
def test_random_slicings_give_the_same_chunks(data):
    body = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    assert decoded(data.draw(slicings(body)), protocol="dashscope") == decoded(body, protocol="dashscope")


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"not after all"}))
def test_a_cut_stream_has_a_prefix_of_the_text_and_no_call_that_the_whole_has_not(name):
    body = SAMPLES[name]
    whole = read(body)
    calls = [(call.name, call.parsed) for call in whole.message.tool_calls if call.runnable]
    for at in range(len(body)):
        part = read(body[:at])
        assert whole.message.text.startswith(part.message.text)
        assert whole.message.reasoning.startswith(part.message.reasoning)
        assert all((call.name, call.parsed) in calls for call in part.message.tool_calls if call.runnable)


@pytest.mark.parametrize("incremental", [None, True])
def test_pieces_are_joined(incremental):
    got = read(SAMPLES["pieces"], incremental, provider="acme")
    message = got.message
    assert (message.text, message.id, message.provider) == ("It is \u00e9\U0001f600 5.", "r", "acme")
    assert (message.finish_reason, message.finish_reason_raw, got.error, warned(got)) == ("stop", "stop", None, [])
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 5)


@pytest.mark.parametrize(("incremental", "warnings"), [(None, ["cumulative_chunks"]), (False, [])])
def test_of_repetitions_the_last_one_counts(incremental, warnings):
    got = read(SAMPLES["repetitions"], incremental)
    assert (got.message.text, warned(got)) == ("It is 5.", warnings)


def test_chunks_are_increments_also_of_repetitions():
    chunks, _ = decoded(SAMPLES["repetitions"], protocol="dashscope", options={"incremental_output": False})
    assert [chunk.text for chunk in chunks if chunk.text] == ["It", " is", " 5."]


def test_a_verdict_that_was_wrong_is_taken_back():
    got = read(SAMPLES["not after all"])
    assert (got.message.text, got.message.id, got.error) == ("hahaha!!", "r", None)
    assert warned(got) == ["cumulative_chunks", "restarted_message"]


def test_another_text_where_repetitions_were_promised_is_a_new_beginning():
    body = said({"content": "old", "reasoning_content": "Hm"}, search=1) + said({"content": "new"}, "stop")
    got = read(body, incremental=False)
    assert (got.message.text, got.message.reasoning, warned(got)) == ("new", "Hm", ["restarted_message"])


def test_thinking_is_a_part_before_the_text():
    assert read(SAMPLES["thinking"]).message.parts == (ReasoningPart("Hm."), TextPart("It"))


@pytest.mark.parametrize(("name", "incremental"), [("call", None), ("call", True), ("growing call", None), ("growing call", False)])
def test_calls(name, incremental):
    got = read(SAMPLES[name], incremental)
    assert [(call.id, call.name, call.parsed, call.runnable) for call in got.message.tool_calls] == [("c", "f", {"a": 1}, True)]
    assert (got.message.finish_reason, [code for code in warned(got) if code != "cumulative_chunks"]) == ("tool_calls", [])


def test_a_call_without_arguments_has_an_empty_object():
    assert read(calling("", finish="tool_calls", id="c")).message.tool_calls[0].parsed == {}
    assert read(calling("", finish="stop", id="c")).message.tool_calls[0].parsed is None


def test_arguments_that_length_cut_do_not_run():
    (call,) = read(calling('{"a"', finish="length", id="c"), True).message.tool_calls
    assert (call.runnable, call.arguments) == (False, '{"a"')


def test_the_text_format():
    assert read(SAMPLES["text format"]).message.text == "It is"


def test_contents_that_are_lists():
    body = said({"content": [{"text": "It"}, {"image": "https://x/y.png"}, {"ocr": 1}]}) + said({"content": [{"text": " is"}]}, "stop")
    message = read(body, True).message
    assert message.text == "It is"
    assert message.parts_of(MediaPart) == (MediaPart(kind="image", url="https://x/y.png"),)
    assert message.parts_of(JsonPart) == (JsonPart({"ocr": 1}),)
    assert read(SAMPLES["list contents"]).message.text == "It is"


def test_a_text_that_is_json_stays_the_text_that_it_is():
    body = b"".join(said_texts('[{"text": "Okay', '[{"text": "Okay!"}]'))
    assert read(body).message.text == '[{"text": "Okay!"}]'


def test_an_error_in_the_stream_has_its_status():
    got = read(SAMPLES["error"])
    assert (got.error.kind, got.error.code, got.error.message, got.error.retryable) == (
        "provider_error", "Throttling.AllocationQuota", "slow down", True,
    )  # fmt: skip
    assert (got.message.text, got.message.usage.output_tokens, got.message.finish_reason) == ("It", 1, "error")
    assert got.message.metadata["error"]["code"] == "Throttling.AllocationQuota"


@pytest.mark.parametrize(
    ("body", "message", "code", "retryable"),
    [
        (b'{"code":"InvalidApiKey","message":"bad key","request_id":"r"}', "bad key", "InvalidApiKey", False),
        (result({"message": "later"}, status=503), "later", "503", True),
        (result({"message": "no"}, event="error"), "no", None, False),
        (b"id:1\nevent:error\n:HTTP_STATUS/400\ndata:in plain words\n\n", "in plain words", "400", False),
        (b'{"error":{"message":"no","code":"e"}}', "no", "e", False),
        (b'{"status_code":429,"code":"","message":"later"}', "later", "429", True),
    ],
)
def test_an_error_in_any_form_is_the_providers(body, message, code, retryable):
    error = read(body).error
    assert (error.kind, error.message, error.code, error.retryable) == ("provider_error", message, code, retryable)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "stream_truncated"),
        (SAMPLES["no finish"], "stream_truncated"),
        (said({"content": "It"}) + b'id:2\nevent:result\n:HTTP_STATUS/200\ndata:{"out', "stream_truncated"),
        (said({"content": "It"}, "stop") + said({"content": " is"}), "stream_truncated"),
        (b"<html>", "not_event_stream"),
        (b'{"a":1}', "invalid_event"),
        (b"data:{oops\n\n", "invalid_event"),
        (said({"content": "It", "deep": 1}).replace(b'"deep":1', b'"deep":' + b"[" * 300 + b"]" * 300), "invalid_event"),
    ],
)
def test_what_is_no_whole_answer_is_said(body, kind):
    assert read(body).error.kind == kind


def test_a_broken_connection_makes_no_whole_answer_of_a_finish_word():
    assert decoded(SAMPLES["pieces"], protocol="dashscope", complete=False)[1].error.kind == "stream_truncated"
    assert decoded(SAMPLES["pieces"] + b"data: [DONE]\n\n", protocol="dashscope", complete=False)[1].error is None


def test_a_whole_answer_is_read_as_that_answer():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    choice = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": "It", "tool_calls": [call]}}
    body = dumped(
        {"status_code": 200, "request_id": "r", "code": "", "message": "", "output": {"choices": [choice]}, "usage": {"input_tokens": 1}}
    )
    got = read(body)
    assert (got.message.text, got.message.id, got.message.usage.input_tokens, got.error, warned(got)) == ("It", "r", 1, None, [])
    assert [(one.id, one.parsed) for one in got.message.tool_calls] == [("c", {})]


def test_several_choices_go_by_index_or_place():
    def event(first, second, finish):
        choices = [
            {"message": {"content": first}, "finish_reason": finish},
            {"index": 1, "message": {"content": second}, "finish_reason": finish},
        ]
        return result({"output": {"choices": choices}})

    got = read(event("a", "x", "null") + event("b", "y", "stop"), True)
    assert [choice.text for choice in got.choices] == ["ab", "xy"]
    assert read(event("a", "x", "stop"), True, limits={"max_parts": 1}).error.which == "parts"


def test_what_a_search_found_is_kept():
    found = {"search_results": [{"index": 1, "url": "u"}]}

    def event(text, finish, **output):
        choices = [{"message": {"content": text}, "finish_reason": finish}]
        return result({"output": {"choices": choices, **output}})

    body = (
        event("a", "null", search_info=found)
        + event("b", "null", search_info={"search_results": []})
        + event("c", "stop", search_info=found)
    )
    assert read(body, True).message.metadata == {"search_info": found}
    again = event("old", "null", search_info=found) + event("new", "stop")
    assert read(again, False).message.metadata == {"search_info": found}


def test_tools_that_the_provider_ran_are_parts_that_grow():
    def event(text, *tools, finish="null"):
        choices = [{"message": {"content": text}, "finish_reason": finish}]
        return result({"output": {"choices": choices, "tool_info": [*tools, "odd"]}})

    first, grown = ({"type": "code_interpreter", "code_interpreter": {"code": code}} for code in ("1", "1+1"))
    other = {"type": "web", "web": "q"}
    message = read(event("a", first) + event("b", grown) + event("c", grown, other, {"type": "x"}, finish="stop"), True).message
    assert message.text == "abc"
    assert [(part.name, part.parsed, part.arguments) for part in message.parts_of(ProviderToolPart)] == [
        ("code_interpreter", {"code": "1+1"}, '{"code":"1+1"}'), ("web", None, '"q"'), ("x", None, ""),
    ]  # fmt: skip


def test_what_is_not_understood_is_kept():
    event = (
        said({"content": "a", "mood": 1}, "stop", host="h")
        .replace(b'"output":{', b'"output":{"odd":2,')
        .replace(b'"choices":[{', b'"choices":[{"z":3,')
    )
    fields = read(event).message.metadata["provider_fields"]
    assert fields == {"delta.mood": 1, "host": "h", "output.odd": 2, "choice.z": 3}


def test_logprobs_are_kept():
    event = said({"content": "a"}, "stop").replace(b'"choices":[{', b'"choices":[{"logprobs":{"content":[{"token":"a"}]},')
    assert read(event).message.logprobs == {"content": [{"token": "a"}]}


@pytest.mark.parametrize("usage", [b"5", b"{}", b'{"input_tokens":1,"x":' + b"[" * 300 + b"]" * 300 + b"}"])
def test_a_usage_that_cannot_be_kept_is_none(usage):
    odd = said({"content": "b"}).replace(b'{"input_tokens":9,"output_tokens":1}', usage)
    got = read(said({"content": "a"}) + said({"content": "b"}) + odd, True)
    assert got.message.text.startswith("ab")


def test_an_event_that_names_the_request_late_names_it_all_the_same():
    late = (
        said({"content": "a"}, request_id="")
        + said({"content": "b"}, request_id="")
        + said({"content": "c"})
        + said({"content": "d"}, "stop")
    )
    assert (read(late, True).message.id, read(late, True).message.text) == ("r", "abcd")


def test_options_for_text_work_in_both_ways():
    body = b"".join(said_texts("<thi", "nk>a", "</think>", "b", ""))
    got = read(body, True, options={"think_tags": True})
    assert (got.message.reasoning, got.message.text) == ("a", "b")


@pytest.mark.parametrize("output", [{}, {"choices": None}, {"choices": ["odd"]}, {"choices": [{"message": "odd"}]}])
def test_odd_events_change_no_answer(output):
    got = read(b"".join(said_texts("a", "b", "c")) + result({"output": output}), True)
    assert (got.message.text, got.error) == ("abc", None)


def test_nothing_behind_a_terminator_is_read_also_in_one_run_of_events():
    plain = [b'data: {"output":{"choices":[{"message":{"content":"%d"}}]}}\n\n' % n for n in range(3)]
    got = read(plain[0] + plain[1] + b"data: [DONE]\n\n" + plain[2], True)
    assert (got.message.text, got.error) == ("01", None)
