"""AgentScope: its OpenAIChatModel, streamed, and the last response, which holds what the stream came to."""

from __future__ import annotations

from typing import Any

import talk
from agentscope._utils._common import _json_loads_with_repair  # how its own agent and toolkit read the arguments of a call
from agentscope.credential import OpenAICredential
from agentscope.message import TextBlock, ThinkingBlock, ToolCallBlock, UserMsg
from agentscope.model import OpenAIChatModel

SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in talk.TOOLS}


async def ask(base_url: str, model: str, answer: dict[str, Any]) -> None:
    """Ask, and fill in what the last response says."""
    credential = OpenAICredential(api_key=talk.API_KEY, base_url=base_url)
    chat = OpenAIChatModel(credential=credential, model=model, stream=True, max_retries=0, client_kwargs={"max_retries": 0})
    last = None
    try:
        async for response in await chat([UserMsg("user", talk.QUESTION)], tools=talk.TOOLS):
            if response.is_last:
                last = response
    finally:
        await chat.client.close()
    if last is None:
        return
    for block in last.content:
        if isinstance(block, TextBlock):
            answer["text"] += block.text
        elif isinstance(block, ThinkingBlock):
            answer["reasoning"] += block.thinking
        elif isinstance(block, ToolCallBlock):
            answer["tool_calls"].append(_call(block))
    if last.usage is not None:
        answer["usage"] = {"input": last.usage.input_tokens, "output": last.usage.output_tokens}


def _call(block: ToolCallBlock) -> dict[str, Any]:
    try:
        arguments = _json_loads_with_repair(block.input, SCHEMAS.get(block.name))
    except Exception:
        arguments = None
    return {"id": block.id, "name": block.name, "arguments": arguments, "raw": block.input}


if __name__ == "__main__":
    talk.talk(ask)
