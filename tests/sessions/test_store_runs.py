"""Runs and their logs, as every store keeps them."""

from __future__ import annotations

import asyncio

import pytest

from headrace.errors import ConflictError, FencedError, NotFoundError, UsageError
from headrace.sessions.records import Batch, Entry, NewRun
from store_ground import START, batch, ended, entries, started


async def test_a_new_run_is_queued_in_epoch_0_and_has_no_owner(store):
    made = await store.create_run(NewRun(id="r", session_id="s", user="u", request=b'{"input":"hi"}'))
    assert made == await store.run("r")
    assert (made.id, made.session_id, made.user, made.request) == ("r", "s", "u", b'{"input":"hi"}')
    assert (made.status, made.epoch, made.owner, made.generate_reason) == ("queued", 0, None, None)
    assert (made.last_seq, made.checkpoint, made.checkpoint_seq) == (0, None, 0)
    assert made.created_at == made.updated_at > START
    assert made.created_at.utcoffset().total_seconds() == 0


async def test_an_id_names_one_run(store):
    await store.create_run(NewRun(id="r"))
    with pytest.raises(ConflictError, match="there is a run 'r' already"):
        await store.create_run(NewRun(id="r"))


async def test_a_run_that_is_not_there_is_said_to_be_missing(store):
    with pytest.raises(NotFoundError, match="there is no run 'r'"):
        await store.run("r")
    with pytest.raises(NotFoundError, match="'r'"):
        await store.claim("r", "me", epoch=0)
    with pytest.raises(NotFoundError, match="'r'"):
        await store.append(batch("r", 1))
    with pytest.raises(NotFoundError, match="'r'"):
        await store.runs(before="r")
    assert await store.entries("r") == ()
    assert await store.delete_run("r") is False


async def test_runs_are_listed_newest_first_and_by_what_is_asked_for(store):
    for n in range(5):
        await store.create_run(NewRun(id=f"r{n}", session_id="s" if n % 2 else None, user="a" if n < 3 else "b"))
    await store.claim("r1", "me", epoch=0)
    await store.claim("r4", "other", epoch=0)

    async def ids(**conditions):
        return [run.id for run in await store.runs(**conditions)]

    assert await ids() == ["r4", "r3", "r2", "r1", "r0"]
    assert await ids(user="a") == ["r2", "r1", "r0"]
    assert await ids(session_id="s") == ["r3", "r1"]
    assert await ids(statuses=["running"]) == ["r4", "r1"]
    assert await ids(statuses=["running", "queued"]) == ["r4", "r3", "r2", "r1", "r0"]
    assert await ids(owner="me") == ["r1"]
    assert await ids(user="a", statuses=["queued"]) == ["r2", "r0"]
    assert await ids(limit=2) == ["r4", "r3"]
    assert await ids(before="r3", limit=2) == ["r2", "r1"]
    assert await ids(before="r0") == []
    assert await ids(user="nobody") == []


async def test_runs_are_found_that_have_not_changed_for_long(store, clock):
    for run_id in ("old", "claimed"):
        await store.create_run(NewRun(id=run_id))
    clock.advance(100)
    await store.claim("claimed", "me", epoch=0)
    await store.create_run(NewRun(id="new"))

    async def ids(**conditions):
        return [run.id for run in await store.runs(**conditions)]

    assert await ids(unchanged_s=50) == ["old"]
    assert await ids(unchanged_s=200) == []
    assert await ids(unchanged_s=0) == ["new", "claimed", "old"]
    assert await ids(unchanged_s=0, statuses=["queued"]) == ["new", "old"]


async def test_a_claim_takes_the_run_into_the_next_epoch(store):
    created = await store.create_run(NewRun(id="r"))
    claimed = await store.claim("r", "me", epoch=0)
    assert claimed == await store.run("r")
    assert (claimed.status, claimed.epoch, claimed.owner) == ("running", 1, "me")
    assert claimed.created_at == created.created_at < claimed.updated_at
    again = await store.claim("r", "other", epoch=1)
    assert (again.epoch, again.owner) == (2, "other")


