"""Streams of Chat Completions written here: what a vendor sends when all is well, and faults that servers and gateways really have.

The controls say what a client can be asked to do: what it does not make of them is not held against it where a stream is broken. The faults are
modelled on those that are most often reported of servers that speak this protocol; each is one way to say something that has one meaning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Case:
    """A body that a server sends, and how.

    Attributes:
        name: what it is called; the model's name, when it is asked for.
        title: what is odd about it.
        segments: the bytes, in the pieces in which they are sent.
        group: where it comes from.
        content_type: the header.
        options: what a reader has to be told beforehand, since the stream looks like an honest one.
        is_broken_off: behind the bytes the connection breaks, instead of ending.
        also_right: other sound ways to take the stream, each as the members of the summary that are others then.
    """

    name: str
    title: str
    segments: tuple[bytes, ...]
    group: str = "own"
    content_type: str = "text/event-stream"
    options: JSON = field(default_factory=dict)
    is_broken_off: bool = False
    also_right: tuple[JSON, ...] = ()

    @property
    def body(self) -> bytes:
        """All bytes."""
        return b"".join(self.segments)


def event(delta: JSON | None = None, finish: str | None = None, **members: Any) -> bytes:
    """Return one event, as OpenAI writes it; `members` are further ones, or others instead."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_770_000_000, "model": "m-0", "choices": choices, **members}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def begun(content: str | None = "") -> bytes:
    """Return the first event."""
    return event({"role": "assistant", "content": content, "refusal": None})


def call(index: int | None, call_id: str | None, name: str | None, arguments: Any, **members: Any) -> JSON:
    """Return the delta that opens a call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    made = {
        "index": index,
        "id": call_id,
        "type": "function",
        "function": {key: value for key, value in function.items() if value is not None},
    }
    return {"tool_calls": [{key: value for key, value in made.items() if value is not None} | members]}


def more(index: int | None, arguments: str) -> JSON:
    """Return the delta that goes on with a call."""
    return {"tool_calls": [({} if index is None else {"index": index}) | {"function": {"arguments": arguments}}]}


def usage(prompt: int = 11, completion: int = 7) -> JSON:
    """Return an object that counts tokens."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _case(name: str, title: str, *events: bytes, **members: Any) -> Case:
    return Case(name, title, tuple(events), **members)


_OSLO = '{"city":"Oslo"}'
_CET = '{"zone":"CET"}'
_TWO_CALLS = (
    event(call(0, "call_a", "get_weather", "")),
    event(more(0, '{"city":')),
    event(more(0, '"Oslo"}')),
    event(call(1, "call_b", "get_time", "")),
    event(more(1, _CET)),
)
_COUNTED = event(usage=usage())

CONTROLS = (
    _case(
        "control-text",
        "text, usage at the end",
        begun(),
        event({"content": "Hello"}),
        event({"content": " there."}),
        event({}, "stop"),
        _COUNTED,
        DONE,
    ),
    _case("control-no-usage", "text, and no usage anywhere", begun(), event({"content": "Hello."}), event({}, "stop"), DONE),
    _case("control-calls", "two parallel calls in fragments", begun(None), *_TWO_CALLS, event({}, "tool_calls"), _COUNTED, DONE),
    _case(
        "control-text-and-call",
        "text, then a call",
        begun(),
        event({"content": "Let me look."}),
        event(call(0, "call_a", "get_weather", "")),
        event(more(0, _OSLO)),
        event({}, "tool_calls"),
        _COUNTED,
        DONE,
    ),
    _case(
        "control-reasoning",
        "reasoning in `reasoning_content`, then text",
        event({"role": "assistant", "content": None, "reasoning_content": "They want"}),
        event({"reasoning_content": " a greeting."}),
        event({"content": "Hello."}),
        event({}, "stop"),
        _COUNTED,
        DONE,
    ),
    _case(
        "control-refusal",
        "a refusal",
        begun(None),
        event({"refusal": "I cannot"}),
        event({"refusal": " do that."}),
        event({}, "stop"),
        _COUNTED,
        DONE,
    ),
    _case("control-length", "text that the limit cut", begun(), event({"content": "Once upon a"}), event({}, "length"), _COUNTED, DONE),
    _case(
        "control-length-in-call",
        "arguments that the limit cut, finish_reason length",
        begun(None),
        event(call(0, "call_a", "get_weather", "")),
        event(more(0, '{"city":"Os')),
        event({}, "length"),
        _COUNTED,
        DONE,
    ),
    _case(
        "control-invalid-call",
        "arguments of the model's own that are no JSON",
        begun(None),
        event(call(0, "call_a", "get_weather", "")),
        event(more(0, '{"city": Oslo}')),
        event({}, "tool_calls"),
        _COUNTED,
        DONE,
    ),
    _case("control-filter", "text that a filter ended", begun(), event({"content": "Well"}), event({}, "content_filter"), _COUNTED, DONE),
    _case(
        "control-error",
        "an error in the midst of the answer",
        begun(),
        event({"content": "Hel"}),
        b'data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}\n\n',
    ),
    _case(
        "control-broken-off", "a connection that breaks in the midst of the answer", begun(), event({"content": "Hel"}), is_broken_off=True
    ),
)
"""What a vendor sends, and how its streams fail."""

