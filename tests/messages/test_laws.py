"""Laws 2 to 6 of the design, for chunks made by hand and from deltas."""

from __future__ import annotations

import pickle
import sys
from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UsageError
from headrace.messages.accumulator import Accumulator
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk, SystemMessageChunk, ToolMessageChunk, UserMessageChunk
from headrace.messages.chunk_codec import decode_chunk, encode_chunk
from headrace.messages.deltas import (
    CitationDelta,
    Ended,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    MetadataDelta,
    ParsedDelta,
    PartDataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
    WarningDelta,
)
from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.messages.warning import CODES, Warning  # noqa: A004 - the field's word

ROLES = [AssistantMessageChunk, ToolMessageChunk, UserMessageChunk, SystemMessageChunk]
PNG = MediaPart(kind="image", url="https://example.test/a.png")

# ------------------------------------------------------------------------------------------ what chunks are drawn from

TEXT = st.text(alphabet="ab ü😀\n", max_size=3)
CHOICE = st.sampled_from([0, 0, 0, 1, 2])
KEY = st.sampled_from([None, None, None, 0, 1, 5])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
OBJECT = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)
COUNT = st.none() | st.integers(0, 9)
USAGE = st.builds(Usage, input_tokens=COUNT, output_tokens=COUNT, cache_read_tokens=COUNT, raw=OBJECT)
WORD = st.sampled_from(["", "null", "stop", "tool_calls", "length", "content_filter", "error", "pause_turn", "odd"])
ARGUMENTS = st.sampled_from([None, "", "{", "}", '{"x":', "1}", '{"x":1}', '{"y":2}', "{}", "null", "x", {"x": 1}])
FRAGMENT = st.builds(
    ToolCallFragment,
    id=st.sampled_from([None, "", "a", "b"]),
    name=st.sampled_from([None, "", "f", "g"]),
    arguments=ARGUMENTS,
    index=st.sampled_from([None, -1, 0, 1]),
    kind=st.sampled_from([None, "function", "custom"]),
    part=KEY,
    choice=CHOICE,
    provider_data=OBJECT,
)
PARTS = st.sampled_from([PNG, TextPart("whole"), JsonPart({"x": 1}), ToolCallPart(id="p", name="f", arguments={"x": 1})])
CONTENT = (
    st.builds(TextDelta, TEXT, KEY, CHOICE)
    | st.builds(ReasoningDelta, TEXT, KEY, CHOICE, st.sampled_from([None, "s"]), st.sampled_from([None, "e"]))
    | st.builds(RefusalDelta, TEXT, KEY, CHOICE)
    | FRAGMENT
    | st.builds(ToolCallSettled, st.sampled_from([0, 1, 5]), st.sampled_from([None, "a"]), st.sampled_from([None, '{"x":1}']), CHOICE)
    | st.builds(
        MediaDelta, st.sampled_from(["audio", "image"]), st.binary(max_size=2), TEXT, st.sampled_from([None, "m"]), part=KEY, choice=CHOICE
    )
    | st.builds(PartDelta, PARTS, KEY, CHOICE)
    | st.builds(PartDataDelta, OBJECT, st.sampled_from(["text", "reasoning", "refusal"]), KEY, CHOICE)
    | st.builds(
        ProviderToolFragment,
        *[st.sampled_from([None, "", "a", "b"])] * 3,
        result=JSON,
        part=KEY,
        choice=CHOICE,
        provider_data=OBJECT,
    )
    | st.builds(CitationDelta, OBJECT, KEY, CHOICE)
)
ABOUT = (
    st.builds(MessageStart, *[st.sampled_from([None, "", "x", "y"])] * 2, name=st.sampled_from([None, "bob", "al"]))
    | st.builds(UsageDelta, USAGE)
    | st.builds(LogprobsDelta, st.dictionaries(st.sampled_from("ab"), st.none() | st.lists(st.integers(), max_size=2)), CHOICE)
    | st.builds(TokenIdsDelta, *[st.none() | st.lists(st.integers(0, 9), max_size=2).map(tuple)] * 2, CHOICE)
    | st.builds(ParsedDelta, JSON, CHOICE)
    | st.builds(FinishDelta, WORD, CHOICE)
    | st.builds(MetadataDelta, OBJECT, st.lists(st.sampled_from("abc"), max_size=1).map(tuple), CHOICE)
    | st.builds(WarningDelta, st.builds(Warning, st.just("invalid_utf8")))
    | st.builds(Restarted)
)
END = st.builds(Ended, st.sampled_from([None, None, StreamError("provider_error"), StreamError("stream_truncated")]), st.booleans())
DELTAS = st.lists(CONTENT | ABOUT, max_size=4)

