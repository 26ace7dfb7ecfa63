"""Tools in order, one name each."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.tools.tool import Tool, tool
from headrace.tools.toolset import Toolset, toolset


def first(a: int): ...
def second(b: str): ...


def test_functions_tools_and_toolsets_in_the_order_given():
    inner = toolset(second)
    tools = toolset(tool(name="zeroth")(first), inner, first)
    assert tools.names == ("zeroth", "second", "first")
    assert tools.tools == tuple(tools)
    assert len(tools) == 3
    assert [spec.name for spec in tools.specs] == ["zeroth", "second", "first"]
    assert Toolset([first, second]) == toolset(first, second) != toolset(second, first)
    assert repr(tools) == "Toolset(zeroth, second, first)"
    assert toolset(first) != [first]
    assert hash(Toolset([first])) == hash(toolset(first))


def test_look_up():
    tools = toolset(first)
    assert tools["first"] == tools.get("first") == Tool.of(first)
    assert tools.get("other") is None
    assert "first" in tools
    assert "other" not in tools
    with pytest.raises(UsageError, match="no tool 'other'; the tools are: first"):
        tools["other"]
    with pytest.raises(UsageError, match="the tools are: none"):
        toolset()["other"]


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(UsageError, match="two tools have the name 'first'") as caught:
        toolset(first, second, tool(name="first")(second))
    assert caught.value.argument == "first"


def test_what_is_no_tool_is_refused():
    with pytest.raises(UsageError):
        toolset("first")


def test_groups_are_named_once_in_order_and_switched_as_a_whole():
    tools = toolset(first, tool(name="b", group="web")(first), tool(name="c", group="files")(first), tool(name="d", group="web")(first))
    assert tools.groups == ("web", "files")
    assert toolset(first).groups == ()
    assert tools.only([]).names == ("first",)
    assert tools.only({"web"}).names == ("first", "b", "d")
    assert tools.only(iter(["files", "web"])) == tools
    assert tools.only(["nowhere"]).names == ("first",)
