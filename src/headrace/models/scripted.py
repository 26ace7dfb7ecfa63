"""A model that plays scripted answers: for tests, documentation and trying things out without a key.

The rule of this file: it looks like `Model` from outside (the same requests, items, message, errors), and never touches a network or a
timer: what it waits for is an event of the test's own.
"""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Self

from headrace.decoding import StreamDecoder
from headrace.errors import APIError, ConnectionLostError, ProtocolError, StateError, TransportError
from headrace.messages.accumulator import NewId
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import Ended, StreamError
from headrace.messages.message import AssistantMessage, Timing
from headrace.messages.request import OutputFormat, Request, Settings, ToolChoice
from headrace.models.answer import (
    AnswerStream,
    AttemptDiscarded,
    FailedAttempt,
    Messages,
    ModelLike,
    ResponseFacts,
    SettingsLike,
    StreamItem,
    Tools,
    finished,
    messages_of,
    specs_of,
)
from headrace.models.clock import SYSTEM_CLOCK, Clock
from headrace.models.failures import Where, stream_failure
from headrace.models.script import Answer, Scripted, steps_of
from headrace.wire.profile import DEFAULT, Profile

_TRUNCATED = StreamError("stream_truncated", "the script ended the answer early", retryable=True)


class ScriptedModel(ModelLike):
    """Plays its answers in order, one for each request.

    An answer is: a text; an `AssistantMessage` (its parts, finish reason, usage and metadata are played as chunks); a chunk, or a list of
    chunks, `asyncio.Event`s to wait for, `AttemptDiscarded` marks and an exception to raise; raw bytes of `protocol`, which go through the
    decoder; an exception; or a function from the `Request` to one of these, async or not. `Scripted(answer, …)` says how one of them
    comes: sliced, waiting at gates, dying in the middle.

    Args:
        answers: what to play.
        slice_chars: for every answer that does not say otherwise: cut texts and arguments into pieces of so many characters.
        protocol: of answers that are bytes.
        id: the model's id; its name in requests is what follows the first `:`.
        settings: for all requests.
        profile: switches that agents look at; changes nothing of what is played.
        options: of the decoder, for answers that are bytes.
        new_id: makes the message's id where an answer has none.
        clock: for the messages' times.

    Attributes:
        requests: what was asked so far, in order.
    """

    def __init__(
        self,
        *answers: Answer,
        slice_chars: int | None = None,
        protocol: str = "openai-chat",
        id: str = "scripted:model",  # noqa: A002 - the field's name
        settings: SettingsLike = None,
        profile: Profile | Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        new_id: NewId | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Hold the answers."""
        self.requests: list[Request] = []
        self._answers = list(answers)
        self._slice_chars = slice_chars
        self._protocol = protocol
        self._id = id
        self._settings = Settings.of(settings)
        self._profile = Profile.of(profile, base=DEFAULT.replace(provider="scripted"))
        self._options = options
        self._new_id: NewId = new_id or _hex_id
        self._clock = clock

    def __repr__(self) -> str:
        """Show how far the script is."""
        return f"ScriptedModel({len(self.requests)} of {len(self._answers)} answers played)"

    @property
    def id(self) -> str:
        """The model's id."""
        return self._id

    @property
    def provider(self) -> str:
        """The provider's name: what stands before the `:` of the id."""
        return self._id.partition(":")[0]

    @property
    def protocol(self) -> str:
        """The protocol of answers that are bytes."""
        return self._protocol

    @property
    def profile(self) -> Profile:
        """The switches."""
        return self._profile

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close nothing; there is nothing open."""

    def stream(
        self,
        messages: Messages,
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> ScriptedStream:
        """Play the next answer; see `ModelLike.stream`. The request is noted when the first item is asked for.

        Raises:
            UsageError: an argument does not fit.
        """
        request = Request(
            model=self._id.partition(":")[2] or self._id,
            messages=messages_of(messages),
            tools=specs_of(tools),
            tool_choice=tool_choice,
            output=output,
            settings=self._settings.updated(Settings.of(settings)),
            is_streamed=is_streamed,
        )
        return ScriptedStream(self, request)

    async def _next(self, request: Request) -> Scripted:
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._answers):
            raise StateError(f"the script holds {len(self._answers)} answers, and this is request {number + 1}")
        answer: Any = self._answers[number]
        if callable(answer) and not isinstance(answer, Exception):
            answer = answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        return answer if isinstance(answer, Scripted) else Scripted(answer, self._slice_chars)


class ScriptedStream(AnswerStream):
    """One scripted answer on its way; see `AnswerStream`."""

    def __init__(self, model: ScriptedModel, request: Request) -> None:
        """Hold the request."""
        super().__init__()
        self._model = model
        self._request = request
        self._began_at = model._clock.now()
        self._began_s = model._clock.elapsed_s()
        self._first_chunk_s: float | None = None
        self._total_s: float | None = None
        self._made_id: str | None = None
        self._sum = AssistantMessageChunk.from_deltas(())
        self._waiting: deque[MessageChunk] = deque()
        self._decoder: StreamDecoder | None = None
        self._given = 0
        self._failed: list[FailedAttempt] = []
        self._is_over = False

    @property
    def message(self) -> AssistantMessage:
        """The message so far; whole once the items have ended."""
        return self.choices[0]

    @property
    def choices(self) -> tuple[AssistantMessage, ...]:
        """The messages of all choices, by index."""
        return tuple(self._finished(message) for message in self._sum.to_messages())

    @property
    def response(self) -> ResponseFacts | None:
        """Always a 200 without headers."""
        return ResponseFacts(200, {})

    @property
    def attempts(self) -> tuple[FailedAttempt, ...]:
        """The attempts that the script discarded."""
        return tuple(self._failed)

    async def _read(self) -> AsyncGenerator[StreamItem]:
        script = await self._model._next(self._request)
        error: Exception | None = None
        try:
            for step in steps_of(script.answer, script.slice_chars or self._model._slice_chars):
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif isinstance(step, Exception):
                    raise step  # noqa: TRY301 - ends the answer as any other error
                elif isinstance(step, AttemptDiscarded):
                    self._discard(step)
                    yield step
                else:
                    self._waiting = self._take(step)
                    while self._waiting:
                        await self._before(script)
                        chunk = self._waiting.popleft()
                        self._give(chunk)
                        yield chunk
            if script.dies_after is not None and self._given <= script.dies_after:
                raise _death(script)  # noqa: TRY301 - the same
        except Exception as failure:  # noqa: BLE001 - the script's own errors, whatever they are
            error = failure
        rest = self._close(complete=error is None)
        for chunk in rest:
            yield chunk
        error = error or self._said()
        if error is not None:
            if isinstance(error, (TransportError, APIError, ProtocolError)):
                error.partial = self.message
            raise error

    async def _before(self, script: Scripted) -> None:
        """Wait until the next chunk may come, or die."""
        if self._given == script.dies_after:
            raise _death(script)
        if (gate := script.gates.get(self._given)) is not None:
            await gate.wait()
        # A real stream lets other tasks run between reads; so does this one.
        await asyncio.sleep(0)

    def _take(self, step: MessageChunk | bytes) -> deque[MessageChunk]:
        if not isinstance(step, bytes):
            return deque((step,))
        if self._decoder is None:
            self._decoder = StreamDecoder(protocol=self._model._protocol, options=self._model._options)
        return deque(self._decoder.feed(step))

    def _give(self, chunk: MessageChunk) -> None:
        if self._first_chunk_s is None:
            self._first_chunk_s = self._model._clock.elapsed_s() - self._began_s
        self._given += 1
        self._sum = self._sum + chunk

    def _discard(self, mark: AttemptDiscarded) -> None:
        self._failed.append(FailedAttempt(mark.attempt, ConnectionLostError(mark.reason), 0.0, self._given))
        self._sum, self._decoder, self._made_id = AssistantMessageChunk.from_deltas(()), None, None

    def _close(self, *, complete: bool) -> list[AssistantMessageChunk]:
        """End the answer, once, and return what the end adds. What was not given out by then is no part of the message."""
        if self._is_over:
            return []
        self._is_over = True
        self._total_s = self._model._clock.elapsed_s() - self._began_s
        rest: list[AssistantMessageChunk] = []
        if self._decoder is not None and not self._waiting:
            rest = self._decoder.close(complete=complete)
        elif not complete and not any(isinstance(delta, Ended) for delta in self._sum.deltas):
            rest = [AssistantMessageChunk.from_deltas((Ended(_TRUNCATED),), is_from_wire=True)]
        for chunk in rest:
            self._sum = self._sum + chunk
        return rest

    def _said(self) -> Exception | None:
        """What the decoder says went wrong."""
        said = None if self._decoder is None else self._decoder.result.error
        return None if said is None else stream_failure(said, Where(self._model.id, 200, {}), partial=self.message)

    def _settle(self) -> None:
        self._close(complete=False)

    def _finished(self, message: AssistantMessage) -> AssistantMessage:
        if not message.id and self._made_id is None:
            self._made_id = self._model._new_id()
        return finished(
            message,
            id=self._made_id or "",
            provider=self._model.provider,
            created_at=self._began_at,
            timing=Timing(first_chunk_s=self._first_chunk_s, total_s=self._total_s),
        )


def _death(script: Scripted) -> Exception:
    return script.error or ConnectionLostError("the scripted connection broke, as it was asked to")


def _hex_id() -> str:
    return uuid.uuid4().hex
