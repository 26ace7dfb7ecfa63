from __future__ import annotations

import cProfile
import gc
import pstats

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_bytes import DONE, call_stream, chunk, event, text_stream
from decoding_runs import check_result, decoded
from headrace import StreamDecoder, decode_async, decode_stream
from headrace.decoding import PROTOCOLS, SUPPORTED
from headrace.errors import StateError, UnsupportedError, UsageError
from memory import most_held
from slicing import bytewise, sliced
from stream_samples import SAMPLES, call, calls, choice_event

BODY = SAMPLES["text, then two calls"]
CHAT = {"protocol": "openai-chat"}


class BrokenError(Exception):
    pass


async def collect(chunks):
    return [one async for one in chunks]


async def arriving(pieces):
    for piece in pieces:
        yield piece


class TestWhatABodyMayBe:
    def test_bytes_or_pieces_of_any_kind_of_bytes_in_any_iterable(self):
        whole = decode_stream(BODY, **CHAT)
        assert whole.message.text == "I look. One moment."
        for body in (
            bytearray(BODY),
            memoryview(BODY),
            bytewise(BODY),
            iter(sliced(BODY, 99)),
            (bytearray(piece) for piece in sliced(BODY, 7)),
            [b"", BODY, b""],
        ):
            assert decode_stream(body, **CHAT) == whole

    def test_no_pieces_are_an_empty_body(self):
        assert decode_stream([], **CHAT).error.kind == "stream_truncated"

    @pytest.mark.parametrize("body", ["text", None, 5, arriving([BODY])])
    def test_anything_else_is_wrong_use(self, body):
        with pytest.raises(UsageError) as caught:
            decode_stream(body, **CHAT)
        assert caught.value.argument == "body"
        assert isinstance(caught.value, TypeError)
        assert ("decode_async" in str(caught.value)) is hasattr(body, "__aiter__")

    @pytest.mark.parametrize("piece", ["text", 5, None, [b"a"]])
    def test_so_is_a_piece_that_is_no_bytes(self, piece):
        with pytest.raises(UsageError, match="bytes") as caught:
            decode_stream([b"data", piece], **CHAT)
        assert caught.value.argument == "data"

    def test_an_exception_of_the_callers_own_iterable_passes_through(self):
        def pieces():
            yield BODY[:100]
            raise BrokenError

        with pytest.raises(BrokenError):
            decode_stream(pieces(), **CHAT)


class TestWrongUse:
    @pytest.mark.parametrize(
        ("fields", "argument"),
        [
            ({"protocol": "openai"}, "protocol"),
            ({"protocol": None}, "protocol"),
            ({"protocol": ["openai-chat"]}, "protocol"),
            ({"provider": 5}, "provider"),
            ({"options": {"thinking": True}}, "options.thinking"),
            ({"options": {"think_tags": "yes"}}, "options.think_tags"),
            ({"options": {"inline_tool_calls": ("nonsense",)}}, "options.inline_tool_calls"),
            ({"options": 5}, "options"),
            ({"content_type": b"x"}, "content_type"),
            ({"status": "200"}, "status"),
            ({"status": True}, "status"),
            ({"limits": {"max": 1}}, "limits.max"),
            ({"limits": {"max_parts": 0}}, "limits.max_parts"),
            ({"limits": 5}, "limits"),
            ({"new_id": "call_1"}, "new_id"),
        ],
    )
    def test_an_argument_that_does_not_fit_is_named(self, fields, argument):
        for start in (StreamDecoder, lambda **rest: decode_stream(b"", **rest), lambda **rest: decode_async(arriving([]), **rest)):
            with pytest.raises(UsageError) as caught:
                start(**{**CHAT, **fields})
            assert caught.value.argument == argument

    def test_a_protocol_that_is_not_there_yet_is_told_from_one_that_never_was(self):
        assert {"openai-chat", "anthropic-messages"} <= set(SUPPORTED) <= set(PROTOCOLS)
        for protocol in set(PROTOCOLS) - set(SUPPORTED):
            with pytest.raises(UnsupportedError, match=protocol):
                StreamDecoder(protocol=protocol)

    def test_after_the_end_nothing_can_be_fed_or_closed(self):
        decoder = StreamDecoder(**CHAT)
        decoder.close()
        with pytest.raises(StateError, match="feed"):
            decoder.feed(b"")
        with pytest.raises(StateError, match="close"):
            decoder.close()

    def test_wrong_use_changes_nothing(self):
        decoder = StreamDecoder(**CHAT)
        decoder.feed(BODY[:50])
        with pytest.raises(UsageError):
            decoder.feed("text")
        decoder.feed(BODY[50:])
        decoder.close()
        assert decoder.result == decode_stream(BODY, **CHAT)


