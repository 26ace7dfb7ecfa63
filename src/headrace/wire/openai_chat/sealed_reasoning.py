"""Reasoning that other wires sign or seal, as `reasoning_details` of Chat Completions: out to a client, and back from it.

The rule of this file: the text goes as `reasoning_content` alone; a detail says how many characters of it a signature covers, or holds
what is sealed. Details of this form are ours, by their `format`, and become parts again; all others are a provider's and stay as they are.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any, Final

from headrace._json import JSON
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ReasoningPart, make

FORMAT: Final = "headrace-1"


def sealed_details(message: AssistantMessage) -> list[dict[str, Any]]:
    """Return the details of a message's reasoning; none if nothing is signed or sealed, or if its provider gave details of its own."""
    parts = message.parts_of(ReasoningPart)
    if any(part.details for part in parts) or not any(part.signature or part.encrypted for part in parts):
        return []
    return [_detail(index, part) for index, part in enumerate(parts)]


def _detail(index: int, part: ReasoningPart) -> dict[str, Any]:
    kind = "reasoning.text" if part.encrypted is None else "reasoning.encrypted"
    detail: dict[str, Any] = {"type": kind, "format": FORMAT, "index": index, "length": len(part.text)}
    if part.signature is not None:
        detail["signature"] = part.signature
    if part.encrypted is not None:
        detail["data"] = part.encrypted
    return detail


def reasoning_parts(text: str, details: list[JSON]) -> list[ReasoningPart]:
    """Return the parts that a text and its details are; none if both are empty."""
    if not details or not all(_is_ours(detail) for detail in details):
        return [make(ReasoningPart, text=text, details=tuple(details))] if text or details else []
    parts: list[ReasoningPart] = []
    at = 0
    for detail in details:
        covered, at = text[at : at + detail["length"]], at + detail["length"]
        parts.append(make(ReasoningPart, text=covered, signature=detail.get("signature"), encrypted=detail.get("data")))
    rest = text[at:]
    return [*parts, make(ReasoningPart, text=rest)] if rest else parts


def _is_ours(detail: JSON) -> bool:
    if not isinstance(detail, dict) or detail.get("format") != FORMAT:
        return False
    length = detail.get("length")
    texts = (detail.get("signature"), detail.get("data"))
    return type(length) is int and length >= 0 and all(text is None or isinstance(text, str) for text in texts)
