"""(g) Arguments in many chunks, at once, and cut.

From the article on the streaming ReActAgent: without joining, "toolName cannot be null or empty" and "arguments are null or empty, using
an empty JSON object" follow. Joined arguments run; cut ones never do, whatever the finish reason says: they go back to the model as an
error, and their raw text is kept.
"""

from __future__ import annotations

import asyncio

from f_text_first_call_late import ANSWERS, sse

from headrace import Agent, Model, ReplayTransport, RunResult, tool

ran: list[tuple[str, int]] = []


@tool
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    ran.append((to, amount))
    return "paid"


def call(index: int, arguments: str, **first: str) -> dict[str, object]:
    """Write a delta with a piece of a call."""
    head = {"id": first["id"], "type": "function"} if first else {}
    function = {"name": "pay"} if first else {}
    return {"tool_calls": [{"index": index, **head, "function": {**function, "arguments": arguments}}]}


MANY = sse(call(0, "", id="a"), *(call(0, piece) for piece in '{"to":"Ada","amount":5}'), finish="tool_calls")
AT_ONCE = sse(call(0, '{"to":"Bob","amount":6}', id="b"), finish="tool_calls")
CUT = sse(call(0, '{"to":"Cyd","amount":7', id="c"), finish="tool_calls")  # the server says that the call is whole; it is not
CUT_BY_LENGTH = sse(call(0, '{"to":"Dan"', id="d"), finish="length")
NOTHING = sse(call(0, "", id="e"), finish="length")  # cut before the first byte: no arguments are not empty arguments


async def run(stream: bytes) -> RunResult:
    """Run the agent on one recorded call, then an answer."""
    model = Model("openai-chat:m", base_url="http://localhost/v1", api_key="none", transport=ReplayTransport([stream, ANSWERS]))
    return await Agent(model, tools=[pay]).run("Pay.")


async def main() -> None:
    """See which calls run."""
    for stream in (MANY, AT_ONCE, CUT, CUT_BY_LENGTH, NOTHING):
        result = await run(stream)
        _, asked, answered, _ = result.messages
        (one,) = asked.tool_calls
        (outcome,) = answered.results
        print(f"{one.arguments!r:28} runnable={one.runnable!s:5} {outcome.state}: {outcome.text}")
        assert (outcome.state == "success") == one.runnable
    assert ran == [("Ada", 5), ("Bob", 6)]


if __name__ == "__main__":
    asyncio.run(main())
