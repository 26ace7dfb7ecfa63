"""Results of MCP servers as parts: everything kept, nothing twice."""

from __future__ import annotations

import pytest

from headrace.messages.parts import JsonPart, MediaPart, TextPart

types = pytest.importorskip("mcp.types", reason="the extra is missing: pip install 'headrace[mcp]'")
results = pytest.importorskip("headrace.agent.mcp.results")


def parts(*texts, structured=None, blocks=()):
    content = [*(types.TextContent(text=text) for text in texts), *blocks]
    return results.parts_of_result(types.CallToolResult(content=content, structured_content=structured))


@pytest.mark.parametrize(
    ("texts", "structured", "expected"),
    [
        (["hi"], None, [TextPart("hi")]),
        (["a", "b"], None, [TextPart("a"), TextPart("\nb")]),
        (["a\n", "b"], None, [TextPart("a\n"), TextPart("b")]),
        (['{"a": 1}'], {"a": 1}, [JsonPart({"a": 1})]),
        (["warm"], {"celsius": 21}, [JsonPart({"celsius": 21}), TextPart("warm")]),
        (["hi"], {"result": "hi"}, [TextPart("hi")]),
        (['"hi"'], {"result": "hi"}, [JsonPart({"result": "hi"})]),
        (["5"], {"result": 5}, [JsonPart({"result": 5})]),
        (["1", "x"], {"result": [1, "x"]}, [JsonPart({"result": [1, "x"]})]),
        (["1", "y"], {"result": [1, "x"]}, [JsonPart({"result": [1, "x"]}), TextPart("1"), TextPart("\ny")]),
        ([], {"result": []}, [JsonPart({"result": []})]),
        (["{"], {"a": 1}, [JsonPart({"a": 1}), TextPart("{")]),
        ([""], None, []),
        ([], None, []),
    ],
)
def test_text_and_structured_content_come_once(texts, structured, expected):
    assert parts(*texts, structured=structured) == expected


def test_what_repeats_the_structured_content_goes_but_an_image_stays():
    image = types.ImageContent(data="AAAA", mime_type="image/png")
    got = parts('{"a": 1}', structured={"a": 1}, blocks=[image])
    assert got == [JsonPart({"a": 1}), MediaPart(kind="image", data=b"\0\0\0", media_type="image/png")]


def test_blocks_beyond_the_bound_are_left_out_and_said():
    got = parts(*["x"] * (results.MAX_BLOCKS + 3))
    assert got[-1] == TextPart("\n[cut here: 3 more blocks of content were left out]")
    assert len(got) == results.MAX_BLOCKS + 1


def test_the_text_of_an_error_says_all_that_came():
    image = types.ImageContent(data="AAAA", mime_type="image/png")
    result = types.CallToolResult(content=[types.TextContent(text="no"), image], structured_content={"code": 7}, is_error=True)
    assert results.error_text(result) == '{"code":7}\nno\n[image/png]'
    assert results.error_text(types.CallToolResult(content=[], is_error=True)) == "the tool failed, and did not say why"


@pytest.mark.parametrize(
    ("data", "expected"),
    [(None, "no"), ("", "no"), ("why", "no: why"), ({"a": [1]}, 'no: {"a":[1]}'), (object(), "no")],
)
def test_a_protocol_error_is_told_with_its_details(data, expected):
    assert results.refusal_text("no", data) == expected