FROM_WIRE = st.builds(lambda deltas: AssistantMessageChunk.from_deltas(deltas, is_from_wire=True), DELTAS)
LAST = st.builds(lambda end: AssistantMessageChunk.from_deltas([end], is_from_wire=True), END)
BY_HAND = st.builds(
    AssistantMessageChunk,
    st.none() | TEXT | st.lists(PARTS | TEXT, max_size=2),
    reasoning=st.none() | TEXT,
    refusal=st.none() | TEXT,
    tool_calls=st.lists(FRAGMENT, max_size=2),
    usage=st.none() | USAGE,
    finish_reason=st.none() | WORD,
    metadata=OBJECT,
    snapshot_keys=st.lists(st.sampled_from("abc"), max_size=1),
    parsed=JSON,
    logprobs=st.none() | OBJECT,
    prompt_token_ids=st.none() | st.lists(st.integers(0, 9), max_size=2),
    completion_token_ids=st.none() | st.lists(st.integers(0, 9), max_size=2),
    name=st.sampled_from([None, "bob", "al"]),
)
CHUNK = FROM_WIRE | BY_HAND | LAST | st.just(MessageChunk())
CHUNKS = st.lists(CHUNK, max_size=6)
OTHER_ROLES = st.one_of(
    st.lists(st.builds(ToolMessageChunk, TEXT, call_id=st.sampled_from([None, "", "a", "b"]), name=st.sampled_from([None, "f"]), metadata=OBJECT), max_size=5),
    st.lists(st.builds(UserMessageChunk, TEXT | st.lists(TEXT, max_size=2), name=st.sampled_from([None, "bob"]), metadata=OBJECT), max_size=5),
    st.lists(st.builds(SystemMessageChunk, TEXT, metadata=OBJECT), max_size=5),
)  # fmt: skip


def grouped(chunks, draw):
    """Add chunks up in an order of brackets that is drawn."""
    chunks = list(chunks)
    while len(chunks) > 1:
        at = draw(st.integers(0, len(chunks) - 2))
        chunks[at : at + 2] = [chunks[at] + chunks[at + 1]]
    return chunks[0] if chunks else MessageChunk()


def messages_of(chunk):
    return chunk.to_messages() if isinstance(chunk, AssistantMessageChunk) else chunk.to_message()


# ------------------------------------------------------------------------------------------ law 2: merging


@given(CHUNKS | OTHER_ROLES, st.data())
def test_any_grouping_sum_join_and_the_accumulator_give_equal_messages(chunks, data):
    total = MessageChunk.join(chunks)
    for other in (grouped(chunks, data.draw), sum(chunks, MessageChunk()), reduce(lambda a, b: a.merge(b), chunks, MessageChunk())):
        assert other == total
        assert messages_of(other) == messages_of(total)
    if chunks:
        assert sum(chunks) == total
    if isinstance(total, AssistantMessageChunk):
        accumulator = Accumulator(is_from_wire=total.is_from_wire)
        for chunk in chunks:
            accumulator.extend(chunk.deltas)
        assert accumulator.messages() == total.to_messages()


@given(CHUNK, CHUNK, CHUNK)
def test_adding_is_associative(a, b, c):
    assert (a + b) + c == a + (b + c)


@given(CHUNK)
def test_the_empty_chunk_is_the_identity(chunk):
    assert MessageChunk() + chunk == chunk + MessageChunk() == 0 + chunk == chunk
    assert type(MessageChunk() + chunk) is type(chunk)
    empty = AssistantMessageChunk()
    assert (empty + chunk).deltas == (chunk + empty).deltas == chunk.deltas


