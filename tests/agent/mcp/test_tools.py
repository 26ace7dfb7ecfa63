"""Names and options of an MCP server's tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.mcp.tools import Selection, our_names
from headrace.errors import UsageError
from headrace.tools.options import ToolOptions

NAMES = st.lists(st.text(st.sampled_from("ab._/-é "), max_size=6) | st.text("x", min_size=60, max_size=80), unique=True, max_size=8)


@given(NAMES, st.sampled_from(["", "p", "p" * 32]))
def test_names_are_ones_that_providers_take_and_no_two_are_alike(names, prefix):
    ours = our_names(names, prefix)
    assert list(ours) == names
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ours.values())
    assert len(set(ours.values())) == len(names)


@given(NAMES)
def test_names_do_not_depend_on_the_order_of_the_listing(names):
    assert our_names(names) == our_names(names[::-1])


def test_a_name_of_nothing_is_no_other_tools_name():
    ours = our_names(["", "_"])
    assert ours["_"] == "_"
    assert ours[""].startswith("__")


def test_a_good_name_stays_what_it_is():
    assert our_names(["read_file", "read.file", "a-b"], "")["read_file"] == "read_file"
    assert our_names(["read-file"], "disk") == {"read-file": "disk_read-file"}
    assert our_names(["read.file"]) == {"read.file": "read_file"}


def selection(**given):
    return Selection(**({"prefix": None, "tools": None, "options": None, "base": ToolOptions(), "trust_annotations": True} | given))


def test_a_tool_whose_schema_does_not_do_is_left_out_and_warned_of(caplog):
    types = pytest.importorskip("mcp.types", reason="the extra is missing: pip install 'headrace[mcp]'")
    good = types.Tool(name="good", input_schema={"type": "object", "properties": {"self": {"type": "string"}}, "x-own": [1]})
    bad = types.Tool(name="bad", input_schema={"type": "array"})
    made = selection().toolset([bad, good], None, "s")
    assert made.names == ("good",)
    assert made["good"].parameters["x-own"] == [1]
    assert "the tool 'bad' of the MCP server s is left out" in caplog.text


def test_options_are_checked_when_they_are_given():
    with pytest.raises(UsageError, match=r"options\['a'\]: timeout_s"):
        selection(options={"a": {"timeout_s": -1}})
