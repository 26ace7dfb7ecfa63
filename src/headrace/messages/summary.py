"""The summary of a decoded stream: the dictionary of DESIGN 7, for people, checks and `headrace merge`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headrace._json import MAX_DEPTH, dumps, loads
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ProviderToolPart, ToolCallPart


def summary_of(
    message: AssistantMessage, choices: Sequence[AssistantMessage], indexes: Sequence[int], error: StreamError | None
) -> dict[str, Any]:
    """Return the summary.

    Args:
        message: choice 0.
        choices: all choices.
        indexes: their wire indexes.
        error: why the stream failed, or None.
    """
    summary = _one(message, error)
    summary["warnings"] = [warning.code for choice in choices for warning in choice.warnings]
    if len(choices) > 1:
        summary["choices"] = [{"index": index, **_one(choice, error)} for index, choice in zip(indexes, choices, strict=True)]
    return summary


def _one(message: AssistantMessage, error: StreamError | None) -> dict[str, Any]:
    return {
        "text": message.text,
        "reasoning": message.reasoning,
        "refusal": message.refusal,
        "tool_calls": [_call(call) for call in message.tool_calls],
        "provider_tool_calls": [_provider_call(call) for call in message.parts_of(ProviderToolPart)],
        "finish_reason": message.finish_reason,
        "finish_reason_raw": message.finish_reason_raw,
        "usage": None if message.usage is None else message.usage.counts(),
        "error": None if error is None else msgspec.to_builtins(error),
        "warnings": [warning.code for warning in message.warnings],
        "message": loads(dumps(message), max_depth=MAX_DEPTH + 16),  # a message wraps its values a few levels deeper
    }


def _call(call: ToolCallPart) -> dict[str, Any]:
    summary: dict[str, Any] = {"id": call.id, "name": call.name, "runnable": call.runnable}
    if call.kind == "custom":
        summary["input"] = call.arguments
    elif call.parsed is not None:
        summary["arguments"] = call.parsed
    else:
        summary["raw"] = call.arguments
    if call.id_made_up:
        summary["id_made_up"] = True
    return summary


def _provider_call(call: ProviderToolPart) -> dict[str, Any]:
    body: dict[str, Any] = {"raw": call.arguments} if call.parsed is None else {"arguments": call.parsed}
    return {"id": call.id, "name": call.name, "runnable": False, **body}
