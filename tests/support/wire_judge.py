"""An independent judge of requests: says what a strict server of a protocol would refuse in the calls and results of a body.

Each protocol's body becomes one list of words (a call, a result, anything else); one rule holds for all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from headrace.messages.message import Message, UserMessage
from headrace.messages.request import Request, ToolSpec
from headrace.wire.profile import DEFAULT
from headrace.wire.protocols import WIRES

NEXT = UserMessage("and now?", id="the next question")


def wire_problems(history: tuple[Message, ...], tools: tuple[ToolSpec, ...] = ()) -> list[str]:
    """What the servers of all protocols would refuse if the conversation went on."""
    found: list[str] = []
    request = Request(model="m", messages=(*history, NEXT), tools=tools)
    for name, wire in WIRES.items():
        encoded = wire.encode()(request, DEFAULT)
        words = list(_READERS[name](json.loads(encoded.body)))
        found += [f"{name}: {problem}" for problem in _judge(words)]
        found += [f"{name}: {warning.detail}" for warning in encoded.warnings if "result" in warning.detail and "call" in warning.detail]
    return found


def _judge(words: list[tuple[str, str]]) -> Iterator[str]:
    """A call's result comes before anything else does, and no id names two calls."""
    waiting: list[str] = []
    seen: set[str] = set()
    has_results = False
    for n, (kind, name) in enumerate([*words, ("other", "the end")]):
        if kind == "call":
            if has_results and waiting:
                yield f"word {n}: the call {name!r} comes before the results of {waiting}"
            if name in seen or not name:
                yield f"word {n}: the id {name!r} again"
            seen.add(name)
            waiting.append(name)
            has_results = False
        elif kind == "result":
            has_results = True
            if name not in waiting:
                yield f"word {n}: a result for {name!r}, which waits for none"
            else:
                waiting.remove(name)
        elif waiting and (kind == "other" or has_results):
            yield f"word {n}, {name!r}, comes before the results of {waiting}"
            waiting = []


def _chat(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for message in body["messages"]:
        if message["role"] == "tool":
            yield "result", message["tool_call_id"]
            continue
        yield "other", message["role"]
        for call in message.get("tool_calls") or ():
            yield "call", call["id"]


def _dashscope(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return _chat(body["input"])


def _items(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for item in body["input"]:
        match item.get("type"):
            case "function_call":
                yield "call", item["call_id"] if "call_id" in item else item["id"]
            case "function_call_output" | "function_result":
                yield "result", item["call_id"]
            case "message" | "model_output" | "reasoning" if item.get("role") != "user":
                yield "block", ""  # beside calls, in one answer
            case other:
                yield "other", str(other)


def _turns(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Turns of blocks: the results stand first in the turn of the user behind the calls; roles alternate."""
    before, made = None, Counter[str]()
    for turn in body["messages"] if "messages" in body else body["contents"]:
        if turn["role"] == before:
            yield "other", f"two turns of {before}"
            yield "result", f"(two turns of {before})"
        before = turn["role"]
        blocks: list[dict[str, Any]] = turn["content"] if "content" in turn else turn["parts"]
        if isinstance(blocks, str):
            yield "other", "text"
            continue
        for block in blocks:
            kind, name = _block(block)
            made[kind] += 1
            yield kind, name or str(made[kind])  # without ids the order pairs them


def _block(block: dict[str, Any]) -> tuple[str, str]:
    match block:
        case {"type": "tool_use", "id": name} | {"toolUse": {"toolUseId": name}} | {"functionCall": {"id": name}}:
            return "call", name
        case {"type": "tool_result", "tool_use_id": name} | {"toolResult": {"toolUseId": name}} | {"functionResponse": {"id": name}}:
            return "result", name
        case {"functionCall": _}:
            return "call", ""
        case {"functionResponse": _}:
            return "result", ""
        case _:
            return "block", ""  # text beside calls, in one turn


_READERS = {
    "openai-chat": _chat,
    "cohere-v2": _chat,
    "ollama": _chat,
    "dashscope": _dashscope,
    "openai-responses": _items,
    "gemini-interactions": _items,
    "anthropic-messages": _turns,
    "bedrock-invoke": _turns,
    "bedrock-converse": _turns,
    "gemini": _turns,
}
