"""openJiuwen: its Model, streamed, and its chunks added up as its agent adds them."""

from __future__ import annotations

from typing import Any

import talk
from openjiuwen.core.foundation.llm import Model, ModelClientConfig, ModelRequestConfig
from openjiuwen.core.single_agent.ability_manager import AbilityManager


async def ask(base_url: str, model: str, answer: dict[str, Any]) -> None:
    """Ask, and fill in what the sum of the chunks says."""
    where = ModelClientConfig(
        client_provider="OpenAI", api_key=talk.API_KEY, api_base=base_url, verify_ssl=False, use_shared_llm_http_client=False
    )
    chat = Model(where, ModelRequestConfig(model=model))
    total = None
    async for chunk in chat.stream([{"role": "user", "content": talk.QUESTION}], tools=talk.TOOLS):
        total = chunk if total is None else total + chunk
    if total is None:
        return
    answer["text"] = total.content if isinstance(total.content, str) else str(total.content)
    answer["reasoning"] = total.reasoning_content or ""
    answer["finish"] = None if total.finish_reason in {None, "", "null"} else total.finish_reason
    answer["tool_calls"] = [_call(call) for call in total.tool_calls or ()]
    if total.usage_metadata is not None:
        answer["usage"] = {"input": total.usage_metadata.input_tokens, "output": total.usage_metadata.output_tokens}


def _call(call: Any) -> dict[str, Any]:
    try:
        arguments, _ = AbilityManager._parse_tool_arguments_with_repair(call.arguments)  # how its own agent reads them
    except ValueError:
        arguments = None
    return {"id": call.id, "name": call.name, "arguments": arguments, "raw": call.arguments}


if __name__ == "__main__":
    talk.talk(ask)
