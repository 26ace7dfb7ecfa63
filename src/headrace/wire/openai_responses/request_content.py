"""Parts as the content of Responses items: what a user says, what a tool gave.

The rule of this file: a text where text is all there is, else a list of `input_…` parts. What the wire or the server has no place for is
left out with a note, never with a guess.

Source: https://platform.openai.com/docs/api-reference/responses/create.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from headrace._json import JSON
from headrace.messages.parts import MediaPart, OpaquePart, Part, TextPart
from headrace.wire.encoding_cache import Note
from headrace.wire.openai_chat.request_content import Content, Left, media_item
from headrace.wire.profile import Profile
from headrace.wire.server_side import APART

_IN_CONTENT: Final = "input_"


def user_content(parts: Sequence[Part], profile: Profile, notes: list[Note]) -> tuple[JSON, list[JSON]]:
    """Return the content of a user message ("" if there is none), and the items that stand beside it.

    An `OpaquePart` is an item of the wire that the caller wrote (such as `mcp_approval_response`); one of a type that begins with `input_`
    is content.
    """
    content, items = Content(), list[JSON]()
    for n, part in enumerate(parts):
        if add_text(content, part):
            continue
        if isinstance(part, OpaquePart):
            if str(part.raw["type"]).startswith(_IN_CONTENT):
                content.add_item(part.raw)
            else:
                items.append(part.raw)
            continue
        item = media_content(part, profile) if isinstance(part, MediaPart) else Left(f"a {type(part).__name__}")
        if isinstance(item, Left):
            notes.append(Note(n, item.why))
        else:
            content.add_item(item)
    return input_value(content), items


def add_text(content: Content, part: Part) -> bool:
    """Add a part that is text on this wire; return whether it is. A text that was given apart from the one before it stays apart."""
    if isinstance(part, TextPart) and part.provider_data == APART:
        content.add_item({"type": "text", "text": part.text})
        return True
    return content.add_part(part)


def input_value(content: Content) -> JSON:
    """Return collected content as the wire has it for what goes in."""
    value = content.value()
    if isinstance(value, str):
        return value
    items = cast("list[dict[str, Any]]", value)
    return [{**item, "type": "input_text"} if item.get("type") == "text" else item for item in items]


def media_content(part: MediaPart, profile: Profile) -> dict[str, Any] | Left:
    """Return a medium as a content part, or why there is no place for it."""
    if part.kind == "image" and part.file_id is not None and profile.supports_images:
        return {"type": "input_image", "file_id": part.file_id, **part.provider_data}
    if part.kind == "document" and part.url is not None and not part.url.startswith("data:") and profile.supports_files:
        return {"type": "input_file", "file_url": part.url, **part.provider_data}
    if part.kind == "video":
        return Left("video: this wire has no place for it")
    form = media_item(part, profile)
    if isinstance(form, Left) or part.kind == "audio":
        return form
    if part.kind == "document":
        return {"type": "input_file", **form["file"]}
    image = dict(form["image_url"])
    return {"type": "input_image", "image_url": image.pop("url"), **image}
