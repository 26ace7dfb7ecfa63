"""Neighbouring deltas of one part as one event, so that a log holds what was said and not how it was cut.

The rule of this file: what readers make of the events stays the same. The joined event has the number and the time of the last one; what
stands between two deltas, also a delta of another part, keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace.agent.events import Event, ReasoningDelta, SubRun, TextDelta, ToolCallArguments

Delta = TextDelta | ReasoningDelta | ToolCallArguments


def coalesced(events: Iterable[Event]) -> list[Event]:
    """Return the events with neighbouring deltas of one part joined; costs what they hold."""
    joined: list[Event] = []
    run: list[Event] = []
    for event in events:
        if run and _goes_on(run[-1], event):
            run.append(event)
            continue
        if run:
            joined.append(_join(run))
            run = []
        if _is_delta(event):
            run.append(event)
        else:
            joined.append(event)
    if run:
        joined.append(_join(run))
    return joined


def is_slight(event: Event) -> bool:
    """Whether an event only says how far a part, or a tool, has come: what it says is said again as a whole, or is no part of the state."""
    inner = innermost(event)
    return inner.type in _SLIGHT


_SLIGHT = frozenset(
    "text_started text_delta text_ended reasoning_started reasoning_delta reasoning_ended tool_call_started tool_call_arguments "
    "tool_call_ended tool_output tool_progress".split()
)


def innermost(event: Event) -> Event:
    """Return the event itself, or, of one that wraps a sub-agent's, that one."""
    while isinstance(event, SubRun):
        event = event.event
    return event


def _is_delta(event: Event) -> bool:
    return isinstance(innermost(event), Delta)


def _goes_on(before: Event, event: Event) -> bool:
    """Whether a delta adds to the part to which the one before it added."""
    if isinstance(before, SubRun) and isinstance(event, SubRun):
        return before.call_key == event.call_key and before.event.run_id == event.event.run_id and _goes_on(before.event, event.event)
    match before, event:
        case TextDelta(), TextDelta():
            return (before.message_id, before.part, before.kind) == (event.message_id, event.part, event.kind)
        case ReasoningDelta(), ReasoningDelta():
            return (before.message_id, before.part) == (event.message_id, event.part)
        case ToolCallArguments(), ToolCallArguments():
            return before.call_key == event.call_key
        case _:
            return False


def _join(run: list[Event]) -> Event:
    """Return deltas of one part as one."""
    if len(run) == 1:
        return run[0]
    return _with_text(run[-1], "".join(_text(event) for event in run))


def _text(event: Event) -> str:
    inner = innermost(event)
    assert isinstance(inner, Delta)
    return inner.text


def _with_text(event: Event, text: str) -> Event:
    if isinstance(event, SubRun):
        return msgspec.structs.replace(event, event=_with_text(event.event, text))
    return msgspec.structs.replace(event, text=text)
