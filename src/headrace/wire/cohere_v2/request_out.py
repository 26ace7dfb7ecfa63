"""A request in neutral words as the body of Cohere's `POST /v2/chat`.

The rule of this file: the same request gives the same bytes, and whatever the history, the body keeps the wire's laws (`wire/history.py`).
What the server cannot take is said as a `dropped_for_provider` warning; what would change the meaning of the request if it were left out
is an `UnsupportedError`.

Source: https://docs.cohere.com/reference/chat.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UnsupportedError
from headrace.messages.request import Request
from headrace.wire.cohere_v2.request_messages import PROTOCOL, encode_follow, encode_message, encode_result
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.function_tools import choose, encoded_tools, warn_of_parallel_calls
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import MessageList, body_of, lay_over
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.setting_fields import effort_fields, setting_fields

PATH: Final = "/chat"
_SETTINGS: Final = {
    **{name: name for name in ("max_tokens", "temperature", "seed", "frequency_penalty", "presence_penalty", "logprobs")},
    "top_p": "p",
    "stop": "stop_sequences",
}
_CHOICES: Final = {"none": "NONE", "required": "REQUIRED"}
_THINK: Final[dict[str, Any]] = {"thinking": {"type": "enabled"}}
_EFFORTS: Final = {"none": {"thinking": {"type": "disabled"}}, **dict.fromkeys(("minimal", "low", "medium", "high"), _THINK)}


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
    cache = EncodingCache() if cache is None else cache
    messages = MessageList(PROTOCOL, profile, cache, message=encode_message, result=encode_result, follow=encode_follow)
    messages.add_all(request.messages)
    warnings = messages.warnings
    fields: dict[str, bytes] = {"model": dumps(request.model), "messages": messages.joined(), "stream": dumps(request.is_streamed)}
    tools, choice = choose(request, _CHOICES)
    if tools:
        fields["tools"] = encoded_tools(tools, profile, cache, warnings, protocol=PROTOCOL)
        if profile.supports_strict_tools and any(tool.is_strict for tool in tools):
            fields["strict_tools"] = b"true"
        if choice in _CHOICES:
            fields["tool_choice"] = dumps(_CHOICES[choice])
    warn_of_parallel_calls(request, warnings)
    for name, value in {
        **_output_fields(request, profile),
        **setting_fields(request.settings, profile, _SETTINGS, warnings),
        **profile.body,
        **effort_fields(request.settings, profile, _EFFORTS),
    }.items():
        fields[name] = dumps(value)
    lay_over(fields, request.settings.extra_body)
    base = {"content-type": "application/json", "accept": "text/event-stream" if request.is_streamed else "application/json"}
    return EncodedRequest(PATH, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(warnings))


def _output_fields(request: Request, profile: Profile) -> dict[str, Any]:
    if request.output is None:
        return {}
    wanted = "json_object" if request.output.schema is None else "json_schema"
    if wanted not in profile.output_formats:
        raise UnsupportedError(
            f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
        )
    schema = {} if request.output.schema is None else {"json_schema": request.output.schema}
    return {"response_format": {"type": "json_object", **schema}}
