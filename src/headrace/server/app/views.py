"""Runs and conversations as clients see them.

The rule of this file: what is kept as JSON goes out as the bytes that it is; nothing is decoded that need not be.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from headrace._json import dumps
from headrace.messages.fields import GenerateReason
from headrace.messages.usage import Usage
from headrace.sessions.reading import is_end
from headrace.sessions.records import RunRecord, RunStatus, SessionRecord
from headrace.sessions.store import Store


class End(msgspec.Struct, frozen=True):
    """The last event of a leg of a run, as far as it is looked at.

    Attributes:
        usage: what the run used by then.
        pending: the questions, as they are.
        message: the last message, as it is.
    """

    usage: Usage = Usage()
    pending: msgspec.Raw = msgspec.Raw(b"[]")
    message: msgspec.Raw = msgspec.Raw(b"null")


class RunView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run as clients see it."""

    id: str
    session_id: str | None
    status: RunStatus
    generate_reason: GenerateReason | None
    last_seq: int
    pending: Any
    created_at: datetime
    updated_at: datetime
    usage: Any = None
    message: Any = None


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as clients see it."""

    id: str
    title: str
    messages: int
    holder: str | None
    forked_from: str | None
    created_at: datetime
    updated_at: datetime


async def end_of(store: Store, record: RunRecord) -> End | None:
    """Return how the last leg of a run ended that waits or has ended; None if that cannot be read."""
    entries = await store.entries(record.id, record.last_seq - 1, 1)
    if not entries or not is_end(entries[0]):
        return None
    try:
        return msgspec.json.decode(entries[0].data, type=End)
    except msgspec.DecodeError:
        return None


async def run_view(store: Store, record: RunRecord, *, is_whole: bool = True) -> bytes:
    """Return a run as JSON.

    Args:
        store: where it is.
        record: the run.
        is_whole: with its usage and its message, where it stands still.
    """
    end = await end_of(store, record) if record.status == "waiting" or (is_whole and record.status == "ended") else None
    view = RunView(
        id=record.id,
        session_id=record.session_id,
        status=record.status,
        generate_reason=record.generate_reason,  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # what an agent said
        last_seq=record.last_seq,
        pending=msgspec.Raw(b"[]") if end is None else end.pending,
        created_at=record.created_at,
        updated_at=record.updated_at,
        usage=None if end is None or not is_whole else end.usage,
        message=None if end is None or not is_whole or bytes(end.message) == b"null" else end.message,
    )
    return dumps(view)


def session_view(record: SessionRecord) -> bytes:
    """Return a conversation as JSON."""
    return dumps(
        SessionView(
            id=record.id,
            title=record.title,
            messages=record.messages,
            holder=record.holder,
            forked_from=record.forked_from,
            created_at=record.created_at,
            updated_at=record.updated_at,
        )
    )


def listed(name: str, items: list[bytes]) -> bytes:
    """Return an object with one member: a list of values that are JSON already."""
    return b'{"%b":[%b]}' % (name.encode(), b",".join(items))
