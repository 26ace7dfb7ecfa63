"""The agent: a model, its tools and its instructions, ready to be asked.

The rule of this file: everything that can be wrong in what the caller says is wrong at once, before anything happens. An agent holds
no state of a run, so one agent serves any number of runs at the same time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self, cast

from headrace import _sync
from headrace.agent.engine import Engine, Setup, Talk
from headrace.agent.events import Event
from headrace.agent.loop import Rules
from headrace.agent.run import Run
from headrace.agent.run_result import RunResult
from headrace.agent.session import MemorySessions, Session, SessionStore, checked_keep
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.fields import Content
from headrace.messages.message import Message, SystemMessage, UserMessage
from headrace.messages.request import Settings
from headrace.models.answer import ModelLike, SettingsLike
from headrace.models.model import Model
from headrace.tools.tool import Tool
from headrace.tools.toolset import ToolLike, Toolset

DEFAULT_MAX_ROUNDS: Final = 25
DEFAULT_MAX_PARALLEL_TOOLS: Final = 8


class Agent:
    """Thinks, calls tools, looks at the results, answers; live, in parallel, and always with a legal history.

        agent = Agent("openai-chat:my-model", tools=[clock], instructions="Be brief.")
        result = await agent.run("What time is it in Oslo?")
        result.message.text

    Args:
        model: a model, or its id.
        tools: functions, tools and toolsets.
        instructions: the system prompt; it is sent with every request and is no part of the history.
        output_type: the type of the answer; a later version brings it.
        max_rounds: how many tool rounds may run in full; then the model must answer without tools. None or 0: no limit.
        max_tool_calls: how many tool calls may run in one run; further ones are `not_run`, and the model must answer. None: no limit.
        max_parallel_tools: how many tools may run at once.
        tool_timeout_s: how long a tool may take that does not say so itself, in seconds; None: no limit.
        settings: for every request of a run, over those of the model.
        sessions: where `session="id"` is kept; by default in the agent's own memory.
        new_id: makes the ids of runs and messages.
        now: the time, in UTC.

    Raises:
        UsageError: an argument does not fit; the error names it.
        UnsupportedError: this version cannot do that yet.
    """

    def __init__(
        self,
        model: str | ModelLike,
        *,
        tools: Iterable[ToolLike | Toolset] = (),
        instructions: str | SystemMessage | None = None,
        output_type: object = None,
        max_rounds: int | None = DEFAULT_MAX_ROUNDS,
        max_tool_calls: int | None = None,
        max_parallel_tools: int = DEFAULT_MAX_PARALLEL_TOOLS,
        tool_timeout_s: float | None = None,
        settings: SettingsLike = None,
        sessions: SessionStore | None = None,
        new_id: Callable[[], str] | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Check everything; do nothing."""
        if output_type is not None:
            raise UnsupportedError(
                "output_type comes in a later version; ask for JSON in the instructions until then", argument="output_type"
            )
        _check_count("max_rounds", max_rounds, least=0)
        _check_count("max_tool_calls", max_tool_calls, least=1)
        _check_count("max_parallel_tools", max_parallel_tools, least=1, is_optional=False)
        if tool_timeout_s is not None and not (isinstance(tool_timeout_s, (int, float)) and tool_timeout_s > 0):
            raise UsageError(f"tool_timeout_s is {tool_timeout_s!r}; it is a number of seconds above 0, or None", argument="tool_timeout_s")
        self._is_own_model = isinstance(model, str)
        self.model: ModelLike = _model_of(model)
        self.tools = tools if isinstance(tools, Toolset) else Toolset(tools)
        for tool in self.tools:
            _check_tool(tool)
        self.sessions: SessionStore = MemorySessions() if sessions is None else sessions
        self._setup = Setup(
            model=self.model,
            tools=self.tools,
            specs=self.tools.specs,
            instructions=_instructions_of(instructions),
            rules=Rules(tools=self.tools.names, max_rounds=max_rounds, max_tool_calls=max_tool_calls),
            settings=Settings.of(settings),
            max_parallel_tools=max_parallel_tools,
            tool_timeout_s=tool_timeout_s,
            new_id=new_id or _new_id,
            now=now or _now,
        )

    def __repr__(self) -> str:
        """Show the model and the tools."""
        return f"Agent({self.model.id!r}, tools=[{', '.join(self.tools.names)}])"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the model if the agent made it from an id."""
        if self._is_own_model:
            await self.model.aclose()

    async def run(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        session: str | Session | None = None,
        history: Iterable[Message] = (),
        keep: str = "rounds",
        deps: object = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> RunResult:
        """Run to the end and return what came out; the arguments are those of `stream`.

        Raises:
            HeadraceError: the model or the network failed; `.result` holds what was kept.
            asyncio.CancelledError: the task was cancelled; the session holds what came, marked as interrupted.
        """
        engine = self._engine(input, session=session, history=history, keep=keep, deps=deps, on_event=on_event)
        while not engine.is_over:
            await engine.step()
            engine.made.clear()
        if engine.failure is not None:
            raise engine.failure
        assert engine.result is not None
        return engine.result

    def run_sync(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        session: str | Session | None = None,
        history: Iterable[Message] = (),
        keep: str = "rounds",
        deps: object = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> RunResult:
        """Do as `run`, from synchronous code; works in a notebook as well."""
        return _sync.run(self.run(input, session=session, history=history, keep=keep, deps=deps, on_event=on_event))

    def stream(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        session: str | Session | None = None,
        history: Iterable[Message] = (),
        keep: str = "rounds",
        deps: object = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> Run:
        """Run while somebody watches: `async with agent.stream(…) as run: async for event in run`.

        Args:
            input: what is asked: a text, parts, a message, or a list of messages; an empty list goes on with the history.
            session: the id of a conversation in `sessions`, or a `Session`: what was said there comes first, and what this run adds
                is kept there. One run at a time works on it.
            history: messages that come first and are kept nowhere. Calls without results in it, and results without calls, do no harm:
                encoders repair what is sent, and say so in the answer's warnings; the history itself is left as it is.
            keep: what the session keeps: whole `rounds`, or only the user's words and the `answers`.
            deps: what tools get as `context.deps`.
            on_event: sees every event as it is made, also those that end a run which nobody reads any more; must be quick and not raise.

        Raises:
            UsageError: an argument does not fit; the error names it.
        """
        return Run(self._engine(input, session=session, history=history, keep=keep, deps=deps, on_event=on_event))

    def _engine(
        self,
        given: object,
        *,
        session: str | Session | None,
        history: Iterable[Message],
        keep: str,
        deps: object,
        on_event: Callable[[Event], object] | None,
    ) -> Engine:
        store, session_id = self._session(session)
        talk = Talk(
            input=self._input(given),
            history=_history_of(history),
            store=store,
            session_id=session_id,
            keep=checked_keep(keep),
            deps=deps,
        )
        return Engine(self._setup, talk, sink=on_event)

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

    def _input(self, given: object) -> tuple[Message, ...]:
        if isinstance(given, Message):
            return (given,)
        if isinstance(given, (list, tuple)) and all(isinstance(one, Message) for one in cast("Sequence[object]", given)):
            return tuple(cast("Sequence[Message]", given))
        message = UserMessage(cast("Content", given), id=self._setup.new_id(), created_at=self._setup.now())
        if not message.parts:
            raise UsageError("input is empty; give a text, parts or messages (an empty list goes on with the history)", argument="input")
        return (message,)


def _model_of(model: object) -> ModelLike:
    if isinstance(model, str):
        return Model(model)
    if not callable(getattr(model, "stream", None)):
        raise UsageError(f"model is a {type(model).__name__}; give a Model, or a model's id", argument="model")
    return cast("ModelLike", model)


def _instructions_of(instructions: object) -> SystemMessage | None:
    if instructions is None or instructions == "":
        return None
    if isinstance(instructions, SystemMessage):
        return instructions
    if not isinstance(instructions, str):
        raise UsageError(f"instructions is a {type(instructions).__name__}, not text", argument="instructions")
    return SystemMessage(instructions)


def _history_of(history: object) -> tuple[Message, ...]:
    if isinstance(history, (str, Message)) or not isinstance(history, Iterable):
        raise UsageError(f"history is a {type(history).__name__}, not a list of messages", argument="history")
    messages = tuple(cast("Iterable[object]", history))
    for n, message in enumerate(messages):
        if not isinstance(message, Message):
            raise UsageError(f"history[{n}] is a {type(message).__name__}, not a message", argument=f"history[{n}]")
    return cast("tuple[Message, ...]", messages)


def _check_tool(tool: Tool[..., Any]) -> None:
    if tool.options.needs_approval or tool.options.external:
        option = "needs_approval" if tool.options.needs_approval else "external"
        raise UnsupportedError(f"tool {tool.name}: {option} comes in a later version", argument=tool.name)


def _check_count(name: str, value: object, *, least: int, is_optional: bool = True) -> None:
    if value is None and is_optional:
        return
    if type(value) is not int or value < least:
        what = f"a whole number from {least} up" + (", or None" if is_optional else "")
        raise UsageError(f"{name} is {value!r}; it is {what}", argument=name)


def _new_id() -> str:
    return uuid.uuid4().hex


def _now() -> datetime:
    return datetime.now(UTC)
