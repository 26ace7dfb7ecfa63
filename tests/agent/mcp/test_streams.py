"""What the watched streams do to what passes."""

from __future__ import annotations

import pytest

from headrace.agent.mcp.streams import KEPT, keep_unknown


@pytest.mark.parametrize("result", [None, 3, {}, {"content": 3}, {"content": ["x", {"type": "text", "text": "a"}]}])
def test_what_holds_nothing_unknown_stays_as_it_is(result):
    before = repr(result)
    keep_unknown(result)
    assert repr(result) == before


def test_a_block_of_an_unknown_kind_is_wrapped_and_others_are_not():
    known, unknown = {"type": "text", "text": "a"}, {"type": "hologram"}
    result = {"content": [known, unknown, {}]}
    keep_unknown(result)
    assert result["content"][0] is known
    assert result["content"][1] == {"type": "text", "text": "", "_meta": {KEPT: unknown}}
    assert result["content"][2]["_meta"] == {KEPT: {}}
