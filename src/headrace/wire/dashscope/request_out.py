"""A request in neutral words as the body of DashScope's generation services.

The rule of this file: the same request gives the same bytes, and whatever the history, the body keeps the wire's laws (`wire/history.py`).
A history with media goes to the service for media, any other to the one for text, unless the profile sends all to the former: some models
are only there. Streams are always asked for in pieces (`incremental_output`), which some models insist on.

Source: https://help.aliyun.com/zh/model-studio/qwen-api-via-dashscope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from headrace._json import dumps
from headrace.errors import UnsupportedError
from headrace.messages.request import Request
from headrace.wire.dashscope.request_messages import PROTOCOL, Form, takes_media_form
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import MessageList, body_of, lay_over
from headrace.wire.openai_chat.request_tools import tool_fields
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.setting_fields import effort_fields, setting_fields

TEXT_PATH: Final = "/services/aigc/text-generation/generation"
MEDIA_PATH: Final = "/services/aigc/multimodal-generation/generation"
_SETTINGS: Final = {
    name: name for name in ("max_tokens", "temperature", "top_p", "seed", "presence_penalty", "stop", "n", "logprobs", "top_logprobs")
}
_THINK: Final[dict[str, Any]] = {"enable_thinking": True}
_EFFORTS: Final = {"none": {"enable_thinking": False}, **dict.fromkeys(("minimal", "low", "medium", "high"), _THINK)}


def encode_request(request: Request, profile: Profile = DEFAULT, *, cache: EncodingCache | None = None) -> EncodedRequest:
    """Encode a request.

    `settings.extra_body` is laid over the body last: its members replace the body's own, whole; None takes a member out. Of its member
    `parameters` the same holds one level deeper, since a provider's own settings stand there.

    Args:
        request: what is asked.
        profile: what the server takes and wants.
        cache: remembers encoded messages between requests; changes nothing but the time.

    Raises:
        UsageError: there is no message to send, or a tool choice names no tool.
        UnsupportedError: something was asked for that this server lacks and that cannot be left out unnoticed.
    """
    cache = EncodingCache() if cache is None else cache
    form = Form(has_media=profile.sends_all_as_media or takes_media_form(request.messages))
    name = f"{PROTOCOL}/media" if form.has_media else PROTOCOL
    messages = MessageList(name, profile, cache, message=form.message, result=form.result, follow=form.follow)
    messages.add_all(request.messages)
    warnings = messages.warnings
    parameters: dict[str, bytes] = {"result_format": b'"message"'}
    if request.is_streamed:
        parameters["incremental_output"] = b"true"
    parameters |= tool_fields(request, profile, cache, warnings)
    for key, value in {
        **_output_fields(request, profile),
        **setting_fields(request.settings, profile, _SETTINGS, warnings),
        **profile.body,
        **effort_fields(request.settings, profile, _EFFORTS),
    }.items():
        parameters[key] = dumps(value)
    extra = dict(request.settings.extra_body)
    if isinstance(extra.get("parameters"), dict):
        lay_over(parameters, cast("Mapping[str, object]", extra.pop("parameters")))
    fields: dict[str, bytes] = {
        "model": dumps(request.model),
        "input": b'{"messages":' + messages.joined() + b"}",
        "parameters": body_of(parameters),
    }
    lay_over(fields, extra)
    base = {"content-type": "application/json", "accept": "text/event-stream" if request.is_streamed else "application/json"}
    if request.is_streamed:
        base["x-dashscope-sse"] = "enable"
    path = MEDIA_PATH if form.has_media else TEXT_PATH
    return EncodedRequest(path, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(warnings))


def _output_fields(request: Request, profile: Profile) -> dict[str, Any]:
    output = request.output
    if output is None:
        return {}
    wanted = "json_object" if output.schema is None else "json_schema"
    if wanted not in profile.output_formats:
        raise UnsupportedError(
            f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
        )
    if output.schema is None:
        return {"response_format": {"type": "json_object"}}
    schema = {"name": output.name, "schema": output.schema, "strict": output.is_strict}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}
