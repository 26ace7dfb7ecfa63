"""JSON in and out: exact, bounded, immutable, and never another error than `JSONError`."""

from __future__ import annotations

import contextlib
import copy
import enum
import json
import math
import pickle
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace import _json
from headrace._json import (
    EMPTY,
    MAX_DEPTH,
    MAX_INT_BITS,
    FrozenDict,
    FrozenList,
    JSONError,
    Scanner,
    dumps,
    dumps_text,
    first_object,
    freeze,
    has_lone_surrogate,
    join_objects,
    loads,
    loads_lenient,
    parse_partial,
    replace_surrogates,
    thaw,
    type_name,
)
from headrace.errors import UsageError
from message_strategies import json_objects, json_values

broken_texts = st.text(st.characters())  # halves of surrogate pairs included


def nested(levels, innermost=0):
    value = innermost
    for _ in range(levels):
        value = [value]
    return value


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Metres(float):
    pass


# ------------------------------------------------------------------------------------------- freezing


@given(json_values)
def test_what_is_frozen_equals_what_it_was_made_from_and_thaws_to_an_equal_copy(value):
    frozen = freeze(value)
    assert frozen == value
    assert thaw(frozen) == value
    assert dumps(frozen) == dumps(value)


@given(json_objects)
def test_changing_the_original_or_the_thawed_copy_does_not_reach_what_is_frozen(value):
    original = {"kept": value, "list": [1, [2]]}
    frozen = freeze(original)
    before = dumps(frozen)
    original["list"][1].append(3)
    original["new"] = 1
    thawed = thaw(frozen)
    thawed["list"][1].append(4)
    assert dumps(frozen) == before
    assert type(thawed) is dict
    assert type(thawed["list"][1]) is list


DICT_MUTATORS = {
    "setitem": lambda d: d.__setitem__("a", 1),
    "delitem": lambda d: d.__delitem__("a"),
    "ior": lambda d: d.__ior__({"a": 2}),
    "clear": lambda d: d.clear(),
    "pop": lambda d: d.pop("a"),
    "popitem": lambda d: d.popitem(),
    "setdefault": lambda d: d.setdefault("b", 1),
    "update": lambda d: d.update(b=1),
    "setattr": lambda d: setattr(d, "x", 1),
}
LIST_MUTATORS = {
    "setitem": lambda v: v.__setitem__(0, 1),
    "delitem": lambda v: v.__delitem__(0),
    "iadd": lambda v: v.__iadd__([1]),
    "imul": lambda v: v.__imul__(2),
    "append": lambda v: v.append(1),
    "extend": lambda v: v.extend([1]),
    "insert": lambda v: v.insert(0, 1),
    "remove": lambda v: v.remove(2),
    "pop": lambda v: v.pop(),
    "clear": lambda v: v.clear(),
    "sort": lambda v: v.sort(),
    "reverse": lambda v: v.reverse(),
    "setattr": lambda v: setattr(v, "x", 1),
}


@pytest.mark.parametrize("mutate", DICT_MUTATORS.values(), ids=DICT_MUTATORS)
def test_a_frozen_dictionary_refuses_every_change(mutate):
    frozen = freeze({"a": 0})
    with pytest.raises((TypeError, AttributeError)):
        mutate(frozen)
    assert frozen == {"a": 0}


@pytest.mark.parametrize("mutate", LIST_MUTATORS.values(), ids=LIST_MUTATORS)
def test_a_frozen_list_refuses_every_change(mutate):
    frozen = freeze([3, 2])
    with pytest.raises((TypeError, AttributeError)):
        mutate(frozen)
    assert frozen == [3, 2]


def test_no_mutator_of_dict_or_list_is_forgotten():
    changing = {"clear", "pop", "popitem", "setdefault", "update", "append", "extend", "insert", "remove", "sort", "reverse"}
    changing |= {"__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__"}
    for frozen, plain in ((FrozenDict, dict), (FrozenList, list)):
        assert {name for name in changing if hasattr(plain, name)} <= set(vars(frozen))


def test_the_refusal_says_what_to_do():
    with pytest.raises(TypeError, match="FrozenDict belongs to a message and cannot be changed; copy it with thaw"):
        freeze({"a": 1})["a"] = 2


@given(json_values)
def test_frozen_values_hash_copy_and_pickle(value):
    frozen = freeze({"v": value, "list": [value]})
    assert hash(frozen) == hash(freeze({"list": [value], "v": value}))
    assert copy.deepcopy(frozen) is frozen
    assert copy.deepcopy(frozen["list"]) is frozen["list"]
    assert copy.copy(frozen) == frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen
    assert type(again) is FrozenDict
    assert type(again["list"]) is FrozenList


def test_freezing_what_is_frozen_copies_nothing():
    frozen, listed = freeze({"a": [1]}), freeze([1])
    assert freeze(frozen) is frozen
    assert freeze(listed) is listed
    assert freeze({}) is EMPTY
    assert freeze(FrozenDict()) is EMPTY


