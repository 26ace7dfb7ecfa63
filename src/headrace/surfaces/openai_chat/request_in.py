"""A client's body of `POST …/chat/completions` to a run.

The rule of this file: the wire reads it (`wire/openai_chat/request_in.py`); here it becomes what a run takes. A run that waits for the
client's own tools can go on with their results, if the server still knows it; else the conversation holds all that a new run needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.agent.approval import Pending, Reply
from headrace.messages.message import Message, ToolMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.request import Request
from headrace.surfaces.answers import Questions
from headrace.surfaces.history import split_input
from headrace.surfaces.tools_in import external_tools
from headrace.tools.tool import Tool
from headrace.wire.openai_chat import request_in
from headrace.wire.server_side import Incoming


class ChatRequest(msgspec.Struct, frozen=True):
    """A request.

    Attributes:
        incoming: what the wire reads of it.
    """

    incoming: Incoming

    @property
    def request(self) -> Request:
        """What is asked, in neutral words."""
        return self.incoming.request

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation."""
        return self.request.messages

    @property
    def split(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The history, and what is new."""
        return split_input(self.messages)

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools that the client runs itself; none where it wants none to be called."""
        return () if self.request.tool_choice == "none" else external_tools(self.request.tools)

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """What the client's own tools gave last: the results at the end of the conversation."""
        found: list[ToolResultPart] = []
        for message in reversed(self.messages):
            if not isinstance(message, ToolMessage):
                break
            found = [*message.results, *found]
        return tuple(found)


def read_request(body: bytes) -> ChatRequest:
    """Read a request.

    Raises:
        UsageError: it is none; `argument` is the path of what is wrong.
    """
    return ChatRequest(request_in.read_request(body))


def read_answers(request: ChatRequest, pending: Sequence[Pending]) -> tuple[Reply, ...]:
    """Return the values of calls that a run waits for, as far as the request has them at its end; questions cannot be answered on this wire."""
    questions = Questions(pending)
    questions.results(request.results)
    return tuple(questions.replies)
