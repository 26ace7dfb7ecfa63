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
    "headrace.errors": "APIError ArgumentsError AuthError ConfigError ConflictError ConnectFailedError ConnectionLostError ContextLengthError FencedError HeadraceError InvalidEventError InvalidRequestError InvalidStructuredOutputError LimitError MissingExtraError ModelOutputError NoStructuredOutputError NotFoundError OutputValidationError OverloadedError ProtocolError RateLimitError RefusalError SchemaVersionError StateError StoreError StreamTimeoutError StreamTruncatedError ToolError TransportError UnknownToolError UnsupportedError UsageError",
    "headrace.messages.parts": "JsonPart MediaPart OpaquePart Part ProviderItem ProviderToolPart ReasoningPart RefusalPart TextPart ToolCallPart ToolResultPart",
    "headrace.messages.message": "AssistantMessage Message SystemMessage Timing ToolMessage UserMessage",
    "headrace.messages.codec": "decode_document decode_message decode_messages encode_document encode_message encode_messages",
    "headrace.messages.chunk": "AssistantMessageChunk MessageChunk SystemMessageChunk ToolMessageChunk UserMessageChunk",
    "headrace.messages.deltas": "Delta StreamError ToolCallFragment",
    "headrace.messages.usage": "Usage",
    "headrace.messages.warning": "Warning",
    "headrace.messages.value_merge": "merge_values",
    "headrace.messages.accumulator": "Accumulator",
    "headrace.messages.request": "NamedTool OutputFormat Request Settings ToolSpec",
    "headrace.wire.limits": "Limits",
    "headrace.wire.profile": "Profile",
    "headrace.decoding": "StreamDecoder StreamResult decode_async decode_stream",
    "headrace.io.transport": "HTTPRequest Timeouts Transport",
    "headrace.io.httpx_transport": "HttpTransport",
    "headrace.io.replay": "Recorded ReplayTransport",
    "headrace.io.record": "RecordTransport",
    "headrace.io.retry": "RetryPolicy",
    "headrace.tools.tool": "Tool tool",
    "headrace.tools.toolset": "Toolset toolset",
    "headrace.tools.context": "Context",
    "headrace.models.answer": "AttemptDiscarded",
    "headrace.models.fallback": "FallbackModel",
    "headrace.models.model": "Model",
    "headrace.models.script": "Scripted",
    "headrace.models.scripted": "ScriptedModel",
    "headrace.agent.approval": "Answer Approve Deny Pending Reply",
    "headrace.agent.agent": "Agent",
    "headrace.agent.run_result": "RunResult",
    "headrace.agent.session": "MemorySessions Session SessionStore",
    "headrace.agent.limits": "RunLimits",
    "headrace.agent.claims": "Claims MemoryClaims",
    "headrace.agent.events": "Event",
    "headrace.agent.fold": "fold",
    "headrace.agent.hooks": "Ask GoOn Here Hooks ModelCall Retry Stop Veto",
    "headrace.agent.permission.judging": "Permissions",
    "headrace.agent.permission.rules": "Rule",
    "headrace.agent.output.spec": "OutputSpec",
    "headrace.agent.context.policy": "ContextPolicy",
    "headrace.agent.context.reminders": "ReminderRules",
    "headrace.agent.context.offload": "MemoryResults ResultStore",
    "headrace.agent.mcp.server": "MCPServer",
    "headrace.agent.run": "Run",
    "headrace.tools.suspend": "Suspend",
    "headrace.tools.options": "Check ToolOptions",
    "headrace.tools.media": "media_file",
    "headrace.tools.source": "ToolSource",
    "headrace.models.pace": "RateLimits",
    "headrace.models.breaker": "BreakerPolicy",
    "headrace.providers.config": "Config",
    "headrace.models.config_file": "load_config",
    "headrace.sessions.store": "Store",
    "headrace.sessions.opening": "open_store",
    "headrace.sessions.memory": "MemoryStore",
    "headrace.sessions.sqlite": "SQLiteStore",
    "headrace.sessions.runs": "Runs",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` loads them
    from headrace.agent.agent import Agent
    from headrace.agent.approval import Answer, Approve, Deny, Pending, Reply
    from headrace.agent.claims import Claims, MemoryClaims
    from headrace.agent.context.offload import MemoryResults, ResultStore
    from headrace.agent.context.policy import ContextPolicy
    from headrace.agent.context.reminders import ReminderRules
    from headrace.agent.events import Event
    from headrace.agent.fold import fold
    from headrace.agent.hooks import Ask, GoOn, Here, Hooks, ModelCall, Retry, Stop, Veto
    from headrace.agent.limits import RunLimits
    from headrace.agent.mcp.server import MCPServer
    from headrace.agent.output.spec import OutputSpec
    from headrace.agent.permission.judging import Permissions
    from headrace.agent.permission.rules import Rule
    from headrace.agent.run import Run
    from headrace.agent.run_result import RunResult
    from headrace.agent.session import MemorySessions, Session, SessionStore
    from headrace.decoding import StreamDecoder, StreamResult, decode_async, decode_stream
    from headrace.errors import (
        APIError,
        ArgumentsError,
        AuthError,
        ConfigError,
        ConflictError,
        ConnectFailedError,
        ConnectionLostError,
        ContextLengthError,
        FencedError,
        HeadraceError,
        InvalidEventError,
        InvalidRequestError,
        InvalidStructuredOutputError,
        LimitError,
        MissingExtraError,
        ModelOutputError,
        NoStructuredOutputError,
        NotFoundError,
        OutputValidationError,
        OverloadedError,
        ProtocolError,
        RateLimitError,
        RefusalError,
        SchemaVersionError,
        StateError,
        StoreError,
        StreamTimeoutError,
        StreamTruncatedError,
        ToolError,
        TransportError,
        UnknownToolError,
        UnsupportedError,
        UsageError,
    )
    from headrace.io.httpx_transport import HttpTransport
    from headrace.io.record import RecordTransport
    from headrace.io.replay import Recorded, ReplayTransport
    from headrace.io.retry import RetryPolicy
    from headrace.io.transport import HTTPRequest, Timeouts, Transport
    from headrace.messages.accumulator import Accumulator
    from headrace.messages.chunk import AssistantMessageChunk, MessageChunk, SystemMessageChunk, ToolMessageChunk, UserMessageChunk
    from headrace.messages.codec import decode_document, decode_message, decode_messages, encode_document, encode_message, encode_messages
    from headrace.messages.deltas import Delta, StreamError, ToolCallFragment
    from headrace.messages.message import AssistantMessage, Message, SystemMessage, Timing, ToolMessage, UserMessage
    from headrace.messages.parts import (
        JsonPart,
        MediaPart,
        OpaquePart,
        Part,
        ProviderItem,
        ProviderToolPart,
        ReasoningPart,
        RefusalPart,
        TextPart,
        ToolCallPart,
        ToolResultPart,
    )
    from headrace.messages.request import NamedTool, OutputFormat, Request, Settings, ToolSpec
    from headrace.messages.usage import Usage
    from headrace.messages.value_merge import merge_values
    from headrace.messages.warning import Warning  # noqa: A004 - the field's word
    from headrace.models.answer import AttemptDiscarded
    from headrace.models.breaker import BreakerPolicy
    from headrace.models.config_file import load_config
    from headrace.models.fallback import FallbackModel
    from headrace.models.model import Model
    from headrace.models.pace import RateLimits
    from headrace.models.script import Scripted
    from headrace.models.scripted import ScriptedModel
    from headrace.providers.config import Config
    from headrace.sessions.memory import MemoryStore
    from headrace.sessions.opening import open_store
    from headrace.sessions.runs import Runs
    from headrace.sessions.sqlite import SQLiteStore
    from headrace.sessions.store import Store
    from headrace.tools.context import Context
    from headrace.tools.media import media_file
    from headrace.tools.options import Check, ToolOptions
    from headrace.tools.source import ToolSource
    from headrace.tools.suspend import Suspend
    from headrace.tools.tool import Tool, tool
    from headrace.tools.toolset import Toolset, toolset
    from headrace.wire.limits import Limits
    from headrace.wire.profile import Profile

__all__ = [
    "APIError",
    "Accumulator",
    "Agent",
    "Answer",
    "Approve",
    "ArgumentsError",
    "Ask",
    "AssistantMessage",
    "AssistantMessageChunk",
    "AttemptDiscarded",
    "AuthError",
    "BreakerPolicy",
    "Check",
    "Claims",
    "Config",
    "ConfigError",
    "ConflictError",
    "ConnectFailedError",
    "ConnectionLostError",
    "Context",
    "ContextLengthError",
    "ContextPolicy",
    "Delta",
    "Deny",
    "Event",
    "FallbackModel",
    "FencedError",
    "GoOn",
    "HTTPRequest",
    "HeadraceError",
    "Here",
    "Hooks",
    "HttpTransport",
    "InvalidEventError",
    "InvalidRequestError",
    "InvalidStructuredOutputError",
    "JsonPart",
    "LimitError",
    "Limits",
    "MCPServer",
    "MediaPart",
    "MemoryClaims",
    "MemoryResults",
    "MemorySessions",
    "MemoryStore",
    "Message",
    "MessageChunk",
    "MissingExtraError",
    "Model",
    "ModelCall",
    "ModelOutputError",
    "NamedTool",
    "NoStructuredOutputError",
    "NotFoundError",
    "OpaquePart",
    "OutputFormat",
    "OutputSpec",
    "OutputValidationError",
    "OverloadedError",
    "Part",
    "Pending",
    "Permissions",
    "Profile",
    "ProtocolError",
    "ProviderItem",
    "ProviderToolPart",
    "RateLimitError",
    "RateLimits",
    "ReasoningPart",
    "RecordTransport",
    "Recorded",
    "RefusalError",
    "RefusalPart",
    "ReminderRules",
    "ReplayTransport",
    "Reply",
    "Request",
    "ResultStore",
    "Retry",
    "RetryPolicy",
    "Rule",
    "Run",
    "RunLimits",
    "RunResult",
    "Runs",
    "SQLiteStore",
    "SchemaVersionError",
    "Scripted",
    "ScriptedModel",
    "Session",
    "SessionStore",
    "Settings",
    "StateError",
    "Stop",
    "Store",
    "StoreError",
    "StreamDecoder",
    "StreamError",
    "StreamResult",
    "StreamTimeoutError",
    "StreamTruncatedError",
    "Suspend",
    "SystemMessage",
    "SystemMessageChunk",
    "TextPart",
    "Timeouts",
    "Timing",
    "Tool",
    "ToolCallFragment",
    "ToolCallPart",
    "ToolError",
    "ToolMessage",
    "ToolMessageChunk",
    "ToolOptions",
    "ToolResultPart",
    "ToolSource",
    "ToolSpec",
    "Toolset",
    "Transport",
    "TransportError",
    "UnknownToolError",
    "UnsupportedError",
    "Usage",
    "UsageError",
    "UserMessage",
    "UserMessageChunk",
    "Veto",
    "Warning",
    "__version__",
    "decode_async",
    "decode_document",
    "decode_message",
    "decode_messages",
    "decode_stream",
    "encode_document",
    "encode_message",
    "encode_messages",
    "fold",
    "load_config",
    "media_file",
    "merge_values",
    "open_store",
    "tool",
    "toolset",
]


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
