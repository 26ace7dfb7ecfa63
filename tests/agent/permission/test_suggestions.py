"""What is suggested after a yes: narrow first, and each really lets the call pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.permission.suggestions import MAX_SUGGESTIONS, suggest
from headrace.tools.tool import Tool

TOOL = Tool(name="do", function=lambda: None, needs_approval=True)


def suggested(arguments):
    return [rule.pattern for rule in suggest(TOOL, arguments)]


@pytest.mark.parametrize(
    ("arguments", "patterns"),
    [
        ({}, [None]),
        ({"n": 3, "is_x": True}, ["n==3, is_x==true", None]),
        ({"path": "src/a.py"}, ['path=="src/a.py"', "path=src/*", None]),
        ({"path": "a.py"}, ['path=="a.py"', "path=./*", None]),
        ({"path": "my docs/a*/b"}, ['path=="my docs/a*/b"', r"path=my\ docs/a\*/*", None]),
        ({"file_path": "/etc/hosts", "text": ["x"]}, ["file_path=/etc/*", None]),
        ({"path": "../a"}, ['path=="../a"', "path=../*", None]),
        ({"path": "src/.."}, ['path=="src/.."', None]),
        ({"path": "src/"}, ['path=="src/"', None]),
        ({"source": "a/b", "target": "c/d"}, ['source=="a/b", target=="c/d"', "source=a/*, target=c/*", None]),
        ({"url": "https://example.org/a/b"}, ['url=="https://example.org/a/b"', "url=https://example.org/**", None]),
        ({"command": "git status -s"}, ['command=="git status -s"', "command=git status *", "command=git *", None]),
        ({"command": "ls -l"}, ['command=="ls -l"', "command=ls *", None]),
        ({"command": "git status; rm x"}, ['command=="git status; rm x"', None]),
        ({"command": "./run.sh src/a"}, ['command=="./run.sh src/a"', "command=./run.sh src/a *", "command=./run.sh *", None]),
        ({"text": "hello there"}, ['text=="hello there"', None]),
        ({"text": "x" * 400}, [None]),
        ({"": 1}, [None]),
    ],
)
def test_the_narrowest_rule_comes_first_and_the_whole_tool_last(arguments, patterns):
    assert suggested(arguments) == patterns


NAMES = st.sampled_from(["path", "command", "file_name", "url", "n", "a b.c", "-x", "größe"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(["..", "a", "/", " ", "-b", "~", "*", ",", "\\", ";", "https://"])
).map("".join)


@given(st.dictionaries(NAMES, TEXTS | st.integers() | st.booleans() | st.none() | st.lists(TEXTS, max_size=2)))
def test_every_suggestion_speaks_about_the_call(arguments):
    rules = suggest(TOOL, arguments)
    assert 1 <= len(rules) <= MAX_SUGGESTIONS
    assert len(set(rules)) == len(rules)
    for rule in rules:
        assert rule.behavior == "allow"
        assert rule.is_for(TOOL, arguments)
