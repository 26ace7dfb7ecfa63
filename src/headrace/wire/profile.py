"""The switches that a wire reads: what one server takes and wants, as data.

The rule of this file: a profile names no vendor's rule in code. A vendor is a record of these switches
(`providers/`), and whoever runs a server of their own overrides single switches by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, Self, TypeAlias

import msgspec

from headrace._json import EMPTY, freeze
from headrace.errors import ConfigError
from headrace.messages.request import Settings

ReasoningStyle: TypeAlias = Literal["none", "field", "details", "think_tags", "parts"]
ReasoningWhen: TypeAlias = Literal["always", "tool_turns", "never"]
ToolChoiceWord: TypeAlias = Literal["auto", "none", "required", "named"]
OutputFormatWord: TypeAlias = Literal["json_schema", "json_object"]
ContentWithCalls: TypeAlias = Literal["null", "empty", "absent"]

HINTS: Final = frozenset(
    {"temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort", "parallel_tool_calls"}
)
"""Settings that shape an answer without changing what it is: where a server lacks one, it is left out with a warning.

Every other one that a server lacks is an error, since the answer would not be what was asked for.
"""


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server takes and wants; the defaults suit every server that keeps to Chat Completions.

    Attributes:
        provider: whose server it is. What a message of this provider carries for it (`provider_data`, `ProviderItem`,
            reasoning details) goes back there and nowhere else.

        system_role: the word for the role of instructions.
        supports_several_system_messages: else all of them become one, at the front, with a blank line between.
        supports_names: whether messages may carry a speaker's name.
        names_tool_results: whether a tool message carries the tool's name.
        needs_assistant_after_tool: whether a user message may not follow a tool message; a short assistant message is put between.
        content_with_calls: what stands as content of an assistant message that has calls and no text.
        supports_refusal: whether an assistant message has a `refusal` member; else its words go as text.

        reasoning_style: how thinking goes back: not at all, as a text field, as `reasoning_details` (only to who sent them;
            else the text field), as `<think>` tags in the text, or as `thinking` parts of the content.
        reasoning_field: the text field's name.
        encrypted_field: the name of the field for thinking that only the provider can read, or None if it has none.
        reasoning_when: on which assistant messages: all, those with tool calls, or none.
        reasoning_filler: what stands in the field where a message has no thinking but the server insists on the field.
        takes_foreign_reasoning: whether the text of another provider's thinking goes along too.
        needs_signature: whether thinking goes back only with the signature that proves it.
        unsigned_call: what stands as signature of a first call that has none, or None where no call needs one.
        sends_provider_data: whether members that we did not understand go back to where they came from.

        call_id_pattern: what a tool call's id must match as a whole, or None for anything.
        call_id_length: how many letters and digits an id gets that does not match.
        tool_name_pattern: which characters a called tool's name may have (one character), or None for any.
        max_tool_name: how long it may be.
        arguments_as: whether arguments stand as JSON text or as an object.
        supports_custom_tools: whether there are tools that take free text.
        supports_strict_tools: whether a tool may ask for strict arguments.
        needs_declared_tools: whether tools that the history called must be declared, also where none may be called any more.
        tool_choices: the forms of `tool_choice` that there are.

        supports_images, supports_audio, supports_files, supports_video: which media user messages may carry.
        supports_file_urls: whether a document may be named by its address.
        supports_images_in_results: whether tool messages may carry images; else they follow in a user message.
        sends_all_as_media: where one service takes text and another media: whether the latter gets every request.

        output_formats: the forms of `response_format` that there are.
        supports_output_with_tools: whether they may be asked for in a request that has tools.
        max_tokens_field, seed_field: the names of these settings.
        default_max_tokens: what a wire that insists on a bound sends where the caller names none.
        unsupported_settings: names of `Settings` fields that the server lacks.
        supports_stream_usage: whether `stream_options.include_usage` may be asked for.
        efforts: the body's members for each reasoning effort; empty means `reasoning_effort` with the word as it is.
        body: members of every request's body.
        responses_body: members of every body of the Responses protocol, which a server may speak beside Chat Completions.
        decode_options: options for the decoder of the answers, such as `think_tags`.
        by_model: switches that differ for models whose whole name matches a pattern; the first that matches counts.
    """

    provider: str = ""

    system_role: Literal["system", "developer"] = "system"
    supports_several_system_messages: bool = True
    supports_names: bool = True
    names_tool_results: bool = False
    needs_assistant_after_tool: bool = False
    content_with_calls: ContentWithCalls = "null"
    supports_refusal: bool = False

    reasoning_style: ReasoningStyle = "none"
    reasoning_field: str = "reasoning_content"
    encrypted_field: str | None = None
    reasoning_when: ReasoningWhen = "always"
    reasoning_filler: str | None = None
    takes_foreign_reasoning: bool = True
    needs_signature: bool = False
    unsigned_call: str | None = None
    sends_provider_data: bool = True

    call_id_pattern: str | None = None
    call_id_length: int = 24
    tool_name_pattern: str | None = None
    max_tool_name: int = 64
    arguments_as: Literal["text", "object"] = "text"
    supports_custom_tools: bool = False
    supports_strict_tools: bool = False
    needs_declared_tools: bool = False
    tool_choices: tuple[ToolChoiceWord, ...] = ("auto", "none", "required", "named")

    supports_images: bool = True
    supports_audio: bool = True
    supports_files: bool = True
    supports_video: bool = False
    supports_file_urls: bool = False
    supports_images_in_results: bool = False
    sends_all_as_media: bool = False

    output_formats: tuple[OutputFormatWord, ...] = ("json_schema", "json_object")
    supports_output_with_tools: bool = True
    max_tokens_field: str = "max_tokens"
    seed_field: str = "seed"
    default_max_tokens: int = 8192
    unsupported_settings: tuple[str, ...] = ()
    supports_stream_usage: bool = True
    efforts: dict[str, dict[str, Any]] = EMPTY
    body: dict[str, Any] = EMPTY
    responses_body: dict[str, Any] = EMPTY
    decode_options: dict[str, Any] = EMPTY
    by_model: dict[str, dict[str, Any]] = EMPTY

    def __post_init__(self) -> None:
        """Freeze the open fields and check that the switches fit together."""
        for field in ("efforts", "body", "responses_body", "decode_options", "by_model"):
            msgspec.structs.force_setattr(self, field, freeze(getattr(self, field), f"profile.{field}"))
        unknown = sorted(set(self.unsupported_settings) - set(Settings.__struct_fields__))
        if unknown:
            raise ConfigError(f"profile.unsupported_settings names {unknown[0]!r}, which is no setting", argument="unsupported_settings")
        length = self.call_id_length
        if length < 8:
            raise ConfigError(f"profile.call_id_length is {length}; under 8 letters ids would soon meet", argument="call_id_length")
        if not self.fits_call_id("a" * length) or not self.fits_call_id("0" * length):
            raise ConfigError(
                f"profile.call_id_pattern {self.call_id_pattern!r} does not match {length} letters and digits; set call_id_length",
                argument="call_id_pattern",
            )

    @classmethod
    def of(cls, value: Profile | Mapping[str, Any] | None, *, base: Profile | None = None) -> Profile:
        """Return the value as a profile; a mapping holds the switches that differ from `base`.

        Raises:
            ConfigError: there is no such switch, or its value does not fit.
        """
        if isinstance(value, Profile):
            return value
        return (base or DEFAULT).replace(**(value or {}))

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some switches changed.

        Raises:
            ConfigError: there is no such switch, or its value does not fit.
        """
        if not changes:
            return self
        unknown = sorted(set(changes) - set(self.__struct_fields__))
        if unknown:
            raise ConfigError(f"a profile has no switch {unknown[0]!r}", argument=unknown[0])
        try:
            return msgspec.convert(msgspec.structs.asdict(self) | changes, type=type(self))
        except msgspec.ValidationError as error:
            cause = error.__cause__  # what __post_init__ raised says more
            raise ConfigError(f"profile: {cause if isinstance(cause, ConfigError) else error}", argument="profile") from error

    def fits_call_id(self, call_id: str) -> bool:
        """Return whether the server takes this id of a tool call."""
        return call_id != "" and (self.call_id_pattern is None or re.fullmatch(self.call_id_pattern, call_id) is not None)

    def for_model(self, model: str) -> Self:
        """Return the profile with the switches that differ for this model.

        Raises:
            ConfigError: `by_model` holds no such switch, or a value that does not fit.
        """
        found = (changes for pattern, changes in self.by_model.items() if re.fullmatch(pattern, model))
        return self.replace(**next(found, EMPTY))

    def is_own(self, provider: str | None) -> bool:
        """Return whether a message of this provider is the server's own; one that names no provider counts as own."""
        return not provider or provider == self.provider


DEFAULT: Final = Profile()
"""What every server takes that keeps to Chat Completions."""
