"""The openai SDK, by its own way to put a stream together: `chat.completions.stream` and its final completion."""

from __future__ import annotations

from typing import Any

import talk
from openai import AsyncOpenAI


async def ask(base_url: str, model: str, answer: dict[str, Any]) -> None:
    """Ask, and fill in what the final completion says."""
    async with AsyncOpenAI(base_url=base_url, api_key=talk.API_KEY, max_retries=0) as client:
        question = client.chat.completions.stream(
            model=model,
            messages=[{"role": "user", "content": talk.QUESTION}],
            tools=talk.TOOLS,
            stream_options={"include_usage": True},
        )
        async with question as stream:
            async for _event in stream:
                pass
            completion = await stream.get_final_completion()
    choice = completion.choices[0]
    answer["text"] = choice.message.content or ""
    answer["refusal"] = choice.message.refusal or ""
    answer["reasoning"] = getattr(choice.message, "reasoning_content", None) or ""
    answer["finish"] = choice.finish_reason
    answer["tool_calls"] = [
        talk.call_of(call.id, call.function.name if call.function else None, call.function.arguments if call.function else None)
        for call in choice.message.tool_calls or ()
    ]
    old = choice.message.function_call
    if old is not None:  # the form before tools, which has no id and is answered by its name
        answer["tool_calls"].append(talk.call_of("function_call", old.name, old.arguments))
    if completion.usage is not None:
        answer["usage"] = {"input": completion.usage.prompt_tokens, "output": completion.usage.completion_tokens}


if __name__ == "__main__":
    talk.talk(ask)
