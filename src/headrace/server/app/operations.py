"""What each route is for, in words and shapes, for the document of the API.

The rule of this file: data alone, by the names of routes; `openapi.py` makes the document of it.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from headrace.agent.permission.judging import MODES
from headrace.server.app.asks import MAX_ID

Schema: TypeAlias = dict[str, Any]


def ref(name: str) -> Schema:
    """Return a schema that stands elsewhere."""
    return {"$ref": f"#/components/schemas/{name}"}


class Parameter(msgspec.Struct, frozen=True):
    """What a query or a header may hold."""

    name: str
    schema: Schema
    text: str
    place: str = "query"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What a route does.

    Attributes:
        summary: in a sentence.
        tag: what it belongs to.
        text: more, if there is more to say.
        parameters: of the query and the head.
        body: the schema of the body; None: there is none.
        body_type: its media type.
        is_body_optional: whether it may be left out.
        answers: by status: the schema of the body, by media type; empty for none.
        refusals: the statuses of refusals beside those that each route has.
        is_foreign: refusals have another protocol's form.
    """

    summary: str
    tag: str
    text: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Schema | None = None
    body_type: str = "application/json"
    is_body_optional: bool = False
    answers: dict[int, dict[str, Schema]]
    refusals: tuple[int, ...] = ()
    is_foreign: bool = False


_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_TEXT: Final[Schema] = {"type": "string"}
ID: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
_STATUS: Final[Schema] = {"type": "string", "enum": ["queued", "running", "waiting", "ended"]}
_LIMIT: Final = Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}, "How many at most.")
_BEFORE: Final = Parameter("before", ID, "The id of one: only those behind it in the list, to go on with it.")
_AFTER: Final = Parameter("after", {"type": "integer", "minimum": 0, "default": 0}, "The number of the last event that is known already.")
_FOLLOW: Final = Parameter("follow", {"type": "boolean", "default": False}, "Go on through pauses, until the run has ended.")
_LAST: Final = Parameter(
    "Last-Event-ID", {"type": "string", "pattern": "^[0-9]{0,18}$"}, "The same as `after`, as browsers say it.", "header"
)
_STATUSES: Final = Parameter("status", {"type": "array", "items": _STATUS}, "Only those that stand so.")
_OF: Final = Parameter("session_id", ID, "Only those of this conversation.")
_CONTENT: Final[Schema] = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": ref("InputPart"), "minItems": 1}],
}
_INPUT: Final[Schema] = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": ref("InputPart"), "minItems": 1},
        {"type": "array", "items": ref("Message"), "minItems": 1},
    ]
}
_OPTIONAL_ID: Final[Schema] = {"anyOf": [ID, {"type": "null"}]}

_EVENT: Final[Schema] = {
    "description": "One event of the stream.",
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": ref("Event")},
    },
    "required": ["id", "event", "data"],
}

_ANY: Final[dict[str, Schema]] = {_JSON: {"type": "object"}}
_FOREIGN: Final[Schema] = {"type": "object", "description": "As the protocol has it."}
_STREAM: Final[dict[int, dict[str, Schema]]] = {200: {_EVENTS: {"type": "object", "description": "Events as the protocol has them."}}}
_EITHER: Final[dict[int, dict[str, Schema]]] = {200: _STREAM[200] | _ANY}
_SDK: Final = Parameter("sdk", {"type": "string", "enum": ["6", "7"]}, "The major version of the client's SDK; by default 7.")


def _list_of(name: str, item: str) -> Schema:
    return _object({name: {"type": "array", "items": ref(item)}}, name)


