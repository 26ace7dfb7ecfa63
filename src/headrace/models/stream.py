"""The shell that streams: one call of a provider from its request to its message, with the attempts that it took.

The rule of this file: a read of the network is one await, and the chunks of that read are handed on in a plain loop: no task,
timer or generator for a chunk; where the reader takes chunks when they come (`pour_into`), not even an await for a read. It decides
nothing: the decoder says what came, `failures` what a refusal means, `io.retry` whether to try again. Before the first chunk that says something an attempt may be repeated unseen; after it only if the caller asked
for that, and then it is said (`AttemptDiscarded`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from headrace.decoding import StreamDecoder
from headrace.errors import APIError, HeadraceError, TransportError
from headrace.io.redact import redact_json
from headrace.io.retry import RetryPolicy
from headrace.io.transport import HTTPRequest, Response, Timeouts, Transport, flow, read_bounded
from headrace.messages.accumulator import NewId
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import MessageStart, MetadataDelta, StreamError, UsageDelta, WarningDelta
from headrace.messages.message import AssistantMessage, Timing
from headrace.messages.parts import make
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.models.answer import AnswerStream, AttemptDiscarded, FailedAttempt, ResponseFacts, StreamItem, finished
from headrace.models.clock import Clock
from headrace.models.failures import Where, failure_of, mid_stream_failure_of, refusal, request_id_of, stream_failure
from headrace.models.gate import Gate

# A server that keeps the connection open after the terminator is not waited for; leaving then closes it.
_END_S: Final = 0.25
SILENT: Final = frozenset({MessageStart, MetadataDelta, UsageDelta, WarningDelta})
"""The deltas that say nothing to a reader yet."""
_TITLE: Final = re.compile(r"<title[^>]{0,100}>([^<]{0,200})", re.IGNORECASE)


class Call(msgspec.Struct, frozen=True):
    """Everything that one call needs; the same for each of its attempts.

    Attributes:
        what: names the provider and model in errors.
        provider: who answers.
        transport: carries the request.
        prepare: gives the request and what is secret in it; awaited once, at the first item.
        new_decoder: makes a decoder for an answer.
        warnings: what could not be sent.
        new_id: makes the message's id where the wire has none.
        clock: time, waiting and chance.
        gate: what every attempt passes on its way out.
        timeouts: for each attempt.
        retry: the policy before the first chunk.
        mid_stream_retries: how often to start again after chunks were given out.
        on_retry: told of each attempt that failed and is tried again, before the wait.
    """

    what: str
    provider: str
    transport: Transport
    prepare: Callable[[], Awaitable[tuple[HTTPRequest, tuple[str, ...]]]]
    new_decoder: Callable[[Response], StreamDecoder]
    warnings: tuple[Warning, ...]
    new_id: NewId
    clock: Clock
    gate: Gate
    timeouts: Timeouts
    retry: RetryPolicy
    mid_stream_retries: int = 0
    on_retry: Callable[[FailedAttempt], None] | None = None


class _Attempt:
    """What is known of one attempt; a new one forgets everything of the last."""

    def __init__(self, clock: Clock) -> None:
        self.began_s = clock.elapsed_s()
        self.began_at: datetime = clock.now()
        self.first_chunk_s: float | None = None
        self.total_s: float | None = None
        self.decoder: StreamDecoder | None = None
        self.is_closed = False
        self.facts: ResponseFacts | None = None
        self.chunks = 0
        self.made_id: str | None = None
        self.held: list[AssistantMessageChunk] = []

    def due(self, chunks: list[AssistantMessageChunk], clock: Clock) -> list[AssistantMessageChunk]:
        """Return what is to be given out of chunks that came: all so far as soon as one of them says something, and nothing until then.

        Many servers say who answers and only then that they cannot. What was held is forgotten in a retry that nobody notices.
        """
        if not self.chunks:
            self.held += chunks
            if all(type(delta) in SILENT for chunk in chunks for delta in chunk.deltas):
                return []
            self.first_chunk_s = clock.elapsed_s() - self.began_s
            chunks, self.held = self.held, []
        self.chunks += len(chunks)
        return chunks

    def close(self, *, complete: bool) -> list[AssistantMessageChunk]:
        """End the decoder, once; returns what was not given out yet."""
        if self.decoder is None or self.is_closed:
            return []
        self.is_closed = True
        held, self.held = self.held, []
        return held + self.decoder.close(complete=complete)


class ModelStream(AnswerStream):
    """One answer of a provider on its way; see `AnswerStream`."""

    def __init__(self, call: Call) -> None:
        """Hold the call; nothing is sent yet."""
        super().__init__()
        self._call = call
        self._attempt = _Attempt(call.clock)
        self._failed: list[FailedAttempt] = []
        self._secrets: tuple[str, ...] = ()
        self._final: AssistantMessage | None = None

    @property
    def message(self) -> AssistantMessage:
        """The message so far; a snapshot costs as much as the message is long."""
        return self._final or self._snapshot()

    @property
    def choices(self) -> tuple[AssistantMessage, ...]:
        """The messages of all choices, by index."""
        decoder = self._attempt.decoder
        if decoder is None:
            return (self.message,)
        result = decoder.result
        return tuple(self._finished(message, result.error) for message in result.choices)

    @property
    def response(self) -> ResponseFacts | None:
        """Status and headers of the present attempt; None before they came."""
        return self._attempt.facts

    @property
    def attempts(self) -> tuple[FailedAttempt, ...]:
        """The attempts that failed before the present one, in order."""
        return tuple(self._failed)

    # ------------------------------------------------------------------------------------------ reading

    async def _read(self) -> AsyncGenerator[StreamItem]:
        call = self._call
        request, self._secrets = await call.prepare()
        while True:
            async with call.gate.turn() as turn:
                attempt = self._attempt = _Attempt(call.clock)
                cause: HeadraceError | None = None
                rest: list[AssistantMessageChunk] = []
                try:
                    async with call.transport.stream(request, timeouts=call.timeouts) as response:
                        turn.heard(response.status, response.headers)
                        decoder = await self._answered(response)
                        reads = response.chunks()
                        async for data in reads:
                            if chunks := decoder.feed(data):
                                for chunk in attempt.due(chunks, call.clock):
                                    yield chunk
                            while await self._flows(reads, decoder):
                                yield AssistantMessageChunk()
                            if decoder.is_over:
                                await _let_end(reads, decoder)
                                break
                        rest = attempt.close(complete=True)
                except (TransportError, APIError) as error:
                    cause = error
                    rest = attempt.close(complete=False)
                failure = self._ended(cause, rest)
                turn.ended(failure)
            delay_s = None if failure is None else self._delay_s(failure)
            if failure is None or delay_s is None:
                for chunk in rest:
                    yield chunk
                if failure is not None:
                    raise failure from (cause if cause is not failure else None)
                return
            self._note(failure, delay_s)
            if attempt.chunks:
                yield AttemptDiscarded(len(self._failed), str(failure))
            await call.clock.sleep(delay_s)

    async def _flows(self, reads: AsyncIterator[bytes], decoder: StreamDecoder) -> bool:
        """Hand on what comes to whoever takes it when it comes; returns whether more can follow, which was not wanted yet."""
        if self._poured_into is None or not self._attempt.chunks or decoder.is_over:
            return False
        return await flow(reads, self._pour) and not decoder.is_over

    def _pour(self, data: bytes) -> bool:
        """Hand on the chunks of a read when it comes; returns whether the next one is wanted in this way too."""
        attempt, take = self._attempt, self._poured_into
        assert attempt.decoder is not None
        assert take is not None
        chunks = attempt.decoder.feed(data)
        attempt.chunks += len(chunks)
        return (not chunks or take(chunks)) and not attempt.decoder.is_over

    async def _answered(self, response: Response) -> StreamDecoder:
        """Take down the status; make the decoder, or raise the refusal."""
        attempt, status, headers = self._attempt, response.status, response.headers
        attempt.facts = ResponseFacts(status, headers, request_id_of(headers))
        decoder = self._call.new_decoder(response)
        if 200 <= status < 300:
            attempt.decoder = decoder
            return decoder
        try:
            body = await read_bounded(response)
        except TransportError:
            # The status has said enough; its words are lost.
            body = b""
        decoder.feed(body)
        decoder.close()
        said, text = decoder.result.error, body.decode(errors="replace")
        is_words = said is not None and said.kind == "provider_error" and not text.lstrip().startswith("<") and bool(text.strip())
        raise refusal(
            self._where(status, headers),
            code=said.code if said is not None and is_words and said.code != str(status) else None,
            message=said.message if said is not None and is_words else _prose(text),
            body=text,
            now=self._call.clock.now(),
        )

    def _ended(self, cause: HeadraceError | None, rest: list[AssistantMessageChunk]) -> HeadraceError | None:
        """The attempt is over: fix its message, and return what has to be raised, if anything."""
        attempt = self._attempt
        attempt.total_s = self._call.clock.elapsed_s() - attempt.began_s
        if rest and attempt.first_chunk_s is None:
            attempt.first_chunk_s = attempt.total_s  # a body that is one JSON value gives all its chunks at its end
        self._final = self._snapshot()
        if attempt.decoder is None or attempt.facts is None:
            return cause
        said = attempt.decoder.result.error
        if said is None:
            # The wire had said that the message is whole: what the connection did afterwards harms nobody.
            return None
        if isinstance(cause, TransportError) and said.kind == "stream_truncated":
            cause.partial = self._final
            return cause
        return stream_failure(said, self._where(attempt.facts.status, attempt.facts.headers), partial=self._final)

    def _delay_s(self, failure: HeadraceError) -> float | None:
        """How long to wait before trying again, or None if that is not to be done."""
        call, attempt = self._call, self._attempt
        headers: Mapping[str, str] = {} if attempt.facts is None else attempt.facts.headers
        if attempt.chunks:
            done = sum(1 for failed in self._failed if failed.chunks)
            policy = msgspec.structs.replace(call.retry, max_retries=call.mid_stream_retries)
            judged = mid_stream_failure_of(failure, headers)
        else:
            done = sum(1 for failed in self._failed if not failed.chunks)
            policy = call.retry
            judged = failure_of(failure, headers)
        if judged is None:
            return None
        delay_s = policy.next_delay_s(done + 1, judged, random=call.clock.chance(), now=call.clock.now())
        return None if delay_s is None else call.gate.retry_delay_s(delay_s)

    def _note(self, failure: HeadraceError, delay_s: float) -> None:
        failed = FailedAttempt(len(self._failed) + 1, failure, delay_s, self._attempt.chunks, self._call.what)
        self._failed.append(failed)
        self._final = None
        if self._call.on_retry is not None:
            self._call.on_retry(failed)

    def _settle(self) -> None:
        if self._final is None:
            self._attempt.close(complete=False)
            self._attempt.total_s = self._call.clock.elapsed_s() - self._attempt.began_s
            self._final = self._snapshot()

    # ------------------------------------------------------------------------------------------ the message

    def _where(self, status: int, headers: Mapping[str, str]) -> Where:
        return Where(self._call.what, status, headers, self._secrets)

    def _snapshot(self) -> AssistantMessage:
        decoder = self._attempt.decoder
        if decoder is None:
            return self._finished(AssistantMessage.assemble(), None)
        result = decoder.result
        return self._finished(result.message, result.error)

    def _finished(self, message: AssistantMessage, error: StreamError | None) -> AssistantMessage:
        """Add what only the shell knows."""
        call, attempt = self._call, self._attempt
        if not message.id and attempt.made_id is None:
            attempt.made_id = call.new_id()
        if error is not None and message.metadata:
            # A provider's error is kept there, and some repeat the key.
            message = msgspec.structs.replace(message, metadata=redact_json(message.metadata, self._secrets))
        return finished(
            message,
            id=attempt.made_id or "",
            provider=call.provider,
            created_at=attempt.began_at,
            timing=make(Timing, first_chunk_s=attempt.first_chunk_s, total_s=attempt.total_s),
            warnings=call.warnings,
        )


async def _let_end(reads: AsyncIterator[bytes], decoder: StreamDecoder) -> None:
    """Give a body that is whole a moment to end, so that its connection can be used again; what it still says is of no account."""
    if decoder.is_broken:
        return
    try:
        async with asyncio.timeout(_END_S):
            async for _ in reads:
                pass
    except (TimeoutError, TransportError):
        pass


def _prose(body: str) -> str:
    """What a body without an error object says; of a web page only its title."""
    if not body.lstrip().startswith("<"):
        return body
    title = _TITLE.search(body[:4096])
    return f"a web page: {title[1].strip()}" if title else "a web page"
