"""Parts: made by hand, from dictionaries, and as machines make them; frozen and writable whoever made them."""

from __future__ import annotations

import copy
import pickle
from enum import StrEnum

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import EMPTY, FrozenDict, dumps, loads
from headrace.errors import UsageError
from headrace.messages.part_base import PartBase
from headrace.messages.parts import (
    PART_TYPES,
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
    make,
    part_from_json,
    parts_of,
)
from message_strategies import call_parts, json_objects, json_values, parts, texts


class Word(StrEnum):
    YES = "yes"


EXAMPLES = {
    "text": TextPart("a"),
    "reasoning": ReasoningPart("a"),
    "refusal": RefusalPart("a"),
    "tool_call": ToolCallPart(id="1", name="f"),
    "tool_result": ToolResultPart(call_id="1", parts="a"),
    "media": MediaPart(kind="image", url="u"),
    "json": JsonPart({"a": [1]}),
    "provider_tool": ProviderToolPart(name="web_search"),
    "provider_item": ProviderItem(provider="p", protocol="q", raw=b"{}"),
    "opaque": OpaquePart({"type": "hologram", "x": [1]}),
}
every_part = pytest.mark.parametrize("part", EXAMPLES.values(), ids=EXAMPLES)


def test_every_type_has_its_class_and_its_example():
    assert set(PART_TYPES) == set(EXAMPLES)
    assert [type(part) for part in EXAMPLES.values()] == [PART_TYPES[name] for name in EXAMPLES]


@every_part
def test_no_field_can_be_set_or_deleted(part):
    for field in part.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(part, field, None)
        with pytest.raises(AttributeError):
            delattr(part, field)


