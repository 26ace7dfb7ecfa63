"""What a run was asked to do, as JSON, so that any process can begin it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from headrace._json import JSON, dumps, loads
from headrace.agent.permission.judging import Permissions
from headrace.agent.session import Keep
from headrace.errors import StoreError, UsageError
from headrace.messages.json_form import to_dict
from headrace.messages.message import READER, Message

REQUEST_VERSION: Final = 1


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked.

    Attributes:
        input: the messages that it adds first.
        history: what was said before and is kept with the run alone.
        keep: what the conversation keeps.
        permissions: the mode and the rules, or None: the agent's.
        agent: the name under which the agent's runs are kept, so that only those who have this agent go on with them.
    """

    input: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    keep: Keep = "rounds"
    permissions: Permissions | None = None
    agent: str = ""

    def encoded(self) -> bytes:
        """Return it as JSON."""
        form: dict[str, JSON] = {
            "version": REQUEST_VERSION,
            "input": _forms(self.input),
            "history": _forms(self.history),
            "keep": self.keep,
            "agent": self.agent,
            "permissions": None if self.permissions is None else msgspec.to_builtins(self.permissions),
        }
        return dumps(form)

    @classmethod
    def decoded(cls, data: bytes) -> Request:
        """Read one.

        Raises:
            StoreError: it is none.
        """
        try:
            fields = msgspec.convert(loads(data), type=dict[str, Any])
            given = fields.get("permissions")
            return cls(
                input=READER.many_from(fields.get("input", ()), "request.input"),
                history=READER.many_from(fields.get("history", ()), "request.history"),
                keep=fields.get("keep", "rounds"),
                agent=msgspec.convert(fields.get("agent", ""), type=str),
                permissions=None if given is None else msgspec.convert(given, type=Permissions),
            )
        except (ValueError, UsageError, msgspec.ValidationError) as error:
            raise StoreError(f"the request of the run cannot be read: {error}") from error


def _forms(messages: Sequence[Message]) -> list[JSON]:
    return [to_dict(message) for message in messages]
