"""Tools that a client declares are external ones."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.messages.request import ToolSpec
from headrace.surfaces.tools_in import external_tool, external_tools


def test_a_tool_of_the_clients():
    tool = external_tool("look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}}, "tools[0]")
    assert (tool.name, tool.description, tool.options.external) == ("look", "Look.", True)
    assert external_tool("look", "", None, "x").parameters["type"] == "object"
    assert [one.name for one in external_tools([ToolSpec(name="a"), ToolSpec(name="b")])] == ["a", "b"]


@pytest.mark.parametrize(
    "spec", [ToolSpec(name="a b"), ToolSpec(name="grep", kind="custom"), ToolSpec(name="a", parameters={"type": "string"})]
)
def test_one_that_cannot_be_taken_is_refused_with_its_place(spec):
    with pytest.raises(UsageError) as caught:
        external_tools([ToolSpec(name="fine"), spec])
    assert caught.value.argument == "tools[1]"
