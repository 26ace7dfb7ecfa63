"""(c) A tool's result that comes in pieces.

From openJiuwen's article: a tool chunk joins its content as text; of the call ids the last one that is not empty counts.
"""

from __future__ import annotations

from headrace import ToolMessageChunk


def main() -> None:
    """Merge a result."""
    pieces = [
        ToolMessageChunk("3 files", call_id="call_1", name="list_files"),
        ToolMessageChunk(", 2 folders", call_id=""),
        ToolMessageChunk([{"type": "json", "value": {"files": 3}}]),
    ]
    message = sum(pieces, ToolMessageChunk()).to_message()
    (result,) = message.results
    print(result.call_id, result.name, repr(message.text), result.parts[1])
    assert (result.call_id, result.name, result.state) == ("call_1", "list_files", "success")
    assert message.text == "3 files, 2 folders"  # and the JSON part is kept beside the text, where the peers lose one of them
    assert len(result.parts) == 2


if __name__ == "__main__":
    main()
