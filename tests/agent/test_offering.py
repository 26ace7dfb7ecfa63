"""What is offered: the same value as long as nothing changes, and each change said once."""

from __future__ import annotations

import pytest

from headrace.agent.agent import Agent
from headrace.agent.offering import Changed, Offering
from headrace.errors import ToolError, UsageError
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.tools.toolset import Toolset


def named(name, **options):
    @tool(name=name, **options)
    def one() -> str:
        """Do something."""
        return name

    return one


class Source:
    """A source as it looks from here."""

    def __init__(self, name, *tools):
        self.name, self.problem, self.toolset = name, None, Toolset(tools)

    async def open(self):
        return self.toolset

    async def aclose(self):
        pass


def offering_of(*tools, **options):
    return Offering(Agent(ScriptedModel(), tools=tools, **options)._setup)


def test_without_sources_and_groups_the_offer_is_the_agents_own():
    offering = offering_of(named("a"), named("b"))
    before = offering.offer
    assert offering.begin() is None
    assert offering.look() is None
    assert offering.offer is before
    assert offering.state == {}


def test_as_long_as_nothing_changes_the_offer_is_one_value():
    source = Source("s", named("b"))
    offering = offering_of(named("a"), source)
    assert offering.begin() is None
    before = offering.offer
    assert before.tools.names == ("a", "b")
    source.toolset = Toolset(source.toolset.tools)  # another set of the same tools
    assert offering.look() is None
    assert offering.offer is before


def test_each_change_is_said_once():
    source = Source("s", named("b"))
    offering = offering_of(named("a"), source)
    offering.begin()
    source.problem = "it went away"
    assert offering.look() == Changed(("a", "b"), "s: it went away")
    assert offering.look() is None
    source.toolset = Toolset()
    assert offering.look() == Changed(("a",), "s: it went away")
    source.problem, source.toolset = None, Toolset([named("c")])
    assert offering.look() == Changed(("a", "c"), "")
    assert offering.look() is None


def test_a_run_that_goes_on_says_what_is_different_by_now():
    source = Source("s", named("b"), named("c"))
    first = offering_of(named("a"), source)
    first.begin()
    assert offering_of(named("a"), source).begin(first.state) is None
    source.toolset = Toolset([named("b")])
    assert offering_of(named("a"), source).begin(first.state) == Changed(("a", "b"), "")


def test_names_that_clash_are_refused_at_the_beginning_and_left_out_later():
    with pytest.raises(UsageError, match="the agent itself and the source s both have a tool 'a'"):
        offering_of(named("a"), Source("s", named("a"))).begin()
    with pytest.raises(UsageError, match="the source s and the source s both have a tool 'b'"):
        offering_of(Source("s", named("b")), Source("s", named("b"))).begin()
    going_on = offering_of(named("a"), Source("s", named("a"), named("b")))
    assert going_on.begin({}).detail == "the agent itself and the source s both have a tool 'a'; the second one is left out"
    assert going_on.offer.tools.names == ("a", "b")


def test_the_tool_that_switches_groups_names_those_of_sources_and_stays_the_same():
    source = Source("s", named("b", group="x"))
    offering = offering_of(named("a"), source, groups=[])
    assert offering.begin() is None
    switcher = offering.offer.tools["switch_tools"]
    assert "- x: b" in switcher.description
    assert offering.switch(["x"], []) == {"x"}
    assert offering.look() == Changed(("a", "switch_tools", "b"), "")
    assert offering.offer.tools["switch_tools"] is switcher
    with pytest.raises(ToolError, match="no group 'y'"):
        offering.switch(["y"], [])
    with pytest.raises(UsageError, match="'switch_tools'"):
        offering_of(Source("s", named("switch_tools", group="x")), groups=["x"]).begin()


def test_where_no_tool_has_a_group_there_is_nothing_to_switch():
    offering = offering_of(Source("s", named("b")), groups=[])
    assert offering.begin() is None
    assert offering.offer.tools.names == ("b",)
