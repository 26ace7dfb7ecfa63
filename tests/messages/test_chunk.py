from __future__ import annotations

import copy
import pickle
import threading

import msgspec
import pydantic
import pytest

from headrace.errors import UsageError
from headrace.messages.chunk import (
    AssistantMessageChunk,
    MessageChunk,
    SystemMessageChunk,
    ToolMessageChunk,
    UserMessageChunk,
    make_assistant_chunk,
)
from headrace.messages.chunk_codec import decode_chunk, encode_chunk
from headrace.messages.deltas import TextDelta, ToolCallFragment
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage

PNG = MediaPart(kind="image", url="https://example.test/a.png")
EVERY_CLASS = [MessageChunk, AssistantMessageChunk, ToolMessageChunk, UserMessageChunk, SystemMessageChunk]
FULL = AssistantMessageChunk(
    ["one", PNG, {"x": 1}],
    reasoning="think",
    refusal="no",
    tool_calls=[ToolCallFragment("a", "f", '{"x":1}', 0), ToolCallFragment(name="g", arguments={"y": [2]}, index=1)],
    usage={"input_tokens": 1, "raw": {"prompt_tokens": 1}},
    finish_reason="tool_calls",
    metadata={"m": [1]},
    snapshot_keys=["s"],
    parsed={"p": 1},
    logprobs={"content": [1]},
    prompt_token_ids=[1],
    completion_token_ids=[2],
    name="bob",
    id="m1",
    model="gpt",
)


def test_all_that_a_chunk_is_made_of_can_be_read_from_it():
    assert FULL.role == "assistant"
    assert (FULL.text, FULL.reasoning, FULL.refusal, FULL.name) == ("one", "think", "no", "bob")
    assert FULL.tool_calls == (
        ToolCallFragment("a", "f", '{"x":1}', 0, "function"),
        ToolCallFragment(None, "g", '{"y":[2]}', 1, "function"),
    )
    assert FULL.usage == Usage(input_tokens=1, raw={"prompt_tokens": 1})
    assert (FULL.finish_reason, FULL.finish_reason_raw) == ("tool_calls", "tool_calls")
    assert (FULL.metadata, FULL.parsed, FULL.logprobs) == ({"m": [1]}, {"p": 1}, {"content": [1]})
    assert (FULL.prompt_token_ids, FULL.completion_token_ids) == ((1,), (2,))
    assert [warning.code for warning in FULL.warnings] == ["missing_tool_id"]


def test_the_message_holds_the_same():
    message = FULL.to_message()
    assert isinstance(message, AssistantMessage)
    assert (message.id, message.name, message.model, message.text, message.reasoning, message.refusal) == (
        "m1", "bob", "gpt", "one", "think", "no",
    )  # fmt: skip
    assert [type(part).__name__ for part in message.parts] == [
        "ReasoningPart", "TextPart", "MediaPart", "JsonPart", "RefusalPart", "ToolCallPart", "ToolCallPart",
    ]  # fmt: skip
    assert [(call.id, call.parsed, call.runnable) for call in message.tool_calls] == [("a", {"x": 1}, True), ("call_1", {"y": [2]}, True)]
    assert (message.usage, message.metadata, message.parsed, message.logprobs) == (FULL.usage, FULL.metadata, FULL.parsed, FULL.logprobs)
    assert (message.prompt_token_ids, message.completion_token_ids) == ((1,), (2,))
    assert message.warnings == FULL.warnings


def test_new_id_makes_the_ids_of_the_message():
    assert [call.id for call in FULL.to_message(new_id=lambda: "fresh").tool_calls] == ["a", "fresh"]
    assert [call.id for call in FULL.to_messages(new_id=lambda: "fresh")[0].tool_calls] == ["a", "fresh"]


def test_an_empty_chunk_knows_nothing():
    chunk = AssistantMessageChunk()
    assert (chunk.text, chunk.reasoning, chunk.refusal, chunk.tool_calls, chunk.usage) == ("", None, None, (), None)
    assert (chunk.finish_reason, chunk.finish_reason_raw, chunk.metadata, chunk.parsed, chunk.logprobs) == (None, None, {}, None, None)
    assert (chunk.prompt_token_ids, chunk.completion_token_ids, chunk.warnings, chunk.name) == (None, None, (), None)
    assert chunk.to_message() == AssistantMessage.assemble()


def test_the_identity_makes_an_empty_assistant_message():
    message = MessageChunk().to_message()
    assert message == AssistantMessage.assemble()
    assert isinstance(message, AssistantMessage)
    assert (MessageChunk().role, MessageChunk().text, MessageChunk().name, MessageChunk().metadata) == (None, "", None, {})