class TestTheDecoder:
    def test_a_chunk_an_event_and_the_last_says_how_it_ended(self):
        decoder = StreamDecoder(**CHAT)
        chunks = [one for event_bytes in text_stream("a", "b") for one in decoder.feed(event_bytes)]
        assert [one.text for one in chunks] == ["", "a", "b", "", ""]
        (last,) = decoder.close()
        assert last.deltas[-1].error is None
        assert last.deltas[-1].is_terminated

    def test_before_the_end_the_result_is_a_snapshot_in_which_nothing_runs(self):
        decoder = StreamDecoder(**CHAT)
        for event_bytes in call_stream("f", "{}"):
            decoder.feed(event_bytes)
        snapshot = decoder.result
        assert (snapshot.message.finish_reason_raw, snapshot.error) == ("tool_calls", None)
        assert not snapshot.message.tool_calls[0].runnable
        decoder.close()
        assert decoder.result.message.tool_calls[0].runnable
        assert decoder.result is decoder.result

    def test_a_snapshot_disturbs_nothing(self):
        for name, body in SAMPLES.items():
            decoder = StreamDecoder(**CHAT)
            for piece in sliced(body, 40):
                decoder.feed(piece)
                assert decoder.result.message.text is not None, name
            decoder.close()
            assert decoder.result == decode_stream(body, **CHAT), name

    def test_it_is_over_when_nothing_can_change_the_message_any_more(self):
        decoder = StreamDecoder(**CHAT)
        decoder.feed(chunk({"content": "a"}))
        assert not decoder.is_over
        decoder.feed(DONE)
        assert decoder.is_over
        broken = StreamDecoder(**CHAT)
        broken.feed(b"data: {x\n\n")
        assert broken.is_over
        assert broken.feed(chunk({"content": "a"})) == []

    def test_where_the_transport_broke_off_a_finish_word_is_not_enough(self):
        for body, is_whole in ((BODY, True), (BODY.removesuffix(DONE), False)):
            result = decoded(body, complete=False)[1]
            assert (result.error is None) is is_whole
            assert all(item.runnable is is_whole for item in result.message.tool_calls)


class TestAsync:
    async def test_chunks_come_as_the_bytes_arrive_and_add_up(self):
        chunks = await collect(decode_async(arriving(sliced(BODY, 11)), **CHAT))
        assert chunks == decoded(BODY)[0]
        assert sum(chunks).to_message() == decode_stream(BODY, **CHAT).message

    async def test_what_decode_stream_takes_is_taken_too(self):
        for body in (BODY, sliced(BODY, 11)):
            assert await collect(decode_async(body, **CHAT)) == decoded(BODY)[0]

    async def test_each_chunk_is_given_before_the_next_bytes_are_asked_for(self):
        asked = []

        async def pieces():
            for piece in text_stream("a", "b"):
                asked.append(piece)
                yield piece

        stream = decode_async(pieces(), **CHAT)
        await anext(stream)
        assert len(asked) == 1
        await stream.aclose()

    async def test_an_exception_of_the_callers_own_iterable_passes_through(self):
        async def pieces():
            yield BODY[:600]
            raise BrokenError

        stream = decode_async(pieces(), **CHAT)
        assert (await anext(stream)).text == "I look. "
        with pytest.raises(BrokenError):
            await collect(stream)

    @pytest.mark.parametrize("body", ["text", None])
    def test_wrong_use_is_said_at_once(self, body):
        with pytest.raises(UsageError) as caught:
            decode_async(body, **CHAT)
        assert caught.value.argument == "body"


