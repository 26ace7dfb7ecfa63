"""`headrace acp`: an agent for editors, over standard input and output.

The rule of this file: the official package speaks the protocol, `surfaces/acp` says what a run means in it; here both are joined to runs
that somebody watches. Standard output is the wire, so whatever else is printed in this process goes to standard error.

Source: https://agentclientprotocol.com.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import uuid
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from headrace.agent.agent import Agent
from headrace.agent.approval import Pending, Reply
from headrace.agent.events import Event
from headrace.agent.permission.judging import MODES, Permissions
from headrace.agent.run import Run
from headrace.agent.run_result import RunResult
from headrace.agent.session import Session
from headrace.cli.loading import load_agent
from headrace.cli.setup import Choices, make_agent, make_model, mode_of
from headrace.cli.version import version
from headrace.errors import ConflictError, HeadraceError, MissingExtraError, StateError, UsageError
from headrace.messages.message import UserMessage
from headrace.surfaces.acp.forms import fields_of, is_askable, permission_request, read_permission, read_prompt
from headrace.surfaces.acp.updates_out import AcpOut, history_updates
from headrace.surfaces.surface import Form

if TYPE_CHECKING:
    from acp import Client
    from acp.schema import (
        InitializeResponse,
        LoadSessionResponse,
        NewSessionResponse,
        PromptResponse,
        SetSessionModeResponse,
    )

_NOT_HERE: Final = "this client runs no tools for the agent"


def acp_command(target: str | None, choices: Choices) -> int:
    """Serve an agent to an editor until it closes the connection; return the exit status.

    Args:
        target: the user's own agent, as `module:name`; None: one made of the choices.
        choices: what the options said.

    Raises:
        UsageError: the agent cannot be loaded or made, or both are given.
        MissingExtraError: the protocol's package is not installed.
    """
    if importlib.util.find_spec("acp") is None:
        raise MissingExtraError("acp", feature="headrace acp", module="agent-client-protocol")
    if target is not None and choices != Choices():
        raise UsageError(f"{target} is an agent of its own: the options that make one do nothing to it", argument="target")
    asyncio.run(_serve(target, choices))
    return 0


async def _serve(target: str | None, choices: Choices) -> None:
    from acp import run_agent, stdio_streams  # noqa: PLC0415 - an extra

    reader, writer = await stdio_streams()
    sys.stdout = sys.stderr
    agent = load_agent(target) if target is not None else make_agent(choices, make_model(choices))
    try:
        async with agent:
            served = Served(agent)
            try:
                await run_agent(cast("Any", served), writer, reader)
            finally:
                served.interrupt_all()
    finally:
        if target is None:
            await agent.model.aclose()


class Served:
    """An agent as the protocol's package wants it: its methods are the protocol's.

    Attributes:
        agent: the agent.
    """

    def __init__(self, agent: Agent) -> None:
        """Hold the agent; nothing happens before a client is there."""
        self.agent = agent
        self._client: Client | None = None
        self._talks: dict[str, Talk] = {}

    def on_connect(self, conn: Client) -> None:
        """Take the other side."""
        self._client = conn

    def interrupt_all(self) -> None:
        """End every run: the client is gone."""
        for talk in self._talks.values():
            talk.cancel()

    # ------------------------------------------------------------------------------------------ the protocol's methods

    async def initialize(self, protocol_version: int, **_more: Any) -> InitializeResponse:
        """Say what there is."""
        from acp import PROTOCOL_VERSION  # noqa: PLC0415 - an extra
        from acp.schema import AgentCapabilities, Implementation, InitializeResponse, PromptCapabilities  # noqa: PLC0415

        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(
                load_session=True, prompt_capabilities=PromptCapabilities(image=True, audio=True, embedded_context=True)
            ),
            agent_info=Implementation(name="headrace", title="Headrace", version=version()),
        )

    async def new_session(self, cwd: str, **_more: Any) -> NewSessionResponse:
        """Begin a conversation."""
        from acp.schema import NewSessionResponse  # noqa: PLC0415 - an extra

        _ = cwd  # the agent's tools know where they work
        talk = Talk(self.agent, uuid.uuid4().hex)
        self._talks[talk.id] = talk
        return NewSessionResponse.model_validate({"sessionId": talk.id, "modes": talk.modes})

    async def load_session(self, cwd: str, session_id: str, **_more: Any) -> LoadSessionResponse:
        """Go on with a conversation that is kept, and show what was said."""
        from acp import RequestError  # noqa: PLC0415 - an extra
        from acp.schema import LoadSessionResponse  # noqa: PLC0415

        _ = cwd
        talk = self._talks.get(session_id) or Talk(self.agent, session_id)
        updates = await talk.history()
        if not updates:
            raise RequestError.resource_not_found(session_id)
        self._talks[session_id] = talk
        for update in updates:
            await self._send(session_id, update)
        return LoadSessionResponse.model_validate({"modes": talk.modes})

    async def set_session_mode(self, mode_id: str, session_id: str, **_more: Any) -> SetSessionModeResponse:
        """Change what runs without asking."""
        from acp.schema import SetSessionModeResponse  # noqa: PLC0415 - an extra

        try:
            self._talk(session_id).mode(mode_id)
        except UsageError as error:
            raise _refused(error) from error
        return SetSessionModeResponse()

    async def prompt(self, prompt: list[Any], session_id: str, **_more: Any) -> PromptResponse:
        """Answer; the run's events are told on the way."""
        from acp import RequestError  # noqa: PLC0415 - an extra
        from acp.schema import PromptResponse  # noqa: PLC0415

        talk = self._talk(session_id)
        try:
            given = UserMessage(list(read_prompt([fields_of(block) for block in prompt])))
            stop_reason = await talk.turn(given, self)
        except (ConflictError, UsageError) as error:
            raise _refused(error) from error
        except HeadraceError as error:
            raise RequestError.internal_error({"message": str(error), "kind": type(error).__name__}) from error
        return PromptResponse.model_validate({"stopReason": stop_reason})

    async def cancel(self, session_id: str, **_more: Any) -> None:
        """Interrupt the run of a conversation."""
        if session_id in self._talks:
            self._talks[session_id].cancel()

    # ------------------------------------------------------------------------------------------ what a turn says

    async def update(self, session_id: str, update: Form) -> None:
        """Tell an update."""
        await self._send(session_id, update)

    async def ask(self, session_id: str, pending: Pending) -> Reply | None:
        """Ask a person; None: nobody answered, the turn is cancelled."""
        from acp.schema import RequestPermissionRequest  # noqa: PLC0415 - an extra

        assert self._client is not None
        request = RequestPermissionRequest.model_validate({"sessionId": session_id, **permission_request(pending)})
        response = await self._client.request_permission(session_id=session_id, tool_call=request.tool_call, options=request.options)
        return read_permission(fields_of(response.outcome), pending)

    async def _send(self, session_id: str, update: Form) -> None:
        from acp.schema import SessionNotification  # noqa: PLC0415 - an extra

        assert self._client is not None
        read = SessionNotification.model_validate({"sessionId": session_id, "update": update})
        await self._client.session_update(session_id=session_id, update=read.update)

    def _talk(self, session_id: str) -> Talk:
        from acp import RequestError  # noqa: PLC0415 - an extra

        talk = self._talks.get(session_id)
        if talk is None:
            raise RequestError.resource_not_found(session_id)
        return talk


