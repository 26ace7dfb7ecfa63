"""Why a call must not run, in words. Pure."""

from __future__ import annotations

from typing import Final

from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart

_CUT: Final = {
    "length": "the answer was cut by its length",
    "content_filter": "the answer was filtered",
    "error": "the answer ended with an error",
    "pause": "the answer paused",
}


def why_not_runnable(call: ToolCallPart, message: AssistantMessage, error_kind: str | None = None) -> str:
    """Say why a call must not run, best reason first."""
    if error_kind is not None:
        return f"the stream failed: {error_kind}"
    if message.finish_reason in _CUT and not (message.finish_reason == "length" and call.parsed is not None):
        return _CUT[message.finish_reason or ""]
    if not call.name:
        return "it has no name"
    if call.kind == "function" and call.parsed is None:
        return "its arguments are no JSON object"
    return _CUT.get(message.finish_reason or "", "the stream did not end")
