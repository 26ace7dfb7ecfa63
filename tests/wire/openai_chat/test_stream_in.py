from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_bytes import DONE, chunk, event, text_stream, whole_body
from decoding_runs import check_result, decoded, deltas_of
from slicing import bytewise, sliced, slicings
from stream_samples import HONEST, SAMPLES, call, calls, choice_event, tail_event


@pytest.fixture(params=SAMPLES)
def sample(request):
    return SAMPLES[request.param]


class TestLaws:
    def test_any_slicing_gives_the_same_chunks_and_the_same_message(self, sample):
        chunks, result = decoded(sample)
        check_result(chunks, result)
        rng = random.Random(7)
        cuts = [sliced(sample, size) for size in (1, 2, 7, 64, 1000)]
        cuts += [
            [sample[a:b] for a, b in itertools.pairwise([0, *sorted(rng.choices(range(len(sample) + 1), k=9)), len(sample)])]
            for _ in range(4)
        ]
        for pieces in cuts:
            assert decoded(pieces) == (chunks, result)

    def test_the_short_way_and_the_general_way_say_the_same(self, sample):
        chunks, result = decoded(sample)
        assert decoded(sample, is_short_way_off=True) == (chunks, result)

    @pytest.mark.parametrize("name", HONEST)
    def test_a_stream_that_ends_well_has_no_error(self, name):
        assert decoded(SAMPLES[name])[1].error is None

    @pytest.mark.parametrize("name", sorted(set(SAMPLES) - set(HONEST)))
    def test_a_stream_that_does_not_has_one(self, name):
        assert decoded(SAMPLES[name])[1].error is not None

    def test_every_cut_gives_a_truncation_with_what_had_come_or_the_whole_message(self, sample):
        """Never a call that the whole has not, never text that is not the beginning of the whole text."""
        whole = decoded(sample)[1]
        runnable = {(item.name, item.arguments) for item in whole.message.tool_calls if item.runnable}
        is_early = any(warning.code == "early_finish_reason" for warning in whole.warnings)
        for at in range(len(sample)):
            chunks, part = decoded(sample[:at])
            check_result(chunks, part)
            assert whole.message.text.startswith(part.message.text)
            assert (whole.message.reasoning or "").startswith(part.message.reasoning or "")
            assert {(item.name, item.arguments) for item in part.message.tool_calls if item.runnable} <= runnable
            if part.error is None and not is_early:
                assert [part.message.text, part.message.reasoning, part.message.tool_calls] == [
                    whole.message.text,
                    whole.message.reasoning,
                    whole.message.tool_calls,
                ]
            elif part.error is not None:
                assert part.error.kind in {"stream_truncated", "not_event_stream"} or part.error.kind == getattr(whole.error, "kind", None)

    def test_where_the_transport_broke_off_only_a_terminator_makes_it_whole(self, sample):
        result = decoded(sample, complete=False)[1]
        is_terminated = b"[DONE]" in sample or sample.lstrip().startswith(b'{"id": "chatcmpl-7", "object": "chat.completion", ')
        if not is_terminated:
            assert result.error is not None
            assert not any(item.runnable for item in result.message.tool_calls)
        else:
            assert result.error == decoded(sample)[1].error

    @given(st.data())
    def test_a_body_of_any_bytes_never_raises(self, data):
        pieces = st.sampled_from(
            [b"data: ", b"\n\n", b"\n", b"\r", b"[DONE]", b"event: error", b"error: ", b'{"choices":[', b"{", b"]", b"}", b"\xff"]
        )
        body = data.draw(st.lists(pieces | st.binary(max_size=6), max_size=14).map(b"".join))
        chunks, result = decoded(body)
        check_result(chunks, result)
        assert decoded(data.draw(slicings(body))) == (chunks, result)

    @given(st.data())
    def test_a_stream_with_a_byte_changed_a_piece_lost_or_a_piece_twice_never_raises(self, data):
        body = bytearray(SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))])
        for _ in range(data.draw(st.integers(1, 4))):
            if not body:
                break
            at = data.draw(st.integers(0, len(body) - 1))
            to = at + data.draw(st.integers(1, 40))
            match data.draw(st.sampled_from(["flip", "drop", "twice", "put"])):
                case "flip":
                    body[at] ^= 1 << data.draw(st.integers(0, 7))
                case "drop":
                    del body[at:to]
                case "twice":
                    body[at:at] = body[at:to]
                case _:
                    body[at:at] = data.draw(
                        st.sampled_from([b"null", b"[]", b"{}", b"-1", b'"\\ud800"', b"1e999", b"\n", b"\n\n", b'"', b"\\"])
                    )
        chunks, result = decoded(bytes(body))
        check_result(chunks, result)
        assert decoded(bytewise(bytes(body))) == (chunks, result)


