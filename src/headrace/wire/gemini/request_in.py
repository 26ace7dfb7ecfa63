"""A client's body of `POST …/models/M:generateContent` and `:streamGenerateContent`, in neutral words: the inverse of `request_out.py`.

The rule of this file: what has a neutral word becomes it; every other member is kept as it came, for a server that speaks the same
protocol. The address names the model and says whether a stream is wanted.

Source: https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import UsageError
from headrace.messages.message import Message
from headrace.messages.request import Request
from headrace.wire.gemini.config_in import ConfigReader
from headrace.wire.gemini.contents_in import OpenCalls, read_content, read_system
from headrace.wire.gemini.fields_in import camel, each, raw_parts
from headrace.wire.gemini.part_in import PROTOCOL
from headrace.wire.request_fields import read_body
from headrace.wire.server_side import Incoming

_KEPT_THERE: Final = "cachedContent"


def read_request(body: bytes, *, model: str | None = None, is_streamed: bool | None = None, provider: str | None = None) -> Incoming:
    """Read a request; see `ReadRequest`.

    Raises:
        UsageError: it is no such request; `argument` is the path of what is wrong.
    """
    fields = camel(read_body(body))
    name = model or fields.text("model")
    fields.any("model")
    if not name:
        raise UsageError("the address names no model", argument="model")
    messages: list[Message] = list(read_system(fields))
    raws = raw_parts(body)
    calls = OpenCalls()
    has_any = False
    for n, content in enumerate(each(fields, "contents")):
        has_any = True
        messages += read_content(content, raws[n] if n < len(raws) else (), provider, calls)
    if not has_any:
        raise UsageError("contents is missing or empty", argument="contents")
    fields.any("contents")
    reader = ConfigReader(fields)
    tools = reader.tools()
    choice, tools = reader.choice(tools)
    output, settings = reader.output(), reader.settings()
    if _KEPT_THERE in fields:  # a part of the conversation that only its provider has
        reader.needed.append(f"{_KEPT_THERE}: {fields.text(_KEPT_THERE)}")
        reader.own[_KEPT_THERE] = fields.any(_KEPT_THERE)
    request = Request(
        model=name.removeprefix("models/"),
        messages=tuple(messages),
        tools=tools,
        tool_choice=choice,
        output=output,
        settings=settings,
        is_streamed=bool(is_streamed),
    )
    return Incoming(
        protocol=PROTOCOL,
        request=request,
        extra={**reader.extra, **fields.rest()},
        own=reader.own,
        needed=tuple(reader.needed),
        repeated=tuple(reader.repeated),
    )
