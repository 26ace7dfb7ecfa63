"""Whatever is done to it, a database answers as the store in memory does."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from headrace.errors import HeadraceError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.sessions.memory import MemoryStore
from headrace.sessions.records import Batch, Entry, NewRun
from headrace.sessions.sqlite import SQLiteStore
from store_ground import Clock

run_ids = st.sampled_from(["r1", "r2", "r3", "ü"])
session_ids = st.sampled_from(["s1", "s2", "%s"])
users = st.sampled_from(["", "u", "v"])
owners = st.sampled_from(["me", "other"])
statuses = st.sampled_from(["queued", "running", "waiting", "ended"])
small = st.integers(0, 4)
messages = st.lists(
    st.sampled_from([UserMessage("hello", id="a"), AssistantMessage("hi", id="b"), UserMessage("more", id="c")]), max_size=3
)


@st.composite
def batches(draw):
    after = draw(st.integers(0, 6))
    seqs = sorted(draw(st.sets(st.integers(after + 1, after + 3), max_size=2)))
    return Batch(
        run_id=draw(run_ids),
        epoch=draw(st.integers(1, 3)),
        after=after,
        entries=tuple(Entry(seq, draw(st.sampled_from([b"x", b"\0\xff", b"longer"]))) for seq in seqs),
        checkpoint=draw(st.none() | st.sampled_from([b"", b"{}", b"\0" * 9])),
        status=draw(st.none() | statuses),
        generate_reason=draw(st.none() | st.just("completed")),
    )


class Stores(RuleBasedStateMachine):
    """A store in memory, and a database that is done the same to."""

    make = None

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.clocks = Clock(), Clock()
        self.model = MemoryStore(now=self.clocks[0])
        self.real = None

    @initialize()
    def open(self):
        self.close, self.real = type(self).make(self.clocks[1])
        self.runner.run(self.real.__aenter__())

    def teardown(self):
        if self.real is not None:
            self.runner.run(self.real.__aexit__(None, None, None))
            self.close()
        self.runner.close()

    def same(self, method, *args, **more):
        answers = []
        for clock in self.clocks:  # a step may look at its clock more than once, so both are set anew
            clock.time = max(clock.time for clock in self.clocks)
        for store in (self.model, self.real):
            try:
                answers.append(self.runner.run(getattr(store, method)(*args, **more)))
            except HeadraceError as error:
                answers.append((type(error), str(error)))
        mine, theirs = answers
        assert without_times(mine) == without_times(theirs)

    @rule(run_id=run_ids, session_id=st.none() | session_ids, user=users)
    def create_run(self, run_id, session_id, user):
        self.same("create_run", NewRun(id=run_id, session_id=session_id, user=user, request=b"{}"))

    @rule(run_id=run_ids, owner=owners, epoch=small)
    def claim(self, run_id, owner, epoch):
        self.same("claim", run_id, owner, epoch=epoch)

    @rule(batch=batches())
    def append(self, batch):
        self.same("append", batch)

    @rule(batch=batches(), data=st.data())
    def append_what_fits(self, batch, data):
        """A batch that goes on where the run stands, and perhaps a second time."""
        run = self.model._kept.runs.get(batch.run_id)
        if run is not None:
            entries = tuple(Entry(entry.seq - batch.after + run.last_seq, entry.data) for entry in batch.entries)
            status = batch.status if batch.status != "ended" or data.draw(st.booleans()) else None
            fields = {"checkpoint": batch.checkpoint, "status": status, "generate_reason": batch.generate_reason}
            batch = Batch(run_id=batch.run_id, epoch=run.epoch, after=run.last_seq, entries=entries, **fields)
            for _ in range(data.draw(st.integers(1, 2))):
                self.same("append", batch)

    @rule(run_id=run_ids, after=st.integers(0, 9), limit=small)
    def entries(self, run_id, after, limit):
        self.same("entries", run_id, after, limit)

    @rule(run_id=run_ids)
    def delete_run(self, run_id):
        self.same("delete_run", run_id)

    @rule(run_id=run_ids, kind=st.sampled_from(["interrupt", "steer"]))
    def signal(self, run_id, kind):
        self.same("signal", run_id, kind, b"[]")

    @rule(ids=st.lists(st.integers(1, 9), max_size=3))
    def forget_signals(self, ids):
        self.same("forget_signals", ids)

    @rule(worker_id=owners)
    def beat(self, worker_id):
        self.same("beat", worker_id)

    @rule(worker_id=owners)
    def forget_worker(self, worker_id):
        self.same("forget_worker", worker_id)

    @rule(run_id=run_ids, seq=small)
    def take(self, run_id, seq):
        self.same("take", run_id, seq)

    @rule(run_id=run_ids, seq=small)
    def give_back(self, run_id, seq):
        self.same("give_back", run_id, seq)

    @rule(session_id=session_ids, run_id=run_ids, user=users)
    def begin(self, session_id, run_id, user):
        self.same("begin", session_id, run_id, user=user)

    @rule(session_id=session_ids, run_id=run_ids, added=messages, epoch=st.none() | small)
    def commit(self, session_id, run_id, added, epoch):
        self.same("commit", session_id, run_id, added, epoch=epoch)

    @rule(session_id=session_ids, rows=st.lists(st.sampled_from([b"{", b"null"]), max_size=3), user=users)
    def put_session(self, session_id, rows, user):
        self.same("put_session", session_id, rows, user=user, title="T", forked_from="x")

    @rule(session_id=session_ids, title=st.sampled_from(["", "Sums"]))
    def set_title(self, session_id, title):
        self.same("set_title", session_id, title)

    @rule(session_id=session_ids)
    def delete_session(self, session_id):
        self.same("delete_session", session_id)

    @rule(user=users)
    def delete_user(self, user):
        self.same("delete_user", user)

    @rule(age_s=st.sampled_from([0.0, 50.0, 150.0]))
    def delete_older(self, age_s):
        self.same("delete_older", age_s)

    @rule(max_bytes=st.sampled_from([0, 10, 100, 1000]))
    def delete_oldest(self, max_bytes):
        self.same("delete_oldest", max_bytes)

    @rule(seconds=st.sampled_from([1, 100]))
    def time_passes(self, seconds):
        self.clocks[0].advance(seconds)
        self.clocks[1].advance(seconds)

    @rule(
        user=st.none() | users,
        session_id=st.none() | session_ids,
        owner=st.none() | owners,
        statuses=st.lists(statuses, max_size=2),
        unchanged_s=st.none() | st.sampled_from([0, 1, 100]),
        limit=small,
    )
    def list_runs(self, **conditions):
        self.same("runs", **conditions)

    @rule(run_id=run_ids, session_id=session_ids)
    def list_further(self, run_id, session_id):
        self.same("runs", before=run_id)
        self.same("sessions", before=session_id)

    def check(self):
        self.same("runs")
        self.same("sessions")
        self.same("size")
        self.same("workers")
        self.same("signals", ["r1", "r2", "r3", "ü"])
        for session in self.model._kept.sessions:
            self.same("messages", session)
        for run in self.model._kept.runs:
            self.same("entries", run)

    @rule()
    def look_at_everything(self):
        self.check()


def without_times(answer):
    """The answer without when things happened, which is compared by the order in lists."""
    if isinstance(answer, tuple):
        return tuple(without_times(one) for one in answer)
    if hasattr(answer, "__struct_fields__"):
        return {name: getattr(answer, name) for name in answer.__struct_fields__ if not name.endswith("_at")}
    return answer


def run(make, examples):
    machine = type("Stores", (Stores,), {"make": staticmethod(make)})
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=30, suppress_health_check=checks))


def test_sqlite_answers_as_memory_does():
    def make(clock):
        folder = tempfile.TemporaryDirectory()
        return folder.cleanup, SQLiteStore(Path(folder.name) / "store.db", now=clock, synchronous="normal")

    run(make, max(settings().max_examples // 2, 20))


def test_postgres_answers_as_memory_does(postgres_server):
    import psycopg

    from headrace.sessions.postgres import PostgresStore

    def make(clock):
        def drop():
            with psycopg.connect(postgres_server.url, autocommit=True) as connection:
                connection.execute("DROP SCHEMA model CASCADE")

        return drop, PostgresStore(postgres_server.url, schema="model", now=clock)

    run(make, max(settings().max_examples // 5, 10))
