"""Rules that allow, ask about or deny calls, by tool and by arguments.

The rule of this file: a rule is a value that was checked when it was made, and its text says all of it but the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from headrace._json import check_text
from headrace.agent.permission.patterns import conditions_of, is_match
from headrace.errors import UsageError
from headrace.tools.tool import Tool

Behavior: TypeAlias = Literal["allow", "ask", "deny"]
BEHAVIORS: Final[tuple[Behavior, ...]] = get_args(Behavior)
_TOOL: Final = re.compile(r"[A-Za-z0-9_*?-]+")
_RULE: Final = re.compile(r"(\w+)\s+([^\s(]+)\s*(?:\((.*)\))?", re.DOTALL)


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be done with certain calls.

    `str(rule)` and `Rule.parse` are a pair: `allow files_read(path=src/**)`, `deny shell`, `ask mcp_*`.

    Attributes:
        behavior: `allow`, `ask` or `deny`.
        tool: the tool's name, in which `*` stands for any characters and `?` for one.
        pattern: which calls, by their arguments (`patterns` explains it); None is every call.
        source: where the rule comes from, for people: a file, a person, a session.
    """

    behavior: Behavior
    tool: str
    pattern: str | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Check every field; the error names it.

        Raises:
            UsageError: an unknown behavior, a tool that no name can match, a pattern that is none.
        """
        if self.behavior not in BEHAVIORS:
            raise UsageError(f"behavior is {self.behavior!r}; it must be allow, ask or deny", argument="behavior")
        if not isinstance(self.tool, str) or not _TOOL.fullmatch(self.tool):
            message = f"tool is {self.tool!r}; it must be a tool's name (letters, digits, '_' and '-'), with '*' and '?' as wildcards"
            raise UsageError(message, argument="tool")
        if self.pattern is not None:
            if not isinstance(self.pattern, str):
                raise UsageError(f"pattern is {self.pattern!r}; it must be a text, or None", argument="pattern")
            conditions_of(check_text(self.pattern, "pattern"))
        if not isinstance(self.source, str):
            raise UsageError(f"source is {self.source!r}; it must be a text", argument="source")

    @classmethod
    def parse(cls, text: str, *, source: str = "") -> Rule:
        """Read a rule from its text: the behavior, the tool, and the pattern in parentheses, if there is one.

        Raises:
            UsageError: the text is no rule; the error says what is wrong.
        """
        found = _RULE.fullmatch(text.strip(" \t\r\n"))
        if found is None:
            raise UsageError(f"{text!r} is no rule; a rule is like 'allow files_read(path=src/**)' or 'deny shell'", argument="rule")
        behavior: Any = found[1]
        return cls(behavior, found[2], found[3], source)

    def __str__(self) -> str:
        """Return the rule's text, without the source."""
        return f"{self.behavior} {self.tool}" + ("" if self.pattern is None else f"({self.pattern})")

    def is_for(self, tool: Tool[..., Any], arguments: Mapping[str, Any]) -> bool:
        """Whether the rule speaks about such a call. An allow rule is read narrowly, the others widely."""
        if not _is_name(self.tool, tool.name):
            return False
        return self.pattern is None or is_match(conditions_of(self.pattern), arguments, is_wide=self.behavior != "allow")


def _is_name(glob: str, name: str) -> bool:
    if glob in {"*", name}:
        return True
    if "*" not in glob and "?" not in glob:
        return False
    return re.fullmatch(re.escape(glob).replace(r"\*", ".*").replace(r"\?", "."), name) is not None
