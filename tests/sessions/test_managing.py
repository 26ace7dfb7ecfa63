"""Fork, export, import and retention, over every store."""

from __future__ import annotations

import json

import pytest

from headrace._json import dumps
from headrace.errors import ConflictError, NotFoundError, SchemaVersionError, UsageError
from headrace.messages.codec import encode_message
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ToolCallPart
from headrace.sessions.managing import export, fork, import_, retain
from headrace.sessions.memory import MemoryStore
from headrace.sessions.records import Removed
from store_ground import ended

ASKED = UserMessage("what is 1 + 2?", metadata={"from": "me"})
CALL = AssistantMessage([ToolCallPart(id="a", name="add", arguments={"a": 1, "b": 2})])
RESULTS = ToolMessage("3", call_id="a")
DONE = AssistantMessage("3")
ROWS = [encode_message(message) for message in (ASKED, CALL, RESULTS, DONE)]


async def test_a_fork_begins_as_a_copy_and_goes_its_own_way(store):
    await store.put_session("s", ROWS, user="u", title="Sums")
    await store.begin("s", "r")  # to copy does not wait for who holds it
    made = await fork(store, "s", "copy")
    assert (made.id, made.user, made.title, made.messages, made.forked_from) == ("copy", "u", "Sums", 4, "s")
    assert await store.messages("copy") == tuple(ROWS)
    await store.begin("copy", "r2")
    await store.commit("copy", "r2", [ASKED])
    assert (await store.session("copy")).messages == 5
    assert await store.messages("s") == tuple(ROWS)
    assert (await store.session("s")).holder == "r"


async def test_a_fork_may_begin_in_the_middle(store):
    await store.put_session("s", ROWS)
    assert (await fork(store, "s", "none", 0)).messages == 0
    assert (await fork(store, "s", "all", 4, title="All")).title == "All"
    await fork(store, "s", "cut", 2)
    _, _, results = await store.begin("cut", "r")
    assert results.results[0].state == "interrupted"
    for at in (-1, 5):
        with pytest.raises(UsageError, match=f"at is {at}; session 's' has 4 messages"):
            await fork(store, "s", "other", at)


async def test_a_fork_needs_one_to_copy_and_an_id_that_is_free(store):
    with pytest.raises(NotFoundError):
        await fork(store, "s", "copy")
    await store.put_session("s", [])
    with pytest.raises(ConflictError):
        await fork(store, "s", "s")


async def test_what_was_exported_can_be_imported(store):
    await store.put_session("s", ROWS, user="u", title="Sums", forked_from="t")
    document = await export(store, "s")
    assert list(document) == ["schema_version", "id", "title", "user", "forked_from", "created_at", "updated_at", "messages"]
    assert (document["id"], document["title"], document["user"]) == ("s", "Sums", "u")
    assert document["created_at"].startswith("2026-05-01T00:00:00.")
    assert document["created_at"].endswith("Z")
    async with MemoryStore() as other:
        for form in (document, dumps(document), json.dumps(document)):
            made = await import_(other, form)
            assert (made.id, made.user, made.title, made.forked_from) == ("s", "u", "Sums", "t")
            assert await other.messages("s") == tuple(ROWS)
            await other.delete_session("s")
        made = await import_(other, document, session_id="mine", user="me", title="Mine")
        assert (made.id, made.user, made.title) == ("mine", "me", "Mine")
    with pytest.raises(ConflictError):
        await import_(store, document)


async def test_what_cannot_be_read_is_exported_beside_the_messages(store):
    await store.put_session("s", [ROWS[0], b'{"role":"oracle"}', b"\xff"])
    document = await export(store, "s")
    assert len(document["messages"]) == 1
    assert document["unreadable"] == [{"row": 1, "text": '{"role":"oracle"}'}, {"row": 2, "text": "\ufffd"}]
    assert (await import_(store, document, session_id="t")).messages == 1


async def test_a_bare_list_of_messages_can_be_imported(store):
    made = await import_(store, b"[%b]" % b",".join(ROWS), session_id="s")
    assert made.messages == 4


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (b"{", "document"),
        (b"3", "document.schema_version"),
        (b'{"id":"s","messages":[]}', "document.schema_version"),
        (b'{"schema_version":1,"messages":[]}', "document.id"),
        (b'{"schema_version":1,"id":7,"messages":[]}', "document.id"),
        (b'{"schema_version":1,"id":"s","title":[],"messages":[]}', "document.title"),
        (b'{"schema_version":1,"id":"s"}', "document.messages"),
        (b'{"schema_version":1,"id":"s","messages":[{"role":"user"},{"role":"oracle"}]}', "document.messages[1].role"),
        (
            b'{"schema_version":1,"id":"s","messages":[{"role":"user","parts":[{"type":"text","text":1}]}]}',
            "document.messages[0].parts[0].text",
        ),
    ],
)
async def test_what_is_no_document_is_refused_with_the_path(document, path):
    async with MemoryStore() as store:
        with pytest.raises(UsageError) as caught:
            await import_(store, document)
        assert caught.value.argument == path
        assert await store.sessions() == ()


async def test_a_document_of_a_later_version_is_refused():
    with pytest.raises(SchemaVersionError, match="schema version 99"):
        await import_(MemoryStore(), b'{"schema_version":99,"id":"s","messages":[]}')


async def test_what_is_too_old_goes_and_then_what_is_too_much(store, clock):
    await ended(store, "old")
    clock.advance(1000)
    for n in range(3):
        await ended(store, f"r{n}", size=93)
    assert await retain(store) == Removed()
    assert await retain(store, max_age_s=500, max_bytes=150) == Removed(runs=3)
    assert [run.id for run in await store.runs()] == ["r2"]
    for wrong in ({"max_age_s": -1}, {"max_bytes": -1}, {"max_age_s": float("nan")}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            await retain(store, **wrong)
