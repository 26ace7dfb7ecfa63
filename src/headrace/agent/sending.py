"""What of a conversation is sent to the model: all of it, or a view that fits, and what the model should be reminded of.

The rule of this file: the history that is kept is not touched. A message is looked at once, when it comes; without bounds on the length
nothing is counted at all, until the provider says that it is too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from headrace._json import JSON
from headrace.agent.context.compaction import Summary
from headrace.agent.context.plan import Compacted, Compaction
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.reminders import Reminder, ReminderRules, Reminders, Spent
from headrace.agent.context.view import View
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.request import ToolSpec


class Sending:
    """What is sent in one run."""

    def __init__(
        self,
        policy: ContextPolicy,
        rules: ReminderRules | None,
        tools: Sequence[ToolSpec],
        before: Sequence[Message],
        *,
        view: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin.

        Args:
            policy: how long it may get.
            rules: when to remind; None: never.
            tools: what is sent beside the messages.
            before: what comes before the run's own messages, the instructions first.
            view: `kept_view` of the run before in the same conversation, if it is known.
        """
        self._policy = policy
        self._tools = tools
        self._all = list(before)
        self._before = len(before)
        self._own = 0
        is_bounded = policy.max_tokens is not None or policy.max_messages is not None
        self._view = self._taken_up(view) if view is not None else None
        if self._view is None and is_bounded:
            self._view = self._viewed()
        self._rules = rules
        self._reminders = None if rules is None else Reminders(rules)
        if self._reminders is not None:
            for message in before:
                self._reminders.feed(message)

    def restore(self, state: Mapping[str, Any], messages: Sequence[Message]) -> None:
        """Go on where `state` was taken, with the messages of the run by then."""
        self._own = len(messages)
        self._all += messages
        # An agent that has got or lost its instructions since has other places: then the view is made anew of the whole.
        if state.get("view") is not None and state.get("before", self._before) == self._before:
            self._view = View.from_state(state["view"], self._all, self._policy, tools=self._tools)
        elif self._view is not None:
            self._view.extend(messages)
        if self._reminders is not None:
            self._reminders = Reminders.from_state(state.get("reminders", {}), self._all, self._rules)

    def offered(self, tools: Sequence[ToolSpec]) -> None:
        """Other tools are sent from now on; they count as well."""
        if tools is not self._tools:
            self._tools = tools
            if self._view is not None:
                self._view.offer(tools)

    @property
    def state(self) -> dict[str, JSON]:
        """What is needed beside the messages to go on elsewhere, as JSON."""
        state: dict[str, JSON] = {}
        if self._view is not None:
            state |= {"view": self._view.state, "before": self._before}
        if self._reminders is not None:
            state["reminders"] = self._reminders.state
        return state

    def catch_up(self, messages: Sequence[Message]) -> None:
        """Take what the run has added since the last time; `messages` is all that it added."""
        for message in messages[self._own :]:
            self._all.append(message)
            if self._view is not None:
                if isinstance(message, AssistantMessage) and message.usage is not None:
                    self._view.learn(message.usage.input_tokens)
                self._view.append(message)
            if self._reminders is not None:
                self._reminders.feed(message)
        self._own = len(messages)

    @property
    def history(self) -> tuple[Message, ...]:
        """All messages, also those that are left out."""
        return tuple(self._all)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent, without reminders."""
        return tuple(self._all) if self._view is None else self._view.messages

    def due(self, now: datetime, spent: Spent) -> tuple[Reminder, ...]:
        """Return what the model should be reminded of before its next call."""
        return () if self._reminders is None else self._reminders.due(now=now, spent=spent)

    @property
    def needs_compaction(self) -> bool:
        """Whether it has got longer than the policy says."""
        return self._view is not None and self._view.needs_compaction

    def plan(self, *, is_recovery: bool = False) -> Compaction | None:
        """Return how it can be made shorter, or None."""
        if self._view is None:
            self._view = self._viewed()
        return self._view.plan(is_recovery=is_recovery)

    def compact(self, plan: Compaction, summary: Summary | None) -> Compacted:
        """Make it shorter."""
        assert self._view is not None
        return self._view.compact(plan, summary)

    @property
    def kept_view(self) -> Mapping[str, Any] | None:
        """What the next run in the same conversation needs to leave out the same; None if nothing is left out."""
        state = None if self._view is None else self._view.state
        return state if state is not None and state.get("first_kept_id") is not None else None

    def _taken_up(self, state: Mapping[str, Any]) -> View | None:
        try:
            return View.from_state(state, self._all, self._policy, tools=self._tools)
        except UsageError:
            return None  # the conversation is not what it was then

    def _viewed(self) -> View:
        view = View(self._policy, tools=self._tools)
        view.extend(self._all)
        return view
