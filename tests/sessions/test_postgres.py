"""What is PostgreSQL's own: lost answers, a server that goes away, and who may not come in."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from pathlib import Path

import pytest

from headrace.errors import ConflictError, FencedError, NotFoundError, StateError, StoreError, UsageError
from headrace.messages.codec import encode_message
from headrace.messages.message import UserMessage
from headrace.sessions.records import NewRun
from postgres_proxy import PostgresProxy
from postgres_server import MISSING, PostgresServer, find_programs
from store_ground import batch, entries, started

postgres = pytest.importorskip(
    "headrace.sessions.postgres", reason="the extra is missing: pip install 'headrace[postgres]'", exc_type=ImportError
)
PostgresStore = postgres.PostgresStore


@pytest.fixture(scope="module")
def own_server():
    """A server that tests may stop and kill."""
    if find_programs() is None:
        pytest.skip(MISSING)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
async def proxy(postgres_server):
    async with PostgresProxy(postgres_server.folder) as proxy:
        yield proxy


@pytest.fixture
async def store(proxy, postgres_schema):
    async with PostgresStore(proxy.url, schema=postgres_schema, max_connections=2) as store:
        yield store


@pytest.mark.parametrize("what", ["lose_answers", "lose_commits"])
async def test_what_is_lost_on_the_way_is_done_once(store, proxy, what):
    message = UserMessage("hello")

    def lose():
        setattr(proxy, what, 1)

    lose()
    assert (await store.create_run(NewRun(id="r"))).status == "queued"
    lose()
    assert (await store.claim("r", "me", epoch=0)).epoch == 1
    with pytest.raises(ConflictError):
        await store.claim("r", "me", epoch=0)
    lose()
    await store.append(batch("r", 1))
    lose()
    await store.signal("r", "interrupt")
    assert len(await store.signals(["r"])) == 1
    for _ in range(2):
        lose()
        await store.beat("w")
    assert (await store.workers())[0].beats == 2
    lose()
    assert await store.take("r", 1) is True
    assert await store.take("r", 1) is False
    lose()
    await store.put_session("s", [b"1"])
    lose()
    assert await store.begin("t", "r") == ()
    lose()
    await store.commit("t", "r", [message])
    assert await store.messages("t") == (encode_message(message),)
    done = []

    async def work(connection):
        done.append(None)
        await connection.execute("CREATE TEMP TABLE IF NOT EXISTS once_only (n INT)")
        return len(done)

    lose()
    assert await store.once("key", work) == (1 if what == "lose_answers" else 2)
    lose()
    assert await store.delete_session("s") is True
    lose()
    assert await store.delete_run("r") is True
    assert proxy.lost == 13
    assert await store.entries("r") == ()


async def test_answers_are_lost_all_the_time_and_the_log_is_whole(store, proxy):
    await started(store)
    for seq in range(1, 21):
        proxy.lose_answers = seq % 2
        proxy.lose_commits = seq % 3 == 0
        await store.append(batch("r", seq))
    assert await store.entries("r") == entries(*range(1, 21))
    assert proxy.lost > 10


async def test_a_listener_that_breaks_listens_again(store, postgres_server, caplog):
    import psycopg

    await started(store)
    for seq in range(1, 4):
        async with await psycopg.AsyncConnection.connect(postgres_server.url, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE 'LISTEN%'"
            )
        task = asyncio.create_task(store.changed("r", seq - 1, 30))
        await store.append(batch("r", seq))
        async with asyncio.timeout(20):
            while (await store.entries("r", seq - 1)) == ():
                await task
    assert "the connection that listens broke" in caplog.text


async def test_a_server_that_was_away_is_waited_for(own_server, caplog):
    caplog.set_level(logging.CRITICAL, "psycopg.pool")
    async with PostgresStore(own_server.url, schema="away", patience_s=60) as store:
        for how, first in ((signal.SIGINT, 1), (signal.SIGQUIT, 5)):
            if first == 1:
                await started(store)
            reader = asyncio.create_task(follow(store, first, first + 3))
            await store.append(batch("r", first))
            await asyncio.to_thread(own_server.stop, how)
            tasks = [
                asyncio.create_task(write(store, first + 1, first + 3)),
                asyncio.create_task(store.entries("r")),
                asyncio.create_task(store.signal("r", "interrupt")),
            ]
            done, _ = await asyncio.wait(tasks, timeout=0.5)
            assert not done
            await asyncio.to_thread(own_server.start)
            began = time.monotonic()
            await asyncio.gather(*tasks)
            assert await reader == list(range(first, first + 4)), "a reader that was attached all along saw each event once"
            assert time.monotonic() - began < 20
        assert await store.entries("r") == entries(*range(1, 9))
        assert len(await store.signals(["r"])) == 2


async def write(store, first, last):
    for seq in range(first, last + 1):
        await store.append(batch("r", seq))


async def follow(store, first, last):
    seen = []
    while not seen or seen[-1] < last:
        after = seen[-1] if seen else first - 1
        seen += [entry.seq for entry in await store.entries("r", after)]
        if not seen or seen[-1] < last:
            await store.changed("r", seen[-1] if seen else first - 1, 30)
    return seen


async def test_a_server_that_stays_away_is_said(own_server, caplog):
    caplog.set_level(logging.CRITICAL, "psycopg.pool")
    async with PostgresStore(own_server.url, schema="gone", patience_s=0.3) as store:
        await asyncio.to_thread(own_server.stop)
        try:
            with pytest.raises(StoreError, match=r"could not be reached for \d+ s; nothing was written; see whether the server runs"):
                await store.create_run(NewRun(id="r"))
            task = asyncio.create_task(store.create_run(NewRun(id="r")))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(StoreError, match="could not be reached"):
                async with PostgresStore(own_server.url, schema="gone", patience_s=0.1):
                    pass
        finally:
            await asyncio.to_thread(own_server.start)
        await store.create_run(NewRun(id="r"))


async def test_who_is_cancelled_leaves_whole_steps_behind(store):
    await started(store)
    for seq in range(1, 30):
        task = asyncio.create_task(store.append(batch("r", seq)))
        await asyncio.sleep(0.0003 * (seq % 7))
        task.cancel()
        await asyncio.wait([task])
        await store.append(batch("r", seq))  # written already, or not at all: no harm either way
    assert await store.entries("r") == entries(*range(1, 30))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"/postgres?": "/nowhere?"}, "there is no such database: make it with createdb"),
        ({"headrace@": "nobody:s3cr3t@"}, "does not let this user in|role"),
        ({"host=": "host=/not/there"}, "could not be reached"),
    ],
)
async def test_a_database_that_is_not_there_is_said_without_its_password(postgres_server, change, said):
    url = postgres_server.url
    for old, new in change.items():
        url = url.replace(old, new)
    began = time.monotonic()
    with pytest.raises(StoreError, match=said) as caught:
        async with PostgresStore(url, patience_s=0.2):
            pass
    assert "s3cr3t" not in str(caught.value)
    assert time.monotonic() - began < 10


async def test_a_schema_that_was_dropped_is_said(store, postgres_server, postgres_schema):
    import psycopg

    await started(store)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("DROP SCHEMA {} CASCADE").format(psycopg.sql.Identifier(postgres_schema)))
    with pytest.raises(StoreError, match="somebody dropped it"):
        await store.append(batch("r", 1))


async def test_a_user_without_rights_is_said(postgres_server, postgres_schema):
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(StoreError, match="GRANT"):
        async with PostgresStore(postgres_server.url.replace("headrace@", "guest@"), schema=postgres_schema):
            pass


async def test_a_tools_own_rows_are_kept_together_with_the_note(store, postgres_schema):
    table = '"' + postgres_schema.replace('"', '""') + '".orders'

    async def work(connection, fails):
        await connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (n INT)".replace("%", "%%"), {})
        await connection.execute(f"INSERT INTO {table} VALUES (1)".replace("%", "%%"), {})
        if fails:
            raise LookupError("no")
        cursor = await connection.execute(f"SELECT COUNT(*) FROM {table}".replace("%", "%%"), {})
        return (await cursor.fetchone())[0]

    with pytest.raises(LookupError):
        await store.once("key", lambda connection: work(connection, fails=True))
    for _ in range(2):
        assert await store.once("key", lambda connection: work(connection, fails=False)) == 1


class Stopped:
    """Work for `once` that locks a run, and the first time stands still then, as in a process that was stopped."""

    def __init__(self, schema, *, is_half_said):
        from psycopg.sql import SQL, Identifier

        self.is_half_said = is_half_said
        self.is_there, self.goes_on = asyncio.Event(), asyncio.Event()
        self.tries = 0
        self._lock = SQL("SELECT 1 FROM {}.runs WHERE id = 'r' FOR UPDATE").format(Identifier(schema))

    async def __call__(self, connection):
        self.tries += 1
        if self.is_half_said:  # the server waits for the rest, and does not take the transaction for an idle one
            async with connection.pipeline():
                await (await connection.execute(self._lock)).fetchall()
                await connection.execute("SELECT 2")
                await self._stand_still()
        else:
            await connection.execute(self._lock)
            await self._stand_still()
            await connection.execute("SELECT 2")
        return "done"

    async def _stand_still(self):
        if self.tries == 1:
            self.is_there.set()
            async with asyncio.timeout(20):
                await self.goes_on.wait()


@pytest.mark.parametrize("is_half_said", [False, True], ids=["idle", "half said"])
async def test_who_stands_still_in_a_transaction_holds_others_up_for_a_while_and_begins_anew(
    postgres_server, postgres_schema, is_half_said, caplog
):
    work = Stopped(postgres_schema, is_half_said=is_half_said)
    url = postgres_server.url
    async with (
        PostgresStore(url, schema=postgres_schema, standstill_s=1000 if is_half_said else 0.3) as sleeper,
        PostgresStore(url, schema=postgres_schema, standstill_s=0.3 if is_half_said else 1000) as other,
        PostgresStore(f"{url}&application_name=another", schema=postgres_schema, standstill_s=0.1) as stranger,
    ):
        await other.create_run(NewRun(id="r"))
        held = asyncio.create_task(sleeper.once("k", work))
        await work.is_there.wait()
        if is_half_said:
            delayed = asyncio.create_task(stranger.signal("r", "steer"))
            done, _ = await asyncio.wait([delayed], timeout=0.5)
            assert not done, "who calls itself something else ends nothing of ours"
        async with asyncio.timeout(10):
            assert (await other.claim("r", "other", epoch=0)).epoch == 1
        if is_half_said:
            await delayed
        work.goes_on.set()
        async with asyncio.timeout(10):
            assert await held == "done"
        assert work.tries == 2
        if is_half_said:  # an idle one is ended by the server, or by the sleeper's own look at what takes long
            assert "stand still" in caplog.text


async def test_a_bound_of_the_servers_own_goes_first(postgres_server, postgres_schema):
    async def bound(connection):
        cursor = await connection.execute("SHOW idle_in_transaction_session_timeout")
        return (await cursor.fetchone())[0]

    async with PostgresStore(postgres_server.url, schema=postgres_schema) as store:
        assert await store.once("a", bound) == "10s"
    url = postgres_server.url + "&options=-c%20idle_in_transaction_session_timeout%3D5min"
    async with PostgresStore(url, schema=postgres_schema) as store:
        assert await store.once("b", bound) == "5min"


async def test_work_that_commits_is_wrong_use(store):
    async def work(connection):
        await connection.commit()

    with pytest.raises(UsageError, match="must neither commit nor roll back"):
        await store.once("key", work)


async def test_a_store_that_is_not_open_says_so(postgres_server, postgres_schema):
    store = PostgresStore(postgres_server.url, schema=postgres_schema)
    with pytest.raises(StateError, match="is not open"):
        await store.run("r")
    for _ in range(2):
        async with store:
            with pytest.raises(StateError, match="is open already"):
                await store.__aenter__()
            assert await store.runs() == ()


async def test_what_is_on_its_way_is_written_when_the_store_closes(postgres_server, postgres_schema):
    async with PostgresStore(postgres_server.url, schema=postgres_schema, max_connections=2) as store:
        await store.create_run(NewRun(id="r"))
        tasks = [asyncio.create_task(store.signal("r", "steer")) for _ in range(20)]
        await asyncio.sleep(0)
    assert sorted(await asyncio.gather(*tasks)) == list(range(1, 21))


async def test_batches_that_came_before_the_store_closes_are_written(postgres_server, postgres_schema):
    async with PostgresStore(postgres_server.url, schema=postgres_schema) as store:
        await started(store, "a")
        await started(store, "b")
        tasks = [asyncio.create_task(store.append(batch(run_id, seq))) for seq in range(1, 6) for run_id in ("a", "b")]
        await asyncio.sleep(0)
    assert await asyncio.gather(*tasks) == [None] * 10
    async with PostgresStore(postgres_server.url, schema=postgres_schema) as store:
        assert await store.entries("a") == await store.entries("b") == entries(*range(1, 6))


async def test_batches_of_many_runs_share_a_commit_and_one_that_is_refused_does_not_spoil_it(store, postgres_server):
    runs = [f"r{n}" for n in range(30)]
    for run_id in runs:
        await started(store, run_id)
    await store.claim("r3", "other", epoch=1)
    await store.delete_run("r4")
    for seq in (1, 2):
        results = await asyncio.gather(*(store.append(batch(run_id, seq)) for run_id in runs), return_exceptions=True)
        assert [(n, type(result)) for n, result in enumerate(results) if result is not None] == [(3, FencedError), (4, NotFoundError)]
    for n, run_id in enumerate(runs):
        assert await store.entries(run_id) == (() if n in (3, 4) else entries(1, 2))


async def test_one_batch_that_the_server_refuses_does_not_spoil_the_others(store, postgres_server, postgres_schema):
    import psycopg

    runs = [f"r{n}" for n in range(5)]
    for run_id in runs:
        await started(store, run_id)
    table = '"' + postgres_schema.replace('"', '""') + '".events'
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {table} ADD CHECK (run_id <> 'r2')")
    results = await asyncio.gather(*(store.append(batch(run_id, 1)) for run_id in runs), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), type(None), StoreError, type(None), type(None)]
    assert "check constraint" in str(results[2])
    assert await store.entries("r2") == ()
    assert await store.entries("r4") == entries(1)


async def test_several_event_loops_may_use_it(store):
    await started(store)

    async def elsewhere():
        await store.append(batch("r", 1))
        await store.changed("r", 0, 30)
        return await store.entries("r")

    task = asyncio.create_task(store.changed("r", 0, 30))
    await asyncio.sleep(0)
    assert await asyncio.to_thread(lambda: asyncio.run(elsewhere())) == entries(1)
    await task


async def test_signals_are_seen_in_the_order_of_their_numbers(postgres_server, postgres_schema):
    async with PostgresStore(postgres_server.url, schema=postgres_schema) as store:
        for n in range(4):
            await store.create_run(NewRun(id=f"r{n}"))
        run_ids = [f"r{n}" for n in range(4)]
        seen = []

        async def listen():
            while len(seen) < 40:
                seen.extend(signal.id for signal in await store.signals(run_ids, seen[-1] if seen else 0))

        async with asyncio.timeout(30):
            await asyncio.gather(listen(), *(store.signal(f"r{n % 4}", "steer") for n in range(40)))
        assert seen == sorted(seen)
        assert len(seen) == 40


def test_the_folder_of_a_socket_is_named(postgres_server):
    assert str(postgres_server.folder) in repr(PostgresStore(postgres_server.url))
    assert Path(postgres_server.folder).exists()
