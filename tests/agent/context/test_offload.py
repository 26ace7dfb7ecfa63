"""Long results go out whole, and can be read again piece by piece."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.context.estimate import estimate_tokens
from headrace.agent.context.offload import Excerpt, MemoryResults, moved_out, reading_tool
from headrace.errors import ToolError, UsageError
from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolResultPart

IMAGE = MediaPart(kind="image", url="https://example.org/a.png")
LONG = "".join(f"line {n}\n" for n in range(5_000))


def read(store, **arguments):
    return asyncio.run(reading_tool(store, max_chars=1_000)(**arguments))


def test_a_short_result_stays_as_it_is():
    result = ToolResultPart(call_id="c", name="f", parts="short")
    assert moved_out(result, 1_000, "k") == (result, ())
    assert moved_out(result, 1_000, "k")[0] is result


def test_a_long_result_keeps_its_ends_and_says_how_to_read_on():
    result = ToolResultPart(call_id="c", name="f", parts=[TextPart(LONG), IMAGE], metadata={"kept_bytes": 9})
    short, stored = moved_out(result, 1_500, "m1/0")
    assert stored == (TextPart(LONG),)
    assert short.parts[1] is IMAGE
    assert short.text.startswith("line 0\n")
    assert short.text.endswith("line 4999\n")
    assert 'read_result(reference="m1/0", offset=' in short.text
    assert short.metadata == {"kept_bytes": 9, "moved_out": {"key": "m1/0", "characters": len(LONG)}}
    assert (short.call_id, short.name, short.state) == ("c", "f", "success")
    assert estimate_tokens(short) <= 1_500
    assert moved_out(result, 1_500, "m1/0") == (short, stored)


def test_without_a_store_nothing_is_promised():
    short, stored = moved_out(ToolResultPart(call_id="c", parts=LONG), 500, None)
    assert stored == ()
    assert "read_result" not in short.text
    assert f"of {len(LONG)} characters left out" in short.text


def test_what_was_read_again_is_not_moved_out_again():
    result = ToolResultPart(call_id="c", name="read_result", parts=LONG)
    assert moved_out(result, 100, "k") == (result, ())


@given(st.text(st.sampled_from("a文\n"), min_size=1, max_size=20).map(lambda piece: piece * 3_000), st.integers(500, 70_000))
def test_reading_piece_by_piece_gives_the_whole(text, limit):
    async def read_all():
        store = MemoryResults()
        _, stored = moved_out(ToolResultPart(call_id="c", parts=text), 300, "k")
        await store.put("k", stored)
        pieces, offset = [], 0
        while offset < len(text):
            excerpt = await store.get("k", offset, limit)
            pieces.append(excerpt.text)
            offset += len(excerpt.text)
        return "".join(pieces)

    assert asyncio.run(read_all()) == text


def test_the_reading_tool_says_where_it_is_and_gives_no_more_than_it_may():
    store = MemoryResults()
    asyncio.run(store.put("k", (TextPart("x" * 1_500), JsonPart({"a": 1}))))
    assert read(store, reference="k", limit=5) == "xxxxx\n[characters 0 to 5 of 1508; go on with offset=5]"
    assert read(store, reference="k", offset=0, limit=9_999).startswith("x" * 1_000 + "\n[characters 0 to 1000 of 1508")
    assert read(store, reference="k", offset=1_500) == '\n{"a":1}\n[characters 1500 to 1508 of 1508, the end]'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"reference": "other"}, "no result is kept under 'other'"),
        ({"reference": "k", "offset": 99}, "beyond the end: the result has 5 characters"),
        ({"reference": "k", "offset": -1}, "name no piece"),
        ({"reference": "k", "limit": 0}, "name no piece"),
    ],
)
def test_the_reading_tool_tells_the_model_what_was_wrong(arguments, said):
    store = MemoryResults()
    asyncio.run(store.put("k", (TextPart("12345"),)))
    with pytest.raises(ToolError, match=said):
        read(store, **arguments)


def test_the_reading_tool_reads_only_and_describes_itself():
    tool = reading_tool(MemoryResults())
    assert tool.name == "read_result"
    assert tool.options.read_only
    assert set(tool.parameters["properties"]) == {"reference", "offset", "limit"}
    assert tool.parameters["required"] == ["reference"]


def test_the_store_in_memory_forgets_what_was_not_used_for_the_longest_time():
    async def use():
        store = MemoryResults(max_chars=10)
        await store.put("a", (TextPart("aaaa"),))
        await store.put("b", (TextPart("bbbb"),))
        await store.get("a", 0, 1)
        await store.put("c", (TextPart("cccc"),))
        assert await store.get("b", 0, 9) is None
        await store.put("d", (TextPart("d" * 50),))
        return store, await store.get("d", 0, 99)

    store, excerpt = asyncio.run(use())
    assert excerpt == Excerpt("d" * 10, 0, 10)
    assert len(store) == 1


def test_a_store_needs_room():
    with pytest.raises(UsageError, match="max_chars"):
        MemoryResults(max_chars=0)
