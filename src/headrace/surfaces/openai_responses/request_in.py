"""A client's body of `POST …/responses` to a run, and what it answers to what a run asked.

The rule of this file: it reads what the wire's own reader refuses, since here something is kept: the response that this one goes on from,
and work in the background. All else is read by the wire (`wire/openai_responses/request_in.py`).

Source: https://platform.openai.com/docs/api-reference/responses/create.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from headrace._json import EMPTY, dumps, dumps_text
from headrace.agent.approval import Pending, Reply
from headrace.errors import UsageError
from headrace.surfaces.answers import Questions
from headrace.surfaces.asked import Asked
from headrace.surfaces.openai_responses.events_out import QUESTION, SERVER
from headrace.surfaces.openai_responses.items import WORK
from headrace.wire.openai_responses import request_in
from headrace.wire.request_fields import Fields, read_body

REFERENCE: Final = "item_reference"
_STAND_IN: Final = [{"type": "message", "role": "user", "content": "-"}]
_OF_QUESTIONS: Final = ("mcp_approval_request", "mcp_list_tools")


class Decision(msgspec.Struct, frozen=True):
    """A yes or a no.

    Attributes:
        question_id: the `mcp_approval_request` that it answers.
        approve: the yes or no.
        reason: why not.
        path: where it stands in the request.
    """

    question_id: str
    approve: bool
    reason: str
    path: str


class ResponsesRequest(Asked, frozen=True, kw_only=True):
    """A request; its `messages` are the input, instructions first; empty where it holds decisions alone.

    Attributes:
        previous_id: the response that it goes on from.
        is_background: it goes on by itself, and is asked for later.
        stores: the response is kept; in the background it always is.
        decisions: answers to approval requests.
    """

    previous_id: str | None = None
    is_background: bool = False
    stores: bool = True
    decisions: tuple[Decision, ...] = ()


def references(body: bytes) -> tuple[str, ...]:
    """Return the ids of the items that a request names instead of giving them.

    Raises:
        UsageError: it is no request.
    """
    if REFERENCE.encode() not in body:
        return ()
    fields = read_body(body)
    if not isinstance(fields.any("input"), list):
        return ()
    named = [item.required_text("id") for item in fields.objects("input") if item.text("type") == REFERENCE]
    return tuple(name for name in named if not name.startswith(QUESTION))


def read_request(body: bytes, kept: Mapping[str, Mapping[str, Any]] = EMPTY) -> ResponsesRequest:
    """Read a request.

    Args:
        body: the request.
        kept: the items that it names (`references`), by their ids, as far as they are kept.

    Raises:
        UsageError: it is none; `argument` is the path of what is wrong.
    """
    fields = read_body(body)
    previous_id, is_background, stores = fields.text("previous_response_id"), fields.boolean("background"), fields.boolean("store")
    if fields.any("conversation"):
        raise UsageError("conversation is not kept here; name the last response as previous_response_id", argument="conversation")
    decisions: list[Decision] = []
    held = {**fields.values(), "previous_response_id": None, "background": None}
    if isinstance(held.get("input"), list):
        items = list(fields.objects("input"))
        decisions = [_decision(item) for item in items if item.text("type") == "mcp_approval_response"]
        held["input"] = [
            one for item in items if item.text("type") not in ("mcp_approval_response", *_OF_QUESTIONS) for one in _items(item, kept)
        ]
    has_input = bool(held.get("input"))
    if not has_input:
        if not decisions:
            raise UsageError("input is missing or empty", argument="input")
        held["input"] = _STAND_IN
    incoming = request_in.read_request(dumps({name: value for name, value in held.items() if value is not None}))
    messages = incoming.request.messages
    return ResponsesRequest(
        incoming=incoming,
        messages=messages if has_input else messages[:-1],
        previous_id=previous_id,
        is_background=bool(is_background),
        stores=bool(is_background) or stores is not False,
        decisions=tuple(decisions),
    )


def read_answers(request: ResponsesRequest, pending: Sequence[Pending]) -> tuple[Reply, ...]:
    """Return the answers that a request holds to the questions of a run.

    Args:
        request: the request.
        pending: what the run waits for.

    Raises:
        StateError: a decision is about no question that is open.
    """
    questions = Questions(pending)
    for decision in request.decisions:
        question = questions.take(decision.question_id.removeprefix(QUESTION), f"{decision.path}.approval_request_id")
        questions.decide(question, {"approved": decision.approve, "reason": decision.reason}, decision.path)
    questions.results(request.results)
    return tuple(questions.replies)


def _items(item: Fields, kept: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return an item as the wire reads it: one that is kept instead of its name; a call that a run of ours worked on is a call and its result."""
    if item.text("type") == REFERENCE:
        name = item.required_text("id")
        if name.startswith(QUESTION):
            return []
        if name in kept:
            return _items(Fields(dict(kept[name]), item.path), {})
    if item.text("type") != WORK or item.text("server_label") != SERVER:
        return [item.values()]
    call_id, output = item.required_text("id"), item.text("output")
    error = item.any("error")
    made = {"type": "function_call", "call_id": call_id, "name": item.required_text("name"), "arguments": item.text("arguments") or "{}"}
    said = output if output is not None else "" if error is None else error if isinstance(error, str) else dumps_text(error)
    return [made, {"type": "function_call_output", "call_id": call_id, "output": said}]


def _decision(item: Fields) -> Decision:
    approve = item.boolean("approve")
    if approve is None:
        raise UsageError(f"{item.at('approve')} is missing", argument=item.at("approve"))
    return Decision(item.required_text("approval_request_id"), approve, item.text("reason") or "", item.path)
