"""Small streams of Chat Completions, written here, that show where a hasty reader goes wrong: for the demonstration and for examples.

The rule of this file: bytes as a server sends them, one piece for each event, and what they are about; nothing reads or decides here.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace._json import dumps

DONE: Final = b"data: [DONE]\n\n"


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded answer.

    Attributes:
        name: a short name.
        title: what is special about it.
        events: its bytes, one piece for each server-sent event.
    """

    name: str
    title: str
    events: tuple[bytes, ...]

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.events)


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """Return one server-sent event with this delta."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1_770_000_000, "model": "recorded", "choices": [choice]}
    return b"data: " + dumps(body) + b"\n\n"


def text_events(*pieces: str) -> tuple[bytes, ...]:
    """Return the events of a text in pieces."""
    return tuple(event({"content": piece}) for piece in pieces)


def call_events(name: str, *pieces: str, call_id: str = "call_a") -> tuple[bytes, ...]:
    """Return the events of a call whose arguments come in these pieces: id and name in the first, only text in the others."""
    first = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": pieces[0]}}
    rest = ({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces[1:])
    return (event({"tool_calls": [first]}), *(event(delta) for delta in rest))


def answer_events(*pieces: str) -> bytes:
    """Return a whole answer in text, as one body."""
    return b"".join((*text_events(*pieces), event({}, "stop"), DONE))


TEXT_FIRST: Final = Stream(
    name="text first",
    title="(f) A ReAct prompt: the model thinks aloud first, the call comes late",
    events=(
        *text_events("I need ", "the clock ", "for that."),
        *call_events("city_time", '{"city":', '"Tokyo"}'),
        event({}, "tool_calls"),
        DONE,
    ),
)
MANY_PIECES: Final = Stream(
    name="many pieces",
    title="(g) Arguments in many chunks",
    events=(*call_events("calculate", "", '{"ex', "press", 'ion": "1', "7 * ", '23"}'), event({}, "tool_calls"), DONE),
)
AT_ONCE: Final = Stream(
    name="at once",
    title="(g) Arguments in one chunk",
    events=(*call_events("calculate", '{"expression": "17 * 23"}'), event({}, "tool_calls"), DONE),
)
CUT: Final = Stream(
    name="cut",
    title="(g) Arguments that are cut by the limit of tokens",
    events=(*call_events("calculate", '{"expr', 'ession": "17 '), event({}, "length"), DONE),
)
"""The last two events say that it was the limit: a finish reason and the terminator."""

STREAMS: Final = (TEXT_FIRST, MANY_PIECES, AT_ONCE, CUT)
ANSWERS: Final = {
    TEXT_FIRST.name: answer_events("The clock ", "has told you."),
    MANY_PIECES.name: answer_events("17 times 23 is 391."),
    AT_ONCE.name: answer_events("17 times 23 is 391."),
    CUT.name: answer_events("My call was cut, ", "so I must ask again."),
}
"""What the model says next, once it has the results."""
