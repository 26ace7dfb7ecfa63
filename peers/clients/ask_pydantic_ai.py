"""Pydantic AI: a model asked directly, streamed, and the response that the stream comes to."""

from __future__ import annotations

from typing import Any

import talk
from openai import AsyncOpenAI
from pydantic_ai import ModelRequest
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

TOOLS = [
    ToolDefinition(
        name=tool["function"]["name"], description=tool["function"]["description"], parameters_json_schema=tool["function"]["parameters"]
    )
    for tool in talk.TOOLS
]


async def ask(base_url: str, model: str, answer: dict[str, Any]) -> None:
    """Ask, and fill in what the response says."""
    async with AsyncOpenAI(base_url=base_url, api_key=talk.API_KEY, max_retries=0) as client:
        chat = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
        parameters = ModelRequestParameters(function_tools=TOOLS, allow_text_output=True)
        question = [ModelRequest.user_text_prompt(talk.QUESTION)]
        async with model_request_stream(chat, question, model_request_parameters=parameters) as stream:
            async for _event in stream:
                pass
            response = stream.get()
    answer["finish"] = response.finish_reason
    if response.usage.input_tokens or response.usage.output_tokens:
        answer["usage"] = {"input": response.usage.input_tokens, "output": response.usage.output_tokens}
    answer["refusal"] = (response.provider_details or {}).get("refusal") or ""
    for part in response.parts:
        if isinstance(part, TextPart):
            answer["text"] += part.content
        elif isinstance(part, ThinkingPart):
            answer["reasoning"] += part.content
        elif isinstance(part, ToolCallPart):
            answer["tool_calls"].append(_call(part))


def _call(part: ToolCallPart) -> dict[str, Any]:
    try:
        arguments = part.args_as_dict(raise_if_invalid=True)  # as its agent takes them
    except (ValueError, AssertionError):
        arguments = None
    return {"id": part.tool_call_id, "name": part.tool_name, "arguments": arguments, "raw": part.args}


if __name__ == "__main__":
    talk.talk(ask)
