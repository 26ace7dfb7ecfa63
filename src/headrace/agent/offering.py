"""What is offered to the model in the course of one run: the agent's own tools and those of its sources, of the groups that are on.

The rule of this file: nothing waits here, and a round in which nothing has changed costs nothing but a look. Names are unique: when a run
begins, two tools of one name are wrong use; while it goes on, a tool that a server adds under a name that is taken is left out, and that is
said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from headrace.agent.setup import Offer, Setup
from headrace.errors import UsageError
from headrace.tools.groups import SWITCH_NAME, switch_tool, switched
from headrace.tools.tool import Tool
from headrace.tools.toolset import Toolset


class Changed(msgspec.Struct, frozen=True):
    """Another offer than before.

    Attributes:
        names: of the tools that are offered now.
        detail: what is wrong with those that are gone or may fail; "" if nothing is.
    """

    names: tuple[str, ...]
    detail: str


class Offering:
    """What one run offers.

    Attributes:
        offer: the tools of the present round.
        groups: the groups that are on; None: all are, and nothing is switched.
    """

    def __init__(self, setup: Setup) -> None:
        """Offer the agent's own tools; the sources are not looked at yet."""
        self.offer = setup.offer
        self.groups: frozenset[str] | None = setup.groups
        self._setup = setup
        self._looked_for = self.groups
        self._all = setup.offer.tools
        self._seen: tuple[object, ...] = ()
        self._left_out: tuple[str, ...] = ()
        self._told: tuple[tuple[str, ...], str] | None = None
        self._switcher: tuple[tuple[tuple[str, str | None], ...], Tool[..., Any]] | None = None

    def begin(self, state: Mapping[str, Any] | None = None) -> Changed | None:
        """Look for the first time, when the sources are open; returns what is wrong, or, in a run that goes on, what is different.

        A run that goes on is offered the groups that were on when its open calls were made; what was switched since counts from the
        next look on.

        Args:
            state: what `state` gave when the run was left; None for a run that is new.

        Raises:
            UsageError: two tools of a new run have one name, or a group that is to be on does not exist.
        """
        if state is None:
            self._look(is_strict=True)
            self._told = (self.offer.tools.names, "")
            return self._changed()
        now, then = state.get("groups"), state.get("offered_groups")
        if now is not None:
            self.groups = None if then is None else frozenset(then)
        self._look(is_strict=False)
        if now is not None:
            self.groups = frozenset(now)
        self._told = (tuple(state.get("offered", self.offer.tools.names)), "")
        return self._changed()

    @property
    def state(self) -> dict[str, Any]:
        """What a run needs to go on elsewhere with the same offer, as JSON."""
        state: dict[str, Any] = {}
        if self.groups is not None:
            state["groups"] = sorted(self.groups)
            state["offered_groups"] = None if self._looked_for is None else sorted(self._looked_for)
        if self._setup.sources:
            state["offered"] = list(self.offer.tools.names)
        return state

    def look(self) -> Changed | None:
        """Look again: sources may have lost tools or got others, groups may have been switched."""
        if not self._setup.sources and self.groups is None:
            return None
        self._look(is_strict=False)
        return self._changed()

    def switch(self, on: Iterable[str], off: Iterable[str]) -> frozenset[str]:
        """Switch groups on and off, from the next model call on; returns those that are on."""
        known = self._all.groups
        self.groups = switched(known if self.groups is None else self.groups, on, off, known)
        return self.groups

    # ------------------------------------------------------------------------------------------ looking

    def _look(self, *, is_strict: bool) -> None:
        setup, self._looked_for = self._setup, self.groups
        seen = (self.groups, *(source.toolset for source in setup.sources))
        if len(seen) == len(self._seen) and all(now is before for now, before in zip(seen, self._seen, strict=True)):
            return
        if setup.sources:
            self._all, self._left_out = self._together(is_strict=is_strict)
        if is_strict and self.groups is not None and not self._problems():
            for name in sorted(self.groups - set(self._all.groups)):
                known = ", ".join(self._all.groups) or "none"
                raise UsageError(f"there is no group {name!r}; the groups are: {known}", argument="groups")
        offered = self._all if self.groups is None else self._all.only(self.groups)
        if offered != self.offer.tools:
            self.offer = Offer.of(offered, setup.output)
        self._seen = seen

    def _together(self, *, is_strict: bool) -> tuple[Toolset, tuple[str, ...]]:
        """Return all tools, whatever groups are on, and which were left out since their names are taken."""
        setup = self._setup
        own = setup.offer.tools
        holders = dict.fromkeys(own.names, "the agent itself")
        if setup.output is not None:
            holders |= dict.fromkeys((spec.name for spec in setup.output.tools), "the type of the answer")
        if setup.groups is not None:
            holders[SWITCH_NAME] = "the agent itself"
        tools: list[Tool[..., Any]] = []
        left_out: list[str] = []
        for source in setup.sources:
            for tool in source.toolset:
                holder = holders.get(tool.name)
                if holder is None:
                    holders[tool.name] = f"the source {source.name}"
                    tools.append(tool)
                    continue
                clash = f"{holder} and the source {source.name} both have a tool {tool.name!r}"
                if is_strict:
                    help_ = "give a source a prefix (prefix=…), or take only some of its tools (tools=[…])"
                    raise UsageError(f"{clash}: {help_}", argument="tools")
                left_out.append(f"{clash}; the second one is left out")
        together = Toolset([*own, *tools])
        if setup.groups is not None and together.groups:
            together = Toolset([*own, self._switch_tool(together), *tools])
        return together, tuple(left_out)

    def _switch_tool(self, together: Toolset) -> Tool[..., Any]:
        """Return the tool that switches groups, the same one as long as the groups are; those of sources are known only now."""
        members = tuple((tool.name, tool.options.group) for tool in together)
        if self._switcher is None or self._switcher[0] != members:
            self._switcher = (members, switch_tool(together))
        return self._switcher[1]

    # ------------------------------------------------------------------------------------------ saying

    def _problems(self) -> str:
        said = [f"{source.name}: {source.problem}" for source in self._setup.sources if source.problem is not None]
        return "; ".join([*said, *self._left_out])

    def _changed(self) -> Changed | None:
        """Return what is offered now, if that or what is wrong with it is something else than was told last."""
        now = (self.offer.tools.names, self._problems())
        if now == self._told:
            return None
        self._told = now
        return Changed(*now)