class TestStatus:
    def test_from_400_on_the_body_is_an_error(self):
        body = b'{"error": {"message": "no", "code": "nope"}}'
        for pieces in ([body], bytewise(body)):
            result = decode_stream(pieces, status=401, **CHAT)
            assert (result.error.kind, result.error.message, result.error.code) == ("provider_error", "no", "nope")
            assert result.message.finish_reason == "error"

    def test_even_where_it_looks_like_an_answer(self):
        assert decode_stream(BODY, status=500, **CHAT).error.kind == "provider_error"
        assert decode_stream(b"", status=503, **CHAT).error.retryable

    def test_of_a_large_body_the_same_part_is_read_however_it_was_cut(self):
        body = b"x" * (2 * 1024 * 1024)
        assert decode_stream(body, status=500, **CHAT) == decode_stream(sliced(body, 300_000), status=500, **CHAT)

    def test_below_400_the_body_decides(self):
        assert decode_stream(BODY, status=299, **CHAT).error is None


class TestIds:
    BODY = b"".join([calls({"function": {"name": name, "arguments": "{}"}}) for name in "fg"]) + chunk(finish="tool_calls") + DONE

    def test_ids_that_the_wire_lacks_are_made_and_the_same_each_time(self):
        result = decode_stream(self.BODY, **CHAT)
        assert [(item.id, item.id_made_up) for item in result.message.tool_calls] == [("call_1", True), ("call_2", True)]
        assert decode_stream(bytewise(self.BODY), **CHAT) == result

    def test_or_by_the_callers_own_function(self):
        numbers = iter(range(10))
        result = decode_stream(self.BODY, new_id=lambda: f"n{next(numbers)}", **CHAT)
        assert [item.id for item in result.message.tool_calls] == ["n0", "n1"]

    def test_they_differ_from_those_that_came(self):
        body = calls(call(0, "call_1", "f", "{}")) + calls(call(1, None, "g", "{}")) + chunk(finish="tool_calls") + DONE
        assert [item.id for item in decode_stream(body, **CHAT).message.tool_calls] == ["call_1", "call_2"]


