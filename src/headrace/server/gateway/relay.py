"""One answer, from an upstream's chunks to a client's bytes.

The rule of this file: what came leaves at once. Chunks that came together leave in one piece; before anything is waited for, all that is
there has gone. Until the first word the answer may still become a refusal with a status of its own; after it an error is the client's
protocol's own last event. Nothing here knows a protocol.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final, cast

import msgspec

from headrace.errors import HeadraceError
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.models.answer import AnswerStream, AttemptDiscarded, StreamItem
from headrace.server.caller import COMMENTED, Caller
from headrace.server.eager import Resumed
from headrace.server.gateway.exchange import Exchange
from headrace.server.gateway.passing import Passing, Pile
from headrace.server.gateway.refusals import Refusal, body_of, refusal_of, stream_error_of, strict_error
from headrace.server.gateway.repairs import comment_of, counts_of, first_repair, words_of
from headrace.server.gateway.upstreams import Ask
from headrace.wire.protocols import Wire
from headrace.wire.server_side import Head, Incoming, StreamOut, cut_call_of, fault_of

_MAX_PIECE_BYTES: Final = 64 * 1024
_ENCODING: Final = "dropped_for_provider"


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How answers are carried; see `GatewayConfig`."""

    strict: bool = False
    refuse_cut_calls: bool = False


