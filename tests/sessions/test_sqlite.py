"""What is SQLite's own: the file, shared commits, and what happens when the disk or the file fails."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from headrace.errors import ConflictError, StateError, StoreError, UsageError
from headrace.sessions.records import Batch, Entry, NewRun
from headrace.sessions.sql import statements as sql
from headrace.sessions.sql.operation import Statement
from headrace.sessions.sqlite import SQLiteStore
from store_ground import batch, entries, started

BIG = b"x" * 3_000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


async def test_the_file_is_for_its_user_alone_and_its_folder_is_made(tmp_path):
    path = tmp_path / "a" / "b" / "store.db"
    async with SQLiteStore(path) as store:
        await started(store)
        modes = {name.name: stat.S_IMODE(name.stat().st_mode) for name in path.parent.iterdir()}
        assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [name.name for name in path.parent.iterdir()] == ["store.db"]


@pytest.mark.parametrize(("synchronous", "number"), [("full", 2), ("normal", 1)])
async def test_it_writes_as_safely_as_it_is_told(path, synchronous, number):
    async with SQLiteStore(path, synchronous=synchronous) as store:
        found = await store.once(
            "key", lambda connection: [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        )
    assert found == ["wal", number]


async def test_what_is_kept_outlives_the_store(path):
    async with SQLiteStore(path) as store:
        await started(store)
        await store.append(batch("r", 1))
    async with SQLiteStore(path) as store:
        assert await store.entries("r") == entries(1)


async def test_many_writers_share_a_commit_and_one_that_is_refused_does_not_spoil_it(path):
    async with SQLiteStore(path) as store:
        await started(store, "a")
        await started(store, "b")
        hold = threading.Event()
        held = asyncio.create_task(store.once("hold", lambda connection: hold.wait(30)))
        await asyncio.sleep(0)
        several = [
            store.append(batch("a", 1)),
            store.append(batch("a", 7, after=3)),
            store.create_run(NewRun(id="a")),
            store.append(batch("b", 1)),
            store.append(batch("a", 2)),
            store.begin("s", "r1"),
            store.begin("s", "r2"),
        ]
        tasks = [asyncio.create_task(one) for one in several]
        await asyncio.sleep(0)
        hold.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert await held is True
        assert [type(result) for result in results] == [
            type(None),
            ConflictError,
            ConflictError,
            type(None),
            type(None),
            tuple,
            ConflictError,
        ]
        assert await store.entries("a") == entries(1, 2)
        assert await store.entries("b") == entries(1)


@pytest.mark.parametrize("others", [0, 3])
async def test_nothing_is_kept_of_one_that_had_written_before_it_refused(path, others):
    def refuses():
        yield Statement(sql.TAKE, {"run_id": "r", "seq": 1})
        raise ConflictError("refused in the middle")

    async with SQLiteStore(path) as store:
        await started(store)
        writes = [store.append(batch("r", seq)) for seq in range(1, 1 + others)]
        refused, *written = await asyncio.gather(store._write(refuses), *writes, return_exceptions=True)
        assert str(refused) == "refused in the middle"
        assert written == [None] * others
        assert await store.take("r", 1) is True
        assert await store.entries("r") == entries(*range(1, 1 + others))


async def test_room_that_became_free_is_given_back_to_the_disk(path):
    async with SQLiteStore(path) as store:
        for n in range(4):
            await store.put_session(f"s{n}", [BIG] * 500)
    full = path.stat().st_size
    async with SQLiteStore(path) as store:
        await store.delete_oldest(0)
    assert path.stat().st_size < full / 10


async def test_a_full_disk_is_said_and_nothing_is_lost(path):
    async with SQLiteStore(path) as store:
        await started(store)
        await store.append(batch("r", 1))

        def limit(connection, pages):
            connection.execute(f"PRAGMA max_page_count = {pages}")
            return connection.execute("PRAGMA page_count").fetchone()[0]

        pages = await store.once("limit", lambda connection: limit(connection, 1))
        big = Batch(run_id="r", epoch=1, after=1, entries=tuple(Entry(seq, BIG) for seq in range(2, 200)), checkpoint=b"big")
        small = [store.take("r", n) for n in range(3)]
        results = await asyncio.gather(store.append(big), *small, return_exceptions=True)
        assert isinstance(results[0], StoreError)
        assert f"database {path}: the disk is full" in str(results[0])
        assert results[1:] == [True] * 3, "what has room is kept"
        assert await store.entries("r") == entries(1)
        assert (await store.run("r")).checkpoint is None
        await store.once("more", lambda connection: limit(connection, pages + 10_000))
        await store.append(big)
        assert len(await store.entries("r")) == 199


LIMITED = """
    import asyncio, resource, sys
    from headrace.errors import StoreError
    from headrace.sessions.records import Batch, Entry, NewRun
    from headrace.sessions.sqlite import SQLiteStore

    async def main():
        async with SQLiteStore(sys.argv[1]) as store:
            await store.create_run(NewRun(id="r"))
            await store.claim("r", "me", epoch=0)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
            seq = 0
            try:
                while True:
                    await store.append(Batch(run_id="r", epoch=1, after=seq, entries=(Entry(seq + 1, b"x" * 3000),)))
                    seq += 1
            except StoreError as error:
                print(error, file=sys.stderr)
            assert len(await store.entries("r")) == seq
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await store.append(Batch(run_id="r", epoch=1, after=seq, entries=(Entry(seq + 1, b"x"),)))
            print(seq + 1)

    asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no limit on the size of files")