class Talk:
    """One conversation with an editor.

    Attributes:
        id: the session's id, under which the agent's store keeps it.
    """

    def __init__(self, agent: Agent, session_id: str) -> None:
        """Start without a run."""
        self.id = session_id
        self._agent = agent
        self._session = Session(session_id, agent.sessions)
        self._permissions: Permissions = agent.permissions
        self._run: Run | None = None
        self._is_busy = False
        self._is_cancelled = False

    @property
    def modes(self) -> Form:
        """The permission modes, as the protocol tells them."""
        names = [{"id": mode, "name": mode.replace("_", " ")} for mode in MODES]
        return {"currentModeId": self._permissions.mode, "availableModes": names}

    def mode(self, word: str) -> None:
        """Change the permission mode of the runs that begin from now on.

        Raises:
            UsageError: there is none of this name.
        """
        self._permissions = msgspec.structs.replace(self._permissions, mode=mode_of(word))

    def cancel(self) -> None:
        """End the run that goes on, if one does; also one that waits for a person."""
        self._is_cancelled = True
        if self._run is not None:
            self._run.interrupt()

    async def history(self) -> list[Form]:
        """Return the conversation as updates; nothing if there is none.

        Raises:
            ConflictError: a run works on it.
        """
        reader = f"acp-{uuid.uuid4().hex}"
        messages = await self._session.begin(self.id, reader)
        await self._session.commit(self.id, reader, ())
        return list(history_updates(messages))

    async def turn(self, given: UserMessage, to: Served) -> str:
        """Run over all pauses to the end, telling the client; return why it stopped.

        Raises:
            HeadraceError: the run failed, or another turn goes on.
        """
        if self._is_busy:
            raise StateError(f"a turn of session {self.id!r} goes on; wait for it, or cancel it")
        self._is_busy, self._is_cancelled = True, False
        try:
            return await self._turn(given, to)
        finally:
            self._is_busy = False

    async def _turn(self, given: UserMessage, to: Served) -> str:
        earlier: list[Event] = []
        run = self._agent.stream(given, session=self._session, permissions=self._permissions)
        while True:
            surface = AcpOut()
            surface.recall(earlier)
            result = await self._leg(run, surface, to, earlier)
            if not result.is_waiting:
                return surface.stop_reason
            replies = await self._replies(result, to)
            if replies is None:
                given_up = AcpOut()
                given_up.recall(earlier)
                made: list[Event] = []
                await self._agent.give_up(result.state, session=self._session, on_event=made.append)
                for update in (update for event in made for update in given_up.feed(event)):
                    await to.update(self.id, update)
                return "cancelled"
            run = self._agent.resume_stream(result.state, replies, session=self._session)

    async def _leg(self, run: Run, surface: AcpOut, to: Served, seen: list[Event]) -> RunResult:
        self._run = run
        try:
            async with run:
                async for event in run:
                    seen.append(event)
                    for update in surface.feed(event):
                        await to.update(self.id, update)
        finally:
            self._run = None
        return run.result

    async def _replies(self, result: RunResult, to: Served) -> list[Reply] | None:
        """Ask about everything that waits; None: somebody cancelled."""
        replies: list[Reply] = []
        for pending in result.pending:
            if not is_askable(pending):
                replies.append(pending.deny(_NOT_HERE))
                continue
            reply = None if self._is_cancelled else await to.ask(self.id, pending)
            if reply is None or self._is_cancelled:
                return None
            replies.append(reply)
        return replies


def _refused(error: HeadraceError) -> Exception:
    from acp import RequestError  # noqa: PLC0415 - an extra

    return RequestError(-32602, str(error), {"kind": type(error).__name__})