def test_the_sum_of_nothing_is_the_identity():
    assert MessageChunk.join([]) == MessageChunk() + MessageChunk() == MessageChunk()


@given(CHUNKS, CHUNKS, CHUNK, CHUNK)
def test_adding_changes_nothing_also_where_branches_share_a_buffer(trunk, side, b, c):
    a = MessageChunk.join(trunk)
    kept = [(chunk, chunk.deltas, messages_of(chunk)) for chunk in (a, b, c, *trunk, *side)]
    left, right = a + b, a + c
    again = left + c
    both = reduce(add, side, left), reduce(add, side, right)
    for chunk, deltas, message in kept:
        assert chunk.deltas == deltas
        assert messages_of(chunk) == message
    rest = tuple(delta for chunk in side for delta in chunk.deltas)
    assert left.deltas == a.deltas + b.deltas
    assert right.deltas == a.deltas + c.deltas
    assert again.deltas == a.deltas + b.deltas + c.deltas
    assert [total.deltas for total in both] == [left.deltas + rest, right.deltas + rest]


@given(CHUNKS)
def test_what_was_pickled_or_written_goes_on_as_if_it_had_not_been(chunks):
    total = plain = MessageChunk()
    for chunk in chunks:
        plain += chunk
        total = pickle.loads(pickle.dumps(total)) + decode_chunk(encode_chunk(chunk))
    assert messages_of(total) == messages_of(plain)


@given(CHUNKS)
def test_what_can_be_read_from_a_chunk_is_what_its_message_says(chunks):
    total = AssistantMessageChunk() + MessageChunk.join(chunks)
    message = total.to_message()
    assert total.text == message.text
    assert (total.reasoning, total.refusal) == (message.reasoning or None, message.refusal or None)
    assert (total.usage, total.name, total.logprobs) == (message.usage, message.name, message.logprobs)
    assert (total.metadata, total.parsed, total.warnings) == (message.metadata, message.parsed, message.warnings)
    assert (total.prompt_token_ids, total.completion_token_ids) == (message.prompt_token_ids, message.completion_token_ids)
    calls = [(call.name, call.arguments, call.index, call.kind) for call in message.tool_calls]
    assert [(call.name, call.arguments, call.index, call.kind) for call in total.tool_calls] == calls
    assert [call.id for call in total.tool_calls] == [None if call.id_made_up else call.id for call in message.tool_calls]


@pytest.mark.parametrize("left", ROLES)
@pytest.mark.parametrize("right", ROLES)
def test_two_roles_do_not_add_up(left, right):
    if left is right:
        assert type(left("a") + right("b")) is type(MessageChunk.join([MessageChunk(), left("a"), MessageChunk(), right("b")])) is left
        return
    for attempt in (lambda: left("a") + right("b"), lambda: left("a").merge(right("b")), lambda: MessageChunk.join([left(), right()])):
        with pytest.raises(TypeError, match=f"cannot merge {left.__name__} and {right.__name__}") as raised:
            attempt()
        assert isinstance(raised.value, UsageError)


@pytest.mark.parametrize("other", ["text", None, 1, 0, 1.0, [], {"role": "user"}, object()])
@pytest.mark.parametrize("kind", [MessageChunk, *ROLES])
def test_what_is_no_chunk_does_not_add_up(kind, other):
    with pytest.raises(TypeError, match=f"{kind.__name__} and {type(other).__name__}") as raised:
        _ = kind() + other
    assert isinstance(raised.value, UsageError)
    with pytest.raises(UsageError, match=f"cannot merge {kind.__name__} and {type(other).__name__}"):
        MessageChunk.join([kind(), other])
    if other == 0 and isinstance(other, int):
        return
    with pytest.raises(TypeError, match=f"{kind.__name__}") as raised:
        _ = other + kind()
    assert isinstance(raised.value, UsageError) or isinstance(other, list)


# ------------------------------------------------------------------------------------------ law 2: the field table of 6.1


def chunk(**fields):
    return AssistantMessageChunk(**fields)


