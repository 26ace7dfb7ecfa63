"""`headrace sessions`: the conversations that are kept, listed, shown, copied, taken out and in, and deleted.

The rule of this file: what is printed for programs (`--json`, `export`) is whole; what is printed for people is short, and says when it is.
"""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from headrace import _sync
from headrace._json import dumps
from headrace.cli.amounts import AGES, SIZES, amount
from headrace.cli.exits import DONE, guarded
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.cli.transcript import transcript
from headrace.cli.wording import one_line
from headrace.errors import ConflictError, UsageError
from headrace.messages.json_form import to_dict
from headrace.sessions import managing
from headrace.sessions.opening import VARIABLE, open_store
from headrace.sessions.records import SessionRecord
from headrace.sessions.repair import repaired
from headrace.sessions.store import Store

sessions_app: Final = typer.Typer(help="The conversations that are kept.", no_args_is_help=True, rich_markup_mode=None)
PAGE: Final = 100
Database = Annotated[
    str | None,
    typer.Option("--database", help=f"Where conversations are kept; default: {VARIABLE}, else the user's own file.", metavar="WHERE"),
]
_Id = Annotated[str, typer.Argument(help="The conversation's id, or the beginning of it.", metavar="ID")]
_Json = Annotated[bool, typer.Option("--json", help="One line of JSON for each.")]


def _leave(where: str | None, work: Callable[[Store], Awaitable[int]]) -> None:
    async def run() -> int:
        async with open_store(where) as store:
            return await work(store)

    raise typer.Exit(guarded(lambda: _sync.run(run())))


@sessions_app.command("list")
def list_(
    *,
    database: Database = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="At most so many, the last changed first.", min=1)] = 20,
    json: _Json = False,
) -> None:
    """List the conversations."""

    async def work(store: Store) -> int:
        records = await store.sessions(limit=limit)
        if json:
            _print_json(msgspec.to_builtins(record) for record in records)
        else:
            _show(records, (await store.size()).sessions)
        return DONE

    _leave(database, work)


@sessions_app.command()
def show(*, session: _Id, database: Database = None, json: _Json = False) -> None:
    """Show what was said in a conversation."""

    async def work(store: Store) -> int:
        record = await found(store, session)
        history = repaired(await store.messages(record.id))
        if json:
            _print_json(to_dict(message) for message in history.messages)
            return DONE
        screen = screen_of(sys.stdout)
        screen.write(_head(record))
        for message in history.messages:
            screen.write(transcript(message))
        screen.write([Segment(f"message {repair.row + 1}: {repair.text}\n", "warning") for repair in history.repairs])
        return DONE

    _leave(database, work)


@sessions_app.command()
def export(
    *,
    session: _Id,
    file: Annotated[str, typer.Argument(help="Where to write it; - is standard output.", metavar="FILE")] = "-",
    database: Database = None,
) -> None:
    """Write a conversation as a JSON document."""

    async def work(store: Store) -> int:
        document = dumps(await managing.export(store, (await found(store, session)).id)) + b"\n"
        if file == "-":
            sys.stdout.buffer.write(document)
        else:
            _write(Path(file), document)
        return DONE

    _leave(database, work)


@sessions_app.command("import")
def import_(
    *,
    file: Annotated[str, typer.Argument(help="What export wrote, or a list of messages; - is standard input.", metavar="FILE")],
    session: Annotated[str | None, typer.Option("--id", help="The conversation's id here; default: the document's, if it is free.")] = None,
    database: Database = None,
) -> None:
    """Keep a conversation that was exported."""

    async def work(store: Store) -> int:
        document = _read(file)
        try:
            record = await managing.import_(store, document, session_id=session)
        except UsageError as error:
            if session is not None or error.argument != "document.id":
                raise
            record = await managing.import_(store, document, session_id=uuid.uuid4().hex)
        except ConflictError as error:
            if session is not None:
                raise
            raise ConflictError(f"{error}; give it another one with --id") from error
        print(record.id)
        return DONE

    _leave(database, work)


@sessions_app.command()
def fork(
    *,
    session: _Id,
    at: Annotated[int | None, typer.Option(help="How many messages the copy has; default: all.", min=0)] = None,
    new_id: Annotated[str | None, typer.Option("--id", help="The copy's id.")] = None,
    database: Database = None,
) -> None:
    """Begin another conversation as a copy of one; prints the copy's id."""

    async def work(store: Store) -> int:
        record = await found(store, session)
        print((await managing.fork(store, record.id, new_id or uuid.uuid4().hex, at)).id)
        return DONE

    _leave(database, work)


