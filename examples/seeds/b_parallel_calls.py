"""(b) Parallel calls by index, the three tolerances, and an empty fragment.

From openJiuwen's article: fragments of arguments alone join the latest call, a fragment without an id joins the latest call, parallel
calls with their own indexes never fuse, and wholly empty fragments are dropped.
"""

from __future__ import annotations

from headrace import AssistantMessage, AssistantMessageChunk, ToolCallFragment


def merged(*fragments: ToolCallFragment) -> AssistantMessage:
    """Add up one chunk a fragment, and a finish reason."""
    chunks = [AssistantMessageChunk(tool_calls=[fragment]) for fragment in fragments]
    return sum(chunks, AssistantMessageChunk()).merge(AssistantMessageChunk(finish_reason="tool_calls")).to_message()


def main() -> None:
    """Merge the fragments that the article speaks of, and some that it does not."""
    # Two calls whose fragments come in turn: the index keeps them apart.
    calls = merged(
        ToolCallFragment(id="a", name="weather", arguments='{"city":', index=0),
        ToolCallFragment(id="b", name="time", arguments='{"zone":', index=1),
        ToolCallFragment(arguments='"Oslo"}', index=0),
        ToolCallFragment(arguments='"CET"}', index=1),
    ).tool_calls
    print([(call.name, call.parsed) for call in calls])
    assert [(call.name, call.parsed) for call in calls] == [("weather", {"city": "Oslo"}), ("time", {"zone": "CET"})]

    # 1. Arguments alone join the latest call.  2. So does a fragment that has no id.
    for later in (ToolCallFragment(arguments='"Oslo"}'), ToolCallFragment(id="", name="", arguments='"Oslo"}')):
        (call,) = merged(ToolCallFragment(id="a", name="weather", arguments='{"city":'), later).tool_calls
        assert call.id == "a"
        assert call.parsed == {"city": "Oslo"}

    # 3. Two calls with their own indexes never fuse, though neither has an id; we make the ids, and say so.
    message = merged(ToolCallFragment(name="f", arguments="{}", index=0), ToolCallFragment(name="f", arguments="{}", index=1))
    assert [call.index for call in message.tool_calls] == [0, 1]
    assert [call.id for call in message.tool_calls] == ["call_1", "call_2"]
    assert "missing_tool_id" in {warning.code for warning in message.warnings}

    # An empty fragment is nothing, also with an index.
    assert not merged(ToolCallFragment(), ToolCallFragment(id="", name="", arguments="", index=0)).tool_calls

    # One index for all calls, as some servers send: a new id with a name is a new call.
    message = merged(
        ToolCallFragment(id="a", name="f", arguments='{"n":1}', index=0), ToolCallFragment(id="b", name="f", arguments='{"n":2}', index=0)
    )
    assert [call.parsed for call in message.tool_calls] == [{"n": 1}, {"n": 2}]


if __name__ == "__main__":
    main()
