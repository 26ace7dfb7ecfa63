"""What tools gave back, as the output items of the Responses protocol.

The rule of this file: each call is answered by the item of its own kind. Where that item has a place for failure it is said there, else
before the text.
"""

# Results hold JSON of the caller's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
from typing import Any, Final

from headrace._json import JSON, dumps, dumps_text
from headrace.messages.parts import JsonPart, MediaPart, Part, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.openai_chat.request_content import Content, Left
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.openai_responses.request_content import add_text, input_value, media_content
from headrace.wire.profile import Profile

_FAILED: Final = 1


def encode_result(result: ToolResultPart, wire_id: str, call: ToolCallPart, profile: Profile, *, kind: str) -> Fragment:
    """Encode one result.

    Args:
        result: the result.
        wire_id: the id that its call goes by on the wire.
        call: the call that it answers.
        profile: what the server takes.
        kind: the type of the item that its call goes as.
    """
    notes: list[Note] = []
    match kind:
        case "shell_call":
            form: dict[str, Any] = {"type": "shell_call_output", "output": _shell(result, notes)}
        case "local_shell_call":
            form = {"type": "local_shell_call_output", "output": _words(result, notes)}
        case "apply_patch_call":
            status = "completed" if result.state == "success" else "failed"
            form = {"type": "apply_patch_call_output", "status": status, "output": _words(result, notes)}
        case "tool_search_call":
            form = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": _tools(result, notes)}
        case "computer_call":
            form = {"type": "computer_call_output", "output": _screenshot(result, notes)}
        case _:
            output = "custom_tool_call_output" if kind == "custom_tool_call" else "function_call_output"
            form = {"type": output, "output": _output(result, call, profile, notes)}
    own = {key: value for key, value in result.metadata.items() if key in _EXTRA.get(kind, ())}
    return Fragment(dumps({**form, **own, "call_id": wire_id}), tuple(notes))


_EXTRA: Final = {"computer_call": ("acknowledged_safety_checks",), "shell_call": ("max_output_length",)}
"""For each kind of call: the result's metadata that its output has a place for."""


def _output(result: ToolResultPart, call: ToolCallPart, profile: Profile, notes: list[Note]) -> JSON:
    """Return the output of a caller's own tool: a text, or a list with its media."""
    content = Content()
    before, alone = ENDINGS.get(result.state, ("", ""))
    if result.state != "success":
        content.add_text(before if result.parts else alone)
    for n, part in enumerate(result.parts):
        if add_text(content, part):
            continue
        item = media_content(part, profile) if isinstance(part, MediaPart) else Left(f"a {type(part).__name__}")
        if not isinstance(item, Left):
            content.add_item(item)
            continue
        notes.append(Note(n, f"{item.why} (in the result of {call.name})"))
        if isinstance(part, MediaPart):
            content.add_text(f"[{part.kind}, which could not be passed on]", is_own_line=True)
    return input_value(content)


def _words(result: ToolResultPart, notes: list[Note]) -> str:
    """Return a result as text, with how it ended before it."""
    texts: list[str] = []
    for n, part in enumerate(result.parts):
        if isinstance(part, (TextPart, RefusalPart)):
            texts.append(part.text)
        elif isinstance(part, JsonPart):
            texts.append(dumps_text(part.value))
        else:
            notes.append(_no_place(n, part))
    if result.state == "success":
        return "".join(texts)
    before, alone = ENDINGS[result.state]
    return before + "".join(texts) if texts else alone


def _shell(result: ToolResultPart, notes: list[Note]) -> list[JSON]:
    """Return the outputs of commands: the caller's own list if the result is one, else its text as the output of one command."""
    value = _json(result)
    if isinstance(value, list):
        return list(value)
    if isinstance(value, dict):
        return value["output"] if isinstance(value.get("output"), list) else [value]
    outcome = {"type": "timeout"} if result.state == "timed_out" else {"type": "exit", "exit_code": 0}
    if result.state not in ("success", "timed_out"):
        outcome = {"type": "exit", "exit_code": _FAILED}
    texts = {"stdout": _words(result, notes), "stderr": ""}
    return [{**(texts if result.state == "success" else {"stdout": "", "stderr": texts["stdout"]}), "outcome": outcome}]


def _tools(result: ToolResultPart, notes: list[Note]) -> list[JSON]:
    """Return the tools that a search of the client's found."""
    value = _json(result)
    if isinstance(value, dict):
        value = value.get("tools")
    if isinstance(value, list):
        return list(value)
    notes.append(Note(None, "the result of a tool search that is no list of tools"))
    return []


def _screenshot(result: ToolResultPart, notes: list[Note]) -> JSON:
    """Return what a computer shows: the last image of the result."""
    screenshot: dict[str, Any] = {"type": "computer_screenshot"}
    for n, part in enumerate(result.parts):
        if isinstance(part, MediaPart) and part.kind == "image":
            screenshot = {"type": "computer_screenshot", **_image(part)}
        else:
            notes.append(_no_place(n, part))
    return screenshot


def _image(part: MediaPart) -> dict[str, str]:
    if part.data is not None:
        return {"image_url": f"data:{part.media_type or 'image/png'};base64,{base64.b64encode(part.data).decode('ascii')}"}
    return {"image_url": part.url} if part.url is not None else {"file_id": part.file_id or ""}


def _json(result: ToolResultPart) -> JSON:
    """Return the JSON value that a result is, or None."""
    return result.parts[0].value if len(result.parts) == 1 and isinstance(result.parts[0], JsonPart) else None


def _no_place(n: int, part: Part) -> Note:
    return Note(n, f"a {type(part).__name__}, which this output has no place for")