@given(parts)
def test_parts_copy_pickle_and_hash_and_keep_their_class(part):
    for again in (copy.copy(part), copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
        assert again == part
        assert type(again) is type(part)
        assert hash(again) == hash(part)
        assert dumps(again) == dumps(part)


@given(parts)
def test_a_part_read_from_its_json_is_equal(part):
    form = loads(dumps(part))
    assert part_from_json(form, "part") == part
    assert dumps(part_from_json(form, "part")) == dumps(part)


@given(json_objects, json_values)
def test_changing_what_a_part_was_made_from_does_not_reach_it(data, value):
    held, cited = {"data": data}, [[value]]
    made = [
        TextPart("a", citations=cited, provider_data=held),
        ReasoningPart(details=cited, provider_data=held),
        JsonPart(cited, provider_data=held),
        ToolCallPart(name="f", arguments=held),
        ProviderToolPart(parsed=held, result=cited),
        ToolResultPart(call_id="1", parts=cited, metadata=held),
        OpaquePart({"type": "x", "held": held}),
        make(TextPart, text="a", citations=cited, provider_data=held),
    ]
    before = dumps(made)
    held["more"] = 1
    cited[0].append(1)
    cited.append(2)
    assert dumps(made) == before


def test_empty_dictionaries_are_left_out_of_json():
    assert dumps(TextPart("a", citations=[], provider_data={})) == b'{"type":"text","text":"a"}'
    assert TextPart("a", provider_data={}).provider_data is EMPTY
    assert dumps(pickle.loads(pickle.dumps(TextPart("a")))) == b'{"type":"text","text":"a"}'


def test_sequences_are_tuples_whoever_made_them():
    assert TextPart("a", citations=[{"b": 1}]).citations == ({"b": 1},)
    assert make(ReasoningPart, details=[1]).details == (1,)
    assert type(part_from_json({"type": "text", "text": "", "citations": [1]}, "p").citations) is tuple


def test_subclasses_of_text_become_plain_text():
    assert type(TextPart(Word.YES).text) is str
    assert type(make(TextPart, text=Word.YES).text) is str
    assert type(parts_of(Word.YES)[0].text) is str


WRONG = {
    "no text": (TextPart, "TextPart.text", "Missing required argument 'text'"),
    "number for text": (lambda: TextPart(5), "TextPart.text", "is a int, not text"),
    "None for text": (lambda: TextPart(None), "TextPart.text", "Expected `str`, got `null`"),
    "unknown field": (lambda: TextPart("a", colour=1), "TextPart.colour", "Unexpected keyword argument 'colour'"),
    "too many": (lambda: TextPart("a", (), {}, 4), "TextPart", "Extra positional arguments"),
    "list for mapping": (lambda: TextPart("a", provider_data=[1]), "TextPart.provider_data", "Expected `object`, got `array`"),
    "number for list": (lambda: TextPart("a", citations=3), "TextPart.citations", "is a int, not a list"),
    "no json": (lambda: TextPart("a", citations=[{"x": {1}}]), "TextPart.citations[0].x", "is a set"),
    "nan": (lambda: JsonPart([float("nan")]), "JsonPart.value[0]", "is nan"),
    "half a pair": (lambda: TextPart("\ud83d"), "TextPart.text", "half of a surrogate pair"),
    "half a pair in a signature": (lambda: ReasoningPart(signature="\ud83d"), "ReasoningPart.signature", "half of a surrogate pair"),
    "half a pair from a machine": (lambda: make(TextPart, text="\ud83d"), "TextPart.text", "half of a surrogate pair"),
    "signature": (lambda: ReasoningPart(signature=b"x"), "ReasoningPart.signature", "is a bytes, not text"),
    "call by position": (lambda: ToolCallPart("f"), "ToolCallPart", "keywords only"),
    "call kind": (lambda: ToolCallPart(kind="magic"), "ToolCallPart.kind", "Invalid enum value 'magic'"),
    "call arguments": (lambda: ToolCallPart(arguments=[1]), "ToolCallPart.arguments", "is a list, not text"),
    "call arguments inside": (lambda: ToolCallPart(arguments={"a": b""}), "ToolCallPart.arguments.a", "is a bytes"),
    "call index": (lambda: ToolCallPart(index="0"), "ToolCallPart.index", "Expected `int | null`, got `str`"),
    "runnable without arguments": (lambda: ToolCallPart(name="f", arguments="{", runnable=True), "ToolCallPart.runnable", "cannot run"),
    "runnable without name": (lambda: ToolCallPart(runnable=True), "ToolCallPart.runnable", "cannot run"),
    "result by position": (lambda: ToolResultPart("1"), "ToolResultPart", "keywords only"),
    "result without call": (lambda: ToolResultPart(parts="a"), "ToolResultPart.call_id", "Missing required argument"),
    "result state": (lambda: ToolResultPart(call_id="1", state="ok"), "ToolResultPart.state", "Invalid enum value 'ok'"),
    "nested result": (
        lambda: ToolResultPart(call_id="1", parts=["a", ToolResultPart(call_id="2")]),
        "ToolResultPart.parts[1]",
        "results hold",
    ),
    "no source": (lambda: MediaPart(kind="image"), "MediaPart.url", "exactly one of url, data and file_id"),
    "two sources": (lambda: MediaPart(kind="image", url="u", file_id="f"), "MediaPart.url", "exactly one"),
    "media kind": (lambda: MediaPart(kind="smell", url="u"), "MediaPart.kind", "Invalid enum value 'smell'"),
    "media data": (lambda: MediaPart(kind="image", data="aGk="), "MediaPart.data", "Expected `bytes | null`, got `str`"),
    "opaque without type": (lambda: OpaquePart({"a": 1}), "OpaquePart.raw", "has no type"),
    "opaque list": (lambda: OpaquePart([1]), "OpaquePart.raw", "has no type"),
    "opaque type": (lambda: OpaquePart({"type": 1}), "OpaquePart.raw", "has no type"),
}


@pytest.mark.parametrize(("build", "place", "why"), WRONG.values(), ids=WRONG)
def test_wrong_use_names_the_field(build, place, why):
    with pytest.raises(UsageError) as caught:
        build()
    assert caught.value.argument == place
    assert place in str(caught.value)
    assert why in str(caught.value)


@pytest.mark.parametrize("state", ["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"])
def test_a_result_has_one_of_seven_states(state):
    assert ToolResultPart(call_id="1", state=state).state == state


# ------------------------------------------------------------------------------------------------ calls


def test_arguments_given_as_a_dictionary_are_written_parsed_and_runnable():
    call = ToolCallPart(id="1", name="f", arguments={"n": 2**70, "city": "Zürich"})
    assert call.arguments == '{"n":1180591620717411303424,"city":"Zürich"}'
    assert call.parsed == {"n": 2**70, "city": "Zürich"}
    assert type(call.parsed) is FrozenDict
    assert call.runnable


def test_arguments_given_as_text_are_kept_as_they_are():
    call = ToolCallPart(name="f", arguments=' {"a" : 1}')
    assert (call.arguments, call.parsed, call.runnable) == (' {"a" : 1}', {"a": 1}, True)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"x"', '{"a": NaN}', "{'a': 1}", '{"a":1}{"b":2}'])
def test_text_that_is_no_object_is_never_parsed_to_one_and_never_runnable(text):
    call = ToolCallPart(name="f", arguments=text)
    assert (call.arguments, call.parsed, call.runnable) == (text, None, False)


def test_a_call_without_arguments_has_none_and_runs():
    assert (ToolCallPart(name="f").parsed, ToolCallPart(name="f").runnable) == ({}, True)
    assert not ToolCallPart(id="1").runnable


def test_a_custom_call_takes_any_text_and_parses_nothing():
    call = ToolCallPart(name="sql", kind="custom", arguments='{"a": 1}')
    assert (call.parsed, call.runnable) == (None, True)


def test_parsed_alone_says_the_arguments_too():
    call = ToolCallPart(name="f", parsed={"a": 1})
    assert (call.arguments, call.parsed, call.runnable) == ('{"a":1}', {"a": 1}, True)
    assert ToolCallPart(name="f", arguments='{"a": 1} tail', parsed={"a": 1}).arguments == '{"a": 1} tail'
    assert not ToolCallPart(name="f", arguments='{"a": 1}', parsed=None).runnable


def test_a_call_can_be_held_back():
    assert not ToolCallPart(name="f", runnable=False).runnable


def test_machines_derive_nothing():
    call = make(ToolCallPart, id="1", name="f", arguments='{"a": 1}')
    assert (call.parsed, call.runnable) == (None, False)


@given(call_parts)
def test_no_call_is_runnable_without_a_name_and_arguments(call):
    if call.runnable:
        assert call.name
        assert call.kind == "custom" or isinstance(call.parsed, dict)


def test_a_stored_call_that_claims_to_be_runnable_without_arguments_is_not():
    form = {"type": "tool_call", "name": "f", "arguments": "{", "runnable": True}
    assert not part_from_json(form, "part").runnable
    assert not make(ToolCallPart, arguments="{}", parsed={}, runnable=True).runnable


# ------------------------------------------------------------------------------------------- media, items


@pytest.mark.parametrize("data", [bytearray(b"abc"), memoryview(b"abc"), b"abc"], ids=["bytearray", "memoryview", "bytes"])
def test_bytes_are_copied(data):
    media = MediaPart(kind="audio", data=data)
    item = ProviderItem(provider="p", protocol="q", raw=data)
    if isinstance(data, bytearray):
        data[0] = 0
    assert (media.data, item.raw) == (b"abc", b"abc")
    assert {type(media.data), type(item.raw)} == {bytes}


def test_bytes_are_base64_in_json():
    assert dumps(MediaPart(kind="image", data=b"hi")) == b'{"type":"media","kind":"image","data":"aGk="}'


# ---------------------------------------------------------------------------------------------- content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ()),
        ("", ()),
        ("hi", (TextPart("hi"),)),
        ([], ()),
        (["a", ""], (TextPart("a"), TextPart(""))),
        (EXAMPLES["media"], (EXAMPLES["media"],)),
        ((EXAMPLES["text"], "b"), (TextPart("a"), TextPart("b"))),
        ({"a": 1}, (JsonPart({"a": 1}),)),
        (5, (JsonPart(5),)),
        (True, (JsonPart(True),)),
        ([None, [1], 2.5], (JsonPart(None), JsonPart([1]), JsonPart(2.5))),
        ({"type": "text", "text": "x"}, (TextPart("x"),)),
        ({"type": "hologram"}, (OpaquePart({"type": "hologram"}),)),
        ({"type": 5}, (JsonPart({"type": 5}),)),
        ([{"type": "tool_call", "name": "f", "arguments": "{}"}], (make(ToolCallPart, name="f", arguments="{}"),)),
    ],
)
def test_content_becomes_parts(content, expected):
    assert parts_of(content) == expected