FIELDS = {
    "name: the first non-empty": ("name", [chunk(), chunk(name=""), chunk(name="bob"), chunk(name="al")], "bob"),
    "model: the first non-empty": ("model", [chunk(model=""), chunk(model="gpt"), chunk(model="other")], "gpt"),
    "id: the first non-empty": ("id", [chunk(id=""), chunk(id="m1"), chunk(id="m2")], "m1"),
    "text: joined in order": ("text", [chunk(content="a"), chunk(), chunk(content=""), chunk(content="b")], "ab"),
    "text and list content are both parts": ("text", [chunk(content="a"), chunk(content=["b"]), chunk(content="c")], "abc"),
    "reasoning: joined in order": ("reasoning", [chunk(reasoning="a"), chunk(reasoning=None), chunk(reasoning="b")], "ab"),
    "refusal: joined in order": ("refusal", [chunk(refusal="a"), chunk(refusal=""), chunk(refusal="b")], "ab"),
    "finish_reason: None, empty and null say nothing": (
        "finish_reason",
        [
            chunk(finish_reason="null"),
            chunk(finish_reason="stop"),
            chunk(finish_reason=None),
            chunk(finish_reason=""),
            chunk(finish_reason="null"),
        ],
        "stop",
    ),
    "finish_reason: nothing said": ("finish_reason", [chunk(finish_reason="null"), chunk(finish_reason="")], None),
    "finish_reason: the decisive one wins": ("finish_reason", [chunk(finish_reason="stop"), chunk(finish_reason="length")], "length"),
    "finish_reason_raw": ("finish_reason_raw", [chunk(finish_reason="end_turn"), chunk(finish_reason="stop")], "end_turn"),
    "usage: field by field the last that is not None": (
        "usage",
        [chunk(usage={"input_tokens": 9, "output_tokens": 1}), chunk(usage=Usage(output_tokens=4)), chunk(usage={})],
        Usage(input_tokens=9, output_tokens=4),
    ),
    "usage: zero is a report": ("usage", [chunk(usage={"input_tokens": 9}), chunk(usage={"input_tokens": 0})], Usage(input_tokens=0)),
    "prompt_token_ids: the first non-empty": ("prompt_token_ids", [chunk(prompt_token_ids=ids) for ids in (None, [], [1], [2])], (1,)),
    "completion_token_ids: joined": ("completion_token_ids", [chunk(completion_token_ids=ids) for ids in ([1], None, [2])], (1, 2)),
    "logprobs: joined, None leaves them": (
        "logprobs",
        [chunk(logprobs={"content": [1]}), chunk(logprobs=None), chunk(logprobs={"content": None, "refusal": [2]})],
        {"content": [1], "refusal": [2]},
    ),
    "logprobs as a list": ("logprobs", [chunk(logprobs=[1]), chunk(logprobs=[2])], [1, 2]),
    "parsed: merged": ("parsed", [chunk(parsed={"a": "x"}), chunk(), chunk(parsed={"a": "y", "b": 0})], {"a": "xy", "b": 0}),
    "parsed: zero and false are values": ("parsed", [chunk(parsed=5), chunk(parsed=0), chunk(parsed=None), chunk(parsed=False)], False),
    "metadata: merged": (
        "metadata",
        [chunk(metadata={"a": [1]}), chunk(metadata=None), chunk(metadata={"a": [2], "b": None})],
        {"a": [1, 2], "b": None},
    ),
    "metadata: a snapshot replaces": (
        "metadata",
        [chunk(metadata={"a": [1]}), chunk(snapshot_keys=["a"]), chunk(metadata={"a": [1, 2]}), chunk(metadata={})],
        {"a": [1, 2]},
    ),
}


@pytest.mark.parametrize("row", FIELDS)
def test_the_field_table(row):
    field, chunks, expected = FIELDS[row]
    total = sum(chunks)
    message = total.to_message()
    if hasattr(AssistantMessageChunk, field):
        assert getattr(total, field) == expected
    assert getattr(message, field) == expected