TEXTS = st.sampled_from(["a", "b ", "", "é", "\ud83d", "\ude00", "<think>", "\n"])
DELTAS = st.one_of(
    st.builds(lambda text: {"content": text}, TEXTS),
    st.builds(lambda text: {"content": text}, TEXTS),
    st.builds(lambda text: {"reasoning_content": text}, TEXTS),
    st.builds(lambda text, more: {"reasoning": text, "content": more}, TEXTS, TEXTS),
    st.builds(
        lambda index, identity, name, arguments: {"tool_calls": [call(index, identity, name, arguments)]},
        st.sampled_from([0, 0, 1, None, -1, 0.0, "0"]),
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, "", "f", "g"]),
        st.sampled_from([None, "", "{", '"x":1', "}", "{}", "\ud83d", "\ude00"]),
    ),
    st.builds(lambda kind: {"tool_calls": [call(0, None, None, "{", type=kind)]}, st.sampled_from(["function", "", "custom", None])),
    st.just({"tool_calls": [call(0, None, None, "{"), call(1, "b", "g", "{}")]}),
    st.builds(lambda role: {"role": role, "content": "r"}, st.sampled_from(["assistant", "tool", "user", "", None])),
    st.sampled_from(
        [{}, {"refusal": "no"}, {"refusal": None, "content": "x"}, {"unknown": "u"}, {"audio": None}, {"function_call": {"name": "f"}}]
    ),
    st.sampled_from([{"content": ["p"]}, {"content": 5}, {"content": {"a": 1}}, {"tool_calls": []}, {"tool_calls": [None]}]),
)
FINISH = st.sampled_from([None, None, None, None, "", "stop", "tool_calls", "length"])
HEADS = st.sampled_from(
    [
        {},
        {},
        {"model": "other"},
        {"id": "other"},
        {"usage": None},
        {"usage": {"prompt_tokens": 1}},
        {"obfuscation": "xyz"},
        {"unknown": 1},
        {"system_fingerprint": "f1"},
        {"system_fingerprint": "f2"},
        {"error": "x"},
        {"object": "error"},
    ]
)


@st.composite
def event_bytes(draw):
    delta, finish, fields = draw(DELTAS), draw(FINISH), draw(HEADS)
    match draw(st.sampled_from(["plain", "plain", "plain", "tail", "choice 1", "message", "logprobs", "twice", "bare"])):
        case "plain":
            return chunk(delta, finish, **fields)
        case "tail":
            return tail_event(delta, finish, **fields)
        case "choice 1":
            return choice_event(1, delta, finish)
        case "message":
            return chunk(choices=[{"index": 0, "message": {"content": "ab", **delta}, "finish_reason": finish}])
        case "logprobs":
            return chunk(choices=[{"index": 0, "delta": delta, "logprobs": {"content": [{"token": "a"}]}}])
        case "twice":
            return chunk(delta)[:-1] + chunk(delta, finish)
        case _:
            return event({"choices": [{"delta": delta}]})


