"""The report of a decoded stream, for people. Pure.

The rule of this file: it shows what is in the result and judges nothing; a call that must not run is shown with its raw text and the
reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace._json import dumps_text
from headrace.cli.segments import Segment, Style, shortened
from headrace.cli.wording import one_line, usage_words, why_not_runnable
from headrace.decoding import StreamResult
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import MediaPart, ProviderToolPart, ToolCallPart
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

_INDENT = 12


def report(result: StreamResult, *, title: str | None = None) -> list[Segment]:
    """Return the report of one stream: text, reasoning, calls, how it ended, usage, repairs, error."""
    segments: list[Segment] = []
    if title is not None:
        segments += [Segment(f"{title}\n", "title")]
    kind = None if result.error is None else result.error.kind
    for index, choice in zip(result.indexes, result.choices, strict=True):
        if len(result.choices) > 1:
            segments += [Segment(f"choice {index}\n", "label")]
        segments += _message(choice, kind)
    for warning in result.warnings:
        segments += _row("warning", _warning(warning), "warning")
    if result.error is not None:
        error = result.error
        code = f" ({error.code})" if error.code else ""
        segments += _row("error", f"{error.kind}{code}: {error.message}", "error")
    return [*segments, Segment("\n")] if title is not None else segments


def message_report(message: AssistantMessage) -> list[Segment]:
    """Return the report of a message that is not, or no longer, part of a stream."""
    return list(_message(message, None))


def _message(message: AssistantMessage, error_kind: str | None) -> Iterator[Segment]:
    if message.model or message.id:
        yield from _row("message", " ".join(word for word in (message.model, message.id) if word), "note")
    styles: tuple[Style, ...] = ("reasoning", "text", "refusal")
    for style, text in zip(styles, (message.reasoning, message.text, message.refusal), strict=True):
        if text:
            yield from _row(style, text, style)
    for part in message.parts:
        match part:
            case ToolCallPart():
                yield from _call(part, message, error_kind)
            case ProviderToolPart():
                yield from _row("ran", f"{part.name} {shortened(one_line(part.arguments), max_chars=400)}", "note")
            case MediaPart():
                yield from _row("media", part.kind, "note")
            case _:
                pass
    finish = message.finish_reason or "none: the stream died"
    raw = message.finish_reason_raw
    yield from _row("finish", finish + (f" (raw: {raw})" if raw and raw != message.finish_reason else ""), "text")
    if words := usage_words(message.usage):
        yield from _row("usage", words, "text")


def _call(call: ToolCallPart, message: AssistantMessage, error_kind: str | None) -> Iterator[Segment]:
    yield Segment("call".ljust(_INDENT), "label")
    yield Segment(call.name or "(no name)", "call")
    body = dumps_text(call.parsed) if call.parsed is not None else call.arguments
    yield Segment(f" {shortened(one_line(body))}", "arguments")
    if call.runnable:
        yield Segment("  runnable", "good")
    else:
        yield Segment(f"  not runnable: {why_not_runnable(call, message, error_kind)}", "failed")
    yield Segment(f"  {call.id}{' (made up)' if call.id_made_up else ''}\n", "note")


def _warning(warning: Warning) -> str:
    place = f" at event {warning.event}" if warning.event is not None else ""
    return f"{warning.code}{place}{f': {warning.detail}' if warning.detail else ''}"


def _row(label: str, text: str, style: Style) -> Iterator[Segment]:
    """A label, and the text beside it, its further lines as far in."""
    yield Segment(label.ljust(_INDENT), "label")
    yield Segment(text.rstrip("\n").replace("\n", "\n" + " " * _INDENT) + "\n", style)
