"""An agent as a tool of another one.

The rule of this file: what happens inside is seen outside, as `subrun` events; what it used counts for the outer run; and where it waits
for somebody the outer run waits, with the outer call named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from headrace._json import thaw
from headrace.agent.approval import Reply
from headrace.agent.journal import InnerJournal
from headrace.agent.resuming import Resumed
from headrace.agent.run_result import RunResult
from headrace.agent.running import Resumption
from headrace.errors import UsageError
from headrace.messages.parts import JsonPart, MediaPart, Part, TextPart
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import Tool

if TYPE_CHECKING:
    from headrace.agent.agent import Agent


class SubAgent:
    """The function of the tool: gives its `task` to an agent and returns the answer."""

    def __init__(self, agent: Agent) -> None:
        """Hold the agent."""
        self.agent = agent

    async def __call__(self, task: str, context: Context[Any]) -> list[Part]:
        """Run the agent, or let it go on; suspend the outer run where it waits."""
        agent, resumption = self.agent, context.resumption
        deps = context.deps
        journal = None if context.safeguard is None else InnerJournal(context)
        on_event = context.forward if journal is None else None
        if isinstance(resumption, Resumption) and _has_ended(resumption.state):
            result = RunResult.from_state(resumption.state)
        elif isinstance(resumption, Resumption):
            result = await agent.resume(resumption.state, resumption.replies, deps=deps, journal=journal, on_event=on_event)
        else:
            result = await agent.run(task, deps=deps, journal=journal, on_event=on_event)
        if result.is_waiting:
            raise Suspend(result.pending, result.state)
        return _said(result)

    def check_replies(self, state: object, replies: Sequence[Reply], names: Sequence[str]) -> None:
        """Check answers to what the agent asked; see `ChecksReplies`."""
        Resumed(state, replies, self.agent.tools.get, names=names)


def agent_tool(agent: Agent, *, name: str, description: str, options: dict[str, Any]) -> Tool[..., Any]:
    """Return a tool that gives its `task` to an agent and returns the answer.

    Raises:
        UsageError: the name, the description or an option does not do.
    """
    said: object = description
    if not isinstance(said, str) or not said.strip():
        raise UsageError(f"description is {description!r}; say what the agent is good for", argument="description")
    if options.get("external"):
        raise UsageError("external is True; an agent as a tool runs here", argument="external")
    return Tool(name=name, description=description, function=SubAgent(agent), **options)


def _has_ended(state: object) -> bool:
    """Whether a kept state is that of a run that was over when the process died."""
    return isinstance(state, Mapping) and cast("Mapping[str, object]", state).get("open") is None


def _said(result: RunResult) -> list[Part]:
    """Return what the agent answered, for another model to read."""
    if result.message.has_structured:
        return [JsonPart(thaw(result.message.structured_output))]
    parts: list[Part] = [part for part in result.message.parts if isinstance(part, (TextPart, MediaPart))]
    if result.generate_reason != "completed":
        parts.append(TextPart(f"\n[the agent ended as {result.generate_reason}]"))
    return parts or [TextPart("[the agent gave no answer]")]
