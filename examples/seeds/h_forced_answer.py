"""(h) The last round: calls that were asked for run in full, then the model must answer, and the next request is legal.

From the article on the streaming ReActAgent: at `maxRounds` a final answer is forced. The hand-written agent appended the last calls
without running them, so that its forced request had calls without results, which providers refuse.
"""

from __future__ import annotations

import asyncio
import json

from f_text_first_call_late import ANSWERS, THINKS_FIRST, weather

from headrace import Agent, Model, ReplayTransport


def check_legal(messages: list[dict[str, object]]) -> None:
    """Each call is answered before anybody else speaks, and no answer lacks its call."""
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(str(message["tool_call_id"]))
        else:
            assert not open_calls, f"calls without results: {open_calls}"
            open_calls = {call["id"] for call in message.get("tool_calls", [])}  # type: ignore[attr-defined,union-attr]
    assert not open_calls


async def main() -> None:
    """Let a model call tools for ever, and stop it after two rounds."""
    transport = ReplayTransport([THINKS_FIRST, THINKS_FIRST, ANSWERS, ANSWERS])
    model = Model("openai-chat:m", base_url="http://localhost/v1", api_key="none", transport=transport)
    agent = Agent(model, tools=[weather], max_rounds=2)
    result = await agent.run("Weather?", session="talk")
    print(result.generate_reason, "-", result.message.text)
    assert result.generate_reason == "max_rounds"
    assert result.message.text == "It is cold in Oslo."
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]

    forced = json.loads(transport.requests[2].body)
    assert forced["tool_choice"] == "none"  # calls are forbidden, with the tools still declared
    assert forced["tools"]
    check_legal(forced["messages"])

    await agent.run("Thanks. And now?", session="talk")  # the conversation goes on after a forced answer
    check_legal(json.loads(transport.requests[3].body)["messages"])


if __name__ == "__main__":
    asyncio.run(main())