@sessions_app.command()
def delete(
    *,
    sessions: Annotated[list[str], typer.Argument(help="The conversations' ids, or the beginnings of them.", metavar="ID…")],
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    database: Database = None,
) -> None:
    """Delete conversations, with their runs; there is no way back."""

    async def work(store: Store) -> int:
        records = [await found(store, session) for session in sessions]
        for record in records:
            if record.holder is not None and not yes:
                raise ConflictError(f"run {record.holder} works on session {record.id} or waits in it; --yes deletes both")
        if not yes and sys.stdin.isatty():
            screen_of(sys.stdout).write([segment for record in records for segment in _head(record)])
            if not typer.confirm(f"Delete {len(records)} conversation{'s' if len(records) > 1 else ''} for good?"):
                return DONE
        elif not yes:
            raise UsageError("nobody is here to be asked; --yes deletes without asking", argument="yes")
        for record in records:
            await store.delete_session(record.id)
            print(f"deleted {record.id}")
        return DONE

    _leave(database, work)


@sessions_app.command()
def prune(
    *,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Delete what has not changed for so long: 30d, 12h, 90min, 5s.", metavar="AGE")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option("--max-size", help="Then delete the longest unchanged until so much is left: 500MB, 2GB.", metavar="SIZE")
    ] = None,
    database: Database = None,
) -> None:
    """Delete conversations and runs that are too old, or too much; what runs, waits or is worked on stays."""

    async def work(store: Store) -> int:
        if older_than is None and max_size is None:
            raise UsageError("nothing is said to be too old or too much: give --older-than or --max-size", argument="older_than")
        age_s = None if older_than is None else amount(older_than, AGES, "older_than")
        size = None if max_size is None else int(amount(max_size, SIZES, "max_size"))
        removed = await managing.retain(store, max_age_s=age_s, max_bytes=size)
        left = await store.size()
        print(
            f"deleted {removed.sessions} conversations and {removed.runs} runs; {left.sessions} and {left.runs} are left, {left.bytes:,} bytes"
        )
        return DONE

    _leave(database, work)


@sessions_app.command("forget-user")
def forget_user(
    *,
    user: Annotated[str, typer.Argument(help="Whose data: the name of a key of the server.")],
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    database: Database = None,
) -> None:
    """Delete everything that is kept of one user; there is no way back."""

    async def work(store: Store) -> int:
        if not yes and not (sys.stdin.isatty() and typer.confirm(f"Delete everything of {user!r} for good?")):
            raise UsageError("nothing was deleted; --yes deletes without asking", argument="yes")
        removed = await store.delete_user(user)
        print(f"deleted {removed.sessions} conversations and {removed.runs} runs")
        return DONE

    _leave(database, work)


async def found(store: Store, session: str) -> SessionRecord:
    """Return the conversation of an id, or the one whose id begins so.

    Raises:
        UsageError: there is none, or there are several.
    """
    matching: list[SessionRecord] = []
    before: str | None = None
    while page := await store.sessions(before=before, limit=PAGE):
        for record in page:
            if record.id == session:
                return record
            if record.id.startswith(session):
                matching.append(record)
        before = page[-1].id
    if len(matching) == 1 and session:
        return matching[0]
    if matching:
        raise UsageError(f"{len(matching)} conversations have ids that begin with {session!r}; give more of it", argument="session")
    raise UsageError(f"there is no conversation {session!r}; headrace sessions list shows them", argument="session")


def _show(records: tuple[SessionRecord, ...], total: int) -> None:
    if not records:
        screen_of(sys.stdout).write([Segment("no conversations yet; headrace chat begins one\n", "note")])
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    now = datetime.now(UTC)
    for record in records:
        marks = " [in work]" if record.holder is not None else ""
        line = (
            f"{record.id[:12]:12}  {age(now - record.updated_at):>9}  {record.messages:>4}  {one_line(record.title) or '(no title)'}{marks}"
        )
        screen_of(sys.stdout).write([Segment(f"{line[:width]}\n")])
    if total > len(records):
        screen_of(sys.stdout).write([Segment(f"… and {total - len(records)} more; --limit shows them\n", "note")])


def age(since: Any) -> str:
    """Return how long ago something was, in words."""
    seconds = max(0, int(since.total_seconds()))
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name} ago"
    return "just now"


def _head(record: SessionRecord) -> list[Segment]:
    words = f"{record.messages} messages, last changed {record.updated_at:%Y-%m-%d %H:%M} UTC"
    if record.forked_from is not None:
        words += f", forked from {record.forked_from}"
    return [Segment(f"{record.title or record.id}\n", "title"), Segment(f"{record.id} · {words}\n\n", "note")]


def _print_json(rows: Any) -> None:
    for row in rows:
        sys.stdout.buffer.write(dumps(row) + b"\n")


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}", argument="file") from error


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
        path.chmod(0o600)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", argument="file") from error
