"""LiteLLM: `acompletion`, streamed, and its own `stream_chunk_builder` over the chunks."""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch a price list when it is imported

import litellm
import talk


async def ask(base_url: str, model: str, answer: dict[str, Any]) -> None:
    """Ask, and fill in what the built response says."""
    messages = [{"role": "user", "content": talk.QUESTION}]
    stream = await litellm.acompletion(
        model=model,
        custom_llm_provider="openai",
        api_base=base_url,
        api_key=talk.API_KEY,
        messages=messages,
        tools=talk.TOOLS,
        stream=True,
        stream_options={"include_usage": True},
        max_retries=0,
    )
    chunks = [chunk async for chunk in stream]
    response = litellm.stream_chunk_builder(chunks, messages=messages)
    if response is None:
        return
    choice = response.choices[0]
    answer["text"] = choice.message.content or ""
    answer["reasoning"] = getattr(choice.message, "reasoning_content", None) or ""
    answer["refusal"] = getattr(choice.message, "refusal", None) or ""
    answer["finish"] = choice.finish_reason
    answer["tool_calls"] = [talk.call_of(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
    old = getattr(choice.message, "function_call", None)
    if old is not None:  # the form before tools, which has no id and is answered by its name
        answer["tool_calls"].append(talk.call_of("function_call", old.name, old.arguments))
    usage = getattr(response, "usage", None)
    if usage is not None:
        answer["usage"] = {"input": usage.prompt_tokens, "output": usage.completion_tokens}


if __name__ == "__main__":
    talk.talk(ask)
