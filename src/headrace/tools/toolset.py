"""Several tools with one name each, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from headrace.errors import UsageError
from headrace.messages.request import ToolSpec
from headrace.tools.tool import Tool

ToolLike: TypeAlias = Callable[..., Any]
"""A plain function, or a `Tool`, which can be called like the function that it was made of."""


class Toolset:
    """Tools in the order that they were given, looked up by name. It never changes.

    Attributes:
        tools: the tools, in order.
    """

    __slots__ = ("_by_name", "tools")

    def __init__(self, tools: Iterable[ToolLike | Toolset] = ()) -> None:
        """Take tools, plain functions and other toolsets.

        Raises:
            UsageError: two tools have one name, or something is no tool; the error names it.
        """
        by_name: dict[str, Tool[..., Any]] = {}
        for one in _flat(tools):
            if one.name in by_name:
                raise UsageError(f"two tools have the name {one.name!r}; rename one with tool.replace(name=…)", argument=one.name)
            by_name[one.name] = one
        self._by_name = by_name
        self.tools: tuple[Tool[..., Any], ...] = tuple(by_name.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._by_name)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as requests carry them, in order."""
        return tuple(one.spec for one in self.tools)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the tools' groups, each once, in order."""
        return tuple(dict.fromkeys(one.options.group for one in self.tools if one.options.group is not None))

    def only(self, active_groups: Iterable[str]) -> Toolset:
        """Return the tools that have no group and those of the groups named, in order."""
        active = frozenset(active_groups)
        return Toolset(one for one in self.tools if one.options.group is None or one.options.group in active)

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool of this name, or None."""
        return self._by_name.get(name)

    def __getitem__(self, name: str) -> Tool[..., Any]:
        if name not in self._by_name:
            raise UsageError(f"there is no tool {name!r}; the tools are: {', '.join(self._by_name) or 'none'}", argument="name")
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __eq__(self, other: object) -> bool:
        return self.tools == other.tools if isinstance(other, Toolset) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.tools)

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self._by_name)})"


def toolset(*tools: ToolLike | Toolset) -> Toolset:
    """Return a toolset of tools, plain functions and other toolsets, in this order."""
    return Toolset(tools)


def _flat(tools: Iterable[ToolLike | Toolset]) -> Iterator[Tool[..., Any]]:
    for one in tools:
        if isinstance(one, Toolset):
            yield from one.tools
        else:
            yield Tool.of(one)
