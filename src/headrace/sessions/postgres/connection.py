"""How an operation is carried out on a connection to PostgreSQL.

The rule of this file: before a transaction is committed, its number is asked for. If the answer to the commit is lost, the database is asked
later what became of that number; so what is tried again was surely not written, and what was written is not tried again.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

import psycopg
from psycopg.pq import TransactionStatus

from headrace.errors import UsageError
from headrace.sessions.postgres.address import run_digest
from headrace.sessions.sql.operation import Dialect, Make, Many, Row, Several, Statement, Step, T, Touched, Work, WorkError

Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
Cursor: TypeAlias = psycopg.AsyncCursor[Row]
Fate: TypeAlias = Literal["committed", "aborted", "in progress"]


class Attempt:
    """One try to carry an operation out.

    Attributes:
        xid: the number of the transaction, once the commit was asked for; None: it was surely not committed.
        result: what the operation returned.
        touched: the runs that it changed.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.xid: str | None = None
        self.result: object = None
        self.touched: list[str] = []

    async def write(self, connection: Connection, dialect: Dialect, make: Make[T], *, channel: str, now_us: int | None) -> T:
        """Carry it out in a transaction.

        Raises:
            psycopg.Error: the database could not; see `xid`.
            WorkError: a stranger's code failed.
            UsageError: a stranger's code ended the transaction.
            StoreError: the operation refused.
        """
        await connection.execute("BEGIN")
        try:
            result = await self._carry_out(connection, dialect, make, now_us)
            told = {f"{run_digest(run_id)}" for run_id in self.touched}
            notify = "".join(f", pg_notify('{channel}', '{one}')" for one in sorted(told))
            cursor = await connection.execute(cast("Any", f"SELECT pg_current_xact_id()::text{notify}"))
            row = await cursor.fetchone()
        except BaseException:
            if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
                await connection.execute("ROLLBACK")
            raise
        self.result = result
        self.xid = row[0] if row else None
        await connection.execute("COMMIT")
        return result

    async def read(self, connection: Connection, dialect: Dialect, make: Make[T], *, now_us: int | None) -> T:
        """Carry out an operation that only reads; each statement sees what is committed when it begins."""
        return await self._carry_out(connection, dialect, make, now_us)

    async def _carry_out(self, connection: Connection, dialect: Dialect, make: Make[T], now_us: int | None) -> T:
        operation = make()
        answer: Any = None
        while True:
            try:
                step: Step = operation.send(answer)
            except StopIteration as end:
                return cast("T", end.value)
            answer = None
            match step:
                case Statement() | Many():
                    answer = await _rows(await _sent(connection, dialect, step, now_us))
                case Several(steps):
                    async with connection.pipeline():  # all are sent before the first answer is waited for
                        cursors = [await _sent(connection, dialect, one, now_us) for one in steps]
                    answer = [await _rows(cursor) for cursor in cursors]
                case Touched(run_ids):
                    self.touched += run_ids
                case Work(call):
                    answer = await _work(connection, call)


async def _sent(connection: Connection, dialect: Dialect, step: Statement | Many, now_us: int | None) -> Cursor:
    cursor, text = connection.cursor(), cast("Any", dialect.spell(step.text))
    if isinstance(step, Many):
        await cursor.executemany(text, step.values)
    else:
        await cursor.execute(text, {**step.values, "now": now_us})
    return cursor


async def _rows(cursor: Cursor) -> list[Row]:
    return await cursor.fetchall() if cursor.description else []


async def _work(connection: Connection, call: Any) -> Any:
    try:
        result = await call(connection)
    except Exception as error:
        if connection.closed:
            raise
        raise WorkError(error) from error
    if connection.info.transaction_status != TransactionStatus.INTRANS:
        raise UsageError("the work of `once` ended the transaction; it must neither commit nor roll back")
    return result


async def fate_of(connection: Connection, xid: str) -> Fate:
    """Return what became of a transaction.

    A number that the server does not know yet, as after a copy with fewer transactions has taken its place, was not committed there.
    """
    try:
        cursor = await connection.execute("SELECT pg_xact_status(%s::text::xid8)", (xid,))
        row = await cursor.fetchone()
    except psycopg.errors.InvalidParameterValue:
        return "aborted"
    return cast("Fate", row[0] if row and row[0] else "aborted")
