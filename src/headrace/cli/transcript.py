"""A message of a conversation that is over, for people to read.

The rule of this file: it shows what was said; long results and arguments are shortened, and say so.
"""

from __future__ import annotations

from headrace.cli.segments import Segment, Style, shortened
from headrace.cli.wording import one_line, part_text, result_text
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart

_MAX_LINES = 12


def transcript(message: Message) -> list[Segment]:
    """Return a message as segments, with an empty line behind it."""
    match message:
        case SystemMessage():
            return [Segment("system\n", "label"), Segment(f"{message.text}\n\n", "note")]
        case UserMessage():
            who = "reminder" if message.origin == "framework" else message.name or "you"
            said = "\n".join(part_text(part) for part in message.parts)
            return [Segment(f"{who}\n", "label"), Segment(f"{said}\n\n", "note" if message.origin == "framework" else "text")]
        case ToolMessage():
            return [segment for part in message.parts if isinstance(part, ToolResultPart) for segment in _result(part)]
        case AssistantMessage():
            return _answer(message)
        case _:
            return [Segment(f"{message.role}\n\n", "label")]


def _answer(message: AssistantMessage) -> list[Segment]:
    segments = [Segment(f"{message.name or message.model or 'assistant'}\n", "label")]
    for part in message.parts:
        match part:
            case TextPart():
                segments.append(Segment(f"{part.text}\n"))
            case ReasoningPart():
                segments.append(Segment(f"{shortened(part.text, max_lines=_MAX_LINES)}\n" if part.text else "", "reasoning"))
            case RefusalPart():
                segments.append(Segment(f"{part.text}\n", "refusal"))
            case ToolCallPart():
                segments += [
                    Segment(f"→ {part.name} ", "call"),
                    Segment(f"{shortened(one_line(part.arguments), max_chars=300)}\n", "arguments"),
                ]
            case _:
                segments.append(Segment(f"{part_text(part)}\n"))
    if message.generate_reason not in (None, "completed", "tool_calls", "structured_output"):
        segments.append(Segment(f"[{message.generate_reason}]\n", "warning"))
    return [*segments, Segment("\n")]


def _result(result: ToolResultPart) -> list[Segment]:
    style: Style = "result" if result.state == "success" else "failed"
    mark = "" if result.state == "success" else f"[{result.state}] "
    return [
        Segment(f"← {result.name or result.call_id} {mark}", "call"),
        Segment(f"{shortened(result_text(result), max_lines=_MAX_LINES)}\n\n", style),
    ]
