"""The mistake that this library was built to avoid, on purpose: a reader that lets the first chunk decide. For the demonstration.

The rule of this file: it does what such readers do and is used for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace.messages.chunk import AssistantMessageChunk


class Verdict(msgspec.Struct, frozen=True):
    """What such a reader makes of a stream.

    Attributes:
        words: what it does, for a person.
        is_right: whether that happens to be right.
    """

    words: str
    is_right: bool


def first_chunk_decides(chunks: Iterable[AssistantMessageChunk]) -> Verdict:
    """Say what a reader does that chooses between "final answer" and "tool call" at the first chunk with content.

    Text first: everything is the answer, and calls that come later are never seen. A call first: it is run with what that chunk holds;
    further pieces of arguments have no name and are dropped, and arguments that do not parse are taken for `{}`.
    """
    rest = iter(chunks)
    for chunk in rest:
        if chunk.text:
            return _as_answer(chunk.text, rest)
        if chunk.tool_calls:
            call = chunk.tool_calls[0]
            arguments = call.arguments if isinstance(call.arguments, str) else ""
            return _as_call(call.name or "", arguments or "")
    return Verdict("gives an empty answer", is_right=False)


def _as_answer(text: str, rest: Iterable[AssistantMessageChunk]) -> Verdict:
    lost: list[str] = []
    for chunk in rest:
        text += chunk.text or ""
        lost += [call.name for call in chunk.tool_calls if call.name]
    if lost:
        return Verdict(f"text came first, so {text!r} is the final answer; the call of {', '.join(lost)} is lost", is_right=False)
    return Verdict(f"the answer is {text!r}", is_right=True)


def _as_call(name: str, arguments: str) -> Verdict:
    try:
        msgspec.json.decode(arguments.encode(), type=dict[str, object])
    except msgspec.MsgspecError:
        held = f"the first piece {arguments!r} is no JSON" if arguments else "the first piece is empty"
        return Verdict(f"{held}, so {name} runs with {{}}, made up", is_right=False)
    return Verdict(f"runs {name} with {arguments}", is_right=True)
