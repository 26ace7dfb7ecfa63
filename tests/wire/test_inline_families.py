"""The ways to write calls, read as whole blocks: values by the schema, and nothing that is not whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import JSONError
from headrace.wire.inline_families import FAMILIES, FAMILY_NAMES, JsonEnd, NoCallError
from inline_samples import SAMPLES

FAMILY = {family.name: family for family in FAMILIES}


def read(family, body, offered=None):
    return [(call.name, json.loads(call.arguments)) for call in FAMILY[family].read(body, offered or {})]


def values(*pairs, schema=None):
    """The arguments that a call with these parameters has."""
    body = "<function=w>" + "".join(f"<parameter={key}>\n{text}\n</parameter>" for key, text in pairs) + "</function>"
    return read("qwen-coder", body, {"w": {"type": "object", "properties": schema}} if schema is not None else None)[0][1]


def test_there_is_a_sample_of_each_way():
    assert {family for family, _, _ in SAMPLES} == set(FAMILY_NAMES)


def test_no_opener_begins_another_one_and_none_holds_the_first_character_of_one():
    openers = {family.opener for family in FAMILIES}
    assert not [(one, other) for one in openers for other in openers if one != other and one.startswith(other)]
    assert all(opener[0] in "<[" and not set(opener[1:]) & set("<[") for opener in openers)


def test_of_the_ways_with_one_opener_at_most_one_can_be_meant():
    for _, text, _ in SAMPLES:
        for opener in {family.opener for family in FAMILIES if text.startswith(family.opener)}:
            heads = [family for family in FAMILIES if family.opener == opener and family.head.match(text, len(opener))]
            assert len(heads) == 1


def test_while_a_head_is_not_certain_it_may_still_come():
    for family, text, _ in SAMPLES:
        for one in FAMILIES:
            body = text.removeprefix(one.opener)
            found = one.head.match(body)
            if one.name == family and body != text and found is not None:
                assert all(one.maybe.fullmatch(body[:n]) for n in range(found.end()) if not one.head.match(body[:n]))


def test_bare_text_is_what_the_schema_says():
    schema = {
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "number": {"type": "number"},
        "flag": {"type": ["boolean", "null"]},
        "word": {"enum": ["1", "2"]},
        "odd": True,
    }
    pairs = (("text", "5"), ("maybe", "null"), ("number", "5"), ("flag", "True"), ("word", "1"), ("odd", "5"))
    assert values(*pairs, schema=schema) == {"text": "5", "maybe": None, "number": 5, "flag": True, "word": "1", "odd": 5}
    assert values(("maybe", "5"), ("number", "five"), schema=schema) == {"maybe": "5", "number": "five"}


def test_without_a_schema_bare_text_that_is_json_counts_as_such():
    pairs = (("a", "5"), ("b", "[1, 2]"), ("c", "Oslo"), ("d", "None"), ("e", "007"), ("f", '"x"'))
    assert values(*pairs) == {"a": 5, "b": [1, 2], "c": "Oslo", "d": None, "e": "007", "f": "x"}
    assert values(*pairs[:1], schema={}) == {"a": 5}
    assert read("qwen-coder", "<function=w><parameter=a>5</parameter></function>", {"w": {"properties": 5}}) == [("w", {"a": 5})]


def test_one_line_break_at_each_end_of_a_value_is_not_part_of_it():
    assert values(("a", "\nx\n\n")) == {"a": "\nx\n\n"}


@pytest.mark.parametrize("body", ["", " ", "5", "{} and more", '{"name": "w"', "{,}"])
def test_what_is_not_whole_is_no_call(body):
    with pytest.raises((NoCallError, JSONError)):
        read("hermes", body)


@given(
    st.recursive(st.text(max_size=5) | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner)),
    st.data(),
)
def test_the_end_of_a_value_is_found_wherever_it_is_cut(value, data):
    text = json.dumps([value], ensure_ascii=False)
    cut = data.draw(st.integers(0, len(text) - 1))
    end = JsonEnd()
    assert end.find(text[:cut]) is None
    assert end.find(text[cut:] + "<") == len(text) - cut
    assert not end.is_broken


def test_a_mark_outside_of_strings_breaks_a_value():
    end = JsonEnd()
    assert end.find('{"<": <') == 6
    assert end.is_broken