async def test_a_file_that_may_not_grow_is_said_and_writing_goes_on_when_it_may_again(path):
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(path)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"database {path}: the disk " in done.stderr
    async with SQLiteStore(path) as store:
        assert len(await store.entries("r", limit=100_000)) == int(done.stdout)


def break_page(path, table):
    """Overwrite the inner parts of a table's first page."""
    with sqlite3.connect(path) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


async def test_a_damaged_page_is_said_and_the_rest_goes_on(path):
    async with SQLiteStore(path) as store:
        await started(store)
        await store.append(batch("r", *range(1, 5)))
        await store.put_session("s", [b"1"])
    break_page(path, "headrace_events")
    async with SQLiteStore(path) as store:
        for _ in range(2):
            with pytest.raises(StoreError, match=r"store\.db: it is damaged; .* \.recover"):
                await store.entries("r")
        results = await asyncio.gather(
            store.append(batch("r", 5)), store.set_title("s", "Sums"), store.take("r", 1), return_exceptions=True
        )
        assert isinstance(results[0], StoreError)
        assert results[1:] == [None, True]
        assert (await store.run("r")).last_seq == 4
        assert (await store.session("s")).title == "Sums"
        assert await store.messages("s") == (b"1",)


async def test_a_page_that_is_damaged_in_mid_life_is_said(path):
    async with SQLiteStore(path) as store:
        await started(store)
        for n in range(20):
            await store.append(batch("r", *range(n * 50 + 1, n * 50 + 51), size=1000))
        await store.put_session("s", [b"1"])
        await store.once("checkpoint", lambda connection: None)
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        break_page(path, "headrace_events")
        # What a connection has in its cache it may still read; a new one reads the disk.
        async with SQLiteStore(path) as other:
            with pytest.raises(StoreError, match="damaged"):
                await other.entries("r")
            assert await other.messages("s") == (b"1",)


