"""The operations on conversations.

The rule of this file: who changes a conversation locks its row first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headrace.sessions import refusals
from headrace.sessions.records import SessionRecord
from headrace.sessions.sql import statements as sql
from headrace.sessions.sql.operation import Many, Operation, Statement
from headrace.sessions.sql.rows import session_record, to_us

_ALL: Final = 2**62
"""A limit that no conversation reaches."""


def begin(session_id: str, run_id: str, user: str) -> Operation[tuple[bytes, ...]]:
    """Hold a conversation for a run, and return its messages; one that is not there is made."""
    yield from _create(session_id, (), user=user, title="", forked_from=None)
    rows = yield Statement(sql.LOCK_SESSION, {"session_id": session_id})
    if not rows:  # deleted between the two statements, where somebody else can get in between
        raise refusals.no_session(session_id)
    refusals.check_holder(session_id, run_id=run_id, holder=rows[0][0])
    yield Statement(sql.SET_HOLDER, {"session_id": session_id, "holder": run_id})
    found = yield Statement(sql.GET_MESSAGES, {"session_id": session_id, "after": 0, "limit": _ALL})
    return tuple(data for (data,) in found)


def commit(session_id: str, run_id: str, added: Sequence[bytes], epoch: int | None) -> Operation[None]:
    """Append what a run added, and let go."""
    if epoch is not None:
        rows = yield Statement(sql.LOCK_RUN, {"run_id": run_id})
        if not rows:
            raise refusals.no_run(run_id)
        refusals.check_epoch(run_id, wanted=epoch, epoch=rows[0][0])
    rows = yield Statement(sql.LOCK_SESSION, {"session_id": session_id})
    if not rows:
        if added:
            raise refusals.no_session(session_id)
        return
    holder, count = rows[0]
    if added and (yield Statement(sql.ENTER_COMMIT, {"session_id": session_id, "run_id": run_id})):
        yield _insert(session_id, added, count)
        values = {"session_id": session_id, "added": len(added), "grown": sum(map(len, added))}
        yield Statement(sql.GROW_SESSION, values)
    if holder == run_id:
        yield Statement(sql.SET_HOLDER, {"session_id": session_id, "holder": None})


def put_session(session_id: str, messages: Sequence[bytes], *, user: str, title: str, forked_from: str | None) -> Operation[SessionRecord]:
    """Make a conversation with these messages."""
    rows = yield from _create(session_id, messages, user=user, title=title, forked_from=forked_from)
    if not rows:
        raise refusals.session_exists(session_id)
    if messages:
        yield _insert(session_id, messages, 0)
    return session_record(rows[0])


def _create(session_id: str, messages: Sequence[bytes], **about: Any) -> Operation[Any]:
    values = {"session_id": session_id, "messages": len(messages), "bytes": sum(map(len, messages)), **about}
    return (yield Statement(sql.CREATE_SESSION, values))


def _insert(session_id: str, messages: Sequence[bytes], count: int) -> Many:
    return Many(sql.INSERT_MESSAGE, [{"session_id": session_id, "n": n, "data": data} for n, data in enumerate(messages, count + 1)])


def get_session(session_id: str) -> Operation[SessionRecord]:
    """Return a conversation."""
    rows = yield Statement(sql.GET_SESSION, {"session_id": session_id})
    if not rows:
        raise refusals.no_session(session_id)
    return session_record(rows[0])


def list_sessions(*, user: str | None, before: str | None, limit: int) -> Operation[tuple[SessionRecord, ...]]:
    """Return conversations, the last changed first."""
    given: dict[str, Any] = {} if user is None else {"user": user}
    if before is not None:
        last = yield from get_session(before)
        given |= {"before_at": to_us(last.updated_at), "before_id": before}
    where = " AND ".join(text for name, text in sql.SESSION_CONDITIONS.items() if name in given) or "1 = 1"
    rows = yield Statement(sql.LIST_SESSIONS + where + sql.LIST_SESSIONS_ORDER, {**given, "limit": limit})
    return tuple(session_record(row) for row in rows)


def get_messages(session_id: str, after: int, limit: int | None) -> Operation[tuple[bytes, ...]]:
    """Return messages as they are kept."""
    yield from get_session(session_id)
    values = {"session_id": session_id, "after": after, "limit": _ALL if limit is None else limit}
    rows = yield Statement(sql.GET_MESSAGES, values)
    return tuple(data for (data,) in rows)


def set_title(session_id: str, title: str) -> Operation[None]:
    """Say what a conversation is about."""
    if not (yield Statement(sql.SET_TITLE, {"session_id": session_id, "title": title})):
        raise refusals.no_session(session_id)
