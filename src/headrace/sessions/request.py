"""What a run was asked to do, as JSON, so that any process can begin it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from headrace._json import JSON, dumps, loads, thaw
from headrace.agent.agent import Agent
from headrace.agent.permission.judging import Permissions
from headrace.agent.session import Keep
from headrace.errors import StoreError, UsageError
from headrace.messages.json_form import to_dict
from headrace.messages.message import READER, Message
from headrace.messages.request import ToolSpec
from headrace.tools.tool import Tool

REQUEST_VERSION: Final = 1


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked.

    Attributes:
        input: the messages that it adds first.
        history: what was said before and is kept with the run alone.
        keep: what the conversation keeps.
        permissions: the mode and the rules, or None: the agent's.
        tools: those that the caller runs itself.
        agent: the name under which the agent's runs are kept, so that only those who have this agent go on with them.
    """

    input: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    keep: Keep = "rounds"
    permissions: Permissions | None = None
    agent: str = ""
    tools: tuple[ToolSpec, ...] = ()

    def encoded(self) -> bytes:
        """Return it as JSON."""
        form: dict[str, JSON] = {
            "version": REQUEST_VERSION,
            "input": _forms(self.input),
            "history": _forms(self.history),
            "keep": self.keep,
            "agent": self.agent,
            "tools": msgspec.to_builtins(self.tools),
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
                tools=msgspec.convert(fields.get("tools", ()), type=tuple[ToolSpec, ...]),
                permissions=None if given is None else msgspec.convert(given, type=Permissions),
            )
        except (ValueError, UsageError, msgspec.ValidationError) as error:
            raise StoreError(f"the request of the run cannot be read: {error}") from error

    def agent_for(self, agent: Agent) -> Agent:
        """Return the agent that does it: with the tools that the caller runs itself."""
        if not self.tools:
            return agent
        more: list[Tool[..., Any]] = [
            Tool(name=one.name, description=one.description, parameters=thaw(one.parameters), external=True) for one in self.tools
        ]
        return agent.with_tools(more)


def external_specs(tools: Iterable[Tool[..., Any]]) -> tuple[ToolSpec, ...]:
    """Return tools that the caller runs as they are kept.

    Raises:
        UsageError: one is no external tool: what it does cannot be kept.
    """
    specs: list[ToolSpec] = []
    for tool in tools:
        if not tool.options.external:
            raise UsageError(f"the tool {tool.name!r} is not external; a run that is kept takes others from its agent", argument="tools")
        specs.append(tool.spec)
    return tuple(specs)


def _forms(messages: Sequence[Message]) -> list[JSON]:
    return [to_dict(message) for message in messages]
