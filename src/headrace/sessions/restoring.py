"""A run as it stands in the store: its state and its result, put together from log, checkpoint and conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import msgspec

from headrace._json import JSON
from headrace.agent.event_codec import decode_event
from headrace.agent.events import Event, RunEnded
from headrace.agent.fold import fold
from headrace.agent.run_result import RunResult
from headrace.errors import StateError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.usage import Usage
from headrace.sessions.checkpoint import Checkpoint
from headrace.sessions.reading import kept
from headrace.sessions.records import RunRecord
from headrace.sessions.recovery import open_blocks
from headrace.sessions.request import Request
from headrace.sessions.store import Store


async def log_of(store: Store, run_id: str, after: int = 0) -> AsyncGenerator[Event]:
    """Give the events of a run that are kept by now."""
    async for entries in kept(store, run_id, after):
        for entry in entries:
            yield decode_event(entry.data)


async def state_of(store: Store, record: RunRecord, events: Sequence[Event]) -> dict[str, JSON]:
    """Return the state of a run, as `agent.resume` takes it; it goes on after the last of the events.

    Args:
        store: where the run is kept.
        record: the run.
        events: its log from its start, and what is added to it before the run goes on.

    Raises:
        StateError: it has not begun.
        StoreError: what is kept of it cannot be read.
    """
    if record.checkpoint is None:
        raise StateError(f"run {record.id} has not begun, so it has no state")
    checkpoint = Checkpoint(record.checkpoint, record.checkpoint_seq)
    last = events[-1].seq if events else record.last_seq
    history = await _history(store, record) if checkpoint.is_open else ()
    return checkpoint.state(events, history, last_seq=last, inner_seqs=open_blocks(events).inner_seqs)


async def _history(store: Store, record: RunRecord) -> tuple[Message, ...]:
    """Return what was said before a run: what it was given, and its conversation, which it holds."""
    given = Request.decoded(record.request).history
    if record.session_id is None:
        return given
    return (*given, *await store.begin(record.session_id, record.id, user=record.user))


async def restored(store: Store, record: RunRecord) -> RunResult:
    """Return what a run gave, or has so far.

    Raises:
        StoreError: what is kept of it cannot be read.
    """
    events = [event async for event in log_of(store, record.id)]
    if record.checkpoint is not None:
        result = RunResult.from_state(await state_of(store, record, events))
        return _ended(result, events) if result.open is None else result
    messages = fold(events)
    last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    return RunResult(
        run_id=record.id,
        session_id=record.session_id,
        message=last or AssistantMessage.assemble(run_id=record.id),
        messages=messages,
        generate_reason="error" if record.status == "ended" else None,
        usage=Usage(),
        rounds=0,
    )


def _ended(result: RunResult, events: Sequence[Event]) -> RunResult:
    """Return the result of a run that is over, as its last event tells it."""
    end = events[-1] if events else None
    if not isinstance(end, RunEnded) or end.message is None:
        return result
    return msgspec.structs.replace(result, message=end.message, output=msgspec.UNSET)