class TestLimits:
    TEXT = b"".join(text_stream("aaaa", "bbbb"))

    @pytest.mark.parametrize(
        ("body", "limits", "which"),
        [
            (chunk({"content": "a"}) + chunk({"content": "b" * 500}) + DONE, {"max_event_bytes": 400}, "event_bytes"),
            (chunk({"content": "a"}) + b"data: " + b"b" * 500, {"max_event_bytes": 400}, "event_bytes"),
            (b'{"choices": "' + b"b" * 500, {"max_event_bytes": 400}, "event_bytes"),
            (b"\n" * 500, {"max_event_bytes": 400}, "event_bytes"),
            (TEXT, {"max_total_bytes": 400}, "total_bytes"),
            (BODY, {"max_tool_calls": 1}, "tool_calls"),
            (BODY, {"max_parts": 2}, "parts"),
            (BODY, {"max_parts": 1}, "parts"),
            (BODY, {"max_argument_bytes": 10}, "argument_bytes"),
            (b"".join(choice_event(n, {}) for n in range(5)) + DONE, {"max_parts": 4}, "parts"),
            (calls(call(0, "c", "f", {"a": "b" * 50})) + DONE, {"max_argument_bytes": 10}, "argument_bytes"),
        ],
    )
    def test_past_one_the_stream_has_failed_and_says_which(self, body, limits, which):
        chunks, result = decoded(body, limits=limits)
        check_result(chunks, result)
        assert (result.error.kind, result.error.which, result.message.finish_reason) == ("limit_exceeded", which, None)
        assert str(next(iter(limits.values()))) in result.error.message
        for pieces in (bytewise(body), sliced(body, 77)):
            assert decoded(pieces, limits=limits) == (chunks, result)

    def test_what_had_come_is_kept(self):
        message = decode_stream(BODY, limits={"max_tool_calls": 1}, **CHAT).message
        assert (message.text, [item.name for item in message.tool_calls]) == ("I look. One moment.", ["clock"])

    def test_exactly_at_the_limit_all_is_well(self):
        longest = max(len(line) for line in BODY.split(b"\n"))
        arguments = max(len(item.arguments) for item in decode_stream(BODY, **CHAT).message.tool_calls)
        limits = {
            "max_event_bytes": longest,
            "max_total_bytes": len(BODY),
            "max_tool_calls": 2,
            "max_parts": 3,
            "max_argument_bytes": arguments,
        }
        assert decode_stream(BODY, limits=limits, **CHAT) == decode_stream(BODY, **CHAT)
        for name, limit in limits.items():
            assert decode_stream(BODY, limits={name: limit - 1}, **CHAT).error.kind == "limit_exceeded"

    def test_bytes_behind_the_terminator_count_for_nothing(self):
        assert decode_stream([BODY, b"x" * 100], limits={"max_total_bytes": len(BODY)}, **CHAT).error is None

    @pytest.mark.parametrize(
        ("what", "start", "piece"),
        [
            ("an event", b"data: ", b"x" * 4096),
            ("a body of JSON", b'{"a": "', b"x" * 4096),
            ("a page", b"<html>", b"x" * 4096),
            ("error", b"", b"x" * 4096),
        ],
    )
    def test_a_hundred_megabytes_of_one_thing_are_not_held(self, what, start, piece):
        decoder = StreamDecoder(limits={"max_event_bytes": 1 << 20}, status=500 if what == "error" else 200, **CHAT)
        decoder.feed(start)
        assert most_held(decoder.feed, piece, times=100_000_000 // len(piece)) < 4 << 20
        decoder.close()
        assert decoder.result.error.kind in {"limit_exceeded", "not_event_stream", "provider_error"}

    def test_a_peer_that_never_ends_is_cut_off(self):
        decoder = StreamDecoder(limits={"max_total_bytes": 100_000}, **CHAT)
        fed = 0
        while not decoder.is_over:
            decoder.feed(b": ping\n\n" * 10)
            fed += 80
        assert fed <= 100_080


class TestTheNumberOfCalls:
    """Cost per chunk, counted in calls instead of seconds: the same on any machine. The bounds are what was measured, and a fifth."""

    @staticmethod
    def calls_per_chunk(kind, count):
        if kind == "text":
            body = b"".join(text_stream(*["flour"] * count))
        elif kind == "reasoning":
            body = b"".join([*(chunk({"reasoning_content": "hm"}) for _ in range(count)), chunk(finish="stop"), DONE])
        elif kind == "arguments":
            pieces = ['{"a": "', *["b"] * (count - 2), '"}']
            body = b"".join(call_stream("f", *pieces))
        else:
            body = b"".join([*(chunk({"content": "flour", "odd": None}) for _ in range(count)), chunk(finish="stop"), DONE])
        profile = cProfile.Profile()
        decoder = StreamDecoder(**CHAT)
        gc.disable()  # others may have hooked into it, and their calls would count
        profile.enable()
        for piece in sliced(body, 65_536):
            decoder.feed(piece)
        decoder.close()
        message = decoder.result.message
        profile.disable()
        gc.enable()
        assert len(message.text) + len(message.reasoning or "") + sum(len(item.arguments) for item in message.tool_calls) >= count
        return pstats.Stats(profile).total_calls / count

    @pytest.mark.parametrize(("kind", "bound"), [("text", 9.8), ("arguments", 18.2), ("reasoning", 29), ("unknown fields", 178)])
    def test_a_chunk_costs_a_bounded_number_of_calls(self, kind, bound):
        assert self.calls_per_chunk(kind, 10_000) <= bound

    @pytest.mark.parametrize("kind", ["text", "arguments", "reasoning", "unknown fields"])
    def test_the_number_does_not_grow_with_the_stream(self, kind):
        assert self.calls_per_chunk(kind, 20_000) <= 1.02 * self.calls_per_chunk(kind, 1_000)


@given(
    st.lists(st.sampled_from([*SAMPLES.values(), event({"error": "x"}), b"\n", b"data: ", b"{", DONE]), max_size=4).map(b"".join),
    st.booleans(),
)
def test_streams_run_into_each_other_never_raise(body, complete):
    chunks, result = decoded(body, complete=complete)
    check_result(chunks, result)
    assert decoded(sliced(body, 33), complete=complete) == (chunks, result)


@pytest.mark.parametrize(
    ("protocol", "last"),
    [
        ("openai-chat", b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
        (
            "anthropic-messages",
            b'event: message_start\ndata: {"type":"message_start","message":{}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
        ),
    ],
)
def test_a_decoder_of_any_protocol_says_when_nothing_more_can_come(protocol, last):
    decoder = StreamDecoder(protocol=protocol)
    assert not decoder.is_over
    decoder.feed(last)
    assert decoder.is_over
    assert not decoder.is_broken