@given(st.data())
def test_whatever_the_events_both_ways_and_all_slicings_say_the_same(data):
    events = data.draw(st.lists(event_bytes(), max_size=9))
    body = b"".join(events) + (DONE if data.draw(st.booleans()) else b"")
    limits = data.draw(
        st.sampled_from([None, None, {"max_parts": 2}, {"max_tool_calls": 1}, {"max_argument_bytes": 3}, {"max_event_bytes": 260}])
    )
    options = data.draw(
        st.sampled_from([{}, {}, {"think_tags": True}, {"cumulative_text": True}, {"think_tags": True, "think_starts_open": True}])
    )
    chunks, result = decoded(body, limits=limits, options=options)
    check_result(chunks, result)
    other, same = decoded(body, is_short_way_off=True, limits=limits, options=options)
    assert deltas_of(other) == deltas_of(chunks)
    assert same == result
    assert decoded([*events, body[sum(map(len, events)) :]], limits=limits, options=options) == (chunks, result)
    assert decoded(data.draw(slicings(body)), limits=limits, options=options) == (chunks, result)


class TestTheEnd:
    @pytest.mark.parametrize(
        ("body", "complete", "kind"),
        [
            (b"".join(text_stream("a")), True, None),
            (b"".join(text_stream("a")), False, None),
            (b"".join(text_stream("a")[:-1]), True, None),
            (b"".join(text_stream("a")[:-1]), False, "stream_truncated"),
            (chunk({"content": "a"}), True, "stream_truncated"),
            (chunk({"content": "a"}) + DONE, True, None),
            (chunk({"content": "a"}, finish="stop"), True, None),
            (chunk({"content": "a"}, finish=""), True, "stream_truncated"),
            (chunk({"content": "a"}, finish="null"), True, "stream_truncated"),
            (choice_event(0, {"content": "a"}, "stop") + choice_event(1, {"content": "b"}), True, "stream_truncated"),
            (DONE, True, "stream_truncated"),
            (b"", True, "stream_truncated"),
            (b": comment\n\n", True, "stream_truncated"),
            (b"<html></html>", True, "not_event_stream"),
            (b"Bad gateway", True, "not_event_stream"),
            (b"data: {oops\n\n" + DONE, True, "invalid_event"),
            (b"data: NaN\n\n", True, "invalid_event"),
            (b'data: {"a": NaN}\n\n', True, "invalid_event"),
            (b"data: words\n\n", True, "invalid_event"),
            (b"data: {oops", True, "stream_truncated"),
            (whole_body("a"), True, None),
            (whole_body("a"), False, None),
            (whole_body("a")[:-1], True, "stream_truncated"),
            (whole_body("a") + b"x", True, "invalid_event"),
            (b"{}", True, "invalid_event"),
            (b'{"choices": []}', True, "invalid_event"),
            (b'{"ok": true}', True, "invalid_event"),
            (b'{"detail": "not found"}', True, "provider_error"),
            (b'[{"error": {"message": "no"}}]', True, "provider_error"),
            (b'{"choices": [{"delta": {"content": "a"}}]}', True, "stream_truncated"),
            (b'{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}', True, None),
            (b'[{"choices": [{"delta": {"content": "a"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]', True, None),
        ],
    )
    def test_how_a_stream_has_ended(self, body, complete, kind):
        result = decoded(body, complete=complete)[1]
        assert (result.error and result.error.kind) == kind
        assert decoded(bytewise(body), complete=complete)[1] == result

    def test_a_finish_word_with_substance_behind_it_is_no_end(self):
        """Cut after the name of a call and a stray `stop`, it must not become a call without arguments."""
        events = [chunk({"content": "a"}), chunk(finish="stop"), calls(call(0, "c", "delete_all", "")), chunk(finish="stop")]
        cut = decoded(b"".join(events[:3]))[1]
        assert cut.error.kind == "stream_truncated"
        finished = decoded(b"".join(events))[1]
        assert finished.error is None
        assert not finished.message.tool_calls[0].runnable
        assert decoded(b"".join(events) + DONE)[1].message.tool_calls[0].runnable

    def test_a_call_without_arguments_runs_after_a_word_that_says_call(self):
        body = calls(call(0, "c", "now", "")) + chunk(finish="tool_calls")
        assert decoded(body)[1].message.tool_calls[0].parsed == {}
        cut = decoded(calls(call(0, "c", "now", "")) + chunk(finish="length") + DONE)[1]
        assert not cut.message.tool_calls[0].runnable

    def test_behind_the_terminator_nothing_is_read(self):
        whole = decoded(SAMPLES["text"])
        assert decoded(SAMPLES["text"] + chunk({"content": "junk"}) + b"data: {oops\n\n") == whole
        assert decoded([SAMPLES["text"], b"x" * 100], limits={"max_event_bytes": 400}) == whole
        assert decoded([SAMPLES["text"] + b"data: " + b"x" * 1000], limits={"max_event_bytes": 400}) == whole

    def test_the_messages_of_errors_say_what_came(self):
        error = decoded(b"<html><title>502</title>", content_type="text/html")[1].error
        assert "'<html><title>502</title>'" in error.message
        assert "text/html" in error.message
        assert decoded(b"data: {x\n\n")[1].error.message.startswith("event 0 is not JSON")
        assert decoded(b'{"a": 1}}')[1].error.message.startswith("the body is not JSON")


