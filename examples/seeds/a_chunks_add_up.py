"""(a) Chunks add up: "Hello " + "world!", nested mappings, and what is no chunk.

From openJiuwen's article: each increment of a stream is a chunk, `merge` gives a new one and changes neither side, open values merge by
their types, and something that is no chunk is refused.
"""

from __future__ import annotations

from headrace import AssistantMessageChunk, MessageChunk, UsageError, merge_values


def main() -> None:
    """Add chunks up in every way that there is."""
    hello, world = AssistantMessageChunk("Hello "), AssistantMessageChunk("world!")
    greeting = hello + world
    print(greeting.text)
    assert greeting.text == "Hello world!"
    assert hello.text == "Hello "  # neither side has changed

    assert hello.merge(world) == greeting
    assert sum([hello, world]) == greeting
    assert MessageChunk.join([hello, world]) == greeting
    assert MessageChunk() + greeting == greeting

    left = {"outer": {"inner": "left", "list": [1]}, "only": "here"}
    right = {"outer": {"inner": "right", "list": [2]}}
    print(merge_values(left, right))
    assert merge_values(left, right) == {"outer": {"inner": "leftright", "list": [1, 2]}, "only": "here"}

    chunk = AssistantMessageChunk(metadata={"trace": {"spans": ["a"]}}) + AssistantMessageChunk(metadata={"trace": {"spans": ["b"]}})
    assert chunk.to_message().metadata == {"trace": {"spans": ["a", "b"]}}

    try:
        hello + "not a chunk"  # type: ignore[operator]
    except TypeError as error:  # a UsageError is a TypeError here too
        assert isinstance(error, UsageError)
        print(f"refused: {error}")
    else:
        raise AssertionError("a text is no chunk")


if __name__ == "__main__":
    main()
