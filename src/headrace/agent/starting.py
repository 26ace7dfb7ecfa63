"""How a run starts, or goes on: what a caller says of one run, checked, as an engine that has done nothing yet.

The rule of this file: everything that can be wrong in it is wrong at once, before anything happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, cast

import msgspec

from headrace.agent.engine import Engine
from headrace.agent.events import Event
from headrace.agent.given import check_answer_names, checked_input, history_of, offered_tools, permissions_of
from headrace.agent.journal import Journal
from headrace.agent.permission.judging import Permissions
from headrace.agent.resuming import Resumed
from headrace.agent.run_result import RunResult
from headrace.agent.session import Session, SessionStore, checked_keep
from headrace.agent.setup import Offer, Setup, Talk
from headrace.errors import UsageError
from headrace.messages.fields import Content
from headrace.messages.message import Message, UserMessage
from headrace.tools.toolset import ToolLike, Toolset

Sink: TypeAlias = Callable[[Event], object]
"""Sees every event as it is made."""
_EMPTY: Final = "input is empty; give a text, parts or messages (an empty list goes on with the history)"


class Start:
    """Starts the runs of one agent.

    Attributes:
        setup: what all its runs share.
        tools: the caller's own tools, by which answers to questions are checked.
        sessions: where conversations are kept.
        permissions: the mode and the rules of runs of which nothing else is said.
    """

    def __init__(self, setup: Setup, *, tools: Toolset, sessions: SessionStore, permissions: Permissions) -> None:
        """Hold what runs start with."""
        self.setup = setup
        self.tools = tools
        self.sessions = sessions
        self.permissions = permissions

    def with_tools(self, tools: Iterable[ToolLike | Toolset]) -> tuple[Setup, Start]:
        """Return what runs with more tools share, and what starts them.

        Raises:
            UsageError: two tools have one name, or one is called as the tool that gives the answer.
        """
        setup, here = self.setup, Toolset((self.tools, *tools))
        offered = offered_tools(here, setup.context, has_groups=setup.groups is not None and not setup.sources)
        check_answer_names(() if setup.rules.wanted is None else setup.rules.wanted.spec.tool_names, offered)
        rules = msgspec.structs.replace(setup.rules, tools=offered.names)
        setup = msgspec.structs.replace(setup, offer=Offer.of(offered, setup.output), rules=rules)
        return setup, Start(setup, tools=here, sessions=self.sessions, permissions=self.permissions)

    def new(
        self,
        given: object,
        *,
        session: object,
        history: object,
        keep: str,
        deps: object,
        permissions: object,
        sink: Sink | None,
        journal: Journal | None = None,
    ) -> Engine:
        """Return a new run; the arguments are those of `Agent.stream`.

        Raises:
            UsageError: one does not fit; the error names it.
        """
        store, session_id = self._session(session)
        _check_sink(sink)
        talk = Talk(
            input=self.messages_of(given),
            history=history_of(history),
            store=store,
            session_id=session_id,
            keep=checked_keep(keep),
            deps=deps,
            permissions=self.permissions if permissions is None else permissions_of(permissions),
            journal=journal,
        )
        return Engine(self.setup, talk, sink=sink)

    def again(
        self,
        state: object,
        answers: object,
        *,
        session: Session | None,
        deps: object,
        sink: Sink | None,
        journal: Journal | None = None,
    ) -> Engine:
        """Return a run that goes on; the arguments are those of `Agent.resume_stream`.

        Raises:
            UsageError: the state is none, an answer does not fit, or the session is another one.
            StateError: the run has ended, or an answer is foreign, stale or repeated.
            SchemaVersionError: a later version wrote the state.
        """
        _check_sink(sink)
        resumed = Resumed(state, answers, self.tools.get)
        session_id = resumed.saved.session_id
        if session is not None and session.id != session_id:
            raise UsageError(f"session is {session!r}; the run belongs to the session {session_id!r}", argument="session")
        store, session_id = self._session(session_id if session is None else session)
        talk = Talk(
            store=store,
            session_id=session_id,
            keep=resumed.opened.keep,
            deps=deps,
            permissions=resumed.permissions,
            saved=resumed.saved,
            replies=resumed.replies,
            journal=journal,
        )
        return Engine(self.setup, talk, sink=sink)

    def _session(self, session: object) -> tuple[SessionStore | None, str | None]:
        match session:
            case None:
                return None, None
            case Session():
                return session, session.id
            case str() if session:
                return self.sessions, session
            case _:
                raise UsageError(f"session is {session!r}; give the id of a conversation, or a Session", argument="session")

    def messages_of(self, given: object) -> tuple[Message, ...]:
        """Return the messages that an input stands for.

        Raises:
            UsageError: it is empty, or no input.
        """
        if isinstance(given, Message):
            return checked_input((given,))
        if isinstance(given, (list, tuple)) and all(isinstance(one, Message) for one in cast("Sequence[object]", given)):
            return checked_input(tuple(cast("Sequence[Message]", given)))
        message = UserMessage(cast("Content", given), id=self.setup.new_id(), created_at=self.setup.now())
        if not message.parts:
            raise UsageError(_EMPTY, argument="input")
        return (message,)


def _check_sink(sink: object) -> None:
    if sink is not None and not callable(sink):
        raise UsageError(f"on_event is a {type(sink).__name__}; give a function of one event", argument="on_event")


async def run_through(engine: Engine) -> RunResult:
    """Run to the end, or to where it waits, and return what it gave.

    Raises:
        HeadraceError: it failed; `.result` holds what was kept.
        Exception: what a stranger's code, such as a hook, raised.
    """
    engine.unwatch()
    while not engine.is_over:
        await engine.step()
    if engine.failure is not None:
        raise engine.failure
    assert engine.result is not None
    return engine.result
