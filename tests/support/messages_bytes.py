"""Bodies of the Messages protocol as servers send them: one for each way in which they differ; the values are our own."""

from __future__ import annotations

import json
import re

USAGE = {"input_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5, "output_tokens": 1}


def event(value, name=None):
    """One server-sent event; it is named by its type unless another name is given, and "" gives none."""
    name = value.get("type", "") if name is None else name
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def start(content=(), stop_reason=None, **fields):
    """The head of a message."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": list(content), "stop_reason": stop_reason}
    return event({"type": "message_start", "message": {**message, "stop_sequence": None, "usage": USAGE, **fields}})


def opened(index, kind, **fields):
    """The start of a block."""
    return event({"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}})


def delta(index, kind, **fields):
    """A delta of a block."""
    return event({"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}})


def stopped(index):
    """The end of a block."""
    return event({"type": "content_block_stop", "index": index})


def ended(word="end_turn", output_tokens=7, **fields):
    """The end of a message, without its last event."""
    delta_fields = {"stop_reason": word, "stop_sequence": None, **fields}
    return event({"type": "message_delta", "delta": delta_fields, "usage": {"output_tokens": output_tokens}})


STOP = event({"type": "message_stop"})
PING = event({"type": "ping"})


def text(index, *pieces):
    """A whole block of text, in pieces."""
    return b"".join([opened(index, "text", text=""), *(delta(index, "text_delta", text=piece) for piece in pieces), stopped(index)])


def pieces_of(index, *pieces):
    """Pieces of a call's arguments."""
    return b"".join(delta(index, "input_json_delta", partial_json=piece) for piece in pieces)


def call(index, name="clock", *pieces, id="toolu_1", kind="tool_use", **fields):  # noqa: A002 - the wire's word
    """A whole block that calls a tool."""
    return opened(index, kind, id=id, name=name, input={}, **fields) + pieces_of(index, "", *pieces) + stopped(index)


def body(*blocks, word="end_turn"):
    """A whole stream."""
    return start() + PING + b"".join(blocks) + ended(word) + STOP


def whole(*content, word="end_turn", **fields):
    """An answer that was not streamed."""
    return json.dumps(
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": list(content), "stop_reason": word, **fields}
    ).encode()


def without_names(some):
    """The same events without `event:` lines."""
    return re.sub(rb"event: .*\n", b"", some)


SEARCH = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web_search_result", "encrypted_content": "zz"}]}
CITATION = {"type": "char_location", "cited_text": "Rye", "document_index": 0, "start_char_index": 0, "end_char_index": 3}


def result(index, **fields):
    """What a search of the provider's gave."""
    return event({"type": "content_block_start", "index": index, "content_block": {**SEARCH, **fields}}) + stopped(index)


SAMPLES = {
    "text": body(text(0, "The ", "mill ", "turns", ".")),
    "text with line ends of CR LF": body(text(0, "Water ", "flows.")).replace(b"\n", b"\r\n"),
    "thinking, text and a call": body(
        opened(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Is it "),
        delta(0, "thinking_delta", thinking="late?"),
        delta(0, "signature_delta", signature="c2ln"),
        delta(0, "signature_delta", signature="bmVk"),
        stopped(0),
        text(1, "I look."),
        call(2, "clock", '{"zone"', ': "Europe/', 'Oslo"}'),
        word="tool_use",
    ),
    "sealed thinking": body(opened(0, "redacted_thinking", data="c2VhbGVk"), stopped(0), text(1, "Yes.")),
    "calls that overlap": body(
        opened(0, "tool_use", id="a", name="f"),
        pieces_of(0, '{"x"'),
        opened(1, "tool_use", id="b", name="g"),
        pieces_of(1, '{"y"'),
        pieces_of(0, ":1}"),
        pieces_of(1, ":2}"),
        stopped(0),
        stopped(1),
        word="tool_use",
    ),
    "a call without arguments": body(call(0, "now"), word="tool_use"),
    "a search of the provider's": body(
        text(0, "Let me see."),
        call(1, "web_search", '{"query": ', '"rye"}', id="srv_1", kind="server_tool_use"),
        result(2),
        opened(3, "text", text="", citations=[]),
        delta(3, "citations_delta", citation=CITATION),
        delta(3, "text_delta", text="Rye."),
        stopped(3),
    ),
    "a pause": body(call(0, "web_search", "{}", id="srv_1", kind="server_tool_use"), word="pause_turn"),
    "a result that stands elsewhere": body(
        call(0, "web_search", "{}", id="srv_1", kind="server_tool_use"),
        call(1, "web_search", "{}", id="srv_2", kind="server_tool_use"),
        result(2),
        result(3, tool_use_id="srv_2"),
    ),
    "blocks that nobody knows": body(
        opened(0, "compaction", content=None),
        delta(0, "compaction_delta", content="So "),
        delta(0, "compaction_delta", content="far.", encrypted_content="ee"),
        stopped(0),
        opened(1, "container_upload", file_id="file_1"),
        stopped(1),
        event({"type": "content_block_start", "index": 2, "content_block": {"type": "new", "n": [1.0, 2], "x": {"y": None}}}),
        text(3, "Done."),
    ),
    "a whole call in the head": start([{"type": "tool_use", "id": "t", "name": "roll", "input": {}, "caller": {"tool_id": "s"}}], "tool_use") + STOP,
    "text in the start of a block": body(opened(0, "text", text="He"), delta(0, "text_delta", text="llo"), stopped(0)),
    "begun anew in the middle of a call": start()
    + text(0, "One")
    + opened(1, "tool_use", id="a", name="f", input={})
    + pieces_of(1, '{"x')
    + start(id="msg_2")
    + text(0, "Two")
    + ended()
    + STOP,
    "begun twice": start() + start() + text(0, "Once.") + ended() + STOP,
    "no start of a block": start() + delta(0, "text_delta", text="Hi") + pieces_of(1, '{"a":1}') + ended("tool_use") + STOP,
    "no stop of a block": start() + opened(0, "text", text="") + delta(0, "text_delta", text="a") + call(1, "f", "{}") + ended("tool_use") + STOP,
    "no last event": start() + text(0, "Hi") + ended() + PING,
    "all blocks at one number": start() + text(0, "a") + call(0, "f", "{}", id="x") + call(0, "g", "{}", id="y") + ended("tool_use") + STOP,
    "no numbers": (body(text(0, "a"), call(1, "f", '{"x":', "1}"), word="tool_use")).replace(b'"index":0,', b"").replace(b'"index":1,', b""),
    "no names": without_names(body(text(0, "a", "b"), call(1, "f", "{}"), word="tool_use")),
    "names alone": body(text(0, "a")).replace(b'"type":"content_block_delta",', b"").replace(b'"type":"text_delta",', b""),
    "totals twice": start() + text(0, "a") + ended() + ended(output_tokens=9) + STOP,
    "text after the end": start() + text(0, "a") + ended() + text(1, "b") + ended() + STOP,
    "refused": start() + call(0, "f", "{}") + ended("refusal", stop_details={"type": "refusal", "category": "cyber"}) + STOP,
    "cut by the bound": start() + opened(0, "tool_use", id="a", name="f", input={}) + pieces_of(0, '{"a": "On') + ended("max_tokens") + STOP,
    "halves of characters": body(
        text(0, "Look: \ud83d", "\ude00 and \ud83d alone"),
        call(1, "say", '{"t": "\ud83c', '\udf0a"}'),
        call(2, "web_search", '{"t": "\ud83c', '\udf0a \ud83c"}', id="srv_1", kind="server_tool_use"),
        word="tool_use",
    ),
    "bytes that are no UTF-8": body(text(0, "caf", "X bar")).replace(b"X", b"\xe9"),
    "events run together": (start() + text(0, "a", "b")).replace(b"\n\n", b"\n") + ended() + STOP,
    "fields that nobody knows": start([], container={"id": "c_1"}, service="x")
    + event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "mood": "glad"}, "more": 1})
    + delta(0, "text_delta", text="a")
    + event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}, "odd": 1})
    + delta(0, "new_delta", what="w")
    + event({"type": "new_event", "n": 1})
    + ended()
    + STOP,
    "a whole body": whole({"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "a", "name": "f", "input": {"n": 10000000000000001}}, word="tool_use", usage=USAGE),
    "a whole message as an event": event(json.loads(whole({"type": "thinking", "thinking": "t", "signature": "s"}, "plain"))),
    "a whole message behind its pieces": start() + text(0, "Hi") + event(json.loads(whole({"type": "text", "text": "Hi"}, usage={"output_tokens": 9}))),
    "an error": start() + text(0, "a") + event({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "request_id": "r_1"}),
    "an error without a type": start() + event({"code": 500, "message": "no such format", "type": "server_error"}, "error"),
    "an error as a body": b'{"type": "error", "error": {"type": "not_found_error", "message": "no such model"}}',
    "a bare error": start() + event({"type": "server_error", "message": "lost", "code": 500}, ""),
    "cut in a call": start() + opened(0, "tool_use", id="a", name="f", input={}) + pieces_of(0, '{"a": 1}'),
    "nothing": b"",
    "only the terminator": b"data: [DONE]\n\n",
    "a page": b"<!doctype html><title>502</title>",
    "something else as a body": b'{"choices": []}',
    "JSON that is no object": start() + b"event: x\ndata: 7\n\n" + STOP,
    "nested without end": start() + event({"type": "content_block_start", "index": 0, "content_block": {"type": "x", "y": 1}}).replace(b"1", b"[" * 300 + b"]" * 300) + STOP,
    "numbers out of range": start() + event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}).replace(b":1}", b":1e400}") + STOP,
}  # fmt: skip

BROKEN = (
    "an error", "an error without a type", "an error as a body", "a bare error", "cut in a call", "nothing", "only the terminator", "a page",
    "something else as a body", "JSON that is no object", "nested without end", "numbers out of range",
)  # fmt: skip
"""The streams that fail."""
HONEST = tuple(name for name in SAMPLES if name not in BROKEN)