async def test_of_many_claims_one_wins(store):
    await store.create_run(NewRun(id="r"))
    results = await asyncio.gather(*(store.claim("r", f"w{n}", epoch=0) for n in range(8)), return_exceptions=True)
    won = [result for result in results if not isinstance(result, Exception)]
    assert len(won) == 1
    assert all(isinstance(result, ConflictError) for result in results if result is not won[0])
    assert await store.run("r") == won[0]


async def test_a_claim_of_an_older_state_loses_also_for_the_same_owner(store):
    await started(store)
    with pytest.raises(ConflictError, match="in epoch 1, not 0"):
        await store.claim("r", "me", epoch=0)
    with pytest.raises(ConflictError, match="in epoch 1, not 2"):
        await store.claim("r", "me", epoch=2)


async def test_a_run_that_has_ended_is_not_taken_up(store):
    await ended(store, "r")
    with pytest.raises(ConflictError, match="has ended"):
        await store.claim("r", "me", epoch=1)


async def test_a_claim_forgets_what_the_run_had_waited_for(store):
    await started(store)
    await store.append(batch("r", 1, status="waiting", generate_reason="awaiting_approval"))
    assert (await store.run("r")).generate_reason == "awaiting_approval"
    run = await store.claim("r", "me", epoch=1)
    assert (run.status, run.generate_reason) == ("running", None)


async def test_a_batch_is_kept_whole(store):
    before = await started(store)
    await store.append(batch("r", 2, 5, after=0, checkpoint=b"{}", status="waiting", generate_reason="awaiting_approval"))
    run = await store.run("r")
    assert (run.last_seq, run.checkpoint, run.checkpoint_seq) == (5, b"{}", 5)
    assert (run.status, run.generate_reason, run.epoch, run.owner) == ("waiting", "awaiting_approval", 1, "me")
    assert run.updated_at > before.updated_at
    assert await store.entries("r") == entries(2, 5)


async def test_what_a_batch_does_not_say_stays(store):
    await started(store)
    await store.append(batch("r", 1, checkpoint=b"1", status="waiting", generate_reason="awaiting_approval"))
    await store.append(batch("r", 2, generate_reason="not told without a status"))
    run = await store.run("r")
    assert (run.checkpoint, run.checkpoint_seq, run.status, run.generate_reason) == (b"1", 1, "waiting", "awaiting_approval")
    await store.append(Batch(run_id="r", epoch=1, after=2, status="running"))
    assert ((await store.run("r")).status, (await store.run("r")).generate_reason) == ("running", None)


async def test_a_batch_may_hold_no_events(store):
    await started(store)
    await store.append(batch("r", 1))
    await store.append(Batch(run_id="r", epoch=1, after=1, checkpoint=b"there"))
    run = await store.run("r")
    assert (run.last_seq, run.checkpoint, run.checkpoint_seq) == (1, b"there", 1)


async def test_a_batch_that_was_written_already_does_no_harm(store):
    await started(store)
    first = batch("r", 1, 2, checkpoint=b"1")
    second = batch("r", 4, after=2, checkpoint=b"2")
    await store.append(first)
    await store.append(first)
    await store.append(second)
    await store.append(first)
    await store.append(second)
    assert await store.entries("r") == entries(1, 2, 4)
    assert (await store.run("r")).checkpoint == b"2"
    last = batch("r", 5, status="ended", generate_reason="completed")
    await store.append(last)
    await store.append(last)
    assert (await store.run("r")).status == "ended"
    assert (await store.run("r")).last_seq == 5


@pytest.mark.parametrize(
    "wrong",
    [
        batch("r", 4, after=3),  # a hole
        batch("r", 2, after=1),  # the log goes on already
        Batch(run_id="r", epoch=1, after=1, checkpoint=b"old"),
        Batch(run_id="r", epoch=1, after=0, entries=(Entry(1, b"other"),)),
        Batch(run_id="r", epoch=1, after=0, entries=entries(2)),
        Batch(run_id="r", epoch=1, after=1, entries=(Entry(2, b'{"n":2}'), Entry(3, b"more"))),
    ],
)
async def test_a_batch_that_begins_elsewhere_is_refused(store, wrong):
    await started(store)
    await store.append(batch("r", 1))
    await store.append(Batch(run_id="r", epoch=1, after=1, entries=(Entry(2, b"mine"),)))
    with pytest.raises(ConflictError, match="goes on after") as caught:
        await store.append(wrong)
    assert not isinstance(caught.value, FencedError)
    assert await store.entries("r") == (*entries(1), Entry(2, b"mine"))
    assert (await store.run("r")).checkpoint is None


