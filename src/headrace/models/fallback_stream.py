"""One answer of several models: each is asked in turn until one answers.

The rule of this file: a reader sees the chunks of one model alone, or is told which are void (`AttemptDiscarded`); no error is lost.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from itertools import pairwise
from typing import Any, Final, cast

import msgspec

from headrace.errors import HeadraceError, UsageError
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import Ended
from headrace.messages.message import AssistantMessage
from headrace.models.answer import AnswerStream, AttemptDiscarded, FailedAttempt, Messages, ModelLike, ResponseFacts, StreamItem
from headrace.models.falls_over import FallsOver, word_of
from headrace.models.stream import SILENT

_SAYS_NOTHING: Final = SILENT | {Ended}


class FallbackStream(AnswerStream):
    """One answer, of whichever model gives it; see `AnswerStream`."""

    def __init__(
        self,
        models: tuple[ModelLike, ...],
        messages: Messages,
        request: Mapping[str, Any],
        falls_over: frozenset[FallsOver],
        *,
        is_restarted: bool,
    ) -> None:
        """Encode the request for the first model, so that wrong use is said at once; nothing is sent yet."""
        super().__init__()
        self._models = models
        self._messages = messages
        self._request = request
        self._falls_over = falls_over
        self._is_restarted = is_restarted
        self._at = 0
        self._stream = models[0].stream(messages, **request)
        self._failed: list[FailedAttempt] = []
        # What made each model give way, with the model's id.
        self._errors: list[tuple[str, HeadraceError]] = []
        # How many chunks the present attempt has given out.
        self._chunks = 0
        self._is_noted = False

    @property
    def message(self) -> AssistantMessage:
        """The message so far, of the model that is being asked."""
        return self._stream.message

    @property
    def choices(self) -> tuple[AssistantMessage, ...]:
        """The messages of all choices, by index."""
        return self._stream.choices

    @property
    def response(self) -> ResponseFacts | None:
        """Status and headers of the present attempt; None before they came."""
        return self._stream.response

    @property
    def attempts(self) -> tuple[FailedAttempt, ...]:
        """The attempts that failed before the present one, of all models, in order."""
        return (*self._failed, *self._own_attempts())

    def _own_attempts(self) -> tuple[FailedAttempt, ...]:
        """What failed before the present attempt of the present model, counted on from the models before."""
        if self._is_noted:
            return ()
        before, name = len(self._failed), self._models[self._at].id
        return tuple(
            msgspec.structs.replace(failed, attempt=before + n, model=failed.model or name)
            for n, failed in enumerate(self._stream.attempts, start=1)
        )

    async def _read(self) -> AsyncGenerator[StreamItem]:
        last = len(self._models) - 1
        while True:
            failure = self._refusal() if self._at < last else None
            if failure is None:
                async with self._stream as stream:
                    items = self._items_of(stream)
                    try:
                        async for item in items:
                            yield item
                    except HeadraceError as error:
                        failure = error
                    finally:
                        await items.aclose()
                if failure is None:
                    return
            if not self._may_go_on(failure):
                raise self._chained(failure)
            discarded = self._note(failure)
            if discarded is not None:
                yield discarded
            if not self._go_on():
                raise self._chained(failure)

    async def _items_of(self, stream: AnswerStream) -> AsyncGenerator[StreamItem]:
        """Give a model's items; what says nothing is held until something says more, so that nobody sees a model that failed at once."""
        held: list[MessageChunk] = []
        self._chunks = 0
        before = len(self._failed)
        try:
            async for item in stream:
                if isinstance(item, AttemptDiscarded):
                    self._chunks, held = 0, []
                    yield AttemptDiscarded(before + item.attempt, item.reason)
                elif self._chunks:
                    self._chunks += 1
                    yield item
                else:
                    held.append(item)
                    if any(type(delta) not in _SAYS_NOTHING for delta in item.deltas):
                        self._chunks = len(held)
                        for chunk in held:
                            yield chunk
                        held = []
                if self._chunks and self._poured_into is not None:  # from here on it is this model's answer
                    stream.pour_into(self._poured_into)
        except HeadraceError as error:
            # Where the failure is the caller's to see, so is all that came.
            if held and not self._may_go_on(error):
                for chunk in held:
                    yield chunk
            raise
        for chunk in held:
            yield chunk

    def _refusal(self) -> HeadraceError | None:
        """Why the present model need not be asked, if it says so and another one is ready."""
        refusal = _refusal_of(self._models[self._at])
        if refusal is None or not self._falls_by(refusal):
            return None
        return refusal if any(_refusal_of(model) is None for model in self._models[self._at + 1 :]) else None

    def _falls_by(self, error: HeadraceError) -> bool:
        return word_of(error) in self._falls_over

    def _may_go_on(self, error: HeadraceError) -> bool:
        return self._at + 1 < len(self._models) and self._falls_by(error) and (self._is_restarted or not self._chunks)

    def _note(self, error: HeadraceError) -> AttemptDiscarded | None:
        """Keep what failed; returns what the reader has to be told, if chunks had been given out."""
        self._failed += self._own_attempts()
        self._is_noted = True
        chunks, self._chunks = self._chunks, 0
        self._give_way(self._models[self._at].id, error, chunks)
        return AttemptDiscarded(len(self._failed), str(error)) if chunks else None

    def _give_way(self, name: str, error: HeadraceError, chunks: int) -> None:
        self._errors.append((name, error))
        self._failed.append(FailedAttempt(len(self._failed) + 1, error, 0.0, chunks, name))

    def _go_on(self) -> bool:
        """Make the request for the next model that takes it; returns whether there is one."""
        for at in range(self._at + 1, len(self._models)):
            model = self._models[at]
            try:
                stream = model.stream(self._messages, **self._request)
            except UsageError as error:
                # The first model took the request, so this one lacks something that it asks for.
                self._give_way(model.id, error, 0)
            else:
                self._at, self._stream, self._is_noted = at, stream, False
                return True
        return False

    def _chained(self, failure: HeadraceError) -> HeadraceError:
        """Put the errors of the other models into the failure's chain of causes, and their words into a note."""
        others = [(name, error) for name, error in self._errors if error is not failure]
        if others:
            failure.add_note("No other model answered either. " + "; ".join(f"{name}: {error}" for name, error in others))
            errors = [*(error for _, error in others), failure]
            for earlier, later in pairwise(errors):
                _put_before(later, earlier)
        return failure

    def _settle(self) -> None:
        self._stream._settle()


def _refusal_of(model: ModelLike) -> HeadraceError | None:
    """What a model says of itself, if it is one that can say so."""
    refusal = getattr(model, "refusal", None)
    return cast("HeadraceError | None", refusal()) if callable(refusal) else None


def _put_before(error: BaseException, cause: BaseException) -> None:
    """Make `cause` the root of an error's chain, unless it stands there already."""
    known: set[int] = set()
    link: BaseException | None = cause
    while link is not None and id(link) not in known:
        known.add(id(link))
        link = link.__cause__ or link.__context__
    root = error
    while id(root) not in known:
        known.add(id(root))
        following = root.__cause__ or (None if root.__suppress_context__ else root.__context__)
        if following is None:
            root.__cause__ = cause
            return
        root = following
