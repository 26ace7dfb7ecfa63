"""A request in neutral words as the body of Ollama's `POST /api/chat`.

The rule of this file: the same request gives the same bytes, and whatever the history, the body keeps the wire's laws (`wire/history.py`).
The wire cannot be told which tool to call: `none` declares no tools, and a forced call is an `UnsupportedError`.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UnsupportedError
from headrace.messages.request import Request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.function_tools import choose, encoded_tools, warn_of_parallel_calls
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import MessageList, body_of, lay_over
from headrace.wire.ollama.request_messages import PROTOCOL, encode_message, encode_result
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.setting_fields import effort_fields, setting_fields

PATH: Final = "/api/chat"
_OPTIONS: Final = {
    **{name: name for name in ("temperature", "top_p", "seed", "stop", "frequency_penalty", "presence_penalty")},
    "max_tokens": "num_predict",
}
_TOP: Final = {name: name for name in ("logprobs", "top_logprobs")}
_EFFORTS: Final[dict[str, dict[str, Any]]] = {
    "none": {"think": False},
    "minimal": {"think": "low"},
    "low": {"think": "low"},
    "medium": {"think": "medium"},
    "high": {"think": "high"},
}


def encode_request(request: Request, profile: Profile = DEFAULT, *, cache: EncodingCache | None = None) -> EncodedRequest:
    """Encode a request.

    `settings.extra_body` is laid over the body last: its members replace the body's own, whole (`options` too); None takes a member out.

    Args:
        request: what is asked.
        profile: what the server takes and wants.
        cache: remembers encoded messages between requests; changes nothing but the time.

    Raises:
        UsageError: there is no message to send, or a tool choice names no tool.
        UnsupportedError: something was asked for that this server lacks and that cannot be left out unnoticed.
    """
    cache = EncodingCache() if cache is None else cache
    messages = MessageList(PROTOCOL, profile, cache, message=encode_message, result=encode_result)
    messages.add_all(request.messages)
    warnings = messages.warnings
    fields: dict[str, bytes] = {"model": dumps(request.model), "messages": messages.joined(), "stream": dumps(request.is_streamed)}
    tools, _ = choose(request, ())
    if tools:
        fields["tools"] = encoded_tools(tools, profile, cache, warnings, protocol=PROTOCOL)
    warn_of_parallel_calls(request, warnings)
    if request.output is not None:
        fields["format"] = dumps(_format(request, profile))
    made = setting_fields(request.settings, profile, {**_OPTIONS, **_TOP}, warnings)
    options = {name: value for name, value in made.items() if name not in _TOP}
    if options:
        fields["options"] = dumps(options)
    top = {name: value for name, value in made.items() if name in _TOP}
    for name, value in {**top, **profile.body, **effort_fields(request.settings, profile, _EFFORTS)}.items():
        fields[name] = dumps(value)
    lay_over(fields, request.settings.extra_body)
    base = {"content-type": "application/json", "accept": "application/x-ndjson" if request.is_streamed else "application/json"}
    return EncodedRequest(PATH, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(warnings))


def _format(request: Request, profile: Profile) -> object:
    schema = None if request.output is None else request.output.schema
    wanted = "json_object" if schema is None else "json_schema"
    if wanted not in profile.output_formats:
        raise UnsupportedError(
            f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
        )
    return "json" if schema is None else schema