def test_a_tool_chunk():
    chunk = ToolMessageChunk(["out", PNG], call_id="c", name="f", state="error", metadata={"a": 1})
    assert (chunk.role, chunk.text, chunk.call_id, chunk.name, chunk.metadata, chunk.warnings) == ("tool", "out", "c", "f", {"a": 1}, ())
    message = chunk.to_message()
    assert isinstance(message, ToolMessage)
    assert message.results == (ToolResultPart(call_id="c", name="f", parts=["out", PNG], state="error"),)
    assert (message.name, message.metadata) == ("f", {"a": 1})
    assert ToolMessageChunk().call_id == ""


def test_user_and_system_chunks():
    user = UserMessageChunk("Hel", name="bob", metadata={"a": "x"}) + UserMessageChunk("lo") + UserMessageChunk([PNG], metadata={"a": "y"})
    assert isinstance(user.to_message(), UserMessage)
    assert (user.role, user.text, user.to_message().parts) == ("user", "Hello", (TextPart("Hello"), PNG))
    assert (user.to_message().name, user.to_message().metadata) == ("bob", {"a": "xy"})
    system = SystemMessageChunk("Be ", name="s") + SystemMessageChunk("kind", metadata={"a": 1})
    assert isinstance(system.to_message(), SystemMessage)
    assert (system.role, system.text, system.name, system.to_message().text) == ("system", "Be kind", "s", "Be kind")
    assert (system.to_message().name, system.to_message().metadata) == ("s", {"a": 1})


def test_text_of_choice_0_alone_and_of_whole_parts_too():
    assert AssistantMessageChunk("a").text == "a"
    assert AssistantMessageChunk.from_deltas([TextDelta("x", choice=1)]).text == ""
    mixed = AssistantMessageChunk.from_deltas([TextDelta("b", 1), TextDelta("a", 0), TextDelta("x", choice=1)])
    assert mixed.text == mixed.to_message().text == "ab"
    whole = AssistantMessageChunk("a") + AssistantMessageChunk([TextPart("b"), RefusalPart("c")])
    assert (whole.text, whole.refusal) == ("ab", "c")
    assert AssistantMessageChunk("a\ud83d").text == "a\ufffd"
    assert (AssistantMessageChunk("a\ud83d") + AssistantMessageChunk("\ude00")).text == "a😀"


def test_calls_made_from_parts_of_a_message():
    part = ToolCallPart(id="a", name="f", arguments={"x": 1}, id_made_up=True, provider_data={"s": 1})
    for chunk in (AssistantMessageChunk(tool_calls=[part]), AssistantMessageChunk([part])):
        (call,) = (chunk + AssistantMessageChunk(finish_reason="stop")).to_message().tool_calls
        assert (call.id, call.name, call.parsed, call.runnable, call.provider_data) == ("a", "f", {"x": 1}, True, {"s": 1})
    assert not AssistantMessageChunk([part]).to_message().tool_calls[0].runnable, "without a finish reason nothing runs"


# ------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("kind", EVERY_CLASS)
def test_chunks_survive_pickling_copying_and_json(kind):
    chunk = kind() + FULL if kind in (MessageChunk, AssistantMessageChunk) else kind("a") + kind("b", metadata={"c": [1]})
    for again in (pickle.loads(pickle.dumps(chunk)), copy.deepcopy(chunk), copy.copy(chunk), decode_chunk(encode_chunk(chunk))):
        assert again == chunk
        assert type(again) is type(chunk)
        assert again.to_message() == chunk.to_message()
    assert (pickle.loads(pickle.dumps(chunk)) + chunk) == chunk + chunk


class Model(pydantic.BaseModel):
    text: str
    items: list[int] = []


def test_a_parsers_model_merges_and_is_written_as_its_fields():
    total = AssistantMessageChunk(parsed=Model(text="a", items=[1])) + AssistantMessageChunk(parsed=Model(text="b", items=[2]))
    assert total.parsed == Model(text="ab", items=[1, 2])
    assert total.to_message().parsed == {"text": "ab", "items": [1, 2]}
    assert decode_chunk(encode_chunk(total)).to_message() == total.to_message()


@pytest.mark.parametrize("value", [object(), {"a": {object()}}])
def test_a_parsers_value_that_is_no_json_can_be_read_but_not_stored(value):
    chunk = AssistantMessageChunk("text", parsed=value)
    assert chunk.text == "text"
    assert chunk.parsed is not None
    for store in (chunk.to_message, lambda: encode_chunk(chunk)):
        with pytest.raises(UsageError):
            store()