@pytest.mark.parametrize(
    ("content", "place", "why"),
    [
        (b"x", "content", "is a bytes"),
        ({1, 2}, "content", "is a set"),
        ([["a", object()]], "content[0][1]", "is a object"),
        (["\ud83d"], "content[0]", "half of a surrogate pair"),
        ("\ud83d", "content", "half of a surrogate pair"),
        ([{"type": "text", "text": 5}], "content[0].text", "Expected `str`, got `int`"),
        ([{"type": "text"}], "content[0].text", "is missing"),
        ([{"type": "media", "kind": "image"}], "content[0].url", "exactly one"),
        ([{"type": "opaque", "raw": {}, "x": b""}], "content[0].x", "is a bytes"),
        ({"type": "tool_result", "call_id": "1", "parts": ["a"]}, "content.parts[0]", "is a str, not a part"),
        ({"type": "tool_result", "call_id": "1", "parts": [{"kind": "x"}]}, "content.parts[0].type", "is None"),
        ({"type": "tool_result", "call_id": "1", "parts": 5}, "content.parts", "Expected `array`"),
        (
            {"type": "tool_result", "call_id": "1", "parts": [{"type": "new"}, {"type": "refusal", "text": ""}]},
            "content.parts[1]",
            "results hold",
        ),
    ],
)
def test_wrong_content_is_refused_with_its_path(content, place, why):
    with pytest.raises(UsageError) as caught:
        parts_of(content)
    assert caught.value.argument == place
    assert str(caught.value).startswith(place)
    assert why in str(caught.value)


