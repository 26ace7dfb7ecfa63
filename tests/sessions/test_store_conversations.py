"""Conversations, in every store."""

from __future__ import annotations

import asyncio

import pytest

from headrace.errors import ConflictError, FencedError, NotFoundError, UsageError
from headrace.messages.codec import encode_message
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.sessions.records import NewRun
from store_ground import START, batch, ended, started

ASKED = UserMessage("what is 1 + 2?")
DONE = AssistantMessage("3")
MORE = UserMessage("and 2 + 2?")


async def test_a_conversation_is_made_for_a_user_and_held(store):
    assert await store.begin("s", "r1", user="u") == ()
    record = await store.session("s")
    assert (record.id, record.user, record.title, record.messages) == ("s", "u", "", 0)
    assert (record.holder, record.forked_from) == ("r1", None)
    assert record.created_at == record.updated_at > START


async def test_what_a_run_added_is_kept_and_it_lets_go(store):
    await store.begin("s", "r1")
    await store.commit("s", "r1", [ASKED, DONE])
    record = await store.session("s")
    assert (record.messages, record.holder) == (2, None)
    assert record.updated_at > record.created_at
    assert await store.begin("s", "r2") == (ASKED, DONE)
    await store.commit("s", "r2", [MORE])
    assert await store.begin("s", "r3") == (ASKED, DONE, MORE)


async def test_one_run_at_a_time_holds_it(store):
    await store.begin("s", "r1")
    with pytest.raises(ConflictError, match="another run works on session 's': r1"):
        await store.begin("s", "r2")
    assert await store.begin("s", "r1") == ()
    assert (await store.session("s")).holder == "r1"
    results = await asyncio.gather(*(store.begin("t", f"r{n}") for n in range(6)), return_exceptions=True)
    assert sum(result == () for result in results) == 1


async def test_the_same_run_commits_once(store):
    await store.begin("s", "r1")
    await store.commit("s", "r1", [ASKED])
    await store.commit("s", "r1", [ASKED, DONE])
    await store.commit("s", "r1", [DONE])
    assert await store.messages("s") == (encode_message(ASKED),)
    await store.begin("t", "r1")
    await store.commit("t", "r1", [DONE])
    assert await store.messages("t") == (encode_message(DONE),)


async def test_the_second_commit_of_a_run_lets_go_as_well(store):
    await store.begin("s", "r1")
    await store.commit("s", "r1", [ASKED])
    await store.begin("s", "r1")
    await store.commit("s", "r1", [ASKED])
    assert (await store.session("s")).holder is None


async def test_nothing_added_only_lets_go(store):
    await store.begin("s", "r1")
    await store.commit("s", "r1", [])
    record = await store.session("s")
    assert record.holder is None
    assert record.updated_at == record.created_at
    await store.begin("s", "r1")
    await store.commit("s", "r1", [ASKED])
    assert (await store.session("s")).messages == 1
    await store.commit("not there", "r1", [])


async def test_who_does_not_hold_it_lets_nobody_go(store):
    await store.begin("s", "r1")
    await store.commit("s", "r2", [ASKED])
    record = await store.session("s")
    assert (record.holder, record.messages) == ("r1", 1)


async def test_a_commit_may_name_the_epoch_that_the_run_must_have(store):
    await started(store, "r1", session_id="s")
    await store.begin("s", "r1")
    await store.claim("r1", "other", epoch=1)
    for added in ([ASKED], []):
        with pytest.raises(FencedError, match="it is in epoch 2, and this writer in 1"):
            await store.commit("s", "r1", added, epoch=1)
        with pytest.raises(NotFoundError, match="there is no run 'r2'"):
            await store.commit("s", "r2", added, epoch=1)
    record = await store.session("s")
    assert (record.messages, record.holder) == (0, "r1")
    await store.commit("s", "r1", [ASKED], epoch=2)
    record = await store.session("s")
    assert (record.messages, record.holder) == (1, None)


async def test_a_conversation_that_was_deleted_meanwhile_does_not_come_back(store):
    await store.begin("s", "r1")
    await store.delete_session("s")
    with pytest.raises(NotFoundError, match="there is no session 's'"):
        await store.commit("s", "r1", [ASKED])


