"""Parts of an answer as whole blocks of the Messages protocol, and a whole answer as its body.

The rule of this file: a block goes out as the wire has it or not at all; what is not understood but came from this wire is the bytes that
came. A call that cannot be run is left out of a whole answer: its input would have to be made up.
"""

# Data of blocks are JSON of a provider's: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace._json import JSON, dumps_text, loads
from headrace.messages.identity import object_of
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import (
    JsonPart,
    Part,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from headrace.wire.anthropic_messages.blocks import PROTOCOL
from headrace.wire.anthropic_messages.finish_out import stop_fields, usage_body
from headrace.wire.server_side import is_cut

_LOCATION: Final = "_location"


def is_citation(citation: JSON) -> bool:
    """Return whether a citation has a form of this wire."""
    kind = citation.get("type") if isinstance(citation, dict) else None
    return isinstance(kind, str) and kind.endswith(_LOCATION)


def item_block(part: ProviderItem) -> JSON:
    """Return a block that came from this wire as the bytes that came, or None if it did not."""
    return msgspec.Raw(part.raw) if part.protocol == PROTOCOL and isinstance(_loaded(part.raw), dict) else None


def provider_tool_blocks(part: ProviderToolPart) -> tuple[dict[str, Any], str, JSON] | None:
    """Return the start of a provider's call, the text of its arguments, and the block of what it gave, or None if it came from another wire."""
    data = dict(part.provider_data)
    kind, about = data.pop("type", None), data.pop("result", None)
    if not isinstance(kind, str):
        return None
    start = {"type": kind, "id": part.id, "name": part.name, "input": {}, **data}
    has_result = part.result is not None and isinstance(about, dict)
    return start, part.arguments, {**about, "tool_use_id": part.id, "content": part.result} if has_result else None


def answer_body(message: AssistantMessage) -> dict[str, Any]:
    """Return content, stop reason and usage of an answer."""
    content = [block for part in message.parts for block in _blocks(part)]
    cut = any(not call.runnable and is_cut(message, call.name) for call in message.tool_calls)
    return {"content": content, **stop_fields(message, is_cut=cut), "usage": usage_body(message.usage)}


def _blocks(part: Part) -> list[JSON]:
    match part:
        case TextPart():
            cited = [citation for citation in part.citations if is_citation(citation)]
            return [{"type": "text", "text": part.text, **({"citations": cited} if cited else {})}] if part.text else []
        case RefusalPart():
            return [{"type": "text", "text": part.text}]
        case JsonPart():
            return [{"type": "text", "text": dumps_text(part.value)}]
        case ReasoningPart():
            return _thinking(part)
        case ToolCallPart():
            return [_call(part)] if part.runnable else []
        case ProviderItem():
            item = item_block(part)
            return [] if item is None else [item]
        case ProviderToolPart():
            found = provider_tool_blocks(part)
            if found is None:
                return []
            start, arguments, result = found
            return [{**start, "input": object_of(arguments) or {}}, *([] if result is None else [result])]
        case _:
            return []


def _thinking(part: ReasoningPart) -> list[JSON]:
    blocks: list[JSON] = []
    if part.text or part.signature is not None:
        blocks.append({"type": "thinking", "thinking": part.text, "signature": part.signature or ""})
    if part.encrypted is not None:
        blocks.append({"type": "redacted_thinking", "data": part.encrypted})
    return blocks


def _call(call: ToolCallPart) -> dict[str, Any]:
    given: JSON
    if call.kind == "custom":
        given = {"input": call.arguments}
    else:
        given = msgspec.Raw(call.arguments.strip().encode()) if object_of(call.arguments) is not None else call.parsed
    block = {"type": "tool_use", "id": call.id, "name": call.name, "input": given}
    return block | {name: value for name, value in call.provider_data.items() if name not in block}


def _loaded(raw: bytes) -> JSON:
    try:
        return loads(raw)
    except ValueError:
        return None
