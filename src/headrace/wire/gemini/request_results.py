"""What tools gave back, as `functionResponse` parts.

The rule of this file: a response is an object, its `output` what the tool gave, its `error` what went wrong; how a call ended stands before
the words. An image has its place in the response where the model takes it, else it is a part behind all the responses.

Source: https://ai.google.dev/gemini-api/docs/function-calling.
"""

from __future__ import annotations

from typing import Any

from headrace._json import JSON, dumps, dumps_text
from headrace.messages.parts import JsonPart, MediaPart, RefusalPart, TextPart, ToolResultPart
from headrace.wire.encoding_cache import Fragment, Note
from headrace.wire.gemini.request_contents import call_id
from headrace.wire.gemini.request_media import is_inline, media_part
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.profile import Profile


def encode_result(paired: PairedCall, result: ToolResultPart, profile: Profile, *, is_own: bool) -> Fragment:
    """Encode one result.

    Args:
        paired: the call that it answers.
        result: the result.
        profile: what the server takes.
        is_own: the call was made by this provider, so that its id, if it gave one, goes along.

    Returns:
        The part, notes on what was left out, and in `follow` the parts that have to stand behind all the results.
    """
    notes: list[Note] = []
    name = legal_tool_name(paired.call.name, profile)
    values: list[JSON] = []
    inside: list[dict[str, Any]] = []
    follow: list[dict[str, Any]] = []
    for n, part in enumerate(result.parts):
        match part:
            case TextPart() | RefusalPart():
                values.append(part.text)
            case JsonPart():
                values.append(part.value)
            case MediaPart():
                item = media_part(part, profile)
                if isinstance(item, str):
                    notes.append(Note(n, f"{item} (in the result of {name})"))
                    values.append(f"[{part.kind}, which could not be passed on]")
                elif profile.supports_images_in_results and is_inline(part):
                    inside.append(item)
                else:
                    follow.append(item)
                    values.append(f"[{part.kind}: behind the results]")
            case _:
                notes.append(Note(n, f"a part of a type that this version does not know, in the result of {name}"))
    response: dict[str, Any] = {**call_id(paired, is_own=is_own), "name": name, "response": _response(values, result)}
    if inside:
        response["parts"] = inside
    if follow:
        follow.insert(0, {"text": f"From the result of {name}:"})
    return Fragment(dumps({"functionResponse": response}), tuple(notes), tuple(map(dumps, follow)))


def _response(values: list[JSON], result: ToolResultPart) -> dict[str, JSON]:
    """Return the object: one value as it is, several as lines of text."""
    value: JSON = values[0] if len(values) == 1 else _joined(values)
    if result.state == "success":
        return {"output": value}
    before, alone = ENDINGS[result.state]
    if not values or value == "":
        return {"error": alone}
    if result.state == "error":  # the key says that already
        return {"error": value}
    return {"error": before + (value if isinstance(value, str) else dumps_text(value))}


def _joined(values: list[JSON]) -> str:
    text = ""
    is_line = False
    for value in values:
        piece = value if isinstance(value, str) else dumps_text(value)
        is_own_line = not isinstance(value, str) or piece.startswith("[")
        if text and (is_line or is_own_line) and not text.endswith("\n"):
            text += "\n"
        text += piece
        is_line = is_own_line
    return text
