"""What requests of protocols that the wire reads (Chat Completions, Responses) have in common, to a run."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.messages.message import Message, ToolMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.request import Request
from headrace.surfaces.history import split_input
from headrace.surfaces.tools_in import external_tools
from headrace.tools.tool import Tool
from headrace.wire.server_side import Incoming


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request.

    Attributes:
        incoming: what the wire reads of it: settings, tools, what an answer repeats.
        messages: the conversation, instructions first.
    """

    incoming: Incoming
    messages: tuple[Message, ...]

    @property
    def request(self) -> Request:
        """What is asked, in neutral words."""
        return self.incoming.request

    @property
    def split(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The history, and what is new."""
        return split_input(self.messages)

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """What the client says that calls gave, since the last answer that it repeats: ids of calls may come again from one answer to the next."""
        since = max((n for n, message in enumerate(self.messages) if message.role == "assistant"), default=-1) + 1
        return tuple(result for message in self.messages[since:] if isinstance(message, ToolMessage) for result in message.results)

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools that the client runs itself; none where it wants none to be called."""
        return () if self.request.tool_choice == "none" else external_tools(self.request.tools)
