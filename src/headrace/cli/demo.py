"""`make demo`: recorded streams beside a hasty reader, then a real model with two real tools. `python -m headrace.cli.demo`.

The rule of this file: everything that is shown really happens. It ends with 0 only if the model called a tool, the tool ran, and an answer
came.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from headrace import _sync
from headrace.agent.agent import Agent
from headrace.agent.events import Event
from headrace.agent.run_result import RunResult
from headrace.cli.demo_streams import ANSWERS, STREAMS, Stream
from headrace.cli.exits import DONE, FAILED, guarded
from headrace.cli.first_chunk import first_chunk_decides
from headrace.cli.listing import pull_with_progress
from headrace.cli.render import Renderer
from headrace.cli.report import message_report
from headrace.cli.run import watch
from headrace.cli.screen import Screen, screen_of
from headrace.cli.segments import Segment
from headrace.cli.tools import calculate, city_time
from headrace.cli.wording import result_text
from headrace.decoding import StreamDecoder
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.message import ToolMessage
from headrace.models.local_weights import WEIGHTS
from headrace.models.model import Model
from headrace.models.scripted import ScriptedModel

_PROTOCOL: Final = "openai-chat"
QUESTION: Final = "Tell me the local time in Tokyo."
_AGAIN: Final = ("What time is it now in Paris?", "What is the current local time in the city of Tokyo?")
"""Other questions, should so small a model not call a tool for the first one on this machine."""
_SETTINGS: Final = {"temperature": 0.0, "max_tokens": 200}
_TICK_S: Final = 0.04


def main() -> int:
    """Show all of it; returns the exit status."""
    return guarded(lambda: _sync.run(_demo(screen_of(sys.stdout))))


async def _demo(screen: Screen) -> int:
    _title(screen, "1  Recorded streams: the first chunk decides, and the whole round decides")
    for stream in STREAMS:
        await _replay(screen, stream)
    _title(screen, "2  A real model, in this process, with two real tools")
    screen.write(
        [
            Segment(
                f"{WEIGHTS.member.rpartition('/')[2]} runs here, without network or key. A model of 135 million parameters proves the plumbing; "
                "do not trust its prose, also where a tool told it better.\n",
                "note",
            )
        ]
    )
    pull_with_progress()
    for question in (QUESTION, *_AGAIN):
        result = await _ask(screen, question)
        if result is not None and _has_called(result) and result.message.text.strip():
            return _conclude(screen, result)
        screen.write([Segment("No tool ran and was answered for; another question.\n", "warning")])
    screen.write([Segment("The model called no tool for any of the questions, so the demonstration failed.\n", "error")])
    return FAILED


# ---------------------------------------------------------------------------------------------- recorded streams


async def _replay(screen: Screen, stream: Stream) -> None:
    chunks = _chunks(stream)
    screen.write([Segment(f"\n{stream.title}\n", "label"), Segment("on the wire          ", "note")])
    for chunk in chunks:
        if shown := _chunk_words(chunk):
            screen.write([Segment(shown, "arguments"), Segment(" | ", "note")])
            _tick()
    verdict = first_chunk_decides(chunks)
    screen.write([Segment("end\nfirst chunk decides  ", "note"), Segment(f"{verdict.words}\n", "good" if verdict.is_right else "failed")])
    screen.write([Segment("headrace             ", "note"), Segment("shows it live, and decides when the round has ended:\n\n", "good")])
    model = ScriptedModel(stream.body, ANSWERS[stream.name], id="recorded:stream")
    renderer = Renderer()

    def show(event: Event) -> None:
        screen.write(renderer.feed(event))
        _tick()

    await watch(Agent(model, tools=[city_time, calculate]).stream("(recorded)"), show)


def _chunks(stream: Stream) -> list[AssistantMessageChunk]:
    decoder = StreamDecoder(protocol=_PROTOCOL)
    chunks = [chunk for piece in stream.events for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.close()]


def _chunk_words(chunk: AssistantMessageChunk) -> str:
    if chunk.text:
        return chunk.text
    calls = [f"{call.name}(" if call.name else "" for call in chunk.tool_calls]
    pieces = [call.arguments if isinstance(call.arguments, str) else "" for call in chunk.tool_calls]
    words = "".join(f"{name}{piece or ''}" for name, piece in zip(calls, pieces, strict=True))
    return words or (f"[{chunk.finish_reason}]" if chunk.finish_reason else "")


def _tick() -> None:
    """Let people see that it comes in pieces; only people."""
    if sys.stdout.isatty():
        time.sleep(_TICK_S)


# ---------------------------------------------------------------------------------------------- a real model


async def _ask(screen: Screen, question: str) -> RunResult | None:
    screen.write([Segment("\n> ", "note"), Segment(f"{question}\n\n", "label")])
    renderer = Renderer()
    async with Model(f"local:{WEIGHTS.name}", settings=_SETTINGS) as model:
        agent = Agent(model, tools=[city_time, calculate], max_rounds=3)
        async with agent.stream(question) as run:
            async for event in run:
                screen.write(renderer.feed(event))
        return run.result


def _has_called(result: RunResult) -> bool:
    return any(part.state == "success" for message in result.messages if isinstance(message, ToolMessage) for part in message.results)


def _conclude(screen: Screen, result: RunResult) -> int:
    screen.write([Segment("\nThe final message, as it is kept:\n", "note"), *message_report(result.message)])
    said = next(one for message in result.messages if isinstance(message, ToolMessage) for one in message.results if one.state == "success")
    screen.write(
        [
            Segment(f"\nThe tool was really called and said: {result_text(said)}\n", "note"),
            Segment("Bytes → chunks → a call → its result → an answer: done.\n", "good"),
        ]
    )
    return DONE


def _title(screen: Screen, text: str) -> None:
    screen.write([Segment(f"\n{text}\n", "title")])


if __name__ == "__main__":
    sys.exit(main())