class Relay:
    """Carries one answer."""

    def __init__(
        self,
        wire: Wire,
        incoming: Incoming,
        caller: Caller,
        exchange: Exchange,
        clock: Callable[[], float],
        *,
        created_s: int,
        manner: Manner,
    ) -> None:
        """Say to whom, and how.

        Args:
            wire: the client's protocol.
            incoming: the client's request.
            caller: the client's end.
            exchange: takes down what happens.
            clock: the clock of `exchange`, in seconds.
            created_s: the time, in seconds since 1970.
            manner: what ends an answer with an error.
        """
        self._wire = wire
        self._incoming = incoming
        self._caller = caller
        self._exchange = exchange
        self._clock = clock
        self._head = Head(id=exchange.id, model=incoming.request.model, created_s=created_s)
        self._manner = manner

    async def run(self, stream: AnswerStream, asked: list[Ask]) -> None:
        """Carry the answer to its end.

        Args:
            stream: the upstream's answer, not begun.
            asked: who was asked; it grows.

        Raises:
            ClientLeftError: the client has gone.
        """
        if self._incoming.request.is_streamed:
            await self._stream(stream, asked)
        else:
            await self._whole(stream, asked)

    def _who(self, asked: list[Ask]) -> str:
        self._exchange.upstream = asked[-1].upstream if asked else ""
        return self._exchange.upstream

    # ------------------------------------------------------------------------------------------ a stream

    async def _stream(self, stream: AnswerStream, asked: list[Ask]) -> None:
        out = self._wire.new_stream_out()(self._head, self._incoming.options)
        self._caller.will_stream(out.media_type)
        passing = Passing(
            out, self._caller, self._exchange, model=self._head.model, strict=self._manner.strict, began=lambda: self._began(asked)
        )
        pile = passing.pile
        failure: HeadraceError | None = None
        stream.pour_into(passing.take)
        try:
            async with stream as answer:
                await self._carry(cast("AsyncGenerator[StreamItem]", aiter(answer)), passing)
        except HeadraceError as raised:
            failure = raised
            self._exchange.fail(raised)
        upstream = self._who(asked)
        code = passing.refused
        if failure is None and code is None and not passing.is_over and self._manner.strict:
            code = first_repair((*stream.warnings, *out.repairs))
        error = None if code is None else self._refused(code, upstream)
        if error is not None and not self._caller.is_started:
            await self.refuse(Refusal(status=502, kind="server", message=error.message))
            return
        if failure is not None:
            if not passing.has_said and not self._caller.is_started:
                await self.refuse(refusal_of(failure, upstream))
                return
            error = stream_error_of(failure, upstream)
        elif error is None and (fault := fault_of(stream.message)) is not None:
            self._exchange.failure = self._exchange.failure or fault.kind  # which `close` finds as well
        elif error is None and (error := self._cut_call(stream.choices)) is not None:
            self._exchange.failure = self._exchange.failure or error.kind
        pile.add(out.close(error))
        self._count(stream, out, asked)
        if out.media_type == COMMENTED:
            pile.add(comment_of(self._exchange.counts))
        self._exchange.status = 200
        await self._caller.end(pile.take())

    async def _carry(self, items: AsyncGenerator[StreamItem], passing: Passing) -> None:
        """Pass chunks on until they end, or no more of them can be passed on.

        What is left on the pile has not been sent.
        """
        caller, pile = self._caller, passing.pile
        while not passing.is_over:
            step = items.__anext__().__await__()
            try:
                waiting = next(step)
            except StopIteration as got:
                item: StreamItem = got.value
            except StopAsyncIteration:
                return
            else:
                raised = await self._send(pile) if pile.size and passing.has_said else None
                try:
                    item = await Resumed(step, waiting, raised)
                except StopAsyncIteration:
                    return
            if isinstance(item, AttemptDiscarded):
                raise HeadraceError("an answer began anew after a part of it was passed on")
            if not item.deltas:  # the stream poured until the client was slow, or the pouring came to an end
                await caller.settle()
            elif passing.add(item) and pile.size > _MAX_PIECE_BYTES and passing.has_said:
                await caller.write(pile.take())

    def _began(self, asked: list[Ask]) -> None:
        """The answer said its first word."""
        self._who(asked)
        self._exchange.first_chunk_s = self._clock() - self._exchange.began_s

    async def _send(self, pile: Pile) -> BaseException | None:
        """Send what is on the pile; returns what happened instead, which the upstream's side has to end by too."""
        try:
            await self._caller.write(pile.take())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is read
            return error
        return None

    # ------------------------------------------------------------------------------------------ a whole answer

    async def _whole(self, stream: AnswerStream, asked: list[Ask]) -> None:
        try:
            async with stream as answer:
                message = await answer.drain()
        except HeadraceError as raised:
            self._exchange.fail(raised)
            await self.refuse(refusal_of(raised, self._who(asked)))
            return
        upstream = self._who(asked)
        self._exchange.chunks = 1
        self._exchange.first_chunk_s = self._clock() - self._exchange.began_s
        choices = tuple(msgspec.structs.replace(one, model=self._head.model) for one in (stream.choices or (message,)))
        warnings = tuple(warning for one in choices for warning in one.warnings)
        out = self._wire.new_stream_out()(self._head, self._incoming.options)
        fault = next((found for one in choices if (found := fault_of(one)) is not None), None) or self._cut_call(choices)
        code = first_repair(warnings) if self._manner.strict else None
        error = fault if code is None else self._refused(code, upstream)
        body = out.whole(*choices) if error is None else b""
        self._exchange.counts = counts_of((*asked[-1].dropped, *warnings, *out.repairs))
        if error is not None:
            self._exchange.failure = self._exchange.failure or error.kind
            await self.refuse(Refusal(status=502, kind="server", message=error.message))
            return
        self._exchange.status = 200
        said = words_of(self._exchange.counts)
        await self._caller.whole(200, body, headers=(("x-headrace-repairs", said),) if said else ())

    # ------------------------------------------------------------------------------------------ both

    async def refuse(self, refusal: Refusal) -> None:
        """Send a refusal in the client's protocol."""
        status, body = body_of(refusal, self._wire)
        self._exchange.status = status
        await self._caller.whole(status, body, headers=refusal.headers)

    def _refused(self, code: str, upstream: str) -> StreamError:
        self._exchange.refused = code
        return strict_error(code, upstream)

    def _cut_call(self, choices: tuple[AssistantMessage, ...]) -> StreamError | None:
        return cut_call_of(choices) if self._manner.refuse_cut_calls else None

    def _count(self, stream: AnswerStream, out: StreamOut, asked: list[Ask]) -> None:
        of_request = [warning for warning in stream.warnings if warning.code == _ENCODING]
        dropped = asked[-1].dropped if asked else ()
        self._exchange.counts = counts_of((*dropped, *of_request, *out.repairs))
