"""`FallbackModel`: several models as one; where one cannot answer, the next is asked.

The rule of this file: it looks like a model from outside. A model's own retries come first, and what a model is asked is encoded for it
alone; how an answer passes from one to the next stands in `fallback_stream.py`, and which errors lead on in `falls_over.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, get_args

from headrace.errors import ConfigError, UsageError
from headrace.messages.request import OutputFormat, ToolChoice
from headrace.models.answer import Messages, ModelLike, SettingsLike, Tools
from headrace.models.fallback_stream import FallbackStream
from headrace.models.falls_over import DEFAULT_FALLS_OVER, FallsOver
from headrace.models.model import Model
from headrace.wire.profile import Profile


class FallbackModel(ModelLike):
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

    @property
    def profile(self) -> Profile | None:
        """The first model's switches, with those ways to ask for a typed answer that every model has; None if one of them does not say.

        Who answers is not known when an agent chooses how it asks, so it chooses what all of them take.
        """
        profiles: list[Profile] = []
        for model in self.models:
            profile = getattr(model, "profile", None)
            if not isinstance(profile, Profile):
                return None
            profiles.append(profile)
        first = profiles[0]
        return first.replace(
            output_formats=tuple(form for form in first.output_formats if all(form in one.output_formats for one in profiles)),
            tool_choices=tuple(word for word in first.tool_choices if all(word in one.tool_choices for one in profiles)),
            supports_output_with_tools=all(one.supports_output_with_tools for one in profiles),
            supports_strict_tools=all(one.supports_strict_tools for one in profiles),
        )

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
