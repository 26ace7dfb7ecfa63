"""How much is kept and what goes, in every store."""

from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.sessions.records import NewRun, Removed, Size
from store_ground import batch, ended, started

DAY_S = 86_400


async def ids(store):
    return sorted(run.id for run in await store.runs()), sorted(one.id for one in await store.sessions())


async def test_size_counts_events_checkpoints_and_messages(store):
    assert await store.size() == Size(sessions=0, runs=0, bytes=0)
    await store.put_session("s", [b"12345", b"67"])
    await started(store, "r", request=b"not counted")
    await store.append(batch("r", 1, size=93, checkpoint=b"1234567890"))
    assert await store.size() == Size(sessions=1, runs=1, bytes=7 + 100 + 10)
    await store.append(batch("r", 2, size=3, checkpoint=b"1"))
    assert await store.size() == Size(sessions=1, runs=1, bytes=7 + 100 + 10 + 1)
    await store.append(batch("r", 2, size=3, checkpoint=b"1"))
    assert (await store.size()).bytes == 118
    await store.delete_run("r")
    assert await store.size() == Size(sessions=1, runs=0, bytes=7)
    await store.delete_session("s")
    assert await store.size() == Size(sessions=0, runs=0, bytes=0)


async def test_everything_of_one_user_goes(store):
    for user in ("u", "v"):
        await store.put_session(f"s-{user}", [b"x"], user=user)
        await started(store, f"r-{user}", user=user, session_id=f"s-{user}")
        await store.append(batch(f"r-{user}", 1))
        await store.signal(f"r-{user}", "interrupt")
    await started(store, "alone", user="u")
    await started(store, "guest", user="v", session_id="s-u")
    assert await store.delete_user("u") == Removed(sessions=1, runs=3)
    assert await ids(store) == (["r-v"], ["s-v"])
    assert await store.entries("r-u") == ()
    assert await store.signals(["r-u"]) == ()
    assert len(await store.signals(["r-v"])) == 1
    assert await store.delete_user("u") == Removed()
    with pytest.raises(UsageError, match="user is empty"):
        await store.delete_user("")


async def test_what_has_not_changed_for_long_goes(store, clock):
    await ended(store, "old", session_id="s-old")
    await store.put_session("s-old", [b"x"])
    await store.put_session("s-changed", [b"x"])
    await started(store, "running")
    await started(store, "waiting", session_id="s-waits")
    await store.append(batch("waiting", 1, status="waiting", generate_reason="awaiting_approval"))
    await store.put_session("s-waits", [b"x"])
    await store.create_run(NewRun(id="queued"))
    await store.begin("s-held", "someone")
    clock.advance(10 * DAY_S)
    await ended(store, "new")
    await store.set_title("s-changed", "new")
    assert await store.delete_older(9 * DAY_S) == Removed(sessions=1, runs=1)
    assert await ids(store) == (["new", "queued", "running", "waiting"], ["s-changed", "s-held", "s-waits"])
    assert await store.entries("old") == ()
    assert await store.delete_older(9 * DAY_S) == Removed()


async def test_a_conversation_stays_as_long_as_a_run_of_it(store, clock):
    await store.put_session("s", [b"x"])
    clock.advance(10 * DAY_S)
    await ended(store, "r", session_id="s")
    assert await store.delete_older(9 * DAY_S) == Removed()
    clock.advance(10 * DAY_S)
    assert await store.delete_older(9 * DAY_S) == Removed(sessions=1, runs=1)


async def test_notes_that_no_run_can_need_go_with_what_is_old(store, clock):
    await store.take("r", 1)
    clock.advance(10 * DAY_S)
    await store.take("r", 2)
    await store.delete_older(9 * DAY_S)
    assert await store.take("r", 1) is True
    assert await store.take("r", 2) is False


async def test_notes_stay_while_a_run_from_before_them_lives(store, clock):
    await store.create_run(NewRun(id="r"))
    await store.take("r", 1)
    clock.advance(10 * DAY_S)
    await store.delete_older(9 * DAY_S)
    assert await store.take("r", 1) is False


async def test_the_longest_unchanged_go_until_so_much_is_left(store):
    for n in range(4):
        await ended(store, f"r{n}", size=93)
    assert await store.delete_oldest(400) == Removed()
    assert await store.delete_oldest(399) == Removed(runs=1)
    assert await store.delete_oldest(150) == Removed(runs=2)
    assert await ids(store) == (["r3"], [])


async def test_runs_go_before_conversations_and_what_is_alive_stays(store):
    await store.put_session("s1", [b"x" * 100])
    await store.put_session("s2", [b"x" * 100])
    await store.begin("held", "someone")
    await store.put_session("busy", [b"x" * 100])
    await started(store, "running", session_id="busy")
    await store.append(batch("running", 1, size=93))
    await ended(store, "r", session_id="s2", size=93)
    assert await store.delete_oldest(450) == Removed(runs=1)
    assert await store.delete_oldest(350) == Removed(sessions=1)
    assert await ids(store) == (["running"], ["busy", "held", "s2"])
    assert await store.delete_oldest(0) == Removed(sessions=1)
    assert await ids(store) == (["running"], ["busy", "held"])
    assert (await store.size()).bytes == 200
    assert await store.delete_oldest(0) == Removed()


async def test_many_go_at_a_time(store):
    for n in range(450):
        await store.put_session(f"s{n:03}", [b"x"])
    assert await store.delete_oldest(2) == Removed(sessions=448)
    assert await ids(store) == ([], ["s448", "s449"])
