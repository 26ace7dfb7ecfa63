"""Errors that providers put into bodies and streams, in one form.

The rule of this file: the provider's own message and code are kept as they are; whether a try again may help is read from the code.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from typing import Any, Final

from headrace._json import JSON, JSONError, dumps_text, loads, loads_lenient, replace_surrogates
from headrace.messages.deltas import StreamError
from headrace.wire.frames import SSE, Batch

_RETRYABLE: Final = re.compile(
    r"(?i)\b(408|409|429|5\d\d)\b|overload|rate.?limit|too.?many.?requests|timeout|timed.?out|unavailable|server.?error|internal.?error"
    r"|throttl|capacity|temporar|try.?again|disconnected|\bapi_error\b"
)
_MAX_MESSAGE: Final = 4096
MAX_ERROR_BODY: Final = 1024 * 1024
"""How much of the body of a refused request is read."""


def stream_error(value: JSON, *, status: int | None = None) -> StreamError:
    """Read a provider's error.

    Args:
        value: what stands under `error`: an object with `message`, `code`, `type`; a text; or a whole body.
        status: the HTTP status, where it says more than the body.
    """
    message, code, kind = _facts(value)
    if code is None and status is not None:
        code = str(status)
    text = message or (kind or "the provider sent an error without a message")
    hints = " ".join(filter(None, [code, kind, "" if status is None else str(status)])) or text
    return StreamError("provider_error", text[:_MAX_MESSAGE], code or kind, retryable=_RETRYABLE.search(hints) is not None)


def http_error(status: int, body: bytes) -> StreamError:
    """Read the body of a request that was refused: JSON, JSON in events (some servers frame even that), or plain words."""
    return stream_error(_value_of(body) or f"HTTP status {status}", status=status)


def _value_of(body: bytes) -> JSON:
    framer = SSE(max_event_bytes=MAX_ERROR_BODY)
    frames = [*framer.feed(body), *framer.close()]
    datas = [data for frame in frames for data in (frame.datas if isinstance(frame, Batch) else [frame.data])]
    for text in [body, *datas]:
        try:
            return replace_surrogates(loads_lenient(text)[0])
        except JSONError:
            continue
    return body.decode("utf-8", "replace").strip()


def _facts(value: JSON) -> tuple[str, str | None, str | None]:
    """Return message, code and type."""
    if isinstance(value, str):
        return _facts_of_text(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _facts(value[0])
    if not isinstance(value, dict):
        return ("" if value is None else dumps_text(value)), None, None
    nested = value.get("error")
    if isinstance(nested, dict) and "message" not in value:
        return _facts(nested)
    if isinstance(nested, str) and "message" not in value:
        return nested, _word(value.get("code")), _word(value.get("type"))
    message = next((value[key] for key in ("message", "msg", "detail", "error_message", "status_msg") if value.get(key)), None)
    text = message if isinstance(message, str) else dumps_text(value if message is None else message)
    code = next((word for key in ("code", "error_code", "status_code", "status") if (word := _word(value.get(key))) is not None), None)
    return text, code, _word(value.get("type"))


def _facts_of_text(text: str) -> tuple[str, str | None, str | None]:
    """Some servers put a JSON error into a text; read it if it is one."""
    if text.lstrip().startswith("{"):
        try:
            inner: Any = loads(text)
        except JSONError:
            return text, None, None
        return _facts(inner)
    return text, None, None


def _word(value: JSON) -> str | None:
    if isinstance(value, str) and value:
        return value
    return str(value) if type(value) is int else None
