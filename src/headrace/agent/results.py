"""The results that a model gets for calls that failed or never ran: what happened, in words that help it to do better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from headrace._json import JSONError, loads, replace_surrogates
from headrace.errors import ToolError
from headrace.messages.parts import ResultState, TextPart, ToolCallPart, ToolResultPart, make
from headrace.tools.output import Output, with_note

MAX_ERROR_CHARS: Final = 4_000
"""How much of an exception's text goes to the model."""
MAX_TOOL_ERROR_CHARS: Final = 100_000
"""How much of a `ToolError`'s text goes to the model; its author wrote it for the model."""
MAX_NAMES: Final = 100
"""How many tools are listed for a call of an unknown one."""
_BROKE_OFF: Final = "the answer that it came in broke off, or was filtered"
_JSON_NAMES: Final[dict[type, str]] = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


def error_result(call: ToolCallPart, text: str, *, state: ResultState = "error", **metadata: Any) -> ToolResultPart:
    """Return a result that says why there is no other."""
    return ToolResultPart(call_id=call.id, name=call.name, parts=(TextPart(replace_surrogates(text)),), state=state, metadata=metadata)


def unknown_tool_result(call: ToolCallPart, names: Sequence[str]) -> ToolResultPart:
    """Return the result for a call of a tool that was not offered; it lists those that were."""
    listed = ", ".join(names[:MAX_NAMES]) or "none"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    text = f"There is no tool {call.name[:MAX_ERROR_CHARS]!r}. The tools are: {listed}{more}."
    return error_result(call, text, error_type="UnknownToolError")


def not_runnable_result(call: ToolCallPart) -> ToolResultPart:
    """Return the result for a call that must not run (law 4); it says why, as far as the call itself shows it."""
    return error_result(call, f"The call was not run: {_why_not(call)}.", error_type="ArgumentsError")


def _why_not(call: ToolCallPart) -> str:
    if not call.name:
        return "it names no tool"
    if call.kind == "custom":
        return "it holds free text, and the tool takes a JSON object" if call.runnable else "it did not arrive whole"
    if call.parsed is not None:
        return _BROKE_OFF
    if not call.arguments.strip():
        return "its arguments did not arrive"
    try:
        value = loads(call.arguments)
    except JSONError as error:
        return f"its arguments are not JSON ({str(error)[:200]}); they must be one whole JSON object"
    return _BROKE_OFF if isinstance(value, dict) else f"its arguments are a JSON {_JSON_NAMES[type(value)]}; they must be one JSON object"


def bad_output(tool_name: str, reason: str) -> str:
    """Say that a tool ran, but gave out what cannot be sent."""
    return f"{tool_name} ran, but its output cannot be sent: {reason}"


def describe(error: BaseException) -> str:
    """Say what a tool raised: a `ToolError` in its own words, all else as `TypeName: text`, without a traceback, bounded."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception's __str__ is a stranger's code
        text = "(its text cannot be read)"
    if isinstance(error, ToolError):
        return _cut(text, MAX_TOOL_ERROR_CHARS) or "the tool failed"
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        text = "; ".join([text, *(describe(inner) for inner in group.exceptions[:5])])
    return _cut(f"{name}: {text}" if text else name, MAX_ERROR_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def result_of(call: ToolCallPart, output: Output, state: ResultState, note: str, facts: dict[str, Any]) -> ToolResultPart:
    """Return the result of a call that ran: its output, then, if it did not end well, the note that says why."""
    metadata = dict(facts)
    if output.cut_bytes:
        metadata |= {"kept_bytes": output.kept_bytes, "cut_bytes": output.cut_bytes}
    parts = with_note(output.parts, replace_surrogates(note)) if note else output.parts
    return make(ToolResultPart, call_id=call.id, name=call.name, parts=parts, state=state, metadata=metadata)
