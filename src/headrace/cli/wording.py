"""What is said about calls, results and usage, in one wording for every command. Pure, and knows messages only."""

from __future__ import annotations

import re
from typing import Final

from headrace._json import dumps_text
from headrace.inspect.reasons import why_not_runnable as why_not_runnable  # noqa: PLC0414 - said here with the other wordings
from headrace.messages.parts import JsonPart, MediaPart, Part, TextPart, ToolResultPart
from headrace.messages.usage import Usage

_BREAKS: Final = re.compile(r"\s*[\r\n]\s*")


def one_line(text: str) -> str:
    """Return a text on one line; inside JSON only white space between values is lost by that."""
    return _BREAKS.sub(" ", text).strip()


def result_text(result: ToolResultPart) -> str:
    """Return a tool's result as text."""
    return "\n".join(part_text(part) for part in result.parts)


def part_text(part: Part) -> str:
    """Return a part as text; what is no text is named or written as JSON."""
    match part:
        case TextPart():
            return part.text
        case JsonPart():
            return dumps_text(part.value)
        case MediaPart():
            return f"[{part.kind}]"
        case _:
            return f"[{type(part).__name__}]"


def usage_words(usage: Usage | None) -> str:
    """Return `12 tokens in (8 cached), 5 out (3 reasoning)`, or nothing if nobody said."""
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return ""
    said: list[str] = []
    if usage.input_tokens is not None:
        said.append(f"{usage.input_tokens:,} tokens in" + (f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""))
    if usage.output_tokens is not None:
        unit = " out" if said else " tokens out"
        said.append(f"{usage.output_tokens:,}{unit}" + (f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""))
    return ", ".join(said)
