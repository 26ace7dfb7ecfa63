"""Names of arguments in a text."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.tools.template import filled, names_in


def test_names_come_in_order():
    assert names_in("{b}:{a}/{b}") == ("b", "a", "b")
    assert names_in("database") == ()
    assert names_in("{{a}}") == ()


@pytest.mark.parametrize("template", ["{", "}", "{a", "{}", "{a.b}", "{a[0]}", "{a!r}", "{a:3}", "{a b}"])
def test_anything_but_names_is_refused(template):
    with pytest.raises(UsageError, match="resource") as caught:
        names_in(template)
    assert caught.value.argument == "resource"


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("file:{path}", {"path": "a.txt"}, "file:a.txt"),
        ("{a}:{b}", {"a": 1, "b": {"c": [True, "é"]}}, '1:{"c":[true,"é"]}'),
        ("{{{a}}}", {"a": "x{y}"}, "{x{y}}"),
        ("database", {}, "database"),
        ("{a}", {"a": ""}, ""),
        ("file:{path}", {}, None),
        ("{a}:{b}", {"a": "x", "b": None}, None),
    ],
)
def test_values_take_the_place_of_names(template, values, text):
    assert filled(template, values.get) == text
