"""(e) One message: built, read, copied, written as JSON and read again; and structured data.

From the page of AgentScope's `Msg`: an id, a name, a role, an immutable list of content blocks, metadata, a time, usage; accessors by
kind of block; copies with one thing changed; JSON in which the role chooses the class.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace import (
    AssistantMessage,
    MediaPart,
    Message,
    NoStructuredOutputError,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Usage,
    UserMessage,
    decode_message,
    encode_message,
)


@dataclass
class Weather:
    """What the structured output holds."""

    city: str
    degrees: float


def main() -> None:
    """Build, read, copy, write, read again."""
    message = AssistantMessage(
        [ReasoningPart("They mean Oslo."), TextPart("Let me look. "), ToolCallPart(id="c1", name="weather", arguments={"city": "Oslo"})],
        name="guide",
        metadata={"trace": ["a"]},
        usage=Usage(input_tokens=20, output_tokens=9),
        structured_output={"city": "Oslo", "degrees": -3},
    )
    assert message.text == "Let me look. "
    assert message.reasoning == "They mean Oslo."
    assert message.has(ToolCallPart)
    assert [call.parsed for call in message.parts_of(ToolCallPart)] == [{"city": "Oslo"}]
    assert message.first(MediaPart) is None
    assert message.structured(Weather) == Weather("Oslo", -3)

    # It is deeply immutable, and a copy keeps its class and its id.
    try:
        message.metadata["trace"].append("b")
    except TypeError as error:
        print(f"refused: {error}")
    copy = message.replace(generate_reason="completed")
    assert type(copy) is AssistantMessage
    assert (copy.id, copy.generate_reason, message.generate_reason) == (message.id, "completed", None)

    # JSON: the role chooses the class; what this version does not know is kept and written back.
    data = encode_message(message)
    print(data.decode())
    assert decode_message(data) == message
    future = b'{"role":"user","parts":[{"type":"hologram","depth":3},{"type":"text","text":"hi"}]}'
    again = decode_message(future)
    assert type(again) is UserMessage
    assert encode_message(again) == future
    assert isinstance(Message.of("system", "Be brief."), Message)

    try:
        UserMessage("hello").structured(Weather)
    except NoStructuredOutputError as error:
        print(f"none: {error}")
    else:
        raise AssertionError("there is no structured output in it")


if __name__ == "__main__":
    main()
