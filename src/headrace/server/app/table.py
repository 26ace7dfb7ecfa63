"""The table of routes: everything that the server answers, one row each.

The rule of this file: rows alone; `openapi.py` describes each of them by its name, and a test sees to it that it does.
"""

from __future__ import annotations

from headrace.inspect.serve import MAX_BODY
from headrace.server.app import inspector as inspecting
from headrace.server.app.chats_api import ChatsAPI
from headrace.server.app.completions_api import CompletionsAPI
from headrace.server.app.completions_api import refused as chat_refused
from headrace.server.app.desk import Desk
from headrace.server.app.openapi import Document
from headrace.server.app.page import POLICY, Page
from headrace.server.app.responses_api import ResponsesAPI, refused
from headrace.server.app.routing import Route
from headrace.server.app.runs_api import RunsAPI
from headrace.server.app.sessions_api import SessionsAPI
from headrace.server.app.state_api import StateAPI


def routes_of(desk: Desk, page: Page, *, name: str, secret: bytes | None, version: str, has_keys: bool, is_durable: bool) -> list[Route]:
    """Return the routes; the arguments are those of `make_app`."""
    runs = RunsAPI(desk)
    sessions = SessionsAPI(desk, runs)
    state = StateAPI(desk, name=name, version=version, has_keys=has_keys, is_durable=is_durable)
    inspector = inspecting.Inspector()
    chats = ChatsAPI(desk, secret=secret)
    completions = CompletionsAPI(desk, name=name)
    responses = ResponsesAPI(desk, name=name)
    routes = [
        Route(name="page", method="GET", path="/", handle=page.index, is_public=True, policy=POLICY),
        Route(name="asset", method="GET", path="/assets/{name:path}", handle=page.asset, is_public=True, policy=POLICY),
        Route(name="health", method="GET", path="/healthz", handle=state.health, is_public=True),
        Route(name="metrics", method="GET", path="/metrics", handle=state.metrics),
        Route(name="info", method="GET", path="/api/info", handle=state.info),
        Route(name="start_run", method="POST", path="/runs", handle=runs.start, body="json"),
        Route(name="list_runs", method="GET", path="/runs", handle=runs.list),
        Route(name="show_run", method="GET", path="/runs/{run_id}", handle=runs.show),
        Route(name="delete_run", method="DELETE", path="/runs/{run_id}", handle=runs.delete),
        Route(name="events", method="GET", path="/runs/{run_id}/events", handle=runs.events),
        Route(name="resume_run", method="POST", path="/runs/{run_id}/resume", handle=runs.resume, body="json"),
        Route(name="interrupt_run", method="POST", path="/runs/{run_id}/interrupt", handle=runs.interrupt),
        Route(name="steer_run", method="POST", path="/runs/{run_id}/steer", handle=runs.steer, body="json"),
        Route(name="list_sessions", method="GET", path="/sessions", handle=sessions.list),
        Route(name="show_session", method="GET", path="/sessions/{session_id}", handle=sessions.show),
        Route(name="rename_session", method="PATCH", path="/sessions/{session_id}", handle=sessions.rename, body="json"),
        Route(name="delete_session", method="DELETE", path="/sessions/{session_id}", handle=sessions.delete),
        Route(name="session_messages", method="GET", path="/sessions/{session_id}/messages", handle=sessions.messages),
        Route(name="session_runs", method="GET", path="/sessions/{session_id}/runs", handle=sessions.runs),
        Route(name="fork_session", method="POST", path="/sessions/{session_id}/fork", handle=sessions.fork, body="json"),
        Route(name="agui", method="POST", path="/agui", handle=chats.agui, body="json"),
        Route(name="chat", method="POST", path="/api/chat", handle=chats.chat, body="json"),
        Route(name="chat_stream", method="GET", path="/api/chat/{chat_id}/stream", handle=chats.chat_stream),
        Route(name="chat_stop", method="POST", path="/api/chat/{chat_id}/stop", handle=chats.chat_stop),
        Route(name="models", method="GET", path="/v1/models", handle=completions.models, wraps=chat_refused),
        Route(name="completions", method="POST", path="/v1/chat/completions", handle=completions.complete, body="json", wraps=chat_refused),
        Route(name="responses", method="POST", path="/v1/responses", handle=responses.create, body="json", wraps=refused),
        Route(name="show_response", method="GET", path="/v1/responses/{response_id}", handle=responses.show, wraps=refused),
        Route(name="delete_response", method="DELETE", path="/v1/responses/{response_id}", handle=responses.delete, wraps=refused),
        Route(name="cancel_response", method="POST", path="/v1/responses/{response_id}/cancel", handle=responses.cancel, wraps=refused),
        Route(name="inspect", method="GET", path="/inspect", handle=inspector.form, is_basic=True, policy=inspecting.POLICY),
        Route(
            name="inspect_report",
            method="POST",
            path="/inspect",
            handle=inspector.report,
            body="raw",
            max_body_bytes=MAX_BODY,
            is_basic=True,
            policy=inspecting.POLICY,
        ),
    ]
    document = Document(
        [*routes, Route(name="document", method="GET", path="/openapi.json", handle=state.info)],
        version=version,
        name=name,
        has_keys=has_keys,
    )
    return [*routes, Route(name="document", method="GET", path="/openapi.json", handle=document.show)]