def test_what_a_chunk_hands_out_cannot_change_it():
    chunk = AssistantMessageChunk(metadata={"a": [{"b": 1}]}, parsed={"a": [1]}, logprobs={"a": [1]})
    before = chunk.to_message()
    for value in (chunk.metadata, chunk.parsed, chunk.logprobs):
        value["a"].append("changed")
        value["new"] = 1
    model = AssistantMessageChunk(parsed=Model(text="a"))
    model.parsed.items.append("changed")
    assert chunk.to_message() == before
    assert model.parsed == Model(text="a")
    with pytest.raises(AttributeError):
        chunk.text = "changed"
    with pytest.raises(TypeError):
        before.metadata["a"].append(1)


def test_equality_is_by_value():
    assert AssistantMessageChunk("a") == AssistantMessageChunk("a")
    assert not AssistantMessageChunk("a") != AssistantMessageChunk("a")  # noqa: SIM202 - the other operator is what is tested
    assert not AssistantMessageChunk("a") == "a"  # noqa: SIM201 - likewise
    assert AssistantMessageChunk("a") in [MessageChunk(), AssistantMessageChunk("a")]
    assert hash(AssistantMessageChunk("a")) == hash(AssistantMessageChunk("a"))
    assert AssistantMessageChunk("a") != AssistantMessageChunk("b")
    assert AssistantMessageChunk() != ToolMessageChunk()
    assert AssistantMessageChunk() != MessageChunk()
    assert AssistantMessageChunk("a") != "a"
    assert bool(MessageChunk())


def test_the_repr_shows_a_few_deltas():
    assert repr(AssistantMessageChunk("a")) == "AssistantMessageChunk<TextDelta(text='a', part=None, choice=0)>"
    assert repr(MessageChunk.join([AssistantMessageChunk("a")] * 9)).endswith(", …>")


def test_the_short_constructor_of_decoders_makes_the_same_chunk():
    deltas = (TextDelta("a"), TextDelta("b"))
    assert make_assistant_chunk(deltas, 2, True) == AssistantMessageChunk.from_deltas(deltas, is_from_wire=True)


def test_json_content_is_content():
    assert AssistantMessageChunk({"x": 1}).to_message().parts == (JsonPart({"x": 1}),)
    assert AssistantMessageChunk([]).to_message().parts == ()


# ------------------------------------------------------------------------------------------ the shared buffer


def test_a_left_fold_shares_one_buffer_and_a_branch_gets_its_own():
    a = AssistantMessageChunk("a") + AssistantMessageChunk("b")
    b = a + AssistantMessageChunk("c")
    assert b._items is a._items
    c = a + AssistantMessageChunk("d")
    assert c._items is not a._items
    assert (a.text, b.text, c.text, (b + c).text, (c + c).text, (a + a).text) == ("ab", "abc", "abd", "abcabd", "abdabd", "abab")


def test_only_the_thread_that_made_a_buffer_appends_to_it():
    a = AssistantMessageChunk("a") + AssistantMessageChunk("b")
    sums = []
    worker = threading.Thread(target=lambda: sums.append(a + AssistantMessageChunk("other")))
    worker.start()
    worker.join()
    assert sums[0]._items is not a._items
    mine = a + AssistantMessageChunk("mine")
    assert mine._items is a._items
    assert (sums[0].text, mine.text, a.text) == ("abother", "abmine", "ab")


def test_threads_that_add_to_one_chunk_do_not_meet():
    base, texts = AssistantMessageChunk("a") + AssistantMessageChunk("b"), {}
    barrier = threading.Barrier(4)

    def work(name):
        barrier.wait()
        total = base
        for _ in range(2_000):
            total += AssistantMessageChunk(name)
        texts[name] = total.text

    workers = [threading.Thread(target=work, args=(name,)) for name in "wxyz"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert texts == {name: "ab" + name * 2_000 for name in "wxyz"}
    assert base.text == "ab"


def test_chunks_are_frozen_structs_that_the_garbage_collector_need_not_visit():
    assert all(issubclass(kind, msgspec.Struct) and kind.__struct_config__.frozen and not kind.__struct_config__.gc for kind in EVERY_CLASS)


def test_a_class_that_somebody_derives_adds_up_to_itself():
    class Mine(AssistantMessageChunk, frozen=True, gc=False, eq=False):
        pass

    total = Mine("a") + Mine("b") + MessageChunk()
    assert (type(total), total.text) == (Mine, "ab")