@pytest.mark.parametrize(
    "content", [b"this is no database, but it is long enough to be taken for one" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
async def test_a_file_that_is_no_database_is_said_and_not_touched(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"store\.db: it is (no SQLite database|damaged)"):
        async with SQLiteStore(path):
            pass
    assert path.read_bytes() == content


async def test_a_folder_in_place_of_the_file_is_said(tmp_path):
    with pytest.raises(StoreError, match="directory"):
        async with SQLiteStore(tmp_path):
            pass
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="see whether its folder is there"):
        async with SQLiteStore(tmp_path / "file" / "store.db"):
            pass


READ_ONLY = """
    import asyncio, os, sys
    from headrace.errors import StoreError
    from headrace.sessions.sqlite import SQLiteStore

    async def main():
        if os.geteuid() == 0:
            os.setgid(65534), os.setuid(65534)
        try:
            async with SQLiteStore(sys.argv[1]):
                print("opened")
        except StoreError as error:
            print(error)

    asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such users")
@pytest.mark.parametrize("what", ["file", "folder"])
async def test_what_may_not_be_written_is_said(tmp_path, what):
    folder = tmp_path / "kept"
    path = folder / "store.db"
    async with SQLiteStore(path) as store:
        await started(store)
    for parent in tmp_path.parents[:2] if os.geteuid() == 0 else []:
        parent.chmod(0o755)
    tmp_path.chmod(0o755)
    path.chmod(0o444 if what == "file" else 0o666)
    folder.chmod(0o555)
    try:
        command = [sys.executable, "-c", textwrap.dedent(READ_ONLY), str(path)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert f"database {path}: " in done.stdout
    assert "write" in done.stdout


async def test_another_process_that_holds_the_file_is_waited_for(path):
    async with SQLiteStore(path) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(store.create_run(NewRun(id="r")))
        done, _ = await asyncio.wait([task], timeout=0.2)
        assert not done
        assert await store.runs() == (), "who reads does not wait"
        holder.execute("COMMIT")
        holder.close()
        assert (await task).id == "r"


async def test_another_process_that_holds_the_file_for_too_long_is_said(path):
    async with SQLiteStore(path, busy_timeout_s=0.1) as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process holds it"):
            await store.create_run(NewRun(id="r"))
        holder.execute("COMMIT")
        holder.close()
        await store.create_run(NewRun(id="r"))


async def test_a_file_that_was_deleted_is_said_not_written_into_the_void(path):
    async with SQLiteStore(path) as store:
        await started(store)
        path.unlink()
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            await store.append(batch("r", 1))


async def test_a_tools_own_rows_are_kept_together_with_the_note(path):
    def work(connection, fails):
        connection.execute("CREATE TABLE IF NOT EXISTS orders (n INTEGER)")
        connection.execute("INSERT INTO orders VALUES (1)")
        if fails:
            raise LookupError("no")
        return connection.execute("SELECT COUNT(*) FROM orders").fetchone()[0]

    async with SQLiteStore(path) as store:
        with pytest.raises(LookupError):
            await store.once("key", lambda connection: work(connection, fails=True))
        for _ in range(2):
            assert await store.once("key", lambda connection: work(connection, fails=False)) == 1


async def test_work_that_commits_is_wrong_use(path):
    def work(connection):
        with connection:
            connection.execute("CREATE TABLE orders (n INTEGER)")

    async with SQLiteStore(path) as store:
        with pytest.raises(UsageError, match="must neither commit nor roll back"):
            await store.once("key", work)
        await started(store)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await store.once("other", lambda connection: next(iter(())))
        assert (await store.run("r")).epoch == 1


async def test_a_store_that_is_not_open_says_so(path):
    store = SQLiteStore(path)
    with pytest.raises(StateError, match="is not open"):
        await store.run("r")
    async with store:
        with pytest.raises(StateError, match="is open already"):
            await store.__aenter__()
        await started(store)
    with pytest.raises(StateError, match="is not open"):
        await store.changed("r", 0, 1)
    async with store:
        assert (await store.run("r")).epoch == 1


async def test_what_is_on_its_way_is_written_when_the_store_closes(path):
    async with SQLiteStore(path) as store:
        await started(store)
        tasks = [asyncio.create_task(store.append(batch("r", seq))) for seq in range(1, 51)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    async with SQLiteStore(path) as store:
        assert len(await store.entries("r")) == 50


async def test_several_event_loops_may_use_it(path):
    async with SQLiteStore(path) as store:
        await started(store)

        async def elsewhere():
            await store.append(batch("r", 1))
            return await store.entries("r")

        task = asyncio.create_task(store.changed("r", 0, 30))
        await asyncio.sleep(0)
        assert await asyncio.to_thread(lambda: asyncio.run(elsewhere())) == entries(1)
        await task


async def test_what_a_user_had_deleted_is_not_left_in_the_file(path):
    async with SQLiteStore(path) as store:
        await store.put_session("s", [b"my secret diary" * 1000], user="u")
        await store.delete_user("u")
    assert b"secret diary" not in path.read_bytes()
