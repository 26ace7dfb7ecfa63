"""(k) A tool that runs elsewhere, and a tool that waits by itself.

From AgentScope: a tool that is only a schema, or that raises `ToolSuspendException`, stops the agent; its result comes later, as a block
of the next message. Here the value is checked against what the tool says that it returns before anything happens, calls are answered in
any order and by any process, and what has a result is never asked for again.
"""

from __future__ import annotations

import asyncio
import json

from headrace import (
    Agent,
    AssistantMessage,
    Context,
    JsonPart,
    Request,
    ScriptedModel,
    Suspend,
    TextPart,
    ToolCallPart,
    ToolMessage,
    UsageError,
    tool,
)


@tool(external=True)
def sensor(room: str) -> dict[str, float]:
    """Read the sensors of a room; the caller's own program does it."""
    raise NotImplementedError


@tool
async def book(room: str, context: Context[None]) -> str:
    """Book a room at a service that answers when it likes."""
    if context.resumption is None:
        raise Suspend(state={"ticket": 7})  # kept in the run's state, with the run
    (answer,) = context.resumption.replies
    return f"{room} is booked: {answer.value}, ticket {context.resumption.state['ticket']}"


@tool
def clock() -> str:
    """Say what time it is; it runs at once."""
    return "12:00"


def agent() -> Agent:
    """Make the agent anew, as another process would."""
    calls = AssistantMessage(
        [
            ToolCallPart(id="a", name="sensor", arguments={"room": "B2"}),
            ToolCallPart(id="b", name="book", arguments={"room": "B2"}),
            ToolCallPart(id="c", name="clock", arguments={}),
        ]
    )

    def answer(request: Request) -> AssistantMessage | str:
        return "B2 is yours." if request.messages[-1].role == "tool" else calls

    return Agent(ScriptedModel(*[answer] * 2), tools=[sensor, book, clock])


async def main() -> None:
    """Run, answer the last first, and go on elsewhere each time."""
    result = await agent().run("Is B2 free?")
    assert result.generate_reason == "awaiting_external"
    read, wait = result.pending
    print([(pending.kind, pending.call.name) for pending in result.pending])

    stored = json.dumps(result.state)
    try:
        await agent().resume(stored, [read.answer({"temperature": "warm"})])
    except UsageError as error:
        print(error)
    else:
        raise AssertionError("a wrong value was accepted")

    result = await agent().resume(stored, [wait.answer("yes")])  # the state is still good
    assert result.pending == (read,)

    result = await agent().resume(json.dumps(result.state), [read.answer({"temperature": 21.5})])
    assert result.message.text == "B2 is yours."
    message = result.messages[2]
    assert isinstance(message, ToolMessage)
    assert [(one.call_id, one.parts) for one in message.results] == [
        ("a", (JsonPart({"temperature": 21.5}),)),
        ("b", (TextPart("B2 is booked: yes, ticket 7"),)),
        ("c", (TextPart("12:00"),)),
    ]
    print(message.results[1].parts)


if __name__ == "__main__":
    asyncio.run(main())