async def test_conversations_are_listed_last_changed_first(store):
    for name in ("a", "b", "c"):
        await store.put_session(name, [], user="u" if name != "b" else "v")
    await store.set_title("a", "Sums")
    await store.begin("b", "r")  # to hold one is no change

    async def ids(**conditions):
        return [one.id for one in await store.sessions(**conditions)]

    assert await ids() == ["a", "c", "b"]
    assert await ids(user="u") == ["a", "c"]
    assert await ids(limit=1) == ["a"]
    assert await ids(before="a") == ["c", "b"]
    assert await ids(before="c", user="u") == []
    with pytest.raises(NotFoundError):
        await store.sessions(before="z")


async def test_messages_are_read_in_pieces(store):
    rows = [b'{"n":%d}' % n for n in range(5)]
    await store.put_session("s", rows)
    assert await store.messages("s") == tuple(rows)
    assert await store.messages("s", after=3) == tuple(rows[3:])
    assert await store.messages("s", after=1, limit=2) == tuple(rows[1:3])
    assert await store.messages("s", after=9) == ()
    assert await store.messages("s", limit=0) == ()
    with pytest.raises(NotFoundError):
        await store.messages("t")


async def test_a_conversation_is_made_of_messages(store):
    rows = [encode_message(ASKED), encode_message(DONE)]
    made = await store.put_session("s", rows, user="u", title="Sums", forked_from="t")
    assert made == await store.session("s")
    assert (made.user, made.title, made.messages, made.holder, made.forked_from) == ("u", "Sums", 2, None, "t")
    with pytest.raises(ConflictError, match="there is a session 's' already"):
        await store.put_session("s", [])
    assert await store.begin("s", "r") == (ASKED, DONE)
    await store.commit("s", "r", [MORE])
    assert (await store.messages("s"))[2] == encode_message(MORE)


async def test_a_title_is_set(store):
    await store.put_session("s", [])
    await store.set_title("s", "Sums, 'quoted'")
    assert (await store.session("s")).title == "Sums, 'quoted'"
    for missing in (store.set_title("t", "x"), store.session("t")):
        with pytest.raises(NotFoundError, match="there is no session 't'"):
            await missing
    with pytest.raises(UsageError, match="title"):
        await store.set_title("s", "\0")


async def test_what_cannot_be_read_is_left_out_said_and_stays(store, caplog):
    call = AssistantMessage([ToolCallPart(id="a", name="add")])
    await store.put_session("s", [encode_message(ASKED), b'{"role":"oracle"}', encode_message(call)])
    asked, called, results = await store.begin("s", "r")
    assert (asked, called) == (ASKED, call)
    assert [(result.call_id, result.state) for result in results.results] == [("a", "interrupted")]
    assert "session 's', row 1: left out" in caplog.text
    assert "session 's', row 2: the call 'a'" in caplog.text
    assert len(await store.messages("s")) == 3
    assert (await store.session("s")).messages == 3


async def test_a_conversation_is_deleted_with_its_runs(store):
    await store.put_session("s", [encode_message(ASKED)])
    await store.put_session("t", [])
    await ended(store, "r1", session_id="s")
    await started(store, "r2", session_id="t")
    await store.append(batch("r2", 1))
    await store.signal("r1", "interrupt")
    assert await store.delete_session("s") is True
    assert await store.delete_session("s") is False
    with pytest.raises(NotFoundError):
        await store.session("s")
    assert [run.id for run in await store.runs()] == ["r2"]
    assert await store.entries("r1") == ()
    assert await store.signals(["r1"]) == ()
    assert len(await store.entries("r2")) == 1
    assert await store.begin("s", "r1") == ()
    await store.commit("s", "r1", [ASKED])  # the commit before the deletion is forgotten with it
    assert (await store.session("s")).messages == 1


async def test_a_run_may_name_a_conversation_that_is_not_kept(store):
    await store.create_run(NewRun(id="r", session_id="s"))
    assert await store.delete_session("s") is False
    assert await store.runs() == ()
