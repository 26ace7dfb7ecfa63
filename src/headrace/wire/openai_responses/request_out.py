"""A request in neutral words as the body of `POST …/responses`.

The rule of this file: the whole history goes along each time, so nothing depends on what the server has kept; the same request gives the
same bytes, and each message is encoded once (`EncodingCache`). Whatever the history, the body keeps the wire's laws (`wire/history.py`).
What the server cannot take is said as a `dropped_for_provider` warning; what would change the meaning of the request if it were left out is
an `UnsupportedError`.

A server that is told not to store (`store: false`) knows no item by its id alone: thinking then goes back only in its encrypted form. To go
on from a stored response instead, put `previous_response_id` into `settings.extra_body` and send only what is new.

Source: https://platform.openai.com/docs/api-reference/responses/create.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace._json import JSON, dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage
from headrace.messages.parts import ToolResultPart
from headrace.messages.request import OutputFormat, Request
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.beginnings import Beginning, resume, size_of
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.history import PairedCall, Turn
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import NOT_RUN, body_of, lay_over, list_of, loss_warnings
from headrace.wire.openai_responses.request_items import encode_message, kind_of
from headrace.wire.openai_responses.request_results import encode_result
from headrace.wire.openai_responses.request_tools import tool_fields
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.setting_fields import setting_fields

PATH: Final = "/responses"
_LOGPROBS: Final = "message.output_text.logprobs"
_NAMES: Final = {
    "max_tokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_logprobs": "top_logprobs",
    "logprobs": _LOGPROBS,  # which is asked for among what to include
}


def encode_request(request: Request, profile: Profile = DEFAULT, *, cache: EncodingCache | None = None) -> EncodedRequest:
    """Encode a request.

    `settings.extra_body` is laid over the body last: its members replace the body's own, whole; None takes a member out.

    Args:
        request: what is asked.
        profile: what the server takes and wants.
        cache: remembers encoded messages between requests; changes nothing but the time.

    Raises:
        UsageError: there is no message to send, or a tool choice names no tool.
        UnsupportedError: something was asked for that this server lacks and that cannot be left out unnoticed.
    """
    extra: Mapping[str, JSON] = request.settings.extra_body
    is_stored = {**profile.responses_body, **extra}.get("store") is not False
    items = _Items(profile, EncodingCache() if cache is None else cache, is_stored=is_stored)
    instructions = items.add_all(request.messages)
    fields: dict[str, bytes] = {"model": dumps(request.model)}
    if instructions:
        fields["instructions"] = dumps(instructions)
    fields["input"] = list_of(items.wire)
    fields |= tool_fields(request, profile, items.cache, items.warnings)
    fields |= {key: dumps(value) for key, value in _options(request, profile, items.warnings).items()}
    lay_over(fields, extra)
    if fields.get("input") == b"[]" and not {"prompt", "previous_response_id", "conversation"} & fields.keys():
        raise UsageError("there is no message to send", argument="messages")
    base = {"content-type": "application/json", "accept": "text/event-stream" if request.is_streamed else "application/json"}
    return EncodedRequest(PATH, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(items.warnings))


def _options(request: Request, profile: Profile, warnings: list[Warning]) -> dict[str, Any]:
    settings = request.settings
    fields: dict[str, Any] = {"stream": request.is_streamed}
    if request.output is not None:
        fields["text"] = {"format": _format(request.output, profile)}
    wants_logprobs = bool(settings.logprobs or settings.top_logprobs) and "logprobs" not in profile.unsupported_settings
    fields |= setting_fields(settings, profile, _NAMES, warnings)
    fields.pop(_LOGPROBS, None)
    if settings.reasoning_effort is not None:
        if "reasoning_effort" in profile.unsupported_settings:
            warnings.append(Warning("dropped_for_provider", detail="settings.reasoning_effort: this provider has no such setting"))
        else:
            fields["reasoning"] = {"effort": settings.reasoning_effort}
    fields |= profile.responses_body
    if wants_logprobs:
        fields["include"] = [*fields.get("include", ()), _LOGPROBS]
    return fields


def _format(output: OutputFormat, profile: Profile) -> dict[str, Any]:
    wanted = "json_object" if output.schema is None else "json_schema"
    if wanted not in profile.output_formats:
        raise UnsupportedError(
            f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
        )
    if output.schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "name": output.name, "schema": output.schema, "strict": output.is_strict}


class _Items:
    """Puts the encoded items of a history in a row."""

    def __init__(self, profile: Profile, cache: EncodingCache, *, is_stored: bool) -> None:
        self.profile = profile
        self.cache = cache
        self.is_stored = is_stored
        self.wire: list[bytes] = []
        self.warnings: list[Warning] = []

    def add_all(self, messages: Sequence[Message]) -> str:
        """Add a history; returns the instructions that it begins with."""
        beginnings, profile, protocol = self.cache.beginnings, self.profile, f"{PATH} {self.is_stored}"
        known, pairing, history = resume(beginnings, messages, profile, protocol)
        if known is not None:
            self.wire, self.warnings = known.wire, list(known.warnings)
        for stray in history.strays:
            self._warn(stray.index, (Note(stray.part, stray.why),))
        first = next((n for n, message in enumerate(messages) if not isinstance(message, (SystemMessage, ToolMessage))), len(messages))
        added = len(self.wire)
        for turn in history.turns:
            if turn.index >= first:
                self._turn(turn)
        if pairing.is_settled and messages:
            size = size_of(self.wire[added:]) + (0 if known is None else known.size)
            beginnings.put(Beginning(tuple(messages), profile, pairing, self.wire, tuple(self.warnings), size=size, protocol=protocol))
        return "\n\n".join([message.text for message in messages[:first] if isinstance(message, SystemMessage) and message.text])

    def _turn(self, turn: Turn) -> None:
        key = (PATH, self.is_stored, *(paired.wire_id for paired in turn.calls))
        fragment = self.cache.find(turn.message, self.profile, key)
        if fragment is None:
            encoded = encode_message(turn.message, self.profile, turn.calls, is_stored=self.is_stored)
            fragment = self.cache.store(turn.message, self.profile, key, encoded)
        self._warn(turn.index, fragment.notes)
        if fragment.body:
            self.wire.append(fragment.body)
        for paired in turn.calls:
            result = self._result(paired, turn.message)
            self._warn(turn.index, result.notes)
            self.wire.append(result.body)

    def _result(self, paired: PairedCall, message: Message) -> Fragment:
        is_own = isinstance(message, AssistantMessage) and self.profile.is_own(message.provider)
        kind = kind_of(paired.call, is_own=is_own, profile=self.profile)
        result: ToolResultPart = NOT_RUN if paired.result is None else paired.result
        key = (PATH, paired.wire_id, kind, paired.call.name)
        fragment = self.cache.find(result, self.profile, key)
        if fragment is None:
            fragment = self.cache.store(
                result, self.profile, key, encode_result(result, paired.wire_id, paired.call, self.profile, kind=kind)
            )
        return fragment

    def _warn(self, index: int, notes: Sequence[Note]) -> None:
        self.warnings += loss_warnings(index, notes)
