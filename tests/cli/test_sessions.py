"""`headrace sessions`: what is listed, shown, copied, taken out and in, and deleted."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from headrace.cli.amounts import AGES, amount
from headrace.cli.sessions import age
from headrace.messages.codec import encode_message
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart
from headrace.sessions.sqlite import SQLiteStore

TALK = [
    UserMessage("What is 2 + 2?", id="m1"),
    AssistantMessage([TextPart("Let me see."), ToolCallPart(id="c", name="add", arguments={"a": 2, "b": 2})], id="m2"),
    ToolMessage("4", call_id="c", name="add", id="m3"),
    AssistantMessage("It is 4.", id="m4"),
]


@pytest.fixture
async def kept(tmp_path):
    """A store with two conversations, and the options that name it."""
    path = tmp_path / "talks.db"
    async with SQLiteStore(path) as store:
        await store.put_session("sums-1", [encode_message(message) for message in TALK], title="Sums")
        await store.put_session("sums-2", [encode_message(TALK[0])], title="More sums")
    return ["--database", str(path)]


async def ids(program, kept) -> list[str]:
    listed = await program("sessions", "list", "--json", *kept)
    return [json.loads(line)["id"] for line in listed.out.splitlines()]


async def test_the_list_says_what_there_is(program, kept):
    done = await program("sessions", "list", *kept)
    assert done.code == 0
    assert [line.split()[0] for line in done.text.splitlines()] == ["sums-2", "sums-1"]
    assert "just now" in done.text
    assert "Sums" in done.text
    short = await program("sessions", "list", "-n", "1", *kept)
    assert "1 more" in short.text


async def test_an_empty_store_says_how_to_begin(program, tmp_path):
    done = await program("sessions", "list", "--database", str(tmp_path / "new.db"))
    assert (done.code, "headrace chat" in done.text) == (0, True)


async def test_a_conversation_is_shown_by_the_beginning_of_its_id(program, kept):
    done = await program("sessions", "show", "sums-1", *kept)
    for words in ("What is 2 + 2?", "Let me see.", "→ add", '{"a":2,"b":2}', "← add 4", "It is 4."):
        assert words in done.text
    assert (await program("sessions", "show", "sums", *kept)).code == 2
    assert (await program("sessions", "show", "", *kept)).code == 2
    missing = await program("sessions", "show", "nothing", *kept)
    assert (missing.code, "sessions list" in missing.err) == (2, True)


async def test_what_was_exported_comes_in_again(program, kept, tmp_path):
    exported = await program("sessions", "export", "sums-1", *kept)
    assert json.loads(exported.out)["messages"][0]["parts"][0]["text"] == "What is 2 + 2?"
    file = tmp_path / "talk.json"
    assert (await program("sessions", "export", "sums-1", str(file), *kept)).code == 0
    assert file.read_bytes() == exported.out
    taken = await program("sessions", "import", str(file), *kept)
    assert (taken.code, "--id" in taken.err) == (1, True)
    assert (await program("sessions", "import", str(file), "--id", "copy", *kept)).text == "copy\n"
    again = json.loads((await program("sessions", "export", "copy", *kept)).out)
    assert again["messages"] == json.loads(exported.out)["messages"]
    elsewhere = ["--database", str(tmp_path / "other.db")]
    assert (await program("sessions", "import", str(file), *elsewhere)).text == "sums-1\n"


async def test_a_list_of_messages_gets_an_id_of_its_own(program, kept, tmp_path):
    file = tmp_path / "list.json"
    file.write_bytes(b"[" + encode_message(TALK[0]) + b"]")
    done = await program("sessions", "import", str(file), *kept)
    assert done.code == 0
    assert done.text.strip() in await ids(program, kept)


async def test_what_cannot_be_read_is_said_with_its_place(program, kept, tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"schema_version": 1, "id": "x", "messages": [{"role": "nobody"}]}')
    done = await program("sessions", "import", str(file), *kept)
    assert done.code == 2
    assert "messages[0].role" in done.err
    assert (await program("sessions", "import", str(tmp_path / "no.json"), *kept)).code == 2


async def test_a_fork_is_a_copy_as_far_as_asked(program, kept):
    done = await program("sessions", "fork", "sums-1", "--at", "1", "--id", "branch", *kept)
    assert (done.code, done.text) == (0, "branch\n")
    exported = json.loads((await program("sessions", "export", "branch", *kept)).out)
    assert (len(exported["messages"]), exported["forked_from"]) == (1, "sums-1")
    assert (await program("sessions", "fork", "sums-1", "--at", "9", *kept)).code == 2


async def test_deleting_asks_first(program, kept):
    done = await program("sessions", "delete", "sums-1", *kept)
    assert (done.code, "--yes" in done.err) == (2, True)
    assert "sums-1" in await ids(program, kept)
    assert (await program("sessions", "delete", "sums-1", "--yes", *kept)).code == 0
    assert await ids(program, kept) == ["sums-2"]


async def test_one_that_is_worked_on_is_not_deleted_by_the_way(program, kept):
    async with SQLiteStore(kept[1]) as store:
        await store.begin("sums-1", "some-run")
    assert "[in work]" in (await program("sessions", "list", *kept)).text
    done = await program("sessions", "delete", "sums-1", *kept)
    assert (done.code, "some-run" in done.err) == (1, True)


def test_ages_are_said_in_the_largest_unit():
    assert [age(timedelta(seconds=seconds)) for seconds in (3, 61, 7_300, 200_000)] == ["just now", "1 min ago", "2 h ago", "2 d ago"]


async def test_what_is_too_old_or_too_much_is_deleted(program, kept):
    assert (await program("sessions", "prune", "--older-than", "30d", *kept)).text.startswith("deleted 0 conversations")
    assert len(await ids(program, kept)) == 2
    done = await program("sessions", "prune", "--older-than", "0s", *kept)
    assert done.text.startswith("deleted 2 conversations and 0 runs; 0 and 0 are left")


@pytest.mark.parametrize("options", [(), ("--older-than", "soon"), ("--max-size", "5 apples"), ("--max-size", "3d")])
async def test_amounts_that_are_none_are_refused(program, kept, options):
    assert (await program("sessions", "prune", *options, *kept)).code == 2


async def test_everything_of_a_user_is_deleted(program, kept):
    async with SQLiteStore(kept[1]) as store:
        await store.put_session("hers", [encode_message(TALK[0])], user="ann")
    assert (await program("sessions", "forget-user", "ann", *kept)).code == 2
    assert (await program("sessions", "forget-user", "ann", "--yes", *kept)).text == "deleted 1 conversations and 0 runs\n"
    assert sorted(await ids(program, kept)) == ["sums-1", "sums-2"]


@pytest.mark.parametrize(("text", "value"), [("30d", 2_592_000), ("1.5 h", 5_400), ("90min", 5_400), ("5s", 5)])
def test_an_age_is_a_number_and_a_unit(text, value):
    assert amount(text, AGES, "older_than") == value