def test_types_are_named_as_people_know_them():
    assert [type_name(value) for value in (freeze({"a": 1}), freeze([1]), {}, 1, None)] == ["dict", "list", "dict", "int", "NoneType"]


def test_thawing_makes_lists_of_tuples():
    assert thaw(({"a": (1,)},)) == [{"a": [1]}]


def test_subclasses_become_plain_values():
    frozen = freeze({Colour.RED: [Colour.RED, Level.HIGH, Metres(1.5), MappingProxyType({"a": (1, 2)})]})
    assert frozen == {"red": ["red", 3, 1.5, {"a": [1, 2]}]}
    assert [type(key) for key in frozen] == [str]
    assert [type(item) for item in frozen["red"]] == [str, int, float, FrozenDict]
    assert dumps(frozen) == b'{"red":["red",3,1.5,{"a":[1,2]}]}'


@pytest.mark.parametrize(
    ("value", "place", "why"),
    [
        ({"a": [1, {"b": math.nan}]}, "value.a[1].b", "is nan, which JSON cannot hold"),
        ([math.inf], "value[0]", "is inf"),
        ((-math.inf,), "value[0]", "is -inf"),
        ({"when": b"x"}, "value.when", "is a bytes, which is no JSON value"),
        ({"a": {1: 2}}, "value.a", "has the key 1; the keys of JSON objects are text"),
        ({"a": {1, 2}}, "value.a", "is a set"),
        ([object()], "value[0]", "is a object"),
        ({"a": "\ud83d"}, "value.a", "half of a surrogate pair"),
        ({"\ude00": 1}, "value", "half of a surrogate pair"),
        ([1 << MAX_INT_BITS], "value[0]", "whole number of 14281 bits"),
    ],
)
def test_what_is_no_json_is_refused_with_its_path(value, place, why):
    with pytest.raises(UsageError, match=why.replace("(", r"\(")) as caught:
        freeze(value)
    assert caught.value.argument == place
    assert str(caught.value).startswith(place)


def test_the_largest_whole_number_that_is_accepted_can_be_written_and_read():
    for number in ((1 << MAX_INT_BITS) - 1, -(1 << MAX_INT_BITS) + 1):
        assert loads(dumps(freeze(number))) == number