FAULTS = (
    _case(
        "own-index-always-0",
        "every parallel call says index 0",
        begun(None),
        event(call(0, "call_a", "get_weather", _OSLO)),
        event(call(0, "call_b", "get_time", _CET)),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-index-missing",
        "no index; each call comes whole",
        begun(None),
        event(call(None, "call_a", "get_weather", _OSLO)),
        event(call(None, "call_b", "get_time", _CET)),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-index-from-1",
        "the first call has index 1, since a block of text was 0",
        begun(),
        event({"content": "Let me look."}),
        event(call(1, "call_a", "get_weather", "")),
        event(more(1, _OSLO)),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-id-on-every-chunk",
        "each fragment repeats id and name",
        begun(None),
        event(call(0, "call_a", "get_weather", '{"city":')),
        event(call(0, "call_a", "get_weather", '"Oslo"}')),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-id-changes",
        "each fragment has another id",
        begun(None),
        event(call(0, "x1", "get_weather", '{"city":')),
        event(call(0, "x2", None, '"Os')),
        event(call(0, "x3", None, 'lo"}')),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-id-never",
        "a call without an id",
        begun(None),
        event(call(0, None, "get_weather", "")),
        event(more(0, _OSLO)),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-id-empty",
        "fragments with an empty id and name",
        begun(None),
        event(call(0, "call_a", "get_weather", "")),
        event(call(0, "", "", '{"city":')),
        event(call(0, "", "", '"Oslo"}')),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-arguments-empty",
        "a call without arguments whose text stays empty",
        begun(None),
        event(call(0, "call_a", "get_time", "")),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-arguments-object",
        "arguments that are an object, not text",
        begun(None),
        event(call(0, "call_a", "get_weather", {"city": "Oslo"})),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-arguments-twice",
        "the last chunk brings the whole arguments again",
        begun(None),
        event(call(0, "call_a", "get_weather", '{"city":')),
        event(more(0, '"Oslo"}')),
        event(more(0, _OSLO), "tool_calls"),
        DONE,
    ),
    _case(
        "own-arguments-cut",
        "arguments that are cut, and finish_reason says tool_calls",
        begun(None),
        event(call(0, "call_a", "get_weather", "")),
        event(more(0, '{"city":"Os')),
        event({}, "tool_calls"),
        DONE,
    ),
    _case(
        "own-stop-with-calls",
        "calls, and finish_reason says stop",
        begun(None),
        event(call(0, "call_a", "get_weather", _OSLO)),
        event({}, "stop"),
        DONE,
    ),
    _case(
        "own-end-missing",
        "the body ends in the midst of the arguments",
        begun(None),
        event(call(0, "call_a", "get_weather", '{"city":"Os')),
    ),
    _case(
        "own-end-after-whole-call",
        "the body ends behind whole arguments, without finish_reason and [DONE]",
        begun(None),
        event(call(0, "call_a", "get_weather", _OSLO)),
    ),
    _case("own-empty", "a body without a single event"),
    _case(
        "own-error-chunk",
        "an error beside choices, as an aggregator sends it",
        begun(),
        event({"content": "Hel"}),
        event({"content": ""}, "error", error={"code": 502, "message": "Provider disconnected"}),
        DONE,
    ),
    _case(
        "own-usage-every-chunk",
        "usage grows in every chunk",
        event({"role": "assistant", "content": "Hello"}, usage=usage(11, 1)),
        event({"content": " there."}, usage=usage(11, 2)),
        event({}, "stop", usage=usage(11, 3)),
        DONE,
    ),
    _case(
        "own-usage-then-null",
        "usage with the finish_reason, then a chunk whose usage is null",
        begun(),
        event({"content": "Hello."}),
        event({}, "stop", usage=usage()),
        event(usage=None),
        DONE,
    ),
    _case(
        "own-choices-null",
        "chunks whose choices or delta are null",
        event(choices=None, prompt_filter_results=[]),
        begun(),
        event({"content": "Hello."}),
        event(choices=[{"index": 0, "delta": None, "finish_reason": None}]),
        event({}, "stop"),
        DONE,
    ),
    _case(
        "own-done-glued",
        "[DONE] directly under the last event, without a blank line between",
        begun(),
        event({"content": "Hello."}),
        event({}, "stop").rstrip(b"\n") + b"\n" + DONE,
    ),
    _case(
        "own-no-end-line",
        "the last event ends with the body, without a blank line",
        begun(),
        event({"content": "Hello."}),
        event({}, "stop").rstrip(b"\n"),
    ),
    _case(
        "own-whole-answer",
        "JSON of a whole answer, although a stream was asked for",
        json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1_770_000_000,
                "model": "m-0",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
                "usage": usage(),
            }
        ).encode(),
        content_type="application/json",
    ),
    _case("own-web-page", "the page of a proxy that wants a login", b"<!doctype html><title>Sign in</title>", content_type="text/html"),
)
"""Faults of servers and gateways."""
