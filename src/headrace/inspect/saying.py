"""What one delta says, in short. Pure.

The rule of this file: words for a person; whoever wants the whole delta decodes the stream.
"""

from __future__ import annotations

from headrace._json import dumps_text
from headrace.messages.deltas import (
    CitationDelta,
    Delta,
    Ended,
    FinishDelta,
    MediaDelta,
    MessageStart,
    MetadataDelta,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
    WarningDelta,
)


def said(delta: Delta) -> str:  # noqa: C901, PLR0912 - a closed match is one table
    """Return what a delta added."""
    match delta:
        case TextDelta() | RefusalDelta():
            return delta.text
        case ReasoningDelta():
            extra = [word for word, value in (("signature", delta.signature), ("encrypted", delta.encrypted)) if value]
            extra += ["details"] if delta.details else []
            return delta.text + (f" [{', '.join(extra)}]" if extra else "")
        case ToolCallFragment():
            return _call(delta.id, delta.name, delta.index, delta.arguments)
        case ToolCallSettled():
            return _call(delta.id, None, None, delta.arguments)
        case ProviderToolFragment():
            result = "" if delta.result is None else f" result {dumps_text(delta.result)}"
            return _call(delta.id, delta.name, None, delta.arguments) + result
        case MediaDelta():
            return f"{delta.kind} {len(delta.data):,} bytes {delta.transcript}".rstrip()
        case PartDelta():
            return type(delta.value).__name__
        case CitationDelta():
            return dumps_text(delta.citation)
        case UsageDelta():
            counts = delta.usage.counts()
            return ", ".join(f"{name.removesuffix('_tokens')} {count:,}" for name, count in counts.items() if count is not None)
        case FinishDelta():
            return delta.word
        case MessageStart():
            return " ".join(word for word in (delta.id, delta.model, delta.name) if word)
        case WarningDelta():
            return f"{delta.warning.code} {delta.warning.detail}".rstrip()
        case Ended():
            return f"{delta.error.kind}: {delta.error.message}" if delta.error else "whole" + (", as the wire said" * delta.is_terminated)
        case MetadataDelta():
            return dumps_text(delta.values)
        case Restarted():
            return "the message begins anew"
        case _:
            return _fields(delta)


def content_of(delta: Delta) -> str:
    """Return the content that a delta adds to its part: text, arguments, a transcript; "" for all else."""
    match delta:
        case TextDelta() | ReasoningDelta() | RefusalDelta():
            return delta.text
        case ToolCallFragment() | ProviderToolFragment():
            arguments = delta.arguments
            return arguments if isinstance(arguments, str) else "" if arguments is None else dumps_text(arguments)
        case MediaDelta():
            return delta.transcript
        case _:
            return ""


def _call(identifier: str | None, name: str | None, index: int | None, arguments: object) -> str:
    words = [f"id={identifier}" if identifier else "", f"name={name}" if name else "", f"index={index}" if index is not None else ""]
    if arguments is not None:
        words.append(arguments if isinstance(arguments, str) else dumps_text(arguments))
    return " ".join(word for word in words if word)


def _fields(delta: Delta) -> str:
    found = ((name, getattr(delta, name)) for name in delta.__struct_fields__ if name not in ("choice", "part"))
    return " ".join(f"{name}={value!r}" for name, value in found if value)