def test_the_call_id_of_a_tool_chunk_is_the_last_non_empty_and_two_are_a_warning():
    same = ToolMessageChunk("a", call_id="x") + ToolMessageChunk("b") + ToolMessageChunk("c", call_id="") + ToolMessageChunk(call_id="x")
    assert (same.call_id, same.warnings) == ("x", ())
    total = same + ToolMessageChunk(call_id="y")
    assert total.call_id == total.to_message().results[0].call_id == "y"
    assert [warning.code for warning in total.warnings] == ["changing_tool_id"]


def test_every_raw_finish_word_is_kept():
    total = chunk(finish_reason="stop") + chunk(finish_reason="max_tokens")
    assert [delta.word for delta in total.deltas if isinstance(delta, FinishDelta)] == ["stop", "max_tokens"]
    assert (total.to_message().finish_reason, total.to_message().finish_reason_raw) == ("length", "max_tokens")


# ------------------------------------------------------------------------------------------ laws 3, 4 and 5


@given(st.lists(CONTENT, max_size=8))
def test_nothing_is_lost(deltas):
    total = AssistantMessageChunk.from_deltas(deltas)
    message = total.to_messages()
    for kind, attribute in ((TextDelta, "text"), (ReasoningDelta, "reasoning"), (RefusalDelta, "refusal")):
        sent = "".join(delta.text for delta in deltas if isinstance(delta, kind))
        kept = "".join(getattr(one, attribute) for one in message)
        whole = sum(isinstance(delta, PartDelta) and delta.value == TextPart("whole") for delta in deltas) if kind is TextDelta else 0
        assert set(sent) <= set(kept)
        assert len(sent) <= len(kept) <= len(sent) + len("whole") * whole
    signatures = sum(bool(delta.signature) for delta in deltas if isinstance(delta, ReasoningDelta))
    assert (
        sum(len(part.signature or "") for one in message for part in one.parts if part.__struct_config__.tag == "reasoning") == signatures
    )


@given(st.lists(FROM_WIRE, max_size=6))
def test_nothing_runs_in_the_snapshot_of_a_decoders_stream(chunks):
    total = MessageChunk.join(chunks)
    assert not any(call.runnable for message in (total + AssistantMessageChunk()).to_messages() for call in message.tool_calls)


@given(st.lists(BY_HAND, max_size=6))
def test_nothing_runs_in_a_sum_by_hand_without_a_finish_reason(chunks):
    total = AssistantMessageChunk() + MessageChunk.join(chunks)
    if total.finish_reason is None:
        message = total.to_message()
        assert message.finish_reason is None
        assert not any(call.runnable for call in message.tool_calls)


@given(CHUNKS)
def test_what_runs_has_a_name_an_id_of_its_own_and_arguments_that_were_in_its_text(chunks):
    for message in (AssistantMessageChunk() + MessageChunk.join(chunks)).to_messages():
        ids = [call.id for call in message.tool_calls]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        for call in message.tool_calls:
            if call.runnable:
                assert call.name
                assert message.finish_reason not in {"content_filter", "error", None}
                assert call.kind == "custom" or call.parsed is not None
            if call.parsed == {}:
                assert call.arguments.strip() in {"", "null", "{}", "{}{}"} or "{}" in call.arguments


@given(CHUNKS, END)
def test_nothing_runs_in_a_stream_that_failed(chunks, end):
    total = MessageChunk.join([AssistantMessageChunk(), *chunks])
    ended = total + AssistantMessageChunk.from_deltas([end], is_from_wire=True)
    first = next(delta for delta in ended.deltas if isinstance(delta, Ended))
    if first.error is not None:
        assert not any(call.runnable for message in ended.to_messages() for call in message.tool_calls)


@given(CHUNKS)
def test_a_snapshot_in_the_middle_does_not_disturb_the_end(chunks):
    total, looked_at = AssistantMessageChunk(), Accumulator(is_from_wire=any(chunk.is_from_wire for chunk in chunks))
    for one in chunks:
        total += one
        total.to_messages()
        for delta in one.deltas:
            looked_at.add(delta)
            looked_at.messages()
    assert total.to_messages() == MessageChunk.join([AssistantMessageChunk(), *chunks]).to_messages() == looked_at.messages()


