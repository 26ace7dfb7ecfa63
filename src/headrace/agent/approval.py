"""What people and outside programs are asked about a call, and what they may answer.

The rule of this file: values only. A question is bound to one call of one message (`call_key`) and to a digest of the run, the call and
what is asked, so that an answer cannot be given to another call than the one that was shown, nor to a later question about the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from headrace._json import freeze
from headrace.agent.permission.rules import Rule
from headrace.errors import UsageError
from headrace.messages.parts import ToolCallPart

PendingKind: TypeAlias = Literal["approval", "external", "in_doubt"]


class Approve(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="approve"):
    """Yes; with `arguments`, yes to these instead.

    Attributes:
        call_key: the call.
        arguments: what the tool is called with instead of what the model said, or None.
        digest: of the question that this answers; where it is given, it must be the question's.
        rules: what is remembered for the rest of the run: "always" (`Pending.suggestions` has some); rules, or their texts.

    Raises:
        UsageError: the arguments are no object, or a rule is none.
    """

    call_key: str
    arguments: dict[str, Any] | None = None
    digest: str | None = None
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the arguments, and read the rules."""
        given: object = self.arguments
        if given is not None:
            if not isinstance(given, Mapping):
                raise UsageError(f"Approve.arguments is a {type(given).__name__}; give an object, or None", argument="arguments")
            msgspec.structs.force_setattr(self, "arguments", freeze(self.arguments, "Approve.arguments"))
        msgspec.structs.force_setattr(self, "rules", _rules(self.rules))


class Deny(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="deny"):
    """No; the reason goes to the model. `rules` are as for `Approve`: "never"."""

    call_key: str
    reason: str = ""
    digest: str | None = None
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        """Read the rules."""
        msgspec.structs.force_setattr(self, "rules", _rules(self.rules))


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="answer"):
    """The value of a call that was run outside: JSON. If `is_error`, it says why there is none."""

    call_key: str
    value: Any = None
    digest: str | None = None
    is_error: bool = False

    def __post_init__(self) -> None:
        """Freeze the value."""
        msgspec.structs.force_setattr(self, "value", freeze(self.value, "Answer.value"))


Reply: TypeAlias = Approve | Deny | Answer


class Pending(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that waits for somebody.

    Attributes:
        kind: `approval` (a person says yes or no), `external` (the caller runs it and gives the value), or `in_doubt` (it may have run
            before a crash: `Approve` runs it again, `Answer` gives its result, `Deny` gives it up).
        call_key: names the call.
        call: the call, as the model made it; one that is run outside with the arguments that a person or a hook put in their place.
        digest: of the run, the call and what is asked.
        reason: why somebody is asked.
        suggestions: rules that would let this call and its like pass, the narrowest first.
        path: the calls of the outer agents that this one is made for, outermost first; empty for the agent's own.
    """

    kind: PendingKind
    call_key: str
    call: ToolCallPart
    digest: str
    reason: str = ""
    suggestions: tuple[Rule, ...] = ()
    path: tuple[str, ...] = ()

    def approve(self, arguments: dict[str, Any] | None = None, *, rules: tuple[Rule, ...] = ()) -> Approve:
        """Return a yes to this question and no other."""
        return Approve(self.call_key, arguments, self.digest, rules)

    def deny(self, reason: str = "", *, rules: tuple[Rule, ...] = ()) -> Deny:
        """Return a no to this question."""
        return Deny(self.call_key, reason, self.digest, rules)

    def answer(self, value: Any = None, *, is_error: bool = False) -> Answer:
        """Return the value that this call gave outside."""
        return Answer(self.call_key, value, self.digest, is_error)


def digest_of(call_key: str, call: ToolCallPart, *, kind: PendingKind = "approval", run_id: str = "", turn: int = 0) -> str:
    """Return what binds an answer to a call as it was shown: 32 hexadecimal digits of SHA-256.

    Args:
        call_key: the call's key.
        call: the call.
        kind: what is asked.
        run_id: the run.
        turn: tells questions about the same call apart that are asked one after the other.
    """
    shown = f"{run_id}\0{call_key}\0{kind}\0{turn}\0{call.name}\0{call.arguments}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(shown).hexdigest()[:32]


def _rules(given: object) -> tuple[Rule, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"rules is {given!r}; give a tuple of rules, or of their texts", argument="rules")
    rules: list[Rule] = []
    for n, rule in enumerate(cast("Sequence[object]", given)):
        if not isinstance(rule, (Rule, str)):
            raise UsageError(f"rules[{n}] is {rule!r}; it must be a Rule, or its text", argument="rules")
        rules.append(Rule.parse(rule) if isinstance(rule, str) else rule)
    return tuple(rules)
