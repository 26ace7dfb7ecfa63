"""What is asked of a model, in neutral words: messages, tools, how to choose, how to answer.

Encoders (`wire/*/request_out.py`) turn a `Request` into a provider's body; what a provider cannot take is an
`UnsupportedError` or a `dropped_for_provider` warning, never a silent loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from headrace._json import EMPTY, freeze
from headrace.errors import UsageError
from headrace.messages.checked import CheckedMeta, located
from headrace.messages.message import Message

ToolMode: TypeAlias = Literal["auto", "none", "required"]
ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high"]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=CheckedMeta):
    """A tool as the model sees it.

    Attributes:
        name: its name.
        description: what it does, for the model.
        parameters: the JSON Schema of its arguments, an object.
        kind: `function` (JSON arguments) or `custom` (free text).
        is_strict: ask the provider to keep to the schema; None leaves it to the provider.
        provider_data: a provider's own fields, such as a grammar for a custom tool.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = EMPTY
    kind: Literal["function", "custom"] = "function"
    is_strict: bool | None = None
    provider_data: dict[str, Any] = EMPTY

    def __post_init__(self) -> None:
        """Freeze the schema."""
        msgspec.structs.force_setattr(self, "parameters", freeze(self.parameters, f"tool {self.name}: parameters"))
        msgspec.structs.force_setattr(self, "provider_data", freeze(self.provider_data, f"tool {self.name}: provider_data"))


class NamedTool(msgspec.Struct, frozen=True, metaclass=CheckedMeta):
    """The model must call this tool."""

    name: str


ToolChoice: TypeAlias = ToolMode | NamedTool


class OutputFormat(msgspec.Struct, frozen=True, kw_only=True, metaclass=CheckedMeta):
    """The answer must be JSON; with a schema, JSON of that schema.

    Attributes:
        name: a name for the schema.
        schema: a JSON Schema, or None for any JSON object.
        is_strict: ask the provider to keep to the schema.
    """

    name: str = "answer"
    schema: dict[str, Any] | None = None
    is_strict: bool = True

    def __post_init__(self) -> None:
        """Freeze the schema."""
        if self.schema is not None:
            msgspec.structs.force_setattr(self, "schema", freeze(self.schema, "output schema"))


class Settings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=CheckedMeta):
    """How to generate; None leaves a thing to the provider.

    Attributes:
        max_tokens: the most tokens to generate, reasoning included.
        temperature, top_p, seed, frequency_penalty, presence_penalty: sampling.
        stop: texts that end the answer.
        n: how many answers (choices).
        reasoning_effort: how much to think.
        parallel_tool_calls: whether several calls in one answer are allowed.
        logprobs: give log-probabilities; `top_logprobs` gives that many alternatives.
        modalities: such as `("text", "audio")`.
        extra_body: a provider's own fields, put into the request as they are; they win over everything else.
        extra_headers: further HTTP headers.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: tuple[str, ...] | None = None
    n: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    parallel_tool_calls: bool | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    modalities: tuple[str, ...] | None = None
    extra_body: dict[str, Any] = EMPTY
    extra_headers: dict[str, str] = EMPTY

    def __post_init__(self) -> None:
        """Freeze the open fields."""
        msgspec.structs.force_setattr(self, "extra_body", freeze(self.extra_body, "settings.extra_body"))
        msgspec.structs.force_setattr(self, "extra_headers", freeze(self.extra_headers, "settings.extra_headers"))

    @classmethod
    def of(cls, value: Settings | Mapping[str, Any] | None) -> Settings:
        """Return the value as `Settings`; a mapping holds fields of `Settings`.

        Raises:
            UsageError: a field is unknown or its value does not fit.
        """
        if value is None:
            return _DEFAULTS
        if isinstance(value, Settings):
            return value
        given: object = value
        if not isinstance(given, Mapping):
            raise UsageError(f"settings is a {type(given).__name__}; give Settings(…) or a mapping of its fields", argument="settings")
        unknown = sorted(set(value) - set(cls.__struct_fields__))
        if unknown:
            raise UsageError(f"settings has no field {unknown[0]!r}; a provider's own fields go into extra_body", argument=unknown[0])
        try:
            return msgspec.convert(dict(value), type=cls)
        except msgspec.ValidationError as error:
            raise located(error, "settings") from error

    def updated(self, later: Settings) -> Settings:
        """Return these settings with what `later` says on top; open fields are joined by key."""
        if later is _DEFAULTS or self is _DEFAULTS:
            return self if later is _DEFAULTS else later
        fields = {name: getattr(self, name) if getattr(later, name) is None else getattr(later, name) for name in self.__struct_fields__}
        fields["extra_body"] = {**self.extra_body, **later.extra_body}
        fields["extra_headers"] = {**self.extra_headers, **later.extra_headers}
        return Settings(**fields)


_DEFAULTS = Settings()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model.

    Attributes:
        model: the model's name, as the provider knows it.
        messages: the history, oldest first.
        tools: what the model may call.
        tool_choice: whether it may, must or must not.
        output: the form of the answer, or None for text.
        settings: how to generate.
        is_streamed: whether the answer comes in pieces.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    output: OutputFormat | None = None
    settings: Settings = _DEFAULTS
    is_streamed: bool = True

    def __post_init__(self) -> None:
        """Take lists as tuples, and check that messages and tools are such."""
        for field, kind in (("messages", Message), ("tools", ToolSpec)):
            values: tuple[object, ...] = tuple(getattr(self, field))
            if not all(issubclass(found, kind) for found in set(map(type, values))):  # a history is long and has few types
                n, value = next((n, value) for n, value in enumerate(values) if not isinstance(value, kind))
                raise UsageError(f"{field}[{n}] is a {type(value).__name__}, not a {kind.__name__}", argument=f"{field}[{n}]")
            msgspec.structs.force_setattr(self, field, values)
