"""Headrace: a model's stream carried to an agent, whole and in order, with nothing lost and nothing made up.

    import headrace

    result = headrace.decode_stream(body, protocol="openai-chat")
    print(result.message.text, result.message.tool_calls, result.error)

Names load when they are first used: `import headrace` needs msgspec alone; HTTP, pydantic and the command line come with what uses them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "headrace.errors": (
        "APIError ArgumentsError AuthError ConfigError ConflictError ConnectFailedError ConnectionLostError ContextLengthError HeadraceError "
        "InvalidEventError InvalidRequestError InvalidStructuredOutputError LimitError MissingExtraError ModelOutputError "
        "NoStructuredOutputError NotFoundError OutputValidationError OverloadedError ProtocolError RateLimitError RefusalError "
        "SchemaVersionError StateError StoreError StreamTimeoutError StreamTruncatedError ToolError TransportError UnknownToolError "
        "UnsupportedError UsageError"
    ),
    "headrace.messages.parts": (
        "JsonPart MediaPart OpaquePart Part ProviderItem ProviderToolPart ReasoningPart RefusalPart TextPart ToolCallPart ToolResultPart"
    ),
    "headrace.messages.message": "AssistantMessage Message SystemMessage Timing ToolMessage UserMessage",
    "headrace.messages.chunk": "AssistantMessageChunk MessageChunk SystemMessageChunk ToolMessageChunk UserMessageChunk",
    "headrace.messages.deltas": "Delta StreamError ToolCallFragment",
    "headrace.messages.usage": "Usage",
    "headrace.messages.warning": "Warning",
    "headrace.messages.value_merge": "merge_values",
    "headrace.messages.accumulator": "Accumulator",
    "headrace.messages.request": "NamedTool OutputFormat Request Settings ToolSpec",
    "headrace.wire.limits": "Limits",
    "headrace.decoding": "StreamDecoder StreamResult decode_async decode_stream",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from headrace.decoding import StreamDecoder as StreamDecoder
    from headrace.decoding import StreamResult as StreamResult
    from headrace.decoding import decode_async as decode_async
    from headrace.decoding import decode_stream as decode_stream

__all__ = sorted([*_HOME, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
