from __future__ import annotations

from chat_bytes import DONE, chunk
from decoding_runs import check_result, decoded
from stream_samples import SAMPLES, call, calls


def read(*events, finish="stop", **options):
    """The result of a stream of these events, ended well."""
    chunks, result = decoded(b"".join(events) + chunk(finish=finish) + DONE, **options)
    check_result(chunks, result)
    return result


def codes(result):
    return [warning.code for warning in result.warnings]


def test_what_comes_in_one_delta_is_read_in_the_order_of_thinking():
    delta = {
        "images": [{"image_url": {"url": "u"}}],
        "tool_calls": [call(0, "c", "f", "{}")],
        "refusal": "no",
        "content": "a",
        "reasoning": "r",
        "audio": {"transcript": "t"},
    }
    parts = read(chunk(delta), finish="tool_calls").message.parts
    assert [type(part).__name__ for part in parts] == ["ReasoningPart", "TextPart", "RefusalPart", "ToolCallPart", "MediaPart", "MediaPart"]


def test_anything_of_substance_behind_a_finish_word_takes_the_end_back():
    finished = chunk({"content": "a"}) + chunk(finish="stop")
    deltas = [
        *({"content": "b"}, {"reasoning": "b"}, {"refusal": "b"}, {"content": [{"type": "odd"}]}, {"reasoning_details": [{"type": "x"}]}),
        *({"tool_calls": [call(0, "c", "f")]}, {"function_call": {"name": "f"}}, {"audio": {"id": "x"}}, {"images": ["u"]}),
        {"role": "tool", "content": "found"},
    ]
    for delta in deltas:
        assert decoded(finished + chunk(delta))[1].error.kind == "stream_truncated", delta
    for delta in ({}, {"content": ""}, {"role": "assistant"}, {"tool_calls": [{"index": 0}]}, {"annotations": [{"url": "u"}]}, {"odd": 1}):
        assert decoded(finished + chunk(delta))[1].error is None, delta


class TestAMessageThatRepeatsTheStream:
    def test_one_that_repeats_what_was_streamed_adds_nothing(self):
        for name, text in (("the whole message beside each delta", "on and on"), ("the whole message again at the end", "Once more")):
            result = decoded(SAMPLES[name])[1]
            assert (result.message.text, result.message.finish_reason, codes(result)) == (text, "stop", [])

    def test_a_finish_word_inside_a_repeat_does_not_count(self):
        body = chunk({"content": "a"}) + chunk(choices=[{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}])
        assert decoded(body)[1].error.kind == "stream_truncated"

    def test_it_fills_the_gaps_that_a_stream_left(self):
        message = {"content": "ab", "reasoning_content": "r", "refusal": "no", "tool_calls": [call(id="c", name="f", arguments="{}")]}
        result = read(chunk({"content": "a"}), chunk(choices=[{"index": 0, "message": message}]))
        assert (result.message.text, result.message.reasoning, result.message.refusal) == ("ab", "r", "no")
        assert [item.name for item in result.message.tool_calls] == ["f"]

    def test_it_fills_none_that_was_filled(self):
        message = {
            "content": "zz",
            "reasoning_content": "other",
            "refusal": "other",
            "tool_calls": [call(id="d", name="g", arguments="{}")],
        }
        deltas = [chunk({"content": "a"}), chunk({"reasoning_content": "r"}), chunk({"refusal": "no"}), calls(call(0, "c", "f", "{}"))]
        result = read(*deltas, chunk(choices=[{"index": 0, "message": message}]))
        assert (result.message.text, result.message.reasoning, result.message.refusal) == ("a", "r", "no")
        assert [item.name for item in result.message.tool_calls] == ["f"]

    def test_where_a_filter_is_on_a_repeat_is_not_compared(self):
        repeat = chunk(choices=[{"index": 0, "message": {"content": "<think>a</think>b"}}])
        result = read(chunk({"content": "<think>a</think>b"}), repeat, options={"think_tags": True})
        assert (result.message.reasoning, result.message.text) == ("a", "b")

    def test_a_repeat_of_a_choice_of_which_only_the_role_came_is_its_content(self):
        repeat = chunk(choices=[{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}])
        assert read(chunk({"role": "assistant"}), repeat).message.text == "a"