class TestTolerance:
    def test_a_comment_in_the_data_is_skipped_and_said_once(self):
        result = decoded(b"data: : ping\n\n" + chunk({"content": "a"}) + b"data: : ping\n\n" + chunk(finish="stop"))[1]
        assert result.message.text == "a"
        assert [warning.code for warning in result.warnings] == ["comment_in_data"]

    def test_events_run_together_are_taken_apart_and_it_is_said(self):
        result = decoded(SAMPLES["events run together"])[1]
        assert result.message.text == "abc"
        assert [warning.code for warning in result.warnings] == ["unterminated_event"] * 1
        assert result.error is None

    def test_of_events_run_together_and_cut_the_whole_ones_count(self):
        body = chunk({"content": "a"})[:-1] + chunk({"content": "b"})[:-9]
        result = decoded(body)[1]
        assert (result.message.text, result.error.kind) == ("a", "stream_truncated")

    def test_terminators_run_together_end_it_once(self):
        result = decoded(chunk({"content": "a"}) + b"data: [DONE]\ndata: [DONE]\n\n")[1]
        assert (result.message.text, result.error) == ("a", None)

    def test_lines_of_which_one_is_no_event_are_an_invalid_event(self):
        body = chunk({"content": "a"})[:-1] + b"data: oops\n\n"
        assert decoded(body)[1].error.kind == "invalid_event"

    def test_an_event_over_several_lines_is_one(self):
        body = b'data: {"choices":\ndata: [{"delta": {"content": "a"},\ndata: "finish_reason": "stop"}]}\n\n'
        assert decoded(body)[1].message.text == "a"

    def test_control_characters_in_a_text_are_tolerated_and_said(self):
        result = decoded(b'data: {"choices":[{"delta":{"content":"a\tb"},"finish_reason":"stop"}]}\n\n')[1]
        assert result.message.text == "a\tb"
        assert [warning.code for warning in result.warnings] == ["lenient_json"]

    def test_bytes_that_are_no_utf8_become_the_replacement_character_and_it_is_said(self):
        result = decoded(SAMPLES["bytes that are no UTF-8"])[1]
        assert result.message.text == "caf\ufffd bar"
        assert [warning.code for warning in result.warnings] == ["invalid_utf8"]

    def test_a_ping_by_name_is_skipped_whatever_it_holds(self):
        result = decoded(b"event: Ping\ndata: words\n\nevent: keepalive\ndata: {}\n\n" + chunk({"content": "a"}, finish="stop"))[1]
        assert (result.message.text, result.error) == ("a", None)

    def test_an_event_of_five_thousand_nested_arrays_is_invalid(self):
        chunks, result = decoded(chunk({"content": "a"}) + b'data: {"x": ' + b"[" * 5000 + b"]" * 5000 + b"}\n\n" + DONE)
        assert (result.message.text, result.error.kind) == ("a", "invalid_event")
        check_result(chunks, result)

    def test_an_event_that_holds_what_no_message_can_keep_is_invalid(self):
        for value in (b"[" * 250 + b"]" * 250, b"9" * 4300):
            chunks, result = decoded(chunk({"content": "a"}) + b'data: {"choices": [], "x": ' + value + b"}\n\n" + DONE)
            assert (result.message.text, result.error.kind) == ("a", "invalid_event")
            check_result(chunks, result)

    @pytest.mark.parametrize("depth", [200, 238, 239, 240, 241, 254, 255, 256, 257])
    @pytest.mark.parametrize(
        "place", ["event", "choice", "delta", "content", "call", "arguments", "object", "logprobs", "usage", "error", "annotations"]
    )
    def test_however_deep_a_value_is_nested_it_is_kept_or_it_is_said(self, place, depth):
        deep = "@"
        text = {"tool_calls": [call(0, "c", "f", "@")]}
        body = {
            "event": lambda: chunk({"content": "a"}, x=deep),
            "choice": lambda: chunk(choices=[{"delta": {"content": "a"}, "x": deep}]),
            "delta": lambda: chunk({"content": "a", "x": deep}),
            "content": lambda: chunk({"content": [{"type": "odd", "x": deep}]}),
            "call": lambda: calls(call(0, "c", "f", "{}", x=deep)),
            "arguments": lambda: chunk(text),
            "object": lambda: calls({"index": 0, "id": "c", "function": {"name": "f", "arguments": {"x": deep}}}),
            "logprobs": lambda: chunk(choices=[{"delta": {"content": "a"}, "logprobs": {"content": deep}}]),
            "usage": lambda: chunk({"content": "a"}, usage={"prompt_tokens": 1, "x": deep}),
            "error": lambda: chunk({"content": "a"}, error={"message": "m", "x": deep}),
            "annotations": lambda: chunk({"content": "a", "annotations": [deep]}),
        }[place]()
        nested = b'{"x":' * (depth - 1) + b"{}" + b"}" * (depth - 1)
        body = body.replace(b'"@"', b'"' + nested.replace(b'"', b'\\"') + b'"' if place == "arguments" else nested)
        chunks, result = decoded(body + chunk(finish="stop") + DONE)
        check_result(chunks, result)
        if depth <= 200:
            assert (result.error is None) == (place != "error")


