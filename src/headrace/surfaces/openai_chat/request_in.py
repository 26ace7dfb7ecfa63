"""A client's body of `POST …/chat/completions` to a run.

The rule of this file: the wire reads it (`wire/openai_chat/request_in.py`); here it becomes what a run takes. A run that waits for the
client's own tools can go on with their results, if the server still knows it; else the conversation holds all that a new run needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.agent.approval import Pending, Reply
from headrace.surfaces.answers import Questions
from headrace.surfaces.asked import Asked
from headrace.wire.openai_chat import request_in


class ChatRequest(Asked, frozen=True, kw_only=True):
    """A request; its `messages` are the whole conversation."""


def read_request(body: bytes) -> ChatRequest:
    """Read a request.

    Raises:
        UsageError: it is none; `argument` is the path of what is wrong.
    """
    incoming = request_in.read_request(body)
    return ChatRequest(incoming=incoming, messages=incoming.request.messages)


def read_answers(request: ChatRequest, pending: Sequence[Pending]) -> tuple[Reply, ...]:
    """Return the values of calls that a run waits for, as far as the request has them at its end; questions cannot be answered on this wire."""
    questions = Questions(pending)
    questions.results(request.results)
    return tuple(questions.replies)
