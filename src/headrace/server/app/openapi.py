"""The document of the API, OpenAPI 3.1: made of the routes, the words of `operations.py`, and the types that the server reads and writes.

The rule of this file: a route without words, or words without a route, is an error; nothing is described twice.

Source: https://spec.openapis.org/oas/v3.1.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec

from headrace._json import dumps
from headrace.agent.approval import Pending, Reply
from headrace.agent.events import AnyMessage, Event
from headrace.errors import ConfigError
from headrace.messages.parts import Part
from headrace.server.app.asks import Ask
from headrace.server.app.faults import STATUS, Kind
from headrace.server.app.operations import ID, OPERATIONS, Operation, Schema, ref
from headrace.server.app.routing import Answer, Route, Whole
from headrace.server.app.views import RunView, SessionView

_ERRORS: Final[dict[int, str]] = {
    400: "Something in the request does not fit.",
    401: "The request brings no key that is known.",
    403: "The Host or the Origin is none of the server's.",
    404: "There is no such thing, or it is another key's.",
    408: "The body did not come whole in time.",
    409: "It does not fit what is there by now.",
    413: "The body is too large.",
    415: "The body is no JSON by its own word.",
    429: "The key has used what it may; `Retry-After` says when to come again.",
    500: "A fault of the server's own; its log has it.",
    502: "The run failed; the answer says why.",
    503: "The server ends, or its store cannot be reached; come again.",
}
_ALWAYS: Final = (403, 500, 503)
_WITH_KEY: Final = (401, 429)
_WITH_BODY: Final = (408, 413, 415)
_KINDS: Final[list[Kind]] = sorted(STATUS)


class InfoTool(msgspec.Struct, frozen=True):
    """A tool of the agent."""

    name: str
    description: str
    needs_approval: bool
    external: bool
    idempotent: bool


class InfoAgent(msgspec.Struct, frozen=True):
    """The agent."""

    name: str
    model: str
    instructions: bool
    tools: list[InfoTool]


class Info(msgspec.Struct, frozen=True):
    """What is served."""

    version: str
    agent: InfoAgent
    auth: bool
    durable: bool


class Document:
    """The document, made once."""

    def __init__(self, routes: Iterable[Route], *, version: str, name: str, has_keys: bool) -> None:
        """Make it.

        Raises:
            ConfigError: a route has no words.
        """
        self.form = document_of(routes, version=version, name=name, has_keys=has_keys)
        self._body = dumps(self.form)

    async def show(self, ask: Ask) -> Answer:  # noqa: ARG002 - every handler gets it
        """Give it."""
        return Whole(self._body)


def document_of(routes: Iterable[Route], *, version: str, name: str, has_keys: bool) -> dict[str, Any]:
    """Return the document of these routes.

    Raises:
        ConfigError: a route has no words.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.name not in OPERATIONS:
            raise ConfigError(f"the route {route.name!r} is not described", argument="routes")
        path = route.path.replace(":path}", "}")
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, OPERATIONS[route.name], has_keys=has_keys)
    form: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": f"Headrace: {name}", "version": version, "description": "The runs of an agent, over HTTP."},
        "paths": paths,
        "components": {"schemas": _schemas()},
    }
    if has_keys:
        form["components"]["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer"},
            "password": {"type": "http", "scheme": "basic", "description": "The key as the password, for pages that a browser opens."},
        }
    return form


def _operation(route: Route, words: Operation, *, has_keys: bool) -> dict[str, Any]:
    form: dict[str, Any] = {"operationId": route.name, "summary": words.summary, "tags": [words.tag]}
    if words.text:
        form["description"] = words.text
    if has_keys:
        form["security"] = [] if route.is_public else [{"key": []}, *([{"password": []}] if route.is_basic else [])]
    parameters = [
        {"name": piece.strip("{}").removesuffix(":path"), "in": "path", "required": True, "schema": ID}
        for piece in route.path.split("/")
        if piece.startswith("{")
    ]
    parameters += [
        {"name": one.name, "in": one.place, "required": False, "schema": one.schema, "description": one.text} for one in words.parameters
    ]
    if parameters:
        form["parameters"] = parameters
    if words.body is not None:
        form["requestBody"] = {"required": not words.is_body_optional, "content": {words.body_type: {"schema": words.body}}}
    form["responses"] = _responses(route, words, has_keys=has_keys)
    return form


def _responses(route: Route, words: Operation, *, has_keys: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, content in sorted(words.answers.items()):
        found[str(status)] = {"description": words.summary}
        if content:
            found[str(status)]["content"] = {media_type: {"schema": schema} for media_type, schema in content.items()}
    refusals = {*words.refusals, *_ALWAYS, *(_WITH_KEY if has_keys and not route.is_public else ())}
    if route.method not in ("GET", "HEAD"):
        refusals |= {400, *_WITH_BODY}
    schema: Schema = {"type": "object"} if words.is_foreign else ref("Error")
    for status in sorted(refusals):
        form = found.setdefault(str(status), {"description": _ERRORS[status], "content": {"application/json": {"schema": schema}}})
        held: Schema = form["content"]["application/json"]["schema"]
        if held != schema:
            form["content"]["application/json"]["schema"] = {"anyOf": [held, schema]}
        if status == 429:
            form["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}, "required": True}}
    return found


def _schemas() -> dict[str, Schema]:
    """Return the types: those of messages, events and answers as the library has them, and the server's own."""
    wanted: list[Any] = [Event, AnyMessage, Part, Pending, Reply, RunView, SessionView, Info]
    (event, message, part, _pending, reply, *_), schemas = msgspec.json.schema_components(
        cast("Any", wanted), ref_template="#/components/schemas/{name}"
    )
    run = schemas.pop("RunView")
    run["title"] = "Run"
    run["properties"] |= {
        "pending": {"type": "array", "items": ref("Pending")},
        "usage": ref("Usage"),
        "message": ref("AssistantMessage"),
    }
    session = schemas.pop("SessionView")
    session["title"] = "Session"
    for kind in ("Approve", "Deny"):  # rules travel as their texts, or as what a question suggests
        schemas[kind]["properties"]["rules"] = {"type": "array", "items": {"anyOf": [{"type": "string", "minLength": 1}, ref("Rule")]}}
    error = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": _KINDS}, "message": {"type": "string"}, "argument": {"type": "string"}},
                "required": ["kind", "message"],
                "additionalProperties": False,
            }
        },
        "required": ["error"],
        "additionalProperties": False,
    }
    health = {
        "type": "object",
        "properties": {"status": {"type": "string", "enum": ["ok", "leaving", "store_unreachable"]}},
        "required": ["status"],
        "additionalProperties": False,
    }
    given = {"anyOf": [ref("TextPart"), ref("MediaPart"), ref("JsonPart")], "description": "What a person may give."}
    made = {
        "InputPart": given,
        "Run": run,
        "Session": session,
        "Error": error,
        "Health": health,
        "Event": event,
        "Message": message,
        "Part": part,
        "Reply": reply,
    }
    return {name: _plain(schema) for name, schema in sorted((schemas | made).items())}


def _plain(schema: Any) -> Any:
    """Return a schema without what a default says: a member that is left out is left out."""
    if isinstance(schema, dict):
        return {name: _plain(value) for name, value in cast("dict[str, Any]", schema).items() if name != "default"}
    return [_plain(value) for value in schema] if isinstance(schema, list) else schema  # pyright: ignore[reportUnknownVariableType]
