"""Whether a call may run: rules, the mode, and what the tool says of itself.

The rule of this file: a decision beats another by its kind, never by the order of the rules. From the strongest:

1. a deny rule denies, in every mode;
2. the tool's own `check` denies, in every mode;
3. the mode `explore` denies what is not `read_only`;
4. the tool's own `check` asks; no rule and no mode lets the call run without a person (`dont_ask` denies it);
5. an ask rule asks;
6. an allow rule allows;
7. the mode decides: `default` asks if the tool `needs_approval` and allows all else; `accept_edits` allows tools with `edits`, the
   rest as `default`; `explore` as `default`; `dont_ask` denies whatever would be asked about.

The mode `bypass` allows everything that deny rules and the check leave: ask rules and `needs_approval` do not count in it. When a
`check` or a `needs_approval` raises, or answers with what is no answer, the call does not run without a person.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec

from headrace.agent.permission.rules import Behavior, Rule
from headrace.agent.permission.suggestions import suggest
from headrace.agent.results import describe
from headrace.errors import UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.options import Check
from headrace.tools.tool import Tool

Mode: TypeAlias = Literal["default", "accept_edits", "explore", "bypass", "dont_ask"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)


class Permissions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run may do.

    Attributes:
        mode: how calls are judged that no rule speaks about; see the module.
        rules: in the order in which they were added; their order decides nothing.
    """

    mode: Mode = "default"
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        """Check the mode and the rules.

        Raises:
            UsageError: there is no such mode, or a rule is none.
        """
        if self.mode not in MODES:
            raise UsageError(f"mode is {self.mode!r}; it must be one of {', '.join(MODES)}", argument="mode")
        given: object = self.rules
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise UsageError(f"rules is {given!r}; it must be a sequence of rules", argument="rules")
        for n, rule in enumerate(cast("Sequence[object]", given)):
            if not isinstance(rule, Rule):
                raise UsageError(f"rules[{n}] is {rule!r}; it must be a Rule: Rule.parse reads one from its text", argument="rules")
        msgspec.structs.force_setattr(self, "rules", tuple(cast("Sequence[Rule]", given)))

    def with_rules(self, *rules: Rule | str) -> Permissions:
        """Return a copy with more rules, each a `Rule` or its text; one that says the same as one before is left out.

        Raises:
            UsageError: a text is no rule.
        """
        known = {(rule.behavior, rule.tool, rule.pattern) for rule in self.rules}
        added: list[Rule] = []
        for each in rules:
            rule = Rule.parse(each) if isinstance(each, str) else each
            what = (rule.behavior, rule.tool, rule.pattern)
            if what not in known:
                known.add(what)
                added.append(rule)
        return Permissions(self.mode, (*self.rules, *added))

    def with_mode(self, mode: Mode) -> Permissions:
        """Return a copy in another mode.

        Raises:
            UsageError: there is no such mode.
        """
        return Permissions(mode, self.rules)


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be done with a call.

    Attributes:
        behavior: `allow`, `ask` or `deny`.
        reason: why, for people and for the model.
        suggestions: for an ask, rules of which each would let the call pass next time, the narrowest first; none where no rule can.
        is_final: no further rule and no other mode would let the call run without a person.
    """

    behavior: Behavior
    reason: str = ""
    suggestions: tuple[Rule, ...] = ()
    is_final: bool = False


def judge(permissions: Permissions, tool: Tool[..., Any], call: ToolCallPart) -> Verdict:
    """Say whether a call may run. Never raises for what the tool's own functions do.

    Args:
        permissions: the mode and the rules.
        tool: the tool that the call names; an external one is judged like any other.
        call: the call. A custom call, and one whose arguments do not parse, is judged as the one argument `input`, its raw text;
            whether a call can be run at all is not asked here.
    """
    arguments: Mapping[str, Any] = {"input": call.arguments} if call.parsed is None else call.parsed
    mode = permissions.mode
    rules: dict[Behavior, Rule] = {rule.behavior: rule for rule in reversed(permissions.rules) if rule.is_for(tool, arguments)}
    if "deny" in rules:
        return Verdict("deny", _said("denied by rule", rules["deny"]), is_final=True)
    found = _checked(tool, arguments)
    if found is not None and found.behavior == "deny":
        return found
    if mode == "explore" and not tool.options.read_only:
        what = f"denied by the mode explore, which runs only tools that change nothing; {tool.name} may."
        return Verdict("deny", f"{what} A person can leave it for the mode default", is_final=found is not None)
    verdict = found or _unchecked(mode, rules, tool, arguments)
    if mode != "dont_ask" or verdict.behavior != "ask":
        return verdict
    what = "denied by the mode dont_ask, since a person would have to say yes"
    return Verdict("deny", f"{what}: {verdict.reason}", is_final=verdict.is_final)


def _unchecked(mode: Mode, rules: Mapping[Behavior, Rule], tool: Tool[..., Any], arguments: Mapping[str, Any]) -> Verdict:
    """Judge what no deny rule and no check speaks about; `rules` holds the first ask rule and the first allow rule for the call."""
    if mode == "bypass":
        return Verdict("allow", "allowed by the mode bypass")
    if "ask" in rules:
        return Verdict("ask", _said("asked for by rule", rules["ask"]))
    if "allow" in rules:
        return Verdict("allow", _said("allowed by rule", rules["allow"]))
    if mode == "accept_edits" and tool.options.edits:
        return Verdict("allow", f"allowed by the mode accept_edits: {tool.name} only makes edits")
    wanted = _approval(tool, arguments)
    return Verdict("ask", wanted, suggest(tool, arguments)) if wanted else Verdict("allow", f"{tool.name} needs no approval")


def _said(what: str, rule: Rule) -> str:
    return f"{what} `{rule}`" + (f" ({rule.source})" if rule.source else "")


def _checked(tool: Tool[..., Any], arguments: Mapping[str, Any]) -> Verdict | None:
    """Ask the tool's own check; what it says is final, also that it failed."""
    check = tool.options.check
    if check is None:
        return None
    try:
        found: object = check(arguments)
        is_known = found is None or (isinstance(found, Check) and found.behavior in {"ask", "deny"})
    except Exception as error:  # noqa: BLE001 - a check is a stranger's code
        return Verdict("ask", f"the check of {tool.name} failed: {describe(error)}", is_final=True)
    if not is_known:
        _dispose(found)
        reason = f"the check of {tool.name} returned {type(found).__name__}, not Check(ask or deny) or None"
        return Verdict("ask", reason, is_final=True)
    if not isinstance(found, Check):
        return None
    what = "denied" if found.behavior == "deny" else "asked for"
    return Verdict(found.behavior, f"{what} by the check of {tool.name}" + (f": {found.reason}" if found.reason else ""), is_final=True)


def _approval(tool: Tool[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """Return why a person must say yes, or None if nobody need."""
    needs = tool.options.needs_approval
    if not callable(needs):
        return f"{tool.name} needs approval" if needs else None
    try:
        found: object = needs(arguments)
        is_needed = bool(found)
    except Exception as error:  # noqa: BLE001 - needs_approval is a stranger's code
        return f"needs_approval of {tool.name} failed: {describe(error)}"
    if inspect.isawaitable(found):
        _dispose(found)
        return f"needs_approval of {tool.name} is async; it must return True or False at once"
    return f"{tool.name} needs approval with these arguments" if is_needed else None


def _dispose(found: object) -> None:
    if inspect.iscoroutine(found):
        found.close()  # else Python warns that nobody awaited it
