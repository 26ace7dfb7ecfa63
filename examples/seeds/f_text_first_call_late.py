"""(f) A ReAct prompt: the model writes its thoughts as text first, and the tool call comes last.

From the article on the streaming ReActAgent: who decides by the first chunk takes the thoughts for the final answer and never runs the
call. Here the round decides when it has ended; the text is live all the same, and stays in the message in front of the call.
"""

from __future__ import annotations

import asyncio
import json

from headrace import Agent, Model, ReplayTransport, tool


def sse(*deltas: dict[str, object], finish: str) -> bytes:
    """Write a recorded stream."""
    events = [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


THINKS_FIRST = sse(
    {"content": "Thought: I need the weather. "},
    {"content": "Action: look it up."},
    {"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "weather", "arguments": '{"ci'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'ty":"Oslo"}'}}]},
    finish="tool_calls",
)
ANSWERS = sse({"content": "It is cold "}, {"content": "in Oslo."}, finish="stop")


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: -3 degrees, snow"


async def main() -> None:
    """Run the agent against the recording, and watch."""
    transport = ReplayTransport([THINKS_FIRST, ANSWERS], slicing=40)
    model = Model("openai-chat:m", base_url="http://localhost/v1", api_key="none", transport=transport)
    agent = Agent(model, tools=[weather], instructions="Think, act, observe.")
    kinds = []
    async with agent.stream("What is the weather in Oslo?") as run:
        async for event in run:
            kinds.append(event.type)
            print(event.type, getattr(event, "text", ""))
    result = run.result

    assert kinds.index("text_delta") < kinds.index("tool_call_started") < kinds.index("tool_started") < kinds.index("tool_ended")
    assert result.message.text == "It is cold in Oslo."
    assert result.generate_reason == "completed"
    question, thought, observation, answer = result.messages
    assert thought.text == "Thought: I need the weather. Action: look it up."  # kept, in front of its call
    assert [call.parsed for call in thought.tool_calls] == [{"city": "Oslo"}]
    assert observation.text == "Oslo: -3 degrees, snow"
    assert (question.role, answer.role) == ("user", "assistant")
    assert kinds.count("run_started") == kinds.count("run_ended") == 1


if __name__ == "__main__":
    asyncio.run(main())