def _object(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_RUN: Final = {_JSON: ref("Run")}
_RUNS: Final = {200: {_JSON: _list_of("runs", "Run")}}
_SESSION: Final = {_JSON: ref("Session")}

START: Final = _object(
    {
        "input": _INPUT,
        "session_id": _OPTIONAL_ID,
        "run_id": _OPTIONAL_ID,
        "permissions": {"anyOf": [{"type": "string", "enum": list(MODES)}, {"type": "null"}]},
    },
    "input",
)
RESUME: Final = _object({"answers": {"type": "array", "items": ref("Reply"), "minItems": 1, "maxItems": 1000}}, "answers")

OPERATIONS: Final[dict[str, Operation]] = {
    "info": Operation(summary="What is served", tag="server", answers={200: {_JSON: ref("Info")}}),
    "health": Operation(
        summary="Whether runs can be begun",
        tag="server",
        answers={200: {_JSON: ref("Health")}, 503: {_JSON: ref("Health")}},
    ),
    "metrics": Operation(summary="Counts, as Prometheus reads them", tag="server", answers={200: {"text/plain": _TEXT}}),
    "document": Operation(summary="This document", tag="server", answers={200: {_JSON: {"type": "object"}}}),
    "start_run": Operation(
        summary="Begin a run",
        tag="runs",
        text="It goes on by itself, whoever reads it or leaves. With a `run_id` of the client's own, asking twice is no second run.",
        body=START,
        answers={202: _RUN},
        refusals=(400, 409),
    ),
    "list_runs": Operation(
        summary="List runs, the newest first", tag="runs", parameters=(_OF, _STATUSES, _BEFORE, _LIMIT), answers=_RUNS, refusals=(400, 404)
    ),
    "show_run": Operation(summary="Show a run", tag="runs", answers={200: _RUN}, refusals=(404,)),
    "delete_run": Operation(summary="Delete a run", tag="runs", answers={204: {}}, refusals=(404, 409)),
    "events": Operation(
        summary="Read a run's events, then live",
        tag="runs",
        text="Each event is `id: <seq>`, `event: <type>`, `data: <Event>`. The stream ends with the log, when the run waits or has ended; one "
        "that ends without `run_ended` is asked for again with the last `id`, and nothing is missed. Comment lines keep it alive.",
        parameters=(_AFTER, _FOLLOW, _LAST),
        answers={200: {_EVENTS: _EVENT}},
        refusals=(400, 404),
    ),
    "resume_run": Operation(
        summary="Answer what a run waits for, in part or in whole", tag="runs", body=RESUME, answers={202: _RUN}, refusals=(400, 404, 409)
    ),
    "interrupt_run": Operation(summary="End a run as soon as possible", tag="runs", answers={202: _RUN}, refusals=(404,)),
    "steer_run": Operation(
        summary="Say something to the model before its next call",
        tag="runs",
        body=_object({"content": _CONTENT}, "content"),
        answers={202: _RUN},
        refusals=(400, 404, 409),
    ),
    "list_sessions": Operation(
        summary="List conversations, the last changed first",
        tag="sessions",
        parameters=(_BEFORE, _LIMIT),
        answers={200: {_JSON: _list_of("sessions", "Session")}},
        refusals=(400, 404),
    ),
    "show_session": Operation(summary="Show a conversation", tag="sessions", answers={200: _SESSION}, refusals=(404,)),
    "rename_session": Operation(
        summary="Say what a conversation is about",
        tag="sessions",
        body=_object({"title": {"type": "string", "maxLength": 500}}, "title"),
        answers={200: _SESSION},
        refusals=(400, 404),
    ),
    "delete_session": Operation(summary="Delete a conversation and its runs", tag="sessions", answers={204: {}}, refusals=(404, 409)),
    "session_messages": Operation(
        summary="Read the messages of a conversation",
        tag="sessions",
        parameters=(
            Parameter("after", {"type": "integer", "minimum": 0, "default": 0}, "How many of the first ones are left out."),
            Parameter("limit", {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0}, "How many at most; 0: all."),
        ),
        answers={200: {_JSON: _list_of("messages", "Message")}},
        refusals=(400, 404),
    ),
    "session_runs": Operation(
        summary="List the runs of a conversation",
        tag="sessions",
        parameters=(_STATUSES, _BEFORE, _LIMIT),
        answers=_RUNS,
        refusals=(400, 404),
    ),
    "fork_session": Operation(
        summary="Copy a conversation, or its beginning",
        tag="sessions",
        body=_object({"at": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}, "id": _OPTIONAL_ID}),
        is_body_optional=True,
        answers={201: _SESSION},
        refusals=(400, 404, 409),
    ),
    "agui": Operation(
        summary="A run in AG-UI 1.0",
        tag="protocols",
        text="The body is a `RunAgentInput`. A client that comes back sends the same again, with `Last-Event-ID`.",
        parameters=(_LAST,),
        body=_FOREIGN,
        answers=_STREAM,
        refusals=(400, 404, 409),
    ),
    "chat": Operation(
        summary="A run as the UI message stream v1",
        tag="protocols",
        parameters=(_SDK,),
        body=_FOREIGN,
        answers=_STREAM,
        refusals=(400, 404, 409),
    ),
    "chat_stream": Operation(
        summary="The answer of a chat that is on its way, from its start",
        tag="protocols",
        parameters=(_SDK,),
        answers={**_STREAM, 204: {}},
        refusals=(400, 409),
    ),
    "chat_stop": Operation(summary="End the answer of a chat", tag="protocols", answers={204: {}}, refusals=(404, 409)),
    "models": Operation(summary="The agent, as a model", tag="protocols", answers={200: _ANY}, is_foreign=True),
    "completions": Operation(
        summary="A run as Chat Completions",
        tag="protocols",
        text="A client that leaves ends the run.",
        body=_FOREIGN,
        answers=_EITHER,
        refusals=(400, 404, 409, 502),
        is_foreign=True,
    ),
    "responses": Operation(
        summary="A run as a response",
        tag="protocols",
        text="With `background` it is answered at once; `store: false` ends it when the client leaves.",
        body=_FOREIGN,
        answers=_EITHER,
        refusals=(400, 404, 409),
        is_foreign=True,
    ),
    "show_response": Operation(
        summary="A response as it stands, or as a stream",
        tag="protocols",
        parameters=(
            Parameter("stream", {"type": "boolean", "default": False}, "As a stream."),
            Parameter(
                "starting_after", {"type": "integer", "minimum": 0}, "The `sequence_number` of the last event that is known already."
            ),
        ),
        answers=_EITHER,
        refusals=(400, 404),
        is_foreign=True,
    ),
    "delete_response": Operation(summary="Delete a response", tag="protocols", answers={200: _ANY}, refusals=(404, 409), is_foreign=True),
    "cancel_response": Operation(summary="End a response", tag="protocols", answers={200: _ANY}, refusals=(404, 409), is_foreign=True),
    "page": Operation(summary="The web page", tag="pages", answers={200: {"text/html": _TEXT}}, refusals=(404,)),
    "asset": Operation(summary="A file of the web page", tag="pages", answers={200: {"*/*": _TEXT}}, refusals=(404,)),
    "inspect": Operation(summary="The inspector", tag="pages", answers={200: {"text/html": _TEXT}}),
    "inspect_report": Operation(
        summary="The report on a captured stream",
        tag="pages",
        parameters=(
            Parameter("protocol", _TEXT, "Which wire; without it the body tells."),
            Parameter("format", {"type": "string", "enum": ["html", "json"]}, "What the report is."),
        ),
        body={},
        body_type="application/octet-stream",
        is_body_optional=True,
        answers={200: {"text/html": _TEXT, _JSON: {"type": "object"}}},
        refusals=(400, 429),
    ),
}
"""Every route, by its name."""
