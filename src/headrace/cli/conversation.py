"""A chat's state: what was chosen, the agent made of it, what was said, allowed and used.

The rule of this file: a change that does not do changes nothing; what was said stays whatever else is changed.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.agent.agent import Agent
from headrace.agent.approval import Answer, Reply
from headrace.agent.permission.judging import Mode, Permissions
from headrace.agent.run_result import RunResult
from headrace.agent.session import Session
from headrace.cli.kept import Keeping, Watchable
from headrace.cli.setup import Choices, make_agent, make_model, make_permissions, make_sources, model_id, tools_of
from headrace.cli.spending import NOTHING, Spent, price_for, spent_of
from headrace.cli.tools import load_tools
from headrace.errors import NotFoundError, UsageError
from headrace.messages.codec import encode_message
from headrace.messages.message import Message
from headrace.models.config_file import load_config
from headrace.models.model import Model
from headrace.providers.resolve import split_id
from headrace.sessions.store import Store
from headrace.tools.source import ToolSource
from headrace.tools.tool import Tool


class Where(msgspec.Struct, frozen=True):
    """Where a chat is kept.

    Attributes:
        store: the store, open; None: nowhere.
        session_id: the conversation to go on with; None: a new one.
    """

    store: Store | None = None
    session_id: str | None = None


class Conversation:
    """One chat.

    Attributes:
        choices: the model, instructions and tools.
        agent: made of the choices.
        model: the one that is asked.
        session: what was said, where it is kept here alone.
        kept: what was said, where it is kept in a store; else None.
        permissions: the mode, and the rules with what was allowed on the way.
        off_groups: the groups of tools that are switched off.
        last: what the last answer used.
        spent: what was used since the start.
        is_over: whether somebody wants to leave.
    """

    def __init__(self, choices: Choices, where: Where = Where()) -> None:  # noqa: B008 - a frozen value
        """Begin, or go on.

        Raises:
            UsageError: a choice does not do.
        """
        self.choices = choices
        self.model: Model = make_model(choices)
        self._sources = make_sources(choices)
        self._opened: list[ToolSource] = []
        self.agent: Agent = make_agent(choices, self.model, sources=self._sources)
        self.session = Session()
        self.kept = None if where.store is None else Keeping(where.store, where.session_id or uuid.uuid4().hex)
        self.permissions: Permissions = self.agent.permissions
        self.off_groups: frozenset[str] = frozenset()
        self.last = self.spent = NOTHING
        self.is_over = False

    async def open(self) -> None:
        """Open the sources of tools; they stay open as long as the conversation goes on."""
        for source in self._sources:
            await source.open()
            self._opened.append(source)

    async def aclose(self) -> None:
        """Let go of runs, close the model's connections and the sources of tools."""
        try:
            if self.kept is not None:
                await self.kept.aclose()
            while self._opened:
                await self._opened.pop().aclose()
        finally:
            await self.model.aclose()

    async def change(self, **changes: str | None) -> None:
        """Go on with other choices; what was said stays.

        Raises:
            UsageError: a choice does not do; then nothing changes.
        """
        choices = msgspec.structs.replace(self.choices, **changes)
        if _provider(choices) != _provider(self.choices):
            # The address and the key were another provider's; together with this one's they would go where they should not.
            choices = msgspec.structs.replace(choices, base_url=None, api_key_env=None)
        if changes.keys() - {"system"}:
            model = make_model(choices)
            self.agent = self._made(choices, model)
            before, self.model = self.model, model
            await before.aclose()
        else:
            self.agent = self._made(choices, self.model)
        self.choices = choices

    def _made(self, choices: Choices, model: Model) -> Agent:
        return make_agent(choices, model, sources=self._sources, without_groups=self.off_groups)

    async def messages(self) -> tuple[Message, ...]:
        """Return what was said."""
        return self.session.messages if self.kept is None else await self.kept.messages()

    async def go_on_with(self, messages: Sequence[Message]) -> None:
        """Go on with these messages instead of what was said; where that is kept it stays, and this is another conversation."""
        if self.kept is None:
            self.session = Session(self.session.id, messages=messages)
            return
        store, before = self.kept.store, self.kept.session_id
        session_id, title = uuid.uuid4().hex, ""
        with contextlib.suppress(NotFoundError):
            title = (await store.session(before)).title
        await store.put_session(session_id, [encode_message(message) for message in messages], title=title, forked_from=before)
        await self.kept.aclose()
        self.kept = Keeping(store, session_id)

    async def clear(self) -> None:
        """Begin anew: nothing was said, and nothing was allowed but what the options say; the mode stays."""
        self.session = Session()
        if self.kept is not None:
            await self.kept.aclose()
            self.kept = Keeping(self.kept.store, uuid.uuid4().hex)
        self.permissions = make_permissions(self.choices).with_mode(self.permissions.mode)

    # ------------------------------------------------------------------------------------------ tools

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of tools that can be switched."""
        return load_tools(self.choices.tools).groups

    def switch(self, group: str, *, is_on: bool) -> None:
        """Switch a group of tools on or off.

        Raises:
            UsageError: there is no such group.
        """
        if group not in self.groups:
            raise UsageError(f"there is no group {group!r}; the groups are: {', '.join(self.groups) or 'none'}", argument="group")
        self.off_groups = self.off_groups - {group} if is_on else self.off_groups | {group}
        self.agent = self._made(self.choices, self.model)

    def tool_of(self, name: str) -> Tool[..., Any] | None:
        """Return the tool of a name, or None."""
        return tools_of(self.agent).get(name)

    @property
    def problems(self) -> list[str]:
        """What is wrong with sources of tools."""
        return [source.problem for source in self._sources if source.problem is not None]

    # ------------------------------------------------------------------------------------------ runs

    async def ask(self, question: str) -> Watchable:
        """Return a run that answers a question, to be watched."""
        if self.kept is not None:
            return await self.kept.begun(self.agent, question, self.permissions)
        return self.agent.stream(question, session=self.session, permissions=self.permissions)

    async def answer(self, result: RunResult, replies: Sequence[Reply]) -> Watchable:
        """Return a run that goes on with answers, to be watched."""
        if self.kept is None:
            return self.agent.resume_stream(result.state, list(replies), session=self.session)
        chosen = [rule for reply in replies if not isinstance(reply, Answer) for rule in reply.rules]
        return await self.kept.gone_on(self.agent, result.run_id, replies, self.permissions.with_rules(*result.permissions.rules, *chosen))

    async def give_up(self, result: RunResult) -> RunResult:
        """End a run that waits for answers."""
        if self.kept is None:
            return await self.agent.give_up(result.state, session=self.session)
        return await self.kept.give_up(self.agent, result.run_id)

    def set_mode(self, mode: Mode) -> None:
        """Judge calls in another mode from now on."""
        self.permissions = self.permissions.with_mode(mode)

    def note(self, result: RunResult) -> None:
        """Remember what a run used, and the rules that were chosen in it. Once for each run, at its end."""
        self.last = spent_of(result, price_for(self.agent.model.id))
        self.spent += self.last
        self.permissions = self.permissions.with_rules(*result.permissions.rules)

    def spend(self, spent: Spent) -> None:
        """Count what was used beside the answers."""
        self.spent += spent


def _provider(choices: Choices) -> str:
    return split_id(model_id(choices), load_config())[0]
