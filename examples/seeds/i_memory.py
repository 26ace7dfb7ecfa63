"""(i) Memory over two runs.

From the article on the streaming ReActAgent: memory belongs to a conversation's id and is used only if asked for; the answer goes into it
when a round without calls has ended. Here the whole rounds are kept too, or, if you like, the answers alone.
"""

from __future__ import annotations

import asyncio

from headrace import Agent, AssistantMessage, ScriptedModel, ToolCallPart, tool


@tool
def recall(name: str) -> str:
    """Look somebody up."""
    return f"{name} likes mills"


def model() -> ScriptedModel:
    """Make a model that looks a person up, answers, and then answers again."""
    return ScriptedModel(
        AssistantMessage([ToolCallPart(id="c", name="recall", arguments={"name": "Ada"})]), "Ada likes mills.", "You asked about Ada."
    )


async def main() -> None:
    """Ask twice: with a session, with the answers alone, and without."""
    kept = {}
    for keep in ("rounds", "answers"):
        scripted = model()
        agent = Agent(scripted, tools=[recall])
        await agent.run("Who is Ada?", session="s1", keep=keep)
        await agent.run("Whom did I ask about?", session="s1", keep=keep)
        kept[keep] = [message.role for message in scripted.requests[-1].messages]
    print(kept)
    assert kept["rounds"] == ["user", "assistant", "tool", "assistant", "user"]
    assert kept["answers"] == ["user", "assistant", "user"]

    scripted = model()
    agent = Agent(scripted, tools=[recall])
    await agent.run("Who is Ada?")
    await agent.run("Whom did I ask about?")  # no session: nothing is kept
    assert [message.role for message in scripted.requests[-1].messages] == ["user"]


if __name__ == "__main__":
    asyncio.run(main())
