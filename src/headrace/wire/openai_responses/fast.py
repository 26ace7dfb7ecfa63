"""The short way for the events that make up nearly all of a stream: a piece of text, of thinking, or of a call's arguments.

The rule of this file: it understands an event completely or not at all. The Struct forbids unknown fields, so an event with anything
unexpected is refused and takes the general way, which keeps everything; both ways give the same deltas (a test holds them together).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from headrace.wire.openai_responses.items import CONTENT
from headrace.wire.text_filters import Kind

DeltaType: TypeAlias = Literal[
    "response.output_text.delta",
    "response.refusal.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
]


class FastEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of an item; log-probabilities need thought, so a list that holds any is refused."""

    type: DeltaType
    delta: str
    output_index: int
    item_id: str | None = None
    content_index: int | None = None
    summary_index: int | None = None
    sequence_number: int | None = None
    logprobs: tuple[()] | None = None
    obfuscation: str | None = None


TEXTS: Final[dict[str, tuple[Kind, int]]] = {
    "response.output_text.delta": ("text", 0),
    "response.refusal.delta": ("refusal", 0),
    "response.reasoning_summary_text.delta": ("reasoning", 0),
    "response.reasoning_text.delta": ("reasoning", CONTENT),
}
"""For each type that is text: what it is, and where its parts begin among those of an item."""

decode_event: Final = msgspec.json.Decoder(FastEvent).decode
MARK: Final = b".delta"
REFUSED: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
