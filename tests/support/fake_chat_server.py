"""A small server that speaks the HTTP API which the page uses, with a real agent and a scripted model behind it.

    with FakeChat() as chat: chat.url, chat.drop(), chat.back()

The rule of this file: what it answers is what the API says; runs live on while nothing listens (`drop`), as with a server whose runs are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import mimetypes
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import headrace.server
from headrace.agent.approval import Reply
from headrace.agent.event_codec import encode_event
from headrace.agent.session import Session
from headrace.errors import HeadraceError, StateError, UsageError
from headrace.messages.json_form import to_dict
from headrace.messages.message import UserMessage
from page_agent import make_agent

PAGE = Path(headrace.server.__file__).parent / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def _now() -> str:
    return datetime.now(UTC).isoformat()


class FakeRun:
    """A run: its log, and the task that works on it."""

    def __init__(self, run_id: str, session: Session) -> None:
        self.id, self.session = run_id, session
        self.log: list[tuple[int, str, bytes]] = []
        self.status, self.reason, self.state = "queued", None, None
        self.pending: tuple = ()
        self.run: Any = None
        self.grown = asyncio.Event()
        self.made_at = _now()

    def view(self) -> dict[str, Any]:
        pending = [msgspec.to_builtins(one) for one in self.pending]
        return {
            "id": self.id, "session_id": self.session.id, "status": self.status, "generate_reason": self.reason,
            "last_seq": self.log[-1][0] if self.log else 0, "pending": pending, "created_at": self.made_at, "updated_at": _now(),
        }  # fmt: skip

    def note(self, event: Any) -> None:
        self.log.append((event.seq, event.type, encode_event(event)))
        self.grown.set()
        self.grown = asyncio.Event()

    async def work(self, opened: Any, *, dies: bool = False) -> None:
        """Take all events; `dies`: be gone as a process would that dies when a tool has begun."""
        self.status, self.pending = "running", ()
        with contextlib.suppress(HeadraceError):
            async with opened as run:
                self.run = run
                async for event in run:
                    self.note(event)
                    if dies and event.type == "tool_started":
                        self.state = json.loads(json.dumps(run.state))
                        break
                else:
                    result = run.result
                    self.state, self.pending, self.reason = result.state, result.pending, result.generate_reason
        self.status = "waiting" if self.pending else "ended"
        self.grown.set()


class FakeChat:
    """The server; the thread that it runs in outlives what listens.

    Attributes:
        url: where it listens, with a slash at the end.
        key: the key that it asks for, or None.
        requests: method and path of every request so far.
    """

    def __init__(self, *, key: str | None = None, page: Path = PAGE) -> None:
        self.key, self.page = key, page
        self.requests: list[str] = []
        self._runs: dict[str, FakeRun] = {}
        self._sessions: dict[str, dict[str, Any]] = {}
        self._agent = make_agent()
        self._loop = asyncio.new_event_loop()
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task | None = None
        self._tasks: set[asyncio.Task] = set()
        self._port = 0
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.back()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.drop()
        self._call(self._end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def drop(self) -> None:
        """Stop listening, and break every connection; runs go on."""
        if self._server is not None:
            self._call(self._stop())

    def back(self) -> None:
        """Listen again, at the same place."""
        self._call(self._listen())

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        config = uvicorn.Config(self._app(), port=self._port, lifespan="off", log_level="critical", timeout_graceful_shutdown=0)
        self._server = uvicorn.Server(config)
        self._serving = asyncio.ensure_future(self._server.serve())
        while not self._server.started:  # noqa: ASYNC110 - uvicorn says it in no other way
            await asyncio.sleep(0.01)
        self._port = self._server.servers[0].sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        self._server.should_exit = self._server.force_exit = True
        await self._serving
        self._server = None

    async def _end_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- the API -------------------------------------------------------------------------------------

    def _app(self) -> Starlette:
        routes: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/api/info", self._info),
            ("POST", "/runs", self._start),
            ("GET", "/runs/{id}", self._run_view),
            ("GET", "/runs/{id}/events", self._events),
            ("POST", "/runs/{id}/resume", self._resume),
            ("POST", "/runs/{id}/interrupt", self._interrupt),
            ("POST", "/runs/{id}/steer", self._steer),
            ("GET", "/sessions", self._list),
            ("GET", "/sessions/{id}/messages", self._messages),
            ("GET", "/sessions/{id}/runs", self._runs_of),
            ("PATCH", "/sessions/{id}", self._rename),
            ("DELETE", "/sessions/{id}", self._forget),
            ("POST", "/sessions/{id}/fork", self._fork),
        ]
        files = [Route("/", self._index), Route("/assets/{name}", self._asset), Route("/inspect", self._inspect)]
        return Starlette(routes=[*files, *(Route(path, self._guarded(answer), methods=[method]) for method, path, answer in routes)])

    def _guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            self.requests.append(f"{request.method} {request.url.path}")
            if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
                return _error(401, "auth", "no key, or one that is not known here")
            try:
                return await answer(request)
            except KeyError:
                return _error(404, "not_found", "there is no such thing here")
            except StateError as error:
                return _error(409, "state", str(error))
            except UsageError as error:
                return _error(400, "usage", str(error))

        return guarded

    async def _info(self, _: Request) -> Response:
        tools = [
            {"name": one.name, "description": one.description, "needs_approval": bool(one.options.needs_approval), "external": bool(one.options.external)}
            for one in self._agent.tools
        ]  # fmt: skip
        return JSONResponse(
            {
                "version": "0",
                "agent": {"name": "Mill", "model": self._agent.model.id, "tools": tools},
                "auth": bool(self.key),
                "durable": False,
            }
        )

    async def _start(self, request: Request) -> Response:
        body = await request.json()
        run_id, session_id = body["run_id"], body["session_id"]
        if run_id in self._runs:
            return JSONResponse(self._runs[run_id].view(), 202)
        kept = self._sessions.setdefault(
            session_id, {"session": Session(session_id), "title": "", "forked_from": None, "made_at": _now(), "at": _now()}
        )
        kept["at"] = _now()
        run = self._runs[run_id] = FakeRun(run_id, kept["session"])
        is_crash = body["input"] == "crash"
        spoken = "grind 2" if is_crash else body["input"]
        self._spawn(self._work(run, spoken, is_crash=is_crash))
        return JSONResponse(run.view(), 202)

    async def _work(self, run: FakeRun, spoken: object, *, is_crash: bool) -> None:
        given = spoken if isinstance(spoken, str) else [UserMessage(spoken)]
        if not is_crash:
            await run.work(self._agent.stream(given, session=run.session))
            return
        apart = Session(run.session.id)  # what a process that dies does at its end does not count
        await run.work(self._agent.stream(given, session=apart), dies=True)
        await run.work(self._agent.resume_stream(run.state, [], session=run.session))

    async def _run_view(self, request: Request) -> Response:
        return JSONResponse(self._runs[request.path_params["id"]].view())

    async def _events(self, request: Request) -> Response:
        run = self._runs[request.path_params["id"]]
        after = int(request.query_params.get("after", 0))
        return StreamingResponse(self._stream(run, after), media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _stream(self, run: FakeRun, after: int) -> Any:
        at = 0
        yield ": headrace\n\n"
        while True:
            grown = run.grown
            lines = []
            while at < len(run.log):
                seq, kind, data = run.log[at]
                at += 1
                if seq > after:
                    lines.append(f"id: {seq}\nevent: {kind}\ndata: {data.decode()}\n\n")
            if lines:
                yield "".join(lines)
            if run.status == "ended" and at == len(run.log):
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(grown.wait(), 0.2)

    async def _resume(self, request: Request) -> Response:
        run = self._runs[request.path_params["id"]]
        replies = msgspec.convert((await request.json())["answers"], tuple[Reply, ...])
        if run.status != "waiting":
            return _error(409, "state", "the run does not wait")
        known = {one.call_key: one.digest for one in run.pending}
        for reply in replies:
            if known.get(reply.call_key) != reply.digest:
                return _error(409, "state", "the answer is to another question")
        opened = self._agent.resume_stream(run.state, list(replies), session=run.session)
        self._spawn(run.work(opened))
        return JSONResponse(run.view(), 202)

    async def _interrupt(self, request: Request) -> Response:
        run = self._runs[request.path_params["id"]]
        if run.status == "waiting":
            await self._agent.give_up(run.state, session=run.session, on_event=run.note)
            run.status, run.pending = "ended", ()
            run.grown.set()
        elif run.status == "running":
            run.run.interrupt()
        return JSONResponse(run.view(), 202)

    async def _steer(self, request: Request) -> Response:
        run = self._runs[request.path_params["id"]]
        if run.status != "running":
            return _error(409, "state", "the final answer was given")
        run.run.steer((await request.json())["content"])
        return JSONResponse(run.view(), 202)

    # --- sessions ------------------------------------------------------------------------------------

    def _record(self, session_id: str) -> dict[str, Any]:
        kept = self._sessions[session_id]
        holder = next((run.id for run in self._runs.values() if run.session is kept["session"] and run.status != "ended"), None)
        return {
            "id": session_id, "title": kept["title"], "messages": len(kept["session"].messages), "holder": holder,
            "forked_from": kept["forked_from"], "created_at": kept["made_at"], "updated_at": kept["at"],
        }  # fmt: skip

    async def _list(self, _: Request) -> Response:
        records = [self._record(one) for one in self._sessions]
        return JSONResponse({"sessions": sorted(records, key=lambda one: one["updated_at"], reverse=True)})

    async def _messages(self, request: Request) -> Response:
        session = self._sessions[request.path_params["id"]]["session"]
        return JSONResponse({"messages": [to_dict(message) for message in session.messages]})

    async def _runs_of(self, request: Request) -> Response:
        session = self._sessions[request.path_params["id"]]["session"]
        found = [run.view() for run in self._runs.values() if run.session is session]
        return JSONResponse({"runs": found[::-1]})

    async def _rename(self, request: Request) -> Response:
        self._sessions[request.path_params["id"]]["title"] = (await request.json())["title"]
        return JSONResponse(self._record(request.path_params["id"]))

    async def _forget(self, request: Request) -> Response:
        gone = self._sessions.pop(request.path_params["id"])["session"]
        self._runs = {name: run for name, run in self._runs.items() if run.session is not gone}
        return Response(status_code=204)

    async def _fork(self, request: Request) -> Response:
        source = self._sessions[request.path_params["id"]]
        at = (await request.json()).get("at")
        forked = Session(None, messages=source["session"].messages[:at])
        title = f"{source['title']} (fork)" if source["title"] else ""
        self._sessions[forked.id] = {
            "session": forked,
            "title": title,
            "forked_from": request.path_params["id"],
            "made_at": _now(),
            "at": _now(),
        }
        return JSONResponse(self._record(forked.id), 201)

    # --- the page's files ----------------------------------------------------------------------------

    async def _index(self, _: Request) -> Response:
        return Response((self.page / "index.html").read_bytes(), media_type="text/html", headers={"content-security-policy": POLICY})

    async def _asset(self, request: Request) -> Response:
        path = self.page / "assets" / request.path_params["name"]
        if not path.is_file():
            return _error(404, "not_found", "no such file")
        return Response(path.read_bytes(), media_type=mimetypes.guess_type(path.name)[0], headers={"cache-control": "no-store"})

    async def _inspect(self, _: Request) -> Response:
        return Response("<!doctype html><title>Inspector</title><h1>Inspector</h1>", media_type="text/html")


def _error(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"error": {"kind": kind, "message": message}}, status)