def test_warnings_say_where():
    body = chunk({"content": "a"}) + calls({"id": "c", "function": {"name": "f", "arguments": {"x": 1}}}) + chunk(finish="stop") + DONE
    warnings = {warning.code: warning for warning in decoded(body)[1].warnings}
    assert set(warnings) == {"missing_tool_index", "arguments_not_string", "finish_reason_mismatch"}
    at = len(chunk({"content": "a"}))
    assert [(warnings[code].event, warnings[code].offset) for code in ("missing_tool_index", "arguments_not_string")] == [(1, at), (1, at)]
    assert warnings["finish_reason_mismatch"].event == 2


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("<tool_call>\n{}", ["possible_inline_tool_call"]),
        ("[TOOL_CALLS] x", ["possible_inline_tool_call"]),
        ("a <|im_end|> b", ["leaked_special_tokens"]),
        ("a <｜DSML｜ b", ["leaked_special_tokens"]),  # noqa: RUF001 - the marker's own characters
        ("<|tool_call|>", ["possible_inline_tool_call", "leaked_special_tokens"]),
        ("a < b and [c] <div>", []),
    ],
)
def test_markers_that_leaked_are_said_and_the_text_stays(text, codes):
    result = decoded([*bytewise(b"".join(chunk({"content": char}) for char in text)), chunk(finish="stop")])[1]
    assert result.message.text == text
    assert [warning.code for warning in result.warnings] == codes


def test_a_marker_beside_a_real_call_is_no_inline_call():
    result = decoded(chunk({"content": "<tool_call>"}) + calls(call(0, "c", "f", "{}")) + chunk(finish="tool_calls") + DONE)[1]
    assert [warning.code for warning in result.warnings] == []
