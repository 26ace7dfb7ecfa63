"""What a protocol promises of its events beyond what a decoder needs, and whether the events keep it. Pure.

The rule of this file: only what a client may rely on by the protocol's own description is looked at, in the events as they came; what is missing is
named once for an answer. Headrace itself needs none of it.

Sources: https://platform.openai.com/docs/api-reference/chat-streaming, https://platform.openai.com/docs/api-reference/responses-streaming,
https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from headrace.inspect.doctor.evidence import members

Event: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[Sequence[Event]], Iterator[tuple[str, str]]]

FORMS: Final[dict[str, tuple[str, str]]] = {
    "event_members": ("Events lack members that the protocol promises", "clients with strict types break on them"),
    "changing_id": ("The id of an answer changes from event to event", "clients that group by it tear the answer apart"),
    "no_role": ("The first piece of an answer does not say its role", "clients that wait for it drop the answer"),
    "overlapping_blocks": ("A block begins before the one before it has ended", "clients that keep one open block mix them up"),
    "block_members": ("A block that calls a tool begins without its input", "clients with strict types break on it"),
    "no_done_events": ("Arguments come without the event that ends them", "clients that wait for it never run the call"),
}
"""Each thing that may be odd: the finding in a sentence, and what it means."""

_CHAT_MEMBERS: Final = ("id", "object", "created", "model", "choices")
_NUMBERED: Final = "sequence_number"
_IN_ITEM: Final = ("response.output_item.", "response.content_part.", "response.output_text.", "response.function_call_arguments.")


def odd_forms(events: Sequence[Any], protocol: str) -> list[tuple[str, str]]:
    """Return what is odd about the events of one whole stream: the code of `FORMS`, and what was seen."""
    check = _CHECKS.get(protocol)
    objects = [cast("Event", event) for event in events if isinstance(event, Mapping)]
    return list(dict(check(objects)).items()) if check is not None and objects else []


def _chat(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    missing = dict.fromkeys(name for event in events for name in _CHAT_MEMBERS if name not in event)
    if missing:
        yield "event_members", f"without {', '.join(missing)}"
    ids = dict.fromkeys(event["id"] for event in events if isinstance(event.get("id"), str) and event["id"])
    if len(ids) > 1:
        yield "changing_id", f"{len(ids)} ids in one answer"
    delta = next((found for event in events if (found := _delta(event))), None)
    if delta is not None and delta.get("role") != "assistant":
        yield "no_role", f"it begins with {', '.join(delta)}"


def _delta(event: Event) -> Event | None:
    deltas = (cast("Event", value) for key, value in members(event) if key == "delta" and isinstance(value, Mapping))
    return next((delta for delta in deltas if delta), None)


def _messages(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    open_blocks: set[str] = set()
    for event in events:
        kind = event.get("type")
        if kind == "content_block_start":
            if open_blocks:
                yield "overlapping_blocks", f"block {event.get('index')} begins while {len(open_blocks)} are open"
            open_blocks.add(str(event.get("index")))
            block = event.get("content_block")
            if isinstance(block, Mapping) and "name" in block and "input" not in block:
                yield "block_members", "content_block has no input"
        elif kind == "content_block_stop":
            open_blocks.discard(str(event.get("index")))


def _responses(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    missing: dict[str, None] = {}
    if any(_NUMBERED not in event for event in events):
        missing[_NUMBERED] = None
    if any(str(event.get("type", "")).startswith(_IN_ITEM) and "output_index" not in event for event in events):
        missing["output_index"] = None
    if missing:
        yield "event_members", f"without {', '.join(missing)}"
    kinds = {str(event.get("type")) for event in events}
    if "response.function_call_arguments.delta" in kinds and "response.function_call_arguments.done" not in kinds:
        yield "no_done_events", "no response.function_call_arguments.done"


_CHECKS: Final[dict[str, Check]] = {"openai-chat": _chat, "anthropic-messages": _messages, "openai-responses": _responses}
