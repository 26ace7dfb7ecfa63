"""Errors of Bedrock: exceptions that come as frames, and JSON bodies.

The rule of this file: the exception's name is the code; what its page says about trying again decides, else the name.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Final

import msgspec

from headrace._json import JSON, replace_surrogates
from headrace.messages.deltas import StreamError
from headrace.wire.bedrock_converse.payload import word
from headrace.wire.error_in import stream_error
from headrace.wire.json_events import count_of

_RETRYABLE: Final = {
    "internalserverexception": True,
    "modelstreamerrorexception": True,
    "modeltimeoutexception": True,
    "modelnotreadyexception": True,
    "throttlingexception": True,
    "serviceunavailableexception": True,
    "validationexception": False,
    "accessdeniedexception": False,
    "resourcenotfoundexception": False,
    "servicequotaexceededexception": False,
}
_TEMPORARY: Final = frozenset({408, 409, 424, 429})
_FIRST_REFUSAL, _FIRST_FAILURE = 400, 500


def exception_in(name: str | None, body: JSON) -> StreamError:
    """Read an exception: its name, and its body, which is an object with a message or plain words."""
    body = replace_surrogates(body)
    fields = body if isinstance(body, dict) else {}
    code = (name or word(fields.get("__type")) or "").rpartition("#")[2]  # `com.amazon.coral.service#ThrottlingException`
    message = next((fields[key] for key in ("message", "Message", "originalMessage") if word(fields.get(key))), None)
    if message is None:
        message = code if body == {} else body  # all that was said
    error = stream_error({"message": message, "code": code} if code else {**fields, "message": message} if fields else body)
    retryable = _RETRYABLE.get(code.lower(), error.retryable)
    status = count_of(fields.get("originalStatusCode"))
    if status is not None and _FIRST_REFUSAL <= status < _FIRST_FAILURE and status not in _TEMPORARY:
        retryable = False  # the model's own refusal of this request
    return msgspec.structs.replace(error, retryable=retryable)


def is_error_body(value: dict[str, JSON]) -> bool:
    """Whether a whole JSON body is an error; also one that gateways put into `Output`."""
    return "__type" in value or isinstance(value.get("message", value.get("Message")), str) or isinstance(value.get("Output"), dict)


def error_of(value: dict[str, JSON]) -> JSON:
    """Return the error that a whole body holds."""
    inner = value.get("Output")
    return inner if isinstance(inner, dict) else value