def test_depth_is_bounded_also_for_what_holds_itself():
    assert freeze(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    circle = []
    circle.append(circle)
    for value in (nested(MAX_DEPTH + 1), circle):
        with pytest.raises(UsageError, match="nested too deep"):
            freeze(value)


def test_depth_counts_through_what_was_frozen_before():
    deep = freeze(nested(MAX_DEPTH))
    with pytest.raises(UsageError, match="nested too deep"):
        freeze([deep])
    assert freeze([deep], max_depth=MAX_DEPTH + 1) == [deep]


# ------------------------------------------------------------------------------------- reading, writing


@given(json_values)
def test_what_is_written_reads_back_equal_and_as_the_standard_library_reads_it(value):
    written = dumps(value)
    assert loads(written) == value
    assert json.loads(written) == value
    assert dumps_text(value).encode() == written
    assert loads(dumps_text(value)) == value
    assert loads_lenient(written) == (value, False)


@pytest.mark.parametrize("number", [2**70, -(2**70), 7300000000000000001, 2**63, 2**64, -(2**63) - 1, 9007199254740993])
def test_big_whole_numbers_are_exact(number):
    assert loads(str(number)) == number
    assert dumps({"n": number}) == b'{"n":%d}' % number
    assert loads_lenient(f'{{"n": {number}, "x": "\\ud800"}}')[0]["n"] == number


@given(
    st.binary()
    | st.text(st.characters())
    | st.lists(st.sampled_from(list('[]{}",:\\ue0123.truefalsn -\x00\ud800')), max_size=30).map("".join)
)
def test_reading_never_raises_anything_but_json_error(data):
    for read in (loads, loads_lenient):
        with contextlib.suppress(JSONError):
            read(data)
    if isinstance(data, str):
        first_object(data)
        parse_partial(data)


@pytest.mark.parametrize("read", [loads, loads_lenient], ids=["strict", "lenient"])
@pytest.mark.parametrize(
    "data",
    [
        "",
        "nan",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e999",
        "9" * 5_000,
        "[" * 100_000,
        "[" * 5_000 + "]" * 5_000,
        '{"a":' * 2_000 + "1" + "}" * 2_000,
        "[1] 2",
        "{'a': 1}",
        "\ufeff[1]",
    ],
    ids=lambda data: data[:12] or "empty",
)
def test_what_is_no_json_or_out_of_bounds_is_a_json_error(read, data):
    for form in (data, data.encode()):
        with pytest.raises(JSONError):
            read(form)


@pytest.mark.parametrize("read", [loads, lambda data: loads_lenient(data)[0]], ids=["strict", "lenient"])
@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
def test_exactly_max_depth_levels_are_read(read, opening):
    closing = "]" if opening == "[" else "}"

    def text(levels):
        return opening * levels + '"[[[["' + closing * levels

    read(text(MAX_DEPTH))
    for form in (text(MAX_DEPTH + 1), text(MAX_DEPTH + 1).encode()):
        with pytest.raises(JSONError, match=f"deeper than {MAX_DEPTH} levels"):
            read(form)


def test_depth_is_checked_in_what_was_read_leniently_too():
    with pytest.raises(JSONError, match="deeper than"):
        loads_lenient('["\\ud800",' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "]")


def test_brackets_in_strings_and_many_flat_ones_do_not_count_as_depth():
    text = '["' + "[{" * 300 + '\\"[[\\\\",' + ",".join(["{}", "[]"] * 300) + "]"
    assert len(loads(text)) == 601
    assert len(loads(text.encode())) == 601
    assert loads(text, max_depth=2)
    with pytest.raises(JSONError, match="deeper than 1 levels"):
        loads(text, max_depth=1)


@given(json_values)
@example("{")
def test_the_depth_that_is_checked_is_the_depth_of_the_value(value):
    def depth(item):
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text = dumps(value)
    assert loads(text, max_depth=depth(value)) == value
    if depth(value):
        with pytest.raises(JSONError):
            loads(text, max_depth=depth(value) - 1)


def test_lenient_reading_tolerates_bad_bytes_and_lone_surrogates_and_says_so():
    assert loads_lenient(b'{"a": "x\xffy"}') == ({"a": "x\ufffdy"}, True)
    assert loads_lenient('["\\ud83d", 1.5]') == (["\ud83d", 1.5], True)
    assert loads_lenient('"\\ud83d\\ude00"') == ("\U0001f600", False)


def test_control_characters_in_strings_are_tolerated_only_if_asked():
    with pytest.raises(JSONError):
        loads_lenient('"a\nb"')
    assert loads_lenient('"a\nb"', is_strict_about_controls=False) == ("a\nb", True)


# ------------------------------------------------------------------------------------------- surrogates


@given(broken_texts)
def test_mended_text_can_be_written_and_only_what_was_broken_changed(text):
    mended = replace_surrogates(text)
    mended.encode()
    assert has_lone_surrogate(text) == (mended != text)
    whole = [character for character in text if not has_lone_surrogate(character)]
    assert [character for character in mended if character <= "\uffff" and character != "\ufffd"] == [
        character for character in whole if character <= "\uffff" and character != "\ufffd"
    ]


def test_halves_become_one_character_and_lone_ones_the_replacement_character():
    assert replace_surrogates({"\ud83d\ude00": ["\ud83d", "a\ude00b", "\ud83dx", 1, None]}) == {
        "😀": ["\ufffd", "a\ufffdb", "\ufffdx", 1, None]
    }
    assert replace_surrogates("plain") == "plain"
    assert replace_surrogates("été") == "été"


# ---------------------------------------------------------------------------------------------- scanner


@given(st.text(st.sampled_from('a"\\[]{}'), max_size=40), st.data())
def test_the_scanner_sees_the_same_however_the_text_is_cut(text, data):
    whole, pieces = Scanner(), Scanner()
    whole.scan(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        pieces.scan(text[start:end])
    assert [getattr(pieces, name) for name in Scanner.__slots__] == [getattr(whole, name) for name in Scanner.__slots__]


@given(json_values)
def test_the_scanner_ends_outside_of_everything_after_whole_json(value):
    scanner = Scanner()
    for character in dumps_text(value):
        scanner.scan(character)
    assert (scanner.depth, scanner.is_in_string) == (0, False)


def test_the_scanner_counts_depth_outside_of_strings_only():
    scanner = Scanner()
    scanner.scan('{"a[": [{"b\\"}": "\\\\"}')
    assert (scanner.depth, scanner.deepest, scanner.is_in_string) == (2, 3, False)
    scanner.scan(', "open')
    assert scanner.is_in_string


# ----------------------------------------------------------------------------------------------- pieces


def test_partial_json_shows_what_is_there_so_far():
    assert parse_partial('{"city": "Os') == {"city": "Os"}
    assert parse_partial('{"city": "Oslo", "days": [1, 2') in ({"city": "Oslo", "days": [1]}, {"city": "Oslo", "days": [1, 2]})
    assert parse_partial("") is None
    assert parse_partial("oops") is None
    assert parse_partial("[NaN]") is None


def test_the_first_object_is_split_from_what_follows():
    assert first_object('  {"a": 1}{"b": 2}') == ({"a": 1}, '{"b": 2}')
    assert first_object('{"a": "x\ny"} tail') == ({"a": "x\ny"}, " tail")
    for text in ("", "[1]", '{"a"', '{"a": NaN}', '{"a": 1e400}', "[" * 100_000, '{"a":' * 100_000):
        assert first_object(text) is None


def test_joined_objects_keep_the_last_value_of_each_key():
    assert join_objects([{"a": 1, "b": 2}, {"b": 3}]) == {"a": 1, "b": 3}
    assert join_objects([]) == {}


def test_the_module_offers_nothing_that_is_not_tested_here():
    public = {
        name for name, value in vars(_json).items() if not name.startswith("_") and getattr(value, "__module__", "") == _json.__name__
    }
    assert public <= set(globals()) | {"check_text"}
