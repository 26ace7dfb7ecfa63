"""JSON against a schema that was written by hand."""

from __future__ import annotations

import pytest

from headrace.agent.output.check import mistakes_of


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ({"type": "integer"}, [1, 1.0, -3], [1.5, True, "1", None]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"type": "number"}, [1, 1.5], [False]),
        ({"const": 1}, [1], [True, 2]),
        ({"enum": ["a", None]}, ["a", None], ["b", False]),
        ({"minimum": 1, "exclusiveMaximum": 3}, [1, 2.9, "other"], [0, 3]),
        ({"minLength": 2, "maxLength": 3, "pattern": "^a"}, ["ab", 7], ["a", "abcd", "ba"]),
        ({"minItems": 1, "maxItems": 2, "items": {"type": "integer"}}, [[1], [1, 2]], [[], [1, 2, 3], ["a"]]),
        ({"prefixItems": [{"type": "integer"}], "items": False}, [[1], []], [[1, 2], ["a"]]),
        ({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, [{"a": 1, "b": 2}], [{}, {"a": "x"}]),
        ({"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}]),
        ({"additionalProperties": {"type": "integer"}, "maxProperties": 1}, [{"a": 1}], [{"a": "x"}, {"a": 1, "b": 2}]),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, [{"xa": 1}], []),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, [1, "a"], [None]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, [1.5], [1, "a"]),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, [3], [2, "a"]),
        ({"$defs": {"A": {"type": "integer"}}, "$ref": "#/$defs/A"}, [1], ["a"]),
        ({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}, [{"next": {"next": {}}}], [{"next": {"a": 1}}]),
        ({"$ref": "#"}, [1], []),
        ({"$ref": "https://elsewhere"}, [1], []),
        ({"type": "from-the-future", "unheardOf": 1}, [1], []),
    ],
    ids=str,
)  # fmt: skip
def test_what_fits_and_what_does_not(schema, fits, does_not):
    for value in fits:
        assert mistakes_of(value, schema) == []
    for value in does_not:
        assert mistakes_of(value, schema)


def test_a_mistake_says_where_it_is():
    schema = {"properties": {"items": {"items": {"anyOf": [{"type": "null"}, {"required": ["name"], "type": "object"}]}}}}
    assert mistakes_of({"items": [None, {}]}, schema) == ["items[1].name: is required, but missing"]
    assert mistakes_of("x", {"type": "integer"}) == ["answer: must be integer (got 'x')"]
