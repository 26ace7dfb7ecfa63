"""LangChain's ChatOpenAI: its chunks added up, and the message that they come to."""

from __future__ import annotations

from typing import Any

import talk
from langchain_openai import ChatOpenAI


async def ask(base_url: str, model: str, answer: dict[str, Any]) -> None:
    """Ask, and fill in what the sum of the chunks says."""
    chat = ChatOpenAI(model=model, base_url=base_url, api_key=talk.API_KEY, max_retries=0, stream_usage=True, use_responses_api=False)
    total = None
    async for chunk in chat.bind_tools(talk.TOOLS).astream(talk.QUESTION):
        total = chunk if total is None else total + chunk
    if total is None:
        return
    answer["text"] = total.text if isinstance(total.text, str) else total.text()
    answer["reasoning"] = total.additional_kwargs.get("reasoning_content") or ""
    answer["refusal"] = total.additional_kwargs.get("refusal") or ""
    answer["finish"] = total.response_metadata.get("finish_reason")
    answer["tool_calls"] = [
        {"id": call["id"], "name": call["name"], "arguments": call["args"], "raw": None} for call in total.tool_calls
    ] + [{"id": call["id"], "name": call["name"], "arguments": None, "raw": call["args"]} for call in total.invalid_tool_calls]
    old = total.additional_kwargs.get("function_call")
    if old:  # the form before tools, which has no id and is answered by its name
        answer["tool_calls"].append(talk.call_of("function_call", old["name"], old["arguments"]))
    if total.usage_metadata:
        answer["usage"] = {"input": total.usage_metadata["input_tokens"], "output": total.usage_metadata["output_tokens"]}


if __name__ == "__main__":
    talk.talk(ask)
