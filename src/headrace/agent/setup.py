"""What a run is made of: what all runs of an agent share, and what one run is about.

The rule of this file: values only, checked by whoever makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from headrace.agent.approval import Reply
from headrace.agent.claims import Claims
from headrace.agent.context.kept_views import KeptViews
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.reminders import ReminderRules
from headrace.agent.hooks import HookTable
from headrace.agent.journal import Journal
from headrace.agent.output.spec import OutputParts
from headrace.agent.permission.judging import Permissions
from headrace.agent.run_result import RunResult
from headrace.agent.session import Keep, SessionStore
from headrace.agent.steps import Rules
from headrace.messages.message import Message, SystemMessage
from headrace.messages.request import Settings, ToolSpec
from headrace.models.answer import ModelLike
from headrace.tools.source import ToolSource
from headrace.tools.toolset import Toolset


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a run, and how requests carry them; one value as long as they are the same, so that encoders recognise it."""

    tools: Toolset
    specs: tuple[ToolSpec, ...]

    @classmethod
    def of(cls, tools: Toolset, output: OutputParts | None = None) -> Offer:
        """Offer these tools, and those by which the answer may come."""
        return cls(tools=tools, specs=tools.specs if output is None else (*tools.specs, *output.tools))


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of an agent share; made once, so that encoders recognise what they have encoded before."""

    model: ModelLike
    offer: Offer
    instructions: SystemMessage | None
    rules: Rules
    settings: Settings
    runs_others: bool
    early_start: bool
    max_parallel_tools: int
    tool_timeout_s: float | None
    context: ContextPolicy
    reminders: ReminderRules | None
    output: OutputParts | None
    sources: tuple[ToolSource, ...]
    groups: frozenset[str] | None
    hooks: HookTable
    claims: Claims
    new_id: Callable[[], str]
    now: Callable[[], datetime]
    views: KeptViews = msgspec.field(default_factory=KeptViews)


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """What one run is about.

    Attributes:
        input: the messages that it adds first.
        history: what was said before and is not kept again.
        store, session_id: where the conversation is kept; None: nowhere.
        keep: what is kept of it.
        deps: for the tools.
        permissions: the mode and the rules.
        saved: the state of the run that goes on, or None for a new one.
        replies: what was answered to it.
        journal: what the run is written down in, or None.
    """

    input: tuple[Message, ...] = ()
    history: tuple[Message, ...] = ()
    store: SessionStore | None = None
    session_id: str | None = None
    keep: Keep = "rounds"
    deps: Any = None
    permissions: Permissions = Permissions()
    saved: RunResult | None = None
    replies: tuple[Reply, ...] = ()
    journal: Journal | None = None
