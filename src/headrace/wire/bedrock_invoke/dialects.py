"""Which stream of its own a model speaks inside of InvokeModel, told by its first event.

The rule of this file: the shape decides, not the model's name; a shape that nobody knows is read as plain completions, which keep
everything.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace._json import JSON, dumps
from headrace.wire.anthropic_messages.stream_in import MessagesDecoder
from headrace.wire.bedrock_converse.stream_in import ConverseDecoder
from headrace.wire.bedrock_invoke.completion_in import CompletionDecoder
from headrace.wire.decoder import WireDecoder
from headrace.wire.openai_chat.stream_in import ChatDecoder

Dialect: TypeAlias = Callable[..., WireDecoder]
_CONVERSE: Final = frozenset(
    {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "output", "stopReason"}
)
_MESSAGES: Final = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"),
        *("message", "ping", "error"),
    }
)


def dialect_of(event: JSON) -> Dialect:
    """Return the decoder for a model's first event, or for its whole answer."""
    if not isinstance(event, dict):
        return CompletionDecoder
    kind = event.get("type")
    if isinstance(kind, str) and kind in _MESSAGES:
        return MessagesDecoder
    if _CONVERSE & event.keys():
        return ConverseDecoder
    return ChatDecoder if isinstance(event.get("choices"), list) else CompletionDecoder


def says_nothing(event: JSON) -> bool:
    """Whether an event comes before any stream, so that it tells nothing of the shape."""
    return event in ({}, None) or (isinstance(event, dict) and event.get("type") == "ping")


def as_chat(event: dict[str, Any]) -> bytes:
    """Return an event of the chat shape, with the finish word where that shape has it: some models call it `stop_reason`."""
    choices = [_choice(choice) if isinstance(choice, dict) else choice for choice in event["choices"]]
    return dumps({**event, "choices": choices})


def _choice(choice: dict[str, Any]) -> dict[str, Any]:
    if "stop_reason" not in choice or choice.get("finish_reason") is not None:
        return choice
    rest = {name: value for name, value in choice.items() if name != "stop_reason"}
    return {**rest, "finish_reason": choice["stop_reason"]}
