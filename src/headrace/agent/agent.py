"""The agent: a model, its tools and its instructions, ready to be asked.

The rule of this file: everything that can be wrong in what the caller says is wrong at once, before anything happens. An agent holds
no state of a run, so one agent serves any number of runs at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, Final, Self

from headrace import _sync
from headrace.agent.approval import Reply
from headrace.agent.claims import CLAIMS, Claims
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.reminders import ReminderRules
from headrace.agent.events import Event
from headrace.agent.given import (
    Answering,
    check_count,
    check_kind,
    check_methods,
    checked_timeout,
    groups_of,
    instructions_of,
    model_of,
    offered_tools,
    permissions_of,
    rules_of,
    sorted_tools,
)
from headrace.agent.given import new_id as made_id
from headrace.agent.given import now as clock
from headrace.agent.hooks import Hooks, HookTable
from headrace.agent.journal import Journal
from headrace.agent.limits import Price, RunLimits
from headrace.agent.permission.judging import Mode, Permissions
from headrace.agent.run import Run
from headrace.agent.run_result import RunResult
from headrace.agent.session import MemorySessions, Session, SessionStore
from headrace.agent.setup import Offer, Setup
from headrace.agent.sources import Sources
from headrace.agent.starting import Start, run_through
from headrace.agent.subagent import agent_tool
from headrace.messages.fields import Content
from headrace.messages.message import Message, SystemMessage
from headrace.messages.request import Settings
from headrace.models.answer import ModelLike, SettingsLike
from headrace.tools.source import ToolSource
from headrace.tools.tool import Tool
from headrace.tools.toolset import ToolLike, Toolset

DEFAULT_MAX_ROUNDS: Final = 25
DEFAULT_MAX_PARALLEL_TOOLS: Final = 8
DEFAULT_REMINDERS: Final = ReminderRules(limits_at=None, silence_s=None)


class Agent:
    """Thinks, calls tools, looks at the results, answers; live, in parallel, and always with a legal history.

        agent = Agent("openai-chat:my-model", tools=[clock], instructions="Be brief.")
        result = await agent.run("What time is it in Oslo?")
        result.message.text

    Args:
        model: a model, or its id.
        tools: functions, tools, toolsets, and sources of tools that live elsewhere, such as MCP servers.
        groups: the groups of tools that are on when a run begins; the model gets a tool, `switch_tools`, to switch them. None: all, always.
        instructions: the system prompt; it is sent with every request and is no part of the history.
        output_type: the type of the answer: a pydantic model, dataclass, TypedDict, Struct, plain type, union or JSON Schema, or an
            `OutputSpec`, which says more; None: text.
        max_rounds: how many tool rounds may run in full; then the model must answer without tools. None or 0: no limit.
        max_tool_calls: how many calls the model may make in one run, short for `tool_calls` of `limits`, which counts where both are given;
            further ones are `not_run`, and the model must answer. None: no limit.
        max_parallel_tools: how many tools may run at once.
        permissions: the mode and the rules by which calls run, are asked about or denied; by default only `needs_approval` asks.
        run_while_pending: whether the other calls of a round run while some of it wait for somebody; else all wait.
        early_start: calls of idempotent tools may start while the answer still streams, as soon as the wire says that they are whole.
        stop_on_denial: end the run when a person has denied every call of a round.
        limits: what one run may use: tool calls, tokens, cost, time; fields of `RunLimits`.
        price: what an answer cost, in US dollars, None if that is not known; for a limit on cost, instead of the list prices.
        context: how long what is sent may get, and how it is made shorter; by default only when the provider says that it is too long.
        reminders: what the model is told that nobody says: by default that a call keeps failing.
        hooks: code of your own before and after runs, rounds, model calls and tool calls; see `Hooks`.
        tool_timeout_s: how long a tool may take that does not say so itself, in seconds; None: no limit.
        settings: for every request of a run, over those of the model.
        sessions: where `session="id"` is kept; by default in the agent's own memory.
        claims: remembers which states were resumed; by default in this process.
        new_id: makes the ids of runs and messages.
        now: the time, in UTC.

    Raises:
        UsageError: an argument does not fit; the error names it.
        MissingExtraError: there is a limit on cost, and the prices are not installed.
    """

    def __init__(
        self,
        model: str | ModelLike,
        *,
        tools: Iterable[ToolLike | Toolset | ToolSource] | Toolset = (),
        instructions: str | SystemMessage | None = None,
        groups: Iterable[str] | None = None,
        output_type: object = None,
        max_rounds: int | None = DEFAULT_MAX_ROUNDS,
        max_tool_calls: int | None = None,
        max_parallel_tools: int = DEFAULT_MAX_PARALLEL_TOOLS,
        tool_timeout_s: float | None = None,
        permissions: Permissions | Mode | None = None,
        run_while_pending: bool = True,
        early_start: bool = False,
        stop_on_denial: bool = False,
        limits: RunLimits | Mapping[str, Any] | None = None,
        price: Price | None = None,
        context: ContextPolicy | None = None,
        reminders: ReminderRules | None = DEFAULT_REMINDERS,
        hooks: Iterable[Hooks] | Hooks = (),
        settings: SettingsLike = None,
        sessions: SessionStore | None = None,
        claims: Claims = CLAIMS,
        new_id: Callable[[], str] | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Check everything; do nothing."""
        check_count("max_parallel_tools", max_parallel_tools, least=1, is_optional=False)
        self._is_own_model = isinstance(model, str)
        self.model: ModelLike = model_of(model)
        here, self.sources = sorted_tools(tools)
        self._blocks: list[Sources] = []
        store = MemorySessions() if sessions is None else sessions
        check_kind("context", context, ContextPolicy, is_optional=True)
        check_kind("reminders", reminders, ReminderRules, is_optional=True)
        check_methods("sessions", store, ("begin", "commit"))
        check_methods("claims", claims, ("take", "give_back"))
        policy = ContextPolicy() if context is None else context
        active = groups_of(groups, here, has_sources=bool(self.sources))
        offered = offered_tools(here, policy, has_groups=active is not None and not self.sources)
        answering = Answering.of(output_type, self.model, offered, has_sources=bool(self.sources))
        self._setup = Setup(
            model=self.model,
            offer=Offer.of(offered, answering.parts),
            instructions=instructions_of(instructions, answering.instructions),
            context=policy,
            reminders=reminders,
            output=answering.parts,
            sources=self.sources,
            groups=active,
            rules=rules_of(
                offered,
                answering,
                self.model,
                limits=limits,
                price=price,
                knows_all=not self.sources,
                max_rounds=max_rounds,
                max_tool_calls=max_tool_calls,
                stop_on_denial=stop_on_denial,
            ),
            hooks=HookTable.of(hooks),
            settings=Settings.of(settings),
            runs_others=run_while_pending,
            early_start=early_start,
            claims=claims,
            max_parallel_tools=max_parallel_tools,
            tool_timeout_s=checked_timeout(tool_timeout_s),
            new_id=new_id or made_id,
            now=now or clock,
        )
        self._start = Start(self._setup, tools=here, sessions=store, permissions=permissions_of(permissions))

    def __repr__(self) -> str:
        """Show the model and the tools."""
        return f"Agent({self.model.id!r}, tools=[{', '.join(self.tools.names)}])"

    @property
    def tools(self) -> Toolset:
        """The tools that it was given; those of sources are known while a run goes on."""
        return self._start.tools

    @property
    def sessions(self) -> SessionStore:
        """Where `session="id"` is kept."""
        return self._start.sessions

    @property
    def permissions(self) -> Permissions:
        """The mode and the rules of runs of which nothing else is said."""
        return self._start.permissions

    async def __aenter__(self) -> Self:
        """Keep what the agent works with open over its runs: connections of the model, sources of tools."""
        block = Sources(self.sources)
        await block.open()
        self._blocks.append(block)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._blocks:
            await self._blocks.pop().aclose()
        if not self._blocks:
            await self.aclose()

    async def aclose(self) -> None:
        """Close the model if the agent made it from an id, and the sources of tools that `async with` opened."""
        while self._blocks:
            await self._blocks.pop().aclose()
        if self._is_own_model:
            await self.model.aclose()

    def with_tools(self, tools: Iterable[ToolLike | Toolset]) -> Agent:
        """Return the same agent with more tools; the model stays this one's. A `UsageError` if two tools have one name."""
        more = copy(self)
        more._is_own_model, more._blocks = False, []
        more._setup, more._start = self._start.with_tools(tools)
        return more

    def messages_of(self, input: Content | Message | Sequence[Message]) -> tuple[Message, ...]:  # noqa: A002 - the word of the contract
        """Return the messages that an input stands for (a text: a user message with an id and a time), or raise a `UsageError`."""
        return self._start.messages_of(input)

    def as_tool(self, name: str, description: str, **options: Any) -> Tool[..., Any]:
        """Return the agent as a tool of another one: it is given a `task` and gives its answer.

        What happens inside is seen as `subrun` events of the outer run, what it used counts there, and when a call inside waits for
        somebody the outer run waits, with the outer call in `pending.path`. `context.deps` are the outer run's.

        Args:
            name: the tool's name.
            description: what the agent is good for, for the model that calls it.
            options: those of `@tool`, such as `needs_approval` or `timeout_s`.
        """
        return agent_tool(self, name=name, description=description, options=options)

    async def run(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        session: str | Session | None = None,
        history: Iterable[Message] = (),
        keep: str = "rounds",
        deps: object = None,
        permissions: Permissions | Mode | None = None,
        on_event: Callable[[Event], object] | None = None,
        journal: Journal | None = None,
    ) -> RunResult:
        """Run to the end and return what came out; the arguments are those of `stream`.

        Raises:
            HeadraceError: the model or the network failed; `.result` holds what was kept.
            asyncio.CancelledError: the task was cancelled; the session holds what came, marked as interrupted.
        """
        start = self._start
        return await run_through(
            start.new(
                input,
                session=session,
                history=history,
                keep=keep,
                deps=deps,
                permissions=permissions,
                sink=on_event,
                journal=journal,
            )
        )

    def run_sync(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        session: str | Session | None = None,
        history: Iterable[Message] = (),
        keep: str = "rounds",
        deps: object = None,
        permissions: Permissions | Mode | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> RunResult:
        """Do as `run`, from synchronous code; works in a notebook as well."""
        return _sync.run(
            self.run(input, session=session, history=history, keep=keep, deps=deps, permissions=permissions, on_event=on_event)
        )

    def stream(
        self,
        input: Content | Message | Sequence[Message],  # noqa: A002 - the word of the contract
        *,
        session: str | Session | None = None,
        history: Iterable[Message] = (),
        keep: str = "rounds",
        deps: object = None,
        permissions: Permissions | Mode | None = None,
        on_event: Callable[[Event], object] | None = None,
        journal: Journal | None = None,
    ) -> Run:
        """Run while somebody watches: `async with agent.stream(…) as run: async for event in run`.

        Args:
            input: what is asked: a text, parts, a message, or a list of messages, also of a whole conversation whose calls have their
                results: it counts for no limit. An empty list goes on with the history.
            session: the id of a conversation in `sessions`, or a `Session`: what was said there comes first, and what this run adds
                is kept there. One run at a time works on it.
            history: messages that come first and are kept nowhere. Calls without results in it, and results without calls, do no harm:
                encoders repair what is sent, and say so in the answer's warnings; the history itself is left as it is.
            keep: what the session keeps: whole `rounds`, or only the user's words and the `answers`.
            deps: what tools get as `context.deps`.
            permissions: instead of the agent's own.
            journal: what the run is written down in, so that it can go on in another process.
            on_event: sees every event as it is made, also those that end a run which nobody reads any more; must be quick and not raise.

        Raises:
            UsageError: an argument does not fit; the error names it.
        """
        start = self._start
        return Run(
            start.new(
                input,
                session=session,
                history=history,
                keep=keep,
                deps=deps,
                permissions=permissions,
                sink=on_event,
                journal=journal,
            )
        )

    # ------------------------------------------------------------------------------------------ going on

    async def resume(
        self,
        state: object,
        answers: Iterable[Reply] | Reply = (),
        *,
        session: Session | None = None,
        deps: object = None,
        on_event: Callable[[Event], object] | None = None,
        journal: Journal | None = None,
    ) -> RunResult:
        """Go on with a run that waits, or that broke off; the arguments and errors are those of `resume_stream`."""
        return await run_through(self._start.again(state, answers, session=session, deps=deps, sink=on_event, journal=journal))

    def resume_sync(
        self,
        state: object,
        answers: Iterable[Reply] | Reply = (),
        *,
        session: Session | None = None,
        deps: object = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> RunResult:
        """Do as `resume`, from synchronous code; works in a notebook as well."""
        return _sync.run(self.resume(state, answers, session=session, deps=deps, on_event=on_event))

    def resume_stream(
        self,
        state: object,
        answers: Iterable[Reply] | Reply = (),
        *,
        session: Session | None = None,
        deps: object = None,
        on_event: Callable[[Event], object] | None = None,
        journal: Journal | None = None,
    ) -> Run:
        """Go on with a run while somebody watches; `seq`, usage and limits go on as well.

        A run that waits goes on as far as it can: with some of its questions answered it runs those calls and waits again for the rest.
        A run that broke off (its state was taken while it ran) asks for an answer that was on its way again; a call that had started
        and left no result runs again if its tool is idempotent, else it is `in_doubt` and a person is asked.

        Args:
            state: what `result.state` or `run.state` gave; the dictionary or its JSON text. It is accepted once.
            answers: `Approve`, `Deny` and `Answer`, in any order, for some or all of the calls that wait.
            session: the `Session` object of the run, if it was started with one; a session of the agent's own is found by its id.
            deps: what tools get as `context.deps`.
            on_event: sees every event as it is made.
            journal: what the run is written down in; who goes on with a state is then its business, and the state is not claimed.

        Raises:
            UsageError: the state is none, or an answer does not fit its tool; nothing happened, and the state can still be used.
            StateError: the run has ended; an answer is foreign, stale or repeated; or (at the first event) the state was resumed before.
            SchemaVersionError: a later version wrote the state.
        """
        return Run(self._start.again(state, answers, session=session, deps=deps, sink=on_event, journal=journal))

    async def give_up(
        self, state: object, *, session: Session | None = None, on_event: Callable[[Event], object] | None = None
    ) -> RunResult:
        """End a run that waits: its open calls get `interrupted` results, no model is asked, the session is free again.

        Raises:
            UsageError: as `resume_stream`.
        """
        engine = self._start.again(state, (), session=session, deps=None, sink=on_event)
        await engine.give_up()
        assert engine.result is not None
        return engine.result
