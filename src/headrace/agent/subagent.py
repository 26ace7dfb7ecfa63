"""An agent as a tool of another one.

The rule of this file: what happens inside is seen outside, as `subrun` events; what it used counts for the outer run; and where it waits
for somebody the outer run waits, with the outer call named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.agent.running import Resumption
from headrace.messages.parts import MediaPart, Part, TextPart
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import Tool

if TYPE_CHECKING:
    from headrace.agent.agent import Agent
    from headrace.agent.run_result import RunResult


def agent_tool(agent: Agent, *, name: str, description: str, options: dict[str, Any]) -> Tool[..., Any]:
    """Return a tool that gives its `task` to an agent and returns the answer."""

    async def run(task: str, context: Context[Any]) -> list[Part]:
        resumption = context.resumption
        if isinstance(resumption, Resumption):
            result = await agent.resume(resumption.state, resumption.replies, deps=context.deps, on_event=context.forward)
        else:
            result = await agent.run(task, deps=context.deps, on_event=context.forward)
        if result.is_waiting:
            raise Suspend(result.pending, result.state)
        return _said(result)

    return Tool(name=name, description=description, function=run, **options)


def _said(result: RunResult) -> list[Part]:
    """Return what the agent answered, for another model to read."""
    parts: list[Part] = [part for part in result.message.parts if isinstance(part, (TextPart, MediaPart))]
    if result.generate_reason != "completed":
        parts.append(TextPart(f"\n[the agent ended as {result.generate_reason}]"))
    return parts or [TextPart("[the agent gave no answer]")]
