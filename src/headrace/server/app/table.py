"""The table of routes: everything that the server answers, one row each.

The rule of this file: rows alone; `openapi.py` describes each of them by its name, and a test sees to it that it does.
"""

from __future__ import annotations

from headrace.inspect.serve import MAX_BODY
from headrace.server.app import inspector as inspecting
from headrace.server.app.desk import Desk
from headrace.server.app.page import POLICY, Page
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
    del secret
    return [
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