async def test_another_epoch_is_fenced(store):
    await started(store)
    await store.append(batch("r", 1))
    await store.claim("r", "other", epoch=1)
    with pytest.raises(FencedError, match="it is in epoch 2, and this writer in 1"):
        await store.append(batch("r", 2, epoch=1))
    with pytest.raises(FencedError):
        await store.append(batch("r", 1, epoch=1))
    with pytest.raises(FencedError):
        await store.append(batch("r", 2, epoch=3))
    await store.append(batch("r", 2, epoch=2))
    assert await store.entries("r") == entries(1, 2)


async def test_nothing_follows_the_end(store):
    await ended(store, "r")
    for wrong in (
        batch("r", 2),
        Batch(run_id="r", epoch=1, after=1, checkpoint=b"{}"),
        Batch(run_id="r", epoch=1, after=1, status="running"),
    ):
        with pytest.raises(ConflictError, match="has ended"):
            await store.append(wrong)
    assert await store.entries("r") == entries(1)


async def test_numbers_that_do_not_grow_are_wrong_use(store):
    await started(store)
    for wrong in (batch("r", 1, 1), batch("r", 2, 1), batch("r", 1, after=1)):
        with pytest.raises(UsageError, match=r"batch\.entries\[\d\]\.seq"):
            await store.append(wrong)
    assert await store.entries("r") == ()


async def test_entries_are_read_after_a_number_and_in_pieces(store):
    await started(store)
    await store.append(batch("r", 1, 3, 4, 7, 9))
    assert [entry.seq for entry in await store.entries("r", 3)] == [4, 7, 9]
    assert [entry.seq for entry in await store.entries("r", 2, limit=2)] == [3, 4]
    assert await store.entries("r", 9) == ()
    assert await store.entries("r", 0, limit=0) == ()


async def test_bytes_and_words_come_back_as_they_were(store):
    data = bytes(range(256)) * 300
    await started(store, "läuft 'quoted\" %s :id @runs ☃", user="o'hara", session_id="%(x)s")
    await store.append(Batch(run_id="läuft 'quoted\" %s :id @runs ☃", epoch=1, after=0, entries=(Entry(2**53 + 1, data),), checkpoint=data))
    (run,) = await store.runs(user="o'hara", session_id="%(x)s")
    assert run.checkpoint == data
    assert await store.entries(run.id) == (Entry(2**53 + 1, data),)


async def test_a_text_that_not_every_database_can_hold_is_wrong_use(store):
    for wrong in (NewRun(id="a\0b"), NewRun(id="r", user="\ud800"), NewRun(id="r", session_id="\0")):
        with pytest.raises(UsageError):
            await store.create_run(wrong)
    await store.create_run(NewRun(id="r"))
    with pytest.raises(UsageError, match="owner"):
        await store.claim("r", "\0", epoch=0)


async def test_runs_are_written_side_by_side(store):
    async def write(run_id):
        await started(store, run_id)
        for seq in range(1, 21):
            await store.append(batch(run_id, seq))

    await asyncio.gather(*(write(f"r{n}") for n in range(20)))
    for n in range(20):
        assert [entry.seq for entry in await store.entries(f"r{n}")] == list(range(1, 21))


async def test_a_run_is_deleted_with_its_log_and_its_signals(store):
    await started(store)
    await started(store, "other")
    await store.append(batch("r", 1))
    await store.append(batch("other", 1))
    await store.signal("r", "interrupt")
    kept = await store.signal("other", "interrupt")
    assert await store.delete_run("r") is True
    assert await store.delete_run("r") is False
    assert await store.entries("r") == ()
    assert [signal.id for signal in await store.signals(["r", "other"])] == [kept]
    assert [run.id for run in await store.runs()] == ["other"]
    await started(store, "r")
    assert await store.entries("r") == ()
