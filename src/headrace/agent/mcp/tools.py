"""The tools that an MCP server offers, as tools of ours: which of them, by which names, run how.

The rule of this file: the same listing gives the same names in whatever order it comes, and no two tools share one. What the
server says of a tool is taken as its options; what the caller says goes over it.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headrace.agent.mcp.endpoint import LOG
from headrace.errors import UsageError
from headrace.messages.parts import Part
from headrace.tools.context import Context
from headrace.tools.options import ToolOptions, changed
from headrace.tools.tool import Tool
from headrace.tools.toolset import Toolset

if TYPE_CHECKING:
    from mcp.types import Tool as Offered
    from mcp.types import ToolAnnotations

MAX_NAME: Final = 64
_HASH_CHARS: Final = 8
_BAD: Final = re.compile(r"[^a-zA-Z0-9_-]")

CallOffered: TypeAlias = Callable[[str, dict[str, Any], Context[Any], bool], Awaitable["list[Part] | None"]]
"""Calls a tool by the server's name for it: name, arguments, context, whether it may be called twice."""


class Selection:
    """Which tools are taken, by which names, with which options.

    Attributes:
        prefix: what stands before each name, with a `_`; "" for nothing.
    """

    def __init__(
        self,
        *,
        prefix: str | None,
        tools: Sequence[str] | None,
        options: Mapping[str, Mapping[str, Any]] | None,
        base: ToolOptions,
        trust_annotations: bool,
    ) -> None:
        """Check what the caller gave; see `MCPServer.stdio`.

        Raises:
            UsageError: a prefix that no name may have, an option that there is not.
        """
        if prefix is not None and (not isinstance(prefix, str) or _BAD.search(prefix) or len(prefix) > MAX_NAME // 2):
            raise UsageError(f"prefix is {prefix!r}; it must be up to {MAX_NAME // 2} letters, digits, _ or -", argument="prefix")
        if isinstance(tools, str):
            raise UsageError(f"tools is the text {tools!r}; give a list of names", argument="tools")
        for pattern, fields in (options or {}).items():
            try:
                changed(ToolOptions(idempotent=True), fields)
            except UsageError as error:
                raise UsageError(f"options[{pattern!r}]: {error}", argument=error.argument) from error
        self.prefix = prefix or ""
        self._allowed = None if tools is None else tuple(tools)
        self._options = {pattern: dict(fields) for pattern, fields in (options or {}).items()}
        self._base = base
        self._trust_annotations = trust_annotations

    def toolset(self, offered: Sequence[Offered], call: CallOffered, server: str) -> Toolset:
        """Return what is taken of a listing, in its order; a tool whose schema does not do is left out and warned of.

        Raises:
            UsageError: options contradict each other for one of the tools.
        """
        unique = {one.name: one for one in offered}
        taken = [one for one in unique.values() if self._allowed is None or _matches(one.name, self._allowed)]
        for pattern in self._allowed or ():
            if not any(_matches(name, (pattern,)) for name in unique):
                LOG.warning("the MCP server %s offers no tool %r", server, pattern)
        names = our_names([one.name for one in taken], self.prefix)
        made: list[Tool[..., Any]] = []
        for one in taken:
            options = self._options_of(one)
            function = _function(one.name, call, is_idempotent=options.idempotent)
            try:
                tool: Tool[..., Any] = Tool(
                    name=names[one.name],
                    description=one.description or one.title or "",
                    parameters=one.input_schema,
                    function=function,
                    options=options,
                )
            except UsageError as error:
                LOG.warning("the tool %r of the MCP server %s is left out: %s", one.name, server, error)
                continue
            made.append(tool)
        return Toolset(made)

    def _options_of(self, offered: Offered) -> ToolOptions:
        fields = _hinted(offered.annotations) if self._trust_annotations else {}
        for pattern, given in self._options.items():
            if _matches(offered.name, (pattern,)):
                fields |= given
        try:
            return changed(self._base, fields)
        except UsageError as error:
            raise UsageError(f"options of the tool {offered.name!r}: {error}", argument=error.argument) from error


def _hinted(annotations: ToolAnnotations | None) -> dict[str, Any]:
    """Return the options that a server's own words about a tool give. What changes nothing may also be called twice."""
    if annotations is None:
        return {}
    if annotations.read_only_hint:
        return {"read_only": True, "idempotent": True}
    fields = {"idempotent": True} if annotations.idempotent_hint else {}
    return fields | ({"needs_approval": True} if annotations.destructive_hint else {})


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def our_names(names: Sequence[str], prefix: str = "") -> dict[str, str]:
    """Return a name of ours for each of a server's: 1 to 64 of `a-zA-Z0-9_-`, and no two alike.

    Other characters become `_`. A name that is too long, or that would be another's, ends in a hash of the server's own; so it stays
    the same as long as what it meets does, in whatever order the server lists its tools.
    """
    before = f"{prefix}_" if prefix else ""
    plain = {name: before + (_BAD.sub("_", name) or "_") for name in names}
    counts = Counter(plain.values())

    def name_of(name: str) -> str:
        ours = plain[name]
        is_unchanged = ours == before + name  # of all that meet in one name, at most one: it keeps it
        if len(ours) <= MAX_NAME and (counts[ours] == 1 or is_unchanged):
            return ours
        digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_CHARS]
        return f"{ours[: MAX_NAME - _HASH_CHARS - 1]}_{digest}"

    return {name: name_of(name) for name in names}


def _function(name: str, call: CallOffered, *, is_idempotent: bool) -> Callable[..., Awaitable[list[Part] | None]]:
    # The context's parameter must not meet an argument of the server's own, so its name is ours alone.
    async def run(headrace_context: Context[Any], **arguments: Any) -> list[Part] | None:
        return await call(name, arguments, headrace_context, is_idempotent)

    return run
