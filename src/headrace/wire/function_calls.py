"""Calls and reasoning of an assistant message, for wires that took their form of a call from Chat Completions.

The rule of this file: what is a provider's own goes back to it alone, and what stays behind is noted.
"""

from __future__ import annotations

from typing import Any

from headrace._json import dumps_text
from headrace.messages.parts import ReasoningPart, ToolCallPart
from headrace.wire.encoding_cache import Note
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_messages import arguments
from headrace.wire.openai_chat.request_names import legal_tool_name
from headrace.wire.profile import Profile


def called_name(call: ToolCallPart, profile: Profile, notes: list[Note]) -> str:
    """Return the name that a call goes by; another one than its own is noted."""
    name = legal_tool_name(call.name, profile)
    if name != call.name:
        notes.append(Note(None, f"the tool name {call.name!r}, which the server would refuse; it goes as {name!r}"))
    return name


def add_call_data(
    item: dict[str, Any], call: ToolCallPart, profile: Profile, notes: list[Note], *, maker: str | None, is_own: bool
) -> dict[str, Any]:
    """Return the item of a call with what its provider added to the call.

    Args:
        item: the call on the wire; what it has already stays.
        call: the call.
        profile: what the server takes.
        notes: takes what was left out.
        maker: the provider that made the message.
        is_own: that provider is asked again.
    """
    if call.provider_data and not is_own:
        notes.append(Note(None, f"data of {maker} on a call: {', '.join(sorted(call.provider_data))}"))
    elif profile.sends_provider_data:
        item |= {key: value for key, value in call.provider_data.items() if key not in item}
    return item


def call_item(paired: PairedCall, profile: Profile, notes: list[Note], *, maker: str | None, is_own: bool) -> dict[str, Any]:
    """Return a call whose arguments are a text, with its data (`add_call_data`)."""
    call = paired.call
    name = called_name(call, profile, notes)
    value = arguments(call, profile)
    text = value if isinstance(value, str) else dumps_text(value)
    item = {"id": paired.wire_id, "type": "function", "function": {"name": name, "arguments": text}}
    return add_call_data(item, call, profile, notes, maker=maker, is_own=is_own)


def foreign_reasoning_notes(n: int, part: ReasoningPart, *, maker: str | None, is_sent: bool) -> list[Note]:
    """Return what is lost of another provider's reasoning: all of it, or what proves it if the text is sent."""
    if part.text and not is_sent:
        return [Note(n, f"reasoning of {maker}")]
    if part.signature is not None or part.encrypted is not None or part.details:
        return [Note(n, f"signed or encrypted reasoning of {maker}")]
    return []
