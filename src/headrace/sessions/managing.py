"""What people do with conversations that are kept: fork, export, import, and keep them from growing for ever.

The rule of this file: over any store, by its public methods alone; a document says which version wrote it (`messages/codec.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import JSON
from headrace.errors import UsageError
from headrace.messages.codec import SCHEMA_VERSION, decode_document, decode_message, encode_message
from headrace.messages.json_form import parse, to_dict
from headrace.sessions.records import Removed, SessionRecord
from headrace.sessions.store import Store

_ABOUT: Final = ("id", "title", "user", "forked_from")


async def fork(store: Store, session_id: str, new_id: str, at: int | None = None, *, title: str | None = None) -> SessionRecord:
    """Make a conversation that begins as a copy of another one; the other one does not change, and may be held meanwhile.

    Args:
        store: where both are.
        session_id: the one to copy.
        new_id: the id of the copy.
        at: how many messages to copy; None: all. If that cuts calls from their results, loading says that the calls were interrupted.
        title: what the copy is about; None: as the other one.

    Raises:
        NotFoundError: there is no such conversation.
        ConflictError: there is one of the new id.
        UsageError: it has not so many messages.
    """
    record = await store.session(session_id)
    messages = await store.messages(session_id, limit=at if at is not None and at >= 0 else None)
    if at is not None and (at < 0 or at > len(messages)):
        raise UsageError(f"at is {at}; session {session_id!r} has {record.messages} messages", argument="at")
    about = record.title if title is None else title
    return await store.put_session(new_id, messages, user=record.user, title=about, forked_from=session_id)


async def export(store: Store, session_id: str) -> dict[str, Any]:
    """Return a conversation as a JSON document: `schema_version`, `id`, `title`, `user`, `forked_from`, `created_at`, `updated_at`, `messages`.

    The messages are as they are kept, without repairs. What cannot be read as a message stands in `unreadable`, as its place and its text, so
    that nothing is lost; `import_` leaves it out.

    Raises:
        NotFoundError: there is no such conversation.
    """
    record = await store.session(session_id)
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    document |= {name: getattr(record, name) for name in _ABOUT}
    document |= {name: msgspec.to_builtins(getattr(record, name)) for name in ("created_at", "updated_at")}
    document["messages"], unreadable = _sorted(await store.messages(session_id))
    if unreadable:
        document["unreadable"] = unreadable
    return document


def _sorted(rows: Sequence[bytes]) -> tuple[list[JSON], list[JSON]]:
    messages: list[JSON] = []
    unreadable: list[JSON] = []
    for n, row in enumerate(rows):
        try:
            messages.append(to_dict(decode_message(row)))
        except UsageError:
            unreadable.append({"row": n, "text": row.decode("utf-8", "replace")})
    return messages, unreadable


async def import_(
    store: Store,
    document: bytes | str | Mapping[str, JSON] | Sequence[Mapping[str, JSON]],
    *,
    session_id: str | None = None,
    user: str | None = None,
    title: str | None = None,
) -> SessionRecord:
    """Keep a conversation that `export` wrote, or any document of messages.

    Args:
        store: where to keep it.
        document: JSON text, or its dictionary; a bare list of messages is one too.
        session_id: its id; None: the document's.
        user: whose it is; None: the document's, or nobody's.
        title: what it is about; None: the document's, or unknown.

    Raises:
        UsageError: it is no such document; the error names the path, such as `document.messages[3].role`. Nothing was kept.
        SchemaVersionError: a newer version wrote it.
        ConflictError: there is a conversation of this id.
    """
    messages = decode_document(document).messages
    form = parse(document, "document") if isinstance(document, (bytes, str)) else document
    about: Mapping[str, Any] = cast("Mapping[str, Any]", form) if isinstance(form, Mapping) else {}
    given = {"id": session_id, "user": user, "title": title, "forked_from": None}
    fields = {name: _text(about, name) if value is None else value for name, value in given.items()}
    if not fields["id"]:
        raise UsageError("document.id is missing; name the session: session_id=…", argument="document.id")
    rows = [encode_message(message) for message in messages]
    return await store.put_session(
        fields["id"], rows, user=fields["user"] or "", title=fields["title"] or "", forked_from=fields["forked_from"] or None
    )


def _text(about: Mapping[str, Any], name: str) -> str | None:
    value = about.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"document.{name} is a {type(value).__name__}, not a text", argument=f"document.{name}")
    return value


async def retain(store: Store, *, max_age_s: float | None = None, max_bytes: int | None = None) -> Removed:
    """Delete what is too old, then what is too much, the longest unchanged first; what waits, runs or is held stays.

    Args:
        store: where to delete.
        max_age_s: how long what does not change is kept; None: for ever.
        max_bytes: how much is kept; None: everything.

    Raises:
        UsageError: a limit is negative.
    """
    for name, limit in {"max_age_s": max_age_s, "max_bytes": max_bytes}.items():
        if limit is not None and not limit >= 0:
            raise UsageError(f"{name} is {limit}; it is 0 or more", argument=name)
    old = Removed() if max_age_s is None else await store.delete_older(max_age_s)
    much = Removed() if max_bytes is None else await store.delete_oldest(max_bytes)
    return Removed(sessions=old.sessions + much.sessions, runs=old.runs + much.runs)
