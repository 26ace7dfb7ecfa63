"""A transport behind which a server does everything as it should (but give several answers), in each protocol that Headrace speaks as a server.

It has no wits: it looks at the request and says what fits. What it sends is what the gateway would send.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager

from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.messages.request import NamedTool
from headrace.messages.usage import Usage
from headrace.wire.protocols import WIRES
from headrace.wire.server_side import Head

MODEL = "m"
HELLO = ("Hello ", "there.")
LONG = tuple(f"{n}, " for n in range(1, 60))
ARGUMENTS = {"city_time": '{"city": "Paris"}', "city_weather": '{"city": "Paris"}', "ring": "{}", "write_letter": '{"text": "Dear mill'}
BY_KEY = re.compile(r"models/([^:/]+):")


class IdealTransport:
    """Answers requests; see `Transport`."""

    def __init__(self, protocol):
        self.wire = WIRES[protocol]
        self.asked = []
        self.now = self.most = 0

    @asynccontextmanager
    async def stream(self, request, *, timeouts=None):
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield Answer(*self.answer(request))
        finally:
            self.now -= 1

    async def aclose(self):
        raise AssertionError("it is its owner's to close")

    def answer(self, request):
        named = BY_KEY.search(request.url)
        try:
            is_streamed = "stream" in request.url.rpartition(":")[2].lower() if named else None
            incoming = self.wire.read_request()(request.body, model=named and named[1], is_streamed=is_streamed)
        except UsageError as error:
            return self.refused(400, "invalid_request", str(error))
        asked = incoming.request
        self.asked.append(asked)
        if asked.model != MODEL:
            return self.refused(404, "not_found", f"there is no model {asked.model}")
        if asked.settings.n not in (None, 1):
            return self.refused(400, "invalid_request", "one answer at a time")
        out = self.wire.new_stream_out()(Head(id="1", model=MODEL, created_s=1), incoming.options)
        chunks = chunks_of(asked)
        if not asked.is_streamed:
            return 200, "application/json", [out.whole(MessageChunk.join(chunks).to_message())]
        return 200, out.media_type, [data for data in (*(out.feed(chunk) for chunk in chunks), out.close()) if data]

    def refused(self, status, kind, words):
        status, body = self.wire.refuse()(status, kind, words)
        return status, "application/json", [body]


class Answer:
    """An answer, piece by piece; see `Response`."""

    def __init__(self, status, kind, pieces):
        self.status, self.headers, self.pieces = status, {"content-type": kind}, pieces

    async def chunks(self):
        for piece in self.pieces:
            await asyncio.sleep(0)  # others have their turn
            yield piece

    async def aclose(self):
        return None


def chunks_of(asked):
    """What fits the request."""
    settings = asked.settings
    calls = called(asked)
    texts, finish, tokens = (), "stop", 5
    if calls:
        texts = ("I will look it up.",) if "rite" in words_of(asked) and "letter" not in words_of(asked) else ()
        finish = "length" if calls[0].name == "write_letter" else "tool_calls"
    elif asked.output is not None:
        texts = (json.dumps({"code": "teal-7", "count": 3} if asked.output.schema else {"a": 1}),)
    elif settings.stop:
        texts = ("1",)
    elif settings.max_tokens == 8:
        texts, finish, tokens = ("Once upon a time",), "length", 8
    else:
        texts = LONG if settings.max_tokens and settings.max_tokens > 100 else HELLO
    begun = [AssistantMessageChunk(reasoning="Let me see.")] if "Think it through" in words_of(asked) else []
    content = [*(AssistantMessageChunk(content=text) for text in texts), *(AssistantMessageChunk(tool_calls=[call]) for call in calls)]
    return [*begun, *content, AssistantMessageChunk(finish_reason=finish, usage=Usage(input_tokens=9, output_tokens=tokens))]


def called(asked):
    """The calls that fit the request."""
    names = [tool.name for tool in asked.tools]
    if not names or asked.tool_choice == "none" or asked.output is not None or asked.messages[-1].role != "user":
        return ()
    name = asked.tool_choice.name if isinstance(asked.tool_choice, NamedTool) else names[0]
    is_several = any(word in words_of(asked) for word in ("each city", "both at once")) and asked.settings.parallel_tool_calls is not False
    return tuple(
        ToolCallFragment(id=f"call_{n}", name=name, arguments=ARGUMENTS[name], index=n, kind="function") for n in range(1 + is_several)
    )


def words_of(asked):
    return asked.messages[-1].join_text(" ") if asked.messages[-1].role == "user" else ""
