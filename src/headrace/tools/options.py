"""How a tool is run, as a value that is checked when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from headrace.errors import UsageError
from headrace.tools.template import names_in

DEFAULT_MAX_OUTPUT_BYTES: Final = 1024 * 1024
_FLAGS: Final = ("external", "idempotent", "parallel", "read_only", "edits")


class Check(msgspec.Struct, frozen=True):
    """What a tool's own check says of one call: a person must say yes, or nobody may. No rule and no mode clears it.

    Attributes:
        behavior: `ask` or `deny`.
        reason: why, for the person or the model.
    """

    behavior: Literal["ask", "deny"]
    reason: str = ""

    def __post_init__(self) -> None:
        """Check the word: one that nobody knows must not pass for a yes."""
        _expect(self.behavior in ("ask", "deny"), "behavior", self.behavior, "'ask' or 'deny'")


Arguments: TypeAlias = Mapping[str, Any]


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a tool is run.

    Attributes:
        needs_approval: a person must say yes before each call; a function of the arguments says it for each call.
        external: the caller runs it elsewhere and answers later; the function, if there is one, only gives the schema.
        idempotent: running a call twice does no harm.
        timeout_s: how long one try may take, in seconds; None leaves it to the agent, `math.inf` is no limit.
        parallel: may run beside other calls.
        max_output_bytes: how much text and JSON of its output is kept, in UTF-8 bytes; the rest is cut and said.
        retries: how many further tries after an exception or a timeout, at once; only for idempotent tools.
        strict: ask the provider to keep to the schema; None leaves it to the provider.
        read_only: changes nothing; the mode `explore` runs no others.
        edits: changes only what can be seen and undone (a file, a draft); the mode `accept_edits` runs it without asking.
        check: looks at a call's arguments and returns a `Check`, which nothing clears, or None.
        resource: what a call works on: calls on one resource keep their order, others run side by side. A text with the names of
            arguments in braces (`file:{path}`), or a function of the arguments; None: nothing that others work on.
        group: the group that it can be switched on and off with, or None.
    """

    needs_approval: bool | Callable[[Arguments], bool] = False
    external: bool = False
    idempotent: bool = False
    timeout_s: float | None = None
    parallel: bool = True
    max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES
    retries: int = 0
    strict: bool | None = None
    read_only: bool = False
    edits: bool = False
    check: Callable[[Arguments], Check | None] | None = None
    resource: str | Callable[[Arguments], str | None] | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        """Check every option; the error names it."""
        approval: object = self.needs_approval
        _expect(isinstance(approval, bool) or callable(approval), "needs_approval", approval, "True, False or a function of the arguments")
        _expect(self.check is None or callable(self.check), "check", self.check, "a function of the arguments, or None")
        resource: object = self.resource
        is_resource = resource is None or callable(resource) or (isinstance(resource, str) and resource != "")
        _expect(is_resource, "resource", resource, "a text, a function of the arguments, or None")
        if isinstance(resource, str):
            names_in(resource)
        _expect(self.group is None or (isinstance(self.group, str) and self.group != ""), "group", self.group, "a name, or None")
        for name in _FLAGS:
            _expect(isinstance(getattr(self, name), bool), name, getattr(self, name), "True or False")
        _expect(self.strict is None or isinstance(self.strict, bool), "strict", self.strict, "True, False or None")
        is_number = isinstance(self.timeout_s, int | float) and not isinstance(self.timeout_s, bool) and self.timeout_s > 0
        _expect(self.timeout_s is None or is_number, "timeout_s", self.timeout_s, "a number of seconds above 0, or None")
        _expect(type(self.max_output_bytes) is int and self.max_output_bytes > 0, "max_output_bytes", self.max_output_bytes, "above 0")
        _expect(type(self.retries) is int and self.retries >= 0, "retries", self.retries, "a whole number from 0 up")
        if self.retries and not self.idempotent:
            message = f"retries={self.retries} is only for tools that may run twice: say idempotent=True if that does no harm"
            raise UsageError(message, argument="retries")


def _expect(is_right: bool, name: str, value: object, wanted: str) -> None:  # noqa: FBT001 - the condition reads first
    if not is_right:
        raise UsageError(f"{name} is {value!r}; it must be {wanted}", argument=name)


def changed(options: ToolOptions, changes: Mapping[str, Any]) -> ToolOptions:
    """Return the options with some changed.

    Raises:
        UsageError: there is no such option, or its value does not do; the error names it.
    """
    unknown = sorted(set(changes) - set(ToolOptions.__struct_fields__))
    if unknown:
        raise UsageError(
            f"a tool has no option {unknown[0]!r}; the options are {', '.join(ToolOptions.__struct_fields__)}", argument=unknown[0]
        )
    return msgspec.structs.replace(options, **changes) if changes else options
