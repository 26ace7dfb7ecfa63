"""What stands in a response beside words and calls: citations, items of the provider's own, images, and the response itself.

The rule of this file: a thing goes out as the wire has it or not at all; what is not understood but came from this wire is the bytes that
came. What the request asked for is repeated as it was asked.
"""

# Citations and data of items are JSON of a provider's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from headrace._json import JSON, loads
from headrace.messages.parts import MediaPart, ProviderItem, ProviderToolPart
from headrace.wire.openai_responses.item_in import PROTOCOL
from headrace.wire.server_side import Head

PREFIX: Final = "resp_"
_ANNOTATIONS: Final = frozenset({"url_citation", "file_citation", "container_file_citation", "file_path"})
_IMAGE: Final = "image_generation_call"
_USUAL: Final[dict[str, Any]] = {
    "background": False,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": False,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
}
"""What a response says of its request where that said nothing; clients that are strict want each."""


def response_body(head: Head, echoed: Mapping[str, JSON], *, created_s: int, model: str | None, **fields: JSON) -> dict[str, Any]:
    """Return the response.

    Args:
        head: the id, and what stands in for what is not known.
        echoed: what of the request it repeats.
        created_s: when it was begun, or 0.
        model: its model, or None.
        fields: status, output, usage and whatever else is known of it.
    """
    return {
        "id": head.id if head.id.startswith(PREFIX) else PREFIX + head.id,
        "object": "response",
        "created_at": created_s or head.created_s,
        "model": model or head.model,
        **_USUAL,
        **echoed,
        "usage": None,
        **fields,
    }


def annotation_of(citation: JSON) -> dict[str, Any] | None:
    """Return a citation as this wire has it, or None if it has no such form; that of Chat Completions is nearly the same."""
    kind = citation.get("type") if isinstance(citation, dict) else None
    if kind not in _ANNOTATIONS:
        return None
    inner = citation.get(kind)
    return {"type": kind, **inner} if isinstance(inner, dict) else citation


def item_form(part: ProviderItem) -> JSON:
    """Return an item that came from this wire as the bytes that came, or None if it did not."""
    if part.protocol != PROTOCOL:
        return None
    try:
        value = loads(part.raw)
    except ValueError:
        return None
    return msgspec.Raw(part.raw) if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def tool_forms(part: ProviderToolPart, image: MediaPart | None) -> list[dict[str, Any]]:
    """Return the items of a call that the provider ran itself; none if it came from another wire.

    Args:
        part: the call.
        image: what it made, where it made one.
    """
    item, output = part.provider_data.get("item"), part.provider_data.get("output_item")
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        return []
    form = {**item, "result": _image(image)} if image is not None else item
    return [form, output] if isinstance(output, dict) else [form]


def image_form(part: MediaPart, identifier: str) -> dict[str, Any] | None:
    """Return an image that a model made as the call that makes one here, or None if it is no image or not at hand."""
    if part.kind != "image" or (part.data is None and not _is_inline(part.url)):
        return None
    suffix = (part.media_type or "image/png").removeprefix("image/")
    return {"id": identifier, "type": _IMAGE, "status": "completed", "output_format": suffix, "result": _image(part)}


def _is_inline(url: str | None) -> bool:
    return url is not None and url.startswith("data:") and ";base64," in url


def _image(part: MediaPart) -> str | None:
    if part.data is not None:
        return base64.b64encode(part.data).decode("ascii")
    return part.url.partition(";base64,")[2] if part.url is not None and _is_inline(part.url) else part.url
