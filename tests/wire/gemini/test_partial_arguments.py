import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.gemini.partial_arguments import PartialArguments

KINDS = {str: "stringValue", bool: "boolValue", type(None): "nullValue"}
KEYS = st.text(st.characters(exclude_characters=".[]'\"\\$", exclude_categories=["Cs"]), min_size=1, max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def entry(path, value, more=False):
    body = {"jsonPath": path, KINDS.get(type(value), "numberValue"): value}
    return {**body, "willContinue": True} if more else body


def leaves(value, path="$"):
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, f"{path}.{key}")]
    if isinstance(value, list):
        return [leaf for n, item in enumerate(value) for leaf in leaves(item, f"{path}[{n}]")]
    return [(path, value)]


def written(*entries):
    """The text so far, and the text that closes it."""
    arguments = PartialArguments()
    text = "".join(arguments.add(one) for one in entries)
    return text, arguments.end()


def whole(*entries):
    text, end = written(*entries)
    assert end is not None
    return json.loads(text + end)


@given(OBJECTS, st.data())
def test_the_pieces_of_an_object_in_its_order_are_that_object(value, data):
    entries = []
    for path, leaf in leaves(value):
        if isinstance(leaf, str):
            at = data.draw(st.integers(0, len(leaf)))
            entries += [entry(path, leaf[:at], more=True), entry(path, leaf[at:])]
        else:
            entries.append(entry(path, leaf))
    assert whole(*entries) == value


@given(OBJECTS, st.randoms())
def test_in_another_order_of_members_they_are_it_too(value, rng):
    groups = [leaves(item, f"$.{key}") for key, item in value.items()]
    entries = []
    while any(groups):
        group = rng.choice([group for group in groups if group])
        path, leaf = group.pop(0)
        entries.append(entry(path, leaf))
    assert whole(*entries) == value


@given(OBJECTS.filter(bool), st.data())
def test_what_is_written_of_a_prefix_is_a_prefix_unless_something_went_back(value, data):
    entries = [entry(path, leaf) for path, leaf in leaves(value)]
    at = data.draw(st.integers(0, len(entries)))
    assert written(*entries)[0].startswith(written(*entries[:at])[0])


def test_nothing_is_an_empty_object():
    assert written() == ("", "{}")


def test_a_member_that_is_gone_back_to_is_written_again_at_the_end():
    text, end = written(entry("$.a.x", 1), entry("$.b", "t", more=True), entry("$.a.y", [2][0]), entry("$.b", "u"), entry("$.c", None))
    assert text + end == '{"a":{"x":1},"b":"tu","c":null,"a":{"x": 1, "y": 2}}'
    assert whole(entry("$.l[0]", "x"), entry("$.k", True), entry("$.l[1]", False)) == {"l": ["x", False], "k": True}


def test_a_piece_for_a_text_that_was_closed_joins_it():
    assert whole(entry("$.a", "x"), entry("$.b", 1), entry("$.a", "y")) == {"a": "xy", "b": 1}
    assert whole(entry("$.a", "x"), entry("$.a", "y")) == {"a": "xy"}


def test_a_value_that_comes_again_replaces():
    assert whole(entry("$.a", 1), entry("$.a", 2)) == {"a": 2}
    assert whole(entry("$.a", 1), entry("$.a", "x")) == {"a": "x"}
    assert whole(entry("$.l[0]", 1), entry("$.l[0]", 2)) == {"l": [2]}


def test_a_text_that_is_open_makes_the_whole_open():
    assert written(entry("$.a", "x", more=True)) == ('{"a":"x', None)
    assert written(entry("$.a", "x", more=True), entry("$.b", 1)) == ('{"a":"x","b":1', None)
    assert whole(entry("$.a", "x", more=True), entry("$.b", 1), entry("$.a", "y")) == {"a": "xy", "b": 1}


@pytest.mark.parametrize("path", ["$['a b']", '$["a b"]'])
def test_names_may_stand_in_brackets(path):
    assert whole(entry(path + "[0]['it\\'s']", 1)) == {"a b": [{"it's": 1}]}


def test_halves_of_a_character_in_two_pieces_are_one():
    assert whole(entry("$.a", "\ud83d", more=True), entry("$.a", "\ude00")) == {"a": "\U0001f600"}
    assert whole(entry("$.\ud83d", 1)) == {"\ud83d": 1}


def test_what_came_whole_before_the_pieces_is_kept():
    arguments = PartialArguments()
    text = arguments.seed({"a": {"x": 1}, "b": "t"}) + arguments.add(entry("$.a.y", 2)) + arguments.add(entry("$.c", 3))
    assert json.loads(text + (arguments.end() or "")) == {"a": {"x": 1, "y": 2}, "b": "t", "c": 3}


def test_a_path_without_a_value_says_nothing():
    assert written({"jsonPath": "$.a"}) == ("", "{}")


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "text",
        {"stringValue": "x"},
        entry("", 1),
        entry("$", 1),
        entry("a.b", 1),
        entry("$..b", 1),
        entry("$.a[x]", 1),
        entry("$[0]", 1),
        entry("$.list[2]", 1),
        entry("$.seen.more", 1),
        entry("$.seen[0]", 1),
        entry("$.list.a", 1),
        entry("$.list.a.b", 1),
        entry("$.list[7].b", 1),
        entry("$.list", 1),
        entry("$" + ".a" * 200, 1),
        {"jsonPath": "$.x", "numberValue": "NaN"},
        {"jsonPath": "$.x", "boolValue": 1},
        {"jsonPath": "$.x", "stringValue": None},
    ],
)
def test_a_piece_without_a_place_makes_the_text_no_json_and_is_in_it(bad):
    text, end = written(entry("$.seen", 1), entry("$.list[0]", 1), bad, entry("$.y", 2))
    assert end is None
    assert text.startswith('{"seen":1,"list":[1')
    with pytest.raises(ValueError, match=r"delimiter|Expecting"):
        json.loads(text)
    assert json.dumps(bad) in text


def test_a_first_piece_without_a_place_is_no_object_either():
    assert written({"x": 1}) == ('{{"x": 1}', None)
