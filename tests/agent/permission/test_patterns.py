"""Patterns over arguments: which arguments, which values, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.permission.patterns import conditions_of, exactly, is_match
from headrace.errors import UsageError


def allows(pattern, arguments):
    return is_match(conditions_of(pattern), arguments, is_wide=False)


def denies(pattern, arguments):
    return is_match(conditions_of(pattern), arguments, is_wide=True)


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("path=src/**", {"path": "src/a.py", "text": "anything; $at all"}),
        (" path = src/** ", {"path": "src/a.py"}),
        ("path=src/**, mode=w", {"path": "src/a.py", "mode": "w"}),
        ("a=1,b=2", {"a": 1, "b": 2}),
        ("count=3", {"count": 3}),
        ("count=3.5", {"count": 3.5}),
        ("count=1?", {"count": 12}),
        ("is_forced=true", {"is_forced": True}),
        ("path=null", {"path": None}),
        ("options.depth=3", {"options": {"depth": 3}}),
        ("edits.path=src/*", {"edits": [{"path": "src/a"}, {"path": "src/b"}]}),
        ("paths=src/*", {"paths": ["src/a", "src/b"]}),
        (r"a\.b=1", {"a.b": 1}),
        (r"a\ b\=c=1", {"a b=c": 1}),
        ("größe=1", {"größe": 1}),
        (r"command=echo a\, b", {"command": "echo a, b"}),
        ("command=a; b", {"command": "a; b"}),
        ("command=f(x) == (y)", {"command": "f(x) == (y)"}),
        ('command=="rm *, \\"x\\""', {"command": 'rm *, "x"'}),
        ('command=="a", n==3 , is_x==true,y==null', {"command": "a", "n": 3, "is_x": True, "y": None}),
        ("text=", {"text": ""}),
        ("src/**", {"path": "src/a", "count": 3}),
        ("src/**", {"a": "src/a", "b": ["src/b", {"c": "src/d/e"}]}),
        (r"a\=b", {"x": "a=b"}),
        ("--force", {"flags": ["--force"]}),
        ("https://example.org/?a=*", {"url": "https://example.org/?a=b"}),
    ],
)
def test_a_pattern_matches_what_it_says(pattern, arguments):
    assert denies(pattern, arguments)
    assert allows(pattern, arguments)


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("path=*", {}),
        ("path=*", {"paths": "x"}),
        ("path=*", {"path": []}),
        ("a=1, b=2", {"a": 1}),
        ("a=1, b=2", {"a": 1, "b": 3}),
        ("options.depth=3", {"options": 3}),
        ("options.depth=3", {"options.depth": 3}),
        ("count=3", {"count": 33}),
        ("is_forced=true", {"is_forced": False}),
        ("is_forced=true", {"is_forced": "no"}),
        ('name=="a*"', {"name": "ab"}),
        ("n==3", {"n": 4}),
        ("*", {"count": 3}),
        ("*", {}),
    ],
)
def test_what_is_missing_or_different_never_matches(pattern, arguments):
    assert not allows(pattern, arguments)
    assert not denies(pattern, arguments)


@pytest.mark.parametrize(
    ("pattern", "arguments"),
    [
        ("paths=src/*", {"paths": ["src/a", "/etc/passwd"]}),
        ("edits.path=src/*", {"edits": [{"path": "src/a"}, {"path": "/etc/src/x"}]}),
        ("edits.path=src/*", {"edits": [{"path": "src/a"}, {}]}),
        ("edits.path=src/*", {"edits": [{"path": "src/a"}, 3]}),
        ("src/**", {"source": "src/a", "target": "/etc/passwd"}),
        ("src/**", {"a": "src/a", "b": {"c": ["lib/d"]}}),
        ("options=*", {"options": {"a": "b"}}),
        ("path=*", {"path": None}),
        ("count=3", {"count": "3.0"}),
        ("count=3", {"count": 3.0}),
        ("n==3", {"n": "3"}),
        ("n==3", {"n": 3.0}),
        ("n==1", {"n": True}),
        ("is_forced=true", {"is_forced": "yes"}),
        ("is_forced=true", {"is_forced": 1}),
        ("is_forced==false", {"is_forced": "Off"}),
        ("is_forced==false", {"is_forced": 0}),
        ('name=="Rm"', {"name": "rm"}),
    ],
)
def test_a_deny_rule_takes_one_of_many_and_what_a_tool_may_take_it_for_an_allow_rule_does_not(pattern, arguments):
    assert denies(pattern, arguments)
    assert not allows(pattern, arguments)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("path=a,b", "'b' after a comma"),
        ("path=a,", "'' after a comma"),
        ("a,b", "has a comma"),
        ("*.py, *.md", "has a comma"),
        ("path==src/**", "no JSON value"),
        ("path==", "no single JSON value"),
        ('path=="a" b', "no single JSON value"),
        ('path=="a', "no single JSON value"),
        ("path==[1]", "only a text"),
        ("path=={}", "only a text"),
        ("n==1e400", "no JSON value"),
        ("n==NaN", "no JSON value"),
        ("path=a\\", "backslash"),
        ("path=a/**b", "stands alone"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(pattern, words):
    with pytest.raises(UsageError, match=words.replace("*", r"\*")) as caught:
        conditions_of(pattern)
    assert caught.value.argument == "pattern"


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)


@given(NAMES, SCALARS, SCALARS)
def test_an_exact_condition_matches_its_value_and_no_other(name, value, other):
    pattern = exactly(name, value)
    assert allows(pattern, {name: value})
    assert denies(pattern, {name: value})
    assert allows(pattern, {name: other}) == (type(value) is type(other) and value == other)


JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)


@given(
    st.sampled_from(["a=*", "a=src/**", "*", "a.b=1*", "a==3", 'a=="x"', "a=true", "a=x, b=*"]),
    st.dictionaries(st.sampled_from("abc"), JSON),
)
def test_what_an_allow_rule_matches_a_deny_rule_matches_too(pattern, arguments):
    assert not allows(pattern, arguments) or denies(pattern, arguments)
