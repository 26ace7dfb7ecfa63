"""Rules as values: checked, written, read back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.permission.rules import BEHAVIORS, Rule
from headrace.errors import UsageError
from headrace.tools.tool import Tool


def tool(name):
    return Tool(name=name, function=lambda path="": path)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("deny shell", Rule("deny", "shell")),
        ("allow files_read(path=src/**)", Rule("allow", "files_read", "path=src/**")),
        ("ask *", Rule("ask", "*")),
        ("allow shell(command=echo (a) b)", Rule("allow", "shell", "command=echo (a) b")),
        ('allow shell(command=="a\\nb)")', Rule("allow", "shell", 'command=="a\\nb)"')),
        ("allow x( a=1 )", Rule("allow", "x", " a=1 ")),
    ],
)
def test_a_rule_is_written_and_read_back(text, rule):
    assert Rule.parse(text) == rule
    assert str(rule) == text
    assert Rule.parse(f"  {text}\n", source="config") == msgspec.structs.replace(rule, source="config")


def test_blanks_between_the_pieces_are_no_matter():
    assert Rule.parse("allow   x  (a=1)") == Rule("allow", "x", "a=1")


@given(
    st.sampled_from(BEHAVIORS),
    st.text("abcXYZ019_-*?", min_size=1, max_size=12),
    st.none()
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    | st.from_regex(r"[a-z]{1,4}=[a-z*/() ]{0,9}", fullmatch=True),
    st.sampled_from(["", "me"]),
)
def test_the_text_and_the_json_of_every_rule_lead_back_to_it(behavior, name, pattern, source):
    try:
        rule = Rule(behavior, name, pattern, source)
    except UsageError:
        return
    assert Rule.parse(str(rule), source=source) == rule
    assert msgspec.json.decode(msgspec.json.encode(rule), type=Rule) == rule


@pytest.mark.parametrize("text", ["", "deny", "deny ", "allow shell(path=a", "allow shell path=a", "allow (path=a)", "allow shell()x"])
def test_a_text_that_is_no_rule_is_refused_and_shown(text):
    with pytest.raises(UsageError, match="is no rule") as caught:
        Rule.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        (("permit", "shell"), "behavior"),
        (("allow", ""), "tool"),
        (("allow", "my tool"), "tool"),
        (("allow", "a.b"), "tool"),
        (("allow", None), "tool"),
        (("allow", "x", ""), "pattern"),
        (("allow", "x", "a=1,"), "pattern"),
        (("allow", "x", "a=\ud800"), "pattern"),
        (("allow", "x", 3), "pattern"),
        (("allow", "x", None, 3), "source"),
    ],
)
def test_a_bad_field_is_refused_by_name(fields, argument):
    with pytest.raises(UsageError) as caught:
        Rule(*fields)
    assert caught.value.argument == argument


def test_a_bad_rule_in_a_text_or_in_json_is_refused_like_one_made_by_hand():
    for text in ("permit shell", "allow a.b", "allow x()", "allow x(a=1,b)"):
        with pytest.raises(UsageError):
            Rule.parse(text)
    with pytest.raises(UsageError, match="empty"):
        msgspec.json.decode(b'{"behavior":"allow","tool":"x","pattern":""}', type=Rule)
    with pytest.raises(msgspec.ValidationError, match="permit"):
        msgspec.json.decode(b'{"behavior":"permit","tool":"x"}', type=Rule)


@pytest.mark.parametrize(
    ("glob", "name", "is_for"),
    [
        ("shell", "shell", True),
        ("shell", "shell2", False),
        ("Shell", "shell", False),
        ("*", "shell", True),
        ("files_*", "files_read", True),
        ("files_*", "files", False),
        ("*_read", "files_read", True),
        ("file?_read", "files_read", True),
        ("file?_read", "file_read", False),
        ("a-b", "a-b", True),
    ],
)
def test_a_tool_is_named_or_meant_by_a_glob(glob, name, is_for):
    for behavior in BEHAVIORS:
        assert Rule(behavior, glob).is_for(tool(name), {}) is is_for


def test_an_allow_rule_is_read_narrowly_and_the_others_widely():
    arguments = {"command": "ls; rm x"}
    assert not Rule("allow", "shell", "command=rm *").is_for(tool("shell"), arguments)
    assert Rule("ask", "shell", "command=rm *").is_for(tool("shell"), arguments)
    assert Rule("deny", "shell", "command=rm *").is_for(tool("shell"), arguments)
