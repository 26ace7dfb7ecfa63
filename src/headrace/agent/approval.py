"""What people and outside programs are asked about a call, and what they may answer.

The rule of this file: values only. A question is bound to one call of one message (`call_key`) and to a digest of its
arguments, so that an answer cannot be given to another call than the one that was shown.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from headrace._json import freeze
from headrace.messages.parts import ToolCallPart

PendingKind: TypeAlias = Literal["approval", "external"]


class Pending(msgspec.Struct, frozen=True):
    """A call that waits for somebody.

    Attributes:
        kind: `approval` (a person says yes or no) or `external` (the caller runs it and gives the value).
        call_key: names the call.
        call: the call, as the model made it.
        digest: of the name and the arguments.
    """

    kind: PendingKind
    call_key: str
    call: ToolCallPart
    digest: str


class Approve(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="approve"):
    """Yes; with `arguments`, yes to these instead."""

    call_key: str
    arguments: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Freeze the arguments."""
        if self.arguments is not None:
            msgspec.structs.force_setattr(self, "arguments", freeze(self.arguments, "Approve.arguments"))


class Deny(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="deny"):
    """No; the reason goes to the model."""

    call_key: str
    reason: str = ""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="answer"):
    """The value of a call that was run outside: JSON."""

    call_key: str
    value: Any = None

    def __post_init__(self) -> None:
        """Freeze the value."""
        msgspec.structs.force_setattr(self, "value", freeze(self.value, "Answer.value"))


Reply: TypeAlias = Approve | Deny | Answer