@given(CHUNKS)
def test_messages_can_be_stored_and_their_warnings_are_known(chunks):
    for message in (AssistantMessageChunk() + MessageChunk.join(chunks)).to_messages():
        assert type(message).from_json(message.to_json()) == message
        assert all(warning.code in CODES for warning in message.warnings)


# ------------------------------------------------------------------------------------------ law 6: linear cost


def calls_during(work):
    """Count the calls of functions, Python's own included, that some work takes."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


STREAMS = {
    "text": lambda n: TextDelta("x"),
    "arguments": lambda n: ToolCallFragment(None if n else "a", None if n else "f", "x", 0),
    "arguments without an index": lambda n: ToolCallFragment(None if n else "a", None if n else "f", "x"),
    "arguments with the id and name again and again": lambda n: ToolCallFragment("a", "f", '{"x":1}', 0),
    "arguments with another id each time": lambda n: ToolCallFragment(f"id{n}", "" if n else "f", "}", 0),
    "names in pieces": lambda n: ToolCallFragment(None if n else "a", "piece" if n else "f", None, 0),
    "one call at many indexes": lambda n: ToolCallFragment("a", "f", "}" if n else "{", n),
    "whole calls": lambda n: ToolCallFragment(f"id{n}", "f", '{"x":1}', 0),
    "reasoning with signatures": lambda n: ReasoningDelta("x", signature="s"),
    "usage in every chunk": lambda n: UsageDelta(Usage(output_tokens=n, raw={"output": n})),
    "usage with a new key in every chunk": lambda n: UsageDelta(Usage(output_tokens=n, raw={f"key{n}": n})),
    "metadata": lambda n: MetadataDelta({"a": "x", "b": [n]}, ("b",)),
    "a finish word after every chunk": lambda n: FinishDelta("stop") if n % 2 else TextDelta("x"),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_a_chunk_costs_the_same_number_of_calls_in_a_long_stream_as_in_a_short_one(stream):
    make = STREAMS[stream]
    per_chunk = []
    for size in (1_000, 10_000):
        chunks = [AssistantMessageChunk.from_deltas([make(n)], is_from_wire=True) for n in range(size)]
        ended = AssistantMessageChunk.from_deltas([FinishDelta("stop"), Ended(is_terminated=True)], is_from_wire=True)

        def work(chunks=chunks, ended=ended):
            (reduce(add, chunks) + ended).to_message()

        per_chunk.append(calls_during(work) / size)
    short, long = per_chunk
    assert long <= short * 1.05


def test_a_left_fold_takes_few_calls_per_chunk():
    chunks = [AssistantMessageChunk.from_deltas([TextDelta("x")], is_from_wire=True) for _ in range(1_000)]
    assert calls_during(lambda: reduce(add, chunks)) / 1_000 <= 8
    total = reduce(add, chunks)
    assert calls_during(total.to_message) / 1_000 <= 2


@pytest.mark.parametrize("what", ["text", "arguments"])
def test_a_left_fold_over_a_million_chunks(what):
    size = 1_000_000
    if what == "text":
        piece = AssistantMessageChunk("x")
        message = (reduce(add, (piece for _ in range(size))) + AssistantMessageChunk(finish_reason="stop")).to_message()
        assert message.text == "x" * size
    else:
        piece = AssistantMessageChunk(tool_calls=[ToolCallFragment(arguments="1,", index=0)])
        first = AssistantMessageChunk(tool_calls=[ToolCallFragment("a", "f", '{"n":[', 0)])
        last = AssistantMessageChunk(tool_calls=[ToolCallFragment(arguments="1]}", index=0)], finish_reason="tool_calls")
        (call,) = (reduce(add, (piece for _ in range(size)), first) + last).to_message().tool_calls
        assert call.runnable
        assert call.parsed == {"n": [1] * (size + 1)}


def test_freeing_and_comparing_a_long_sum_does_not_recurse():
    chunks = [AssistantMessageChunk("x") for _ in range(100_000)]
    one, other = reduce(add, chunks), reduce(add, chunks)
    assert one == other
    del one, other