def test_a_result_joins_its_text():
    assert ToolResultPart(call_id="1", parts=["a", {"x": 1}, "b"]).text == "ab"


# ----------------------------------------------------------------------------------------------- unknown


@given(json_objects, texts.filter(lambda kind: kind not in PART_TYPES), st.booleans())
def test_an_unknown_type_is_kept_whole_also_inside_a_result(fields, kind, is_nested):
    form = {**fields, "type": kind}
    if is_nested:
        (inner,) = part_from_json({"type": "tool_result", "call_id": "1", "parts": [form]}, "p").parts
    else:
        inner = part_from_json(form, "p")
    assert inner == OpaquePart(form)


def test_the_wrapped_form_of_an_opaque_part_is_unwrapped_and_a_foreign_one_is_kept():
    assert part_from_json({"type": "opaque", "raw": {"type": "new"}}, "p") == OpaquePart({"type": "new"})
    for foreign in ({"type": "opaque"}, {"type": "opaque", "raw": 5}, {"type": "opaque", "raw": {"a": 1}}):
        assert part_from_json(foreign, "p") == OpaquePart(foreign)


@pytest.mark.parametrize("value", [None, 5, "a", [1]])
def test_what_is_no_dictionary_is_no_part(value):
    with pytest.raises(UsageError, match="not a part"):
        part_from_json(value, "p")


def test_unknown_fields_are_ignored():
    assert part_from_json({"type": "text", "text": "a", "future": {"x": 1}}, "p") == TextPart("a")


def test_parts_are_structs_of_one_base():
    assert all(issubclass(kind, PartBase) and issubclass(kind, msgspec.Struct) for kind in PART_TYPES.values())
