"""What tools gave back, as Chat Completions tool messages.

The rule of this file: the wire has no flag for failure and, on most servers, no place for images, so both are said in the
text: how a call ended stands before what it gave, and an image follows in a user message that says whose it is.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import dumps
from headrace.messages.parts import MediaPart, Part, ResultState, ToolCallPart, ToolResultPart
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.openai_chat.request_content import Content, Left, media_item
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.profile import Profile

ENDINGS: Final[dict[ResultState, tuple[str, str]]] = {
    "error": ("Error: ", "Error: the tool failed."),
    "denied": ("Denied: ", "Denied: this call was not allowed, so the tool did not run."),
    "interrupted": ("Interrupted: ", "Interrupted: the tool was stopped before it had finished."),
    "timed_out": ("Timed out: ", "Timed out: the tool took too long."),
    "not_run": ("Not run: ", "Not run: this call has no result."),
    "in_doubt": ("In doubt: ", "In doubt: nobody knows whether the tool ran."),
}
"""For each ending but success: what stands before the result's text, and what stands where there is none."""

NOT_RUN: Final = ToolResultPart(call_id="", state="not_run")
"""Stands in where the history holds no result for a call."""


def encode_result(result: ToolResultPart, wire_id: str, call: ToolCallPart, profile: Profile) -> Fragment:
    """Encode one result as a tool message.

    Args:
        result: the result.
        wire_id: the id that its call goes by on the wire.
        call: the call that it answers.
        profile: what the server takes.

    Returns:
        The tool message, notes on what was left out, and in `follow` the content parts that have to come in a user message.
    """
    notes: list[Note] = []
    name = legal_tool_name(call.name, profile)
    content = Content()
    follow: list[dict[str, Any]] = []
    for n, part in enumerate(result.parts):
        if content.add_given(part, profile):
            continue
        if not isinstance(part, MediaPart):
            notes.append(Note(n, f"{_word(part)} in the result of {name}"))
            continue
        item = media_item(part, profile)
        if isinstance(item, Left):
            notes.append(Note(n, f"{item.why} (in the result of {name})"))
            content.add_text(f"[{part.kind}, which could not be passed on]", is_own_line=True)
        elif part.kind == "image" and profile.supports_images_in_results:
            content.add_item(item)
        else:
            follow.append(item)
            content.add_text(f"[{part.kind}: in the next user message]", is_own_line=True)
    fields: dict[str, Any] = {"role": "tool", "tool_call_id": wire_id}
    if profile.names_tool_results:
        fields["name"] = name
    fields["content"] = _with_ending(content.value(), result.state)
    if follow:
        follow.insert(0, {"type": "text", "text": f"From the result of {name} ({wire_id}):"})
    return Fragment(dumps(fields), tuple(notes), tuple(map(dumps, follow)))


def _word(part: Part) -> str:
    return "an unknown part" if type(part).__name__ == "OpaquePart" else f"a {type(part).__name__}"


def _with_ending(value: Any, state: ResultState) -> Any:
    if state == "success":
        return value
    before, alone = ENDINGS[state]
    if isinstance(value, str):
        return before + value if value else alone
    return [{"type": "text", "text": before.rstrip()}, *value]
