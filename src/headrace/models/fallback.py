"""`FallbackModel`: several models as one; where one cannot answer, the next is asked.

The rule of this file: a model's own retries come first, and what a model is asked is encoded for it alone. An answer that had begun is not
begun anew on another model unless the caller asked for that, and then it is said (`AttemptDiscarded`). Which errors fall over is data.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, Literal, Self, TypeAlias, cast, get_args

import msgspec

from headrace.errors import (
    APIError,
    AuthError,
    ConfigError,
    ContextLengthError,
    HeadraceError,
    InvalidRequestError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    TransportError,
    UsageError,
)
from headrace.messages.chunk import MessageChunk
from headrace.messages.deltas import Ended
from headrace.messages.message import AssistantMessage
from headrace.messages.request import OutputFormat, ToolChoice
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
)
from headrace.models.model import Model
from headrace.models.stream import SILENT

FallsOver: TypeAlias = Literal["transport", "overloaded", "rate_limit", "retryable", "broken", "auth", "context_length", "request", "other"]

DEFAULT_FALLS_OVER: Final[tuple[FallsOver, ...]] = ("transport", "overloaded", "rate_limit", "retryable", "broken")
"""What another server may do better. A request that is wrong is wrong everywhere, and a wrong key should be noticed."""

_WORDS: Final[tuple[tuple[FallsOver, type[HeadraceError]], ...]] = (
    ("transport", TransportError),
    ("overloaded", OverloadedError),
    ("rate_limit", RateLimitError),
    ("auth", AuthError),
    ("context_length", ContextLengthError),
    ("request", InvalidRequestError),
    ("broken", ProtocolError),
)


def word_of(error: HeadraceError) -> FallsOver | None:
    """Return the word that an error falls over by, or None for one that never does."""
    for word, kind in _WORDS:
        if isinstance(error, kind):
            return word
    if isinstance(error, APIError):
        return "retryable" if error.retryable else "other"
    return None


class FallbackModel:
    """Several models as one: each is asked in turn until one answers.

        model = FallbackModel("deepseek:deepseek-chat", Model("openai-chat:mine", base_url="http://localhost:8000/v1"))

    The next model is asked when one has failed before it said anything, its own retries included. A model whose circuit breaker is open, or
    whose server asked to be left alone for a while, is passed over where another is ready. `stream.message.provider` and `.model`
    say who answered, and `stream.attempts` what had failed, over all models. If none answers, the last one's error is raised; the errors
    of those before are in its chain of causes, and named in a note. Every request begins with the first model again.

    Args:
        models: the models, or their ids, best first. Models made here from an id are closed by `aclose`; the others stay the caller's.
        falls_over: which errors lead to the next model: `transport` (no connection, too slow), `overloaded`, `rate_limit`,
            `retryable` (another refusal that may pass), `broken` (the answer ended early or was no answer), `auth` (the key),
            `context_length` (list models with a longer context behind), `request` (refused as invalid), `other` (every other refusal).
        after_first_chunk: whether the next model is asked also when an answer dies after chunks were given out.
        id: the name of the whole; by default the ids with `|` between.

    Raises:
        UsageError: no model was given, or something else is none.
        ConfigError: a word is unknown; or what `Model` says of an id.
    """

    def __init__(
        self,
        *models: ModelLike | str,
        falls_over: Iterable[FallsOver] = DEFAULT_FALLS_OVER,
        after_first_chunk: bool = False,
        id: str | None = None,  # noqa: A002 - the field's name
    ) -> None:
        """Check everything; open nothing."""
        if not models:
            raise UsageError("FallbackModel needs at least one model", argument="models")
        self._falls_over = frozenset(falls_over)
        unknown = sorted(self._falls_over - set(get_args(FallsOver)))
        if unknown:
            raise ConfigError(
                f"falls_over has {unknown[0]!r}, which is no such word; the words are {', '.join(get_args(FallsOver))}",
                argument="falls_over",
            )
        for n, model in enumerate(models):
            if not isinstance(model, str) and not callable(getattr(model, "stream", None)):
                raise UsageError(f"models[{n}] is a {type(model).__name__}; give a model, or a model's id", argument=f"models[{n}]")
        self.models: tuple[ModelLike, ...] = tuple(Model(model) if isinstance(model, str) else model for model in models)
        self._own = tuple(made for made, given in zip(self.models, models, strict=True) if isinstance(given, str))
        self._after_first_chunk = after_first_chunk
        self._id = id or "|".join(model.id for model in self.models)

    def __repr__(self) -> str:
        """Show the models in order."""
        return f"FallbackModel({', '.join(repr(model.id) for model in self.models)})"

    @property
    def id(self) -> str:
        """The name of the whole."""
        return self._id

    @property
    def provider(self) -> str:
        """The first model's provider; who answered stands in the message."""
        return self.models[0].provider

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the models that were made here."""
        for model in self._own:
            await model.aclose()

    def stream(
        self,
        messages: Messages,
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> FallbackStream:
        """Ask, and read the answer as it comes; arguments as in `Model.stream`, and the same for every model.

        Raises:
            UsageError: an argument does not fit, or the first model lacks something. A later model that does is passed over.
        """
        request: dict[str, Any] = {
            "tools": tools,
            "tool_choice": tool_choice,
            "output": output,
            "settings": settings,
            "is_streamed": is_streamed,
        }
        return FallbackStream(self.models, messages, request, self._falls_over, is_restarted=self._after_first_chunk)

    async def request(
        self,
        messages: Messages,
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        output: OutputFormat | None = None,
        settings: SettingsLike = None,
        is_streamed: bool = True,
    ) -> AssistantMessage:
        """Ask, and return the whole answer: `stream`, read to its end. Arguments as there.

        Raises:
            HeadraceError: as the items of a stream; what had come is its `partial`.
        """
        async with self.stream(
            messages, tools=tools, tool_choice=tool_choice, output=output, settings=settings, is_streamed=is_streamed
        ) as stream:
            return await stream.drain()


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


_SAYS_NOTHING: Final = SILENT | {Ended}


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
