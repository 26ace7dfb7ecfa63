"""Whole streams of Chat Completions, one for each way in which servers differ; the values are our own."""

from __future__ import annotations

import json

from chat_bytes import DONE, call_stream, chunk, event, text_stream, whole_body


def call(index=None, id=None, name=None, arguments=None, **fields):  # noqa: A002 - the wire's word
    """One entry of `tool_calls`; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    own = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {**own, "function": function, **fields}


def calls(*entries, **fields):
    """An event with entries of `tool_calls`."""
    return chunk({"tool_calls": list(entries)}, **fields)


def tail_event(delta, finish=None, **fields):
    """An event that begins with its choices, as llama.cpp writes it."""
    choice = {"finish_reason": finish, "index": 0, "delta": delta}
    return event(
        {"choices": [choice], "created": 1_770_000_001, "id": "chatcmpl-8", "model": "m-2", "object": "chat.completion.chunk", **fields}
    )


def choice_event(index, delta, finish=None):
    """An event of one of several choices."""
    return chunk(choices=[{"index": index, "delta": delta, "finish_reason": finish}])


LOGPROBS = [{"content": [{"token": word, "logprob": -0.5, "bytes": None, "top_logprobs": []}]} for word in ("It", " is")]
DETAILS = [
    {"type": "reasoning.text", "text": "Two and ", "index": 0, "format": "x-1"},
    {"type": "reasoning.text", "text": "two.", "index": 0, "format": "x-1", "signature": "c2ln"},
    {"type": "reasoning.encrypted", "data": "ZW5j", "index": 1, "id": "rs_1"},
]
USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 16},
    "completion_tokens_details": {"reasoning_tokens": 5},
}

SAMPLES = {
    "text": b"".join(text_stream("The ", "mill ", "turns", ".", finish="stop")),
    "text with line ends of CR LF": b"".join(text_stream("Water ", "flows.")).replace(b"\n", b"\r\n"),
    "one call": b"".join(call_stream("clock", '{"zone"', ': "Europe/', 'Oslo"}')),
    "text, then two calls": b"".join(
        [
            chunk({"role": "assistant", "content": "I look. "}),
            chunk({"content": "One moment."}),
            calls(call(0, "call_a", "clock", "", type="function")),
            calls(call(0, arguments='{"zone":')),
            calls(call(0, arguments='"Asia/Tokyo"}')),
            calls(call(1, "call_b", "add", "", type="function")),
            calls(call(1, arguments='{"a":1,')),
            calls(call(1, arguments='"b":2}')),
            chunk(finish="tool_calls"),
            chunk(choices=[], usage=USAGE),
            DONE,
        ]
    ),
    "calls interleaved": b"".join(
        [
            calls(call(0, "a", "f", ""), call(1, "b", "g", "")),
            calls(call(1, arguments='{"x"'), call(0, arguments='{"y"')),
            calls(call(0, id="", name="", arguments=":1}")),
            calls(call(1, arguments=":2}")),
            chunk(finish="tool_calls"),
            DONE,
        ]
    ),
    "thinking": b"".join(
        [
            chunk({"role": "assistant", "content": None, "reasoning_content": "Is it "}),
            chunk({"content": None, "reasoning_content": "late?"}),
            chunk({"content": "No.", "reasoning_content": None}),
            chunk({"content": " Not yet.", "reasoning_content": None}),
            chunk(finish="stop", usage=USAGE),
            DONE,
        ]
    ),
    "reasoning beside its details": b"".join(
        [
            *(chunk({"role": "assistant", "content": "", "reasoning": item.get("text"), "reasoning_details": [item]}) for item in DETAILS),
            chunk({"content": "Four"}),
            chunk({"content": "."}, finish="stop", native_finish_reason="stop"),
            DONE,
        ]
    ),
    "details alone": b"".join([*(chunk({"reasoning_details": [item]}, id="") for item in DETAILS), chunk({"content": "4"}), DONE]),
    "refusal": b"".join([chunk({"role": "assistant", "refusal": "I will "}), chunk({"refusal": "not."}), chunk(finish="stop"), DONE]),
    "content as parts": b"".join(
        [
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "signature": "sg"}]}),
            chunk({"content": [{"type": "text", "text": "See "}, {"type": "reference", "reference_ids": [1, 2]}]}),
            chunk({"content": " there."}),
            chunk(finish="stop", p="abcdef"),
            DONE,
        ]
    ),
    "an older function call": b"".join(
        [
            chunk({"role": "assistant", "content": None, "function_call": {"name": "clock"}}),
            chunk({"function_call": {"arguments": '{"zone": '}}),
            chunk({"function_call": {"arguments": '"UTC"}'}}),
            chunk(finish="function_call"),
            DONE,
        ]
    ),
    "a custom tool": b"".join(
        [
            calls({"index": 0, "id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls "}}),
            calls({"index": 0, "custom": {"input": "-l"}}),
            chunk(finish="tool_calls"),
            DONE,
        ]
    ),
    "two choices": b"".join(
        [
            choice_event(0, {"role": "assistant", "content": "Ye"}),
            choice_event(1, {"role": "assistant", "content": "N"}),
            choice_event(1, {"content": "o"}),
            choice_event(0, {"content": "s"}),
            choice_event(1, {}, "stop"),
            choice_event(0, {}, "length"),
            chunk(choices=[], usage=USAGE),
            DONE,
        ]
    ),
    "log-probabilities": b"".join(
        [
            *(
                chunk(choices=[{"index": 0, "delta": {"content": words}, "logprobs": probs}])
                for words, probs in zip(("It", " is"), LOGPROBS, strict=True)
            ),
            chunk(finish="stop"),
            DONE,
        ]
    ),
    "audio": b"".join(
        [
            chunk({"audio": {"id": "audio_1", "transcript": "Good "}}),
            chunk({"audio": {"data": "AAE=", "transcript": "day"}}),
            chunk({"audio": {"data": "AgM="}}),
            chunk({"audio": {"expires_at": 1_770_000_500}}, finish="stop"),
            DONE,
        ]
    ),
    "citations": b"".join(
        [
            chunk({"content": "As written."}),
            chunk({"annotations": [{"type": "url_citation", "url_citation": {"url": "https://example.org/a", "title": "A"}}]}),
            chunk(finish="stop"),
            DONE,
        ]
    ),
    "images": b"".join(
        [
            chunk({"content": "Here:"}),
            chunk({"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}),
            chunk(finish="stop"),
            DONE,
        ]
    ),
    "choices first, head last": b"".join(
        [
            tail_event({"role": "assistant", "content": None}),
            *(tail_event({"content": word}) for word in ("Flour ", "and ", "water")),
            tail_event({}, "stop"),
            event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}, "timings": {"cache_n": 4}, "id": "chatcmpl-8"}),
            DONE,
        ]
    ),
    "everything null": b"".join(
        [
            chunk({"role": "assistant", "content": "", "reasoning_content": None, "tool_calls": None}, usage=None),
            chunk({"role": None, "content": "A", "reasoning_content": None, "tool_calls": None, "refusal": None}, usage=None),
            chunk({"role": None, "content": "B", "reasoning_content": None, "tool_calls": None, "function_call": None}, usage=None),
            chunk({"content": ""}, finish="stop", usage=None),
            chunk(choices=None, usage=USAGE),
            DONE,
        ]
    ),
    "a filter's first event": b"".join(
        [
            event({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
            chunk({"content": "Fine"}),
            chunk({"content": "."}),
            chunk(
                choices=[
                    {
                        "index": 0,
                        "finish_reason": None,
                        "content_filter_results": {"hate": {"filtered": False}},
                        "content_filter_offsets": {},
                    }
                ]
            ),
            chunk(finish="stop"),
            DONE,
        ]
    ),
    "usage in every event": b"".join(
        [
            *(chunk({"content": str(n)}, usage={"prompt_tokens": 5, "completion_tokens": n}, citations=["u"]) for n in range(1, 4)),
            chunk(finish="stop", usage={"prompt_tokens": 5, "completion_tokens": 4}, citations=["u", "v"]),
        ]
    ),
    "the whole message beside each delta": b"".join(
        [
            *(
                chunk(
                    choices=[
                        {
                            "index": 0,
                            "delta": {"content": piece},
                            "message": {"role": "assistant", "content": so_far},
                            "finish_reason": None,
                        }
                    ]
                )
                for piece, so_far in (("on", "on"), (" and", "on and"), (" on", "on and on"))
            ),
            chunk(choices=[{"index": 0, "delta": {}, "message": {"role": "assistant", "content": "on and on"}, "finish_reason": "stop"}]),
        ]
    ),
    "the whole message again at the end": b"".join(
        [
            chunk({"content": "Once"}, base_resp={"status_code": 0}),
            chunk({"content": " more"}, finish="stop"),
            chunk(
                choices=[{"index": 0, "message": {"role": "assistant", "content": "Once more"}, "finish_reason": "stop"}],
                object="chat.completion",
                usage=USAGE,
            ),
            DONE,
        ]
    ),
    "halves of characters": b"".join(
        [
            chunk({"role": "assistant", "content": "Look: \ud83d"}),
            chunk({"content": "\ude00 and \ud83d\ude80"}),
            chunk({"content": " one lone \ud83d half"}),
            calls(call(0, "c", "say", '{"t": "\ud83c')),
            calls(call(0, arguments='\udf0a"}')),
            chunk(finish="tool_calls"),
            DONE,
        ]
    ),
    "bytes that are no UTF-8": b"".join(
        [chunk({"content": "caf"}), chunk({"content": "X bar"}).replace(b"X", b"\xe9"), chunk(finish="stop"), DONE]
    ),
    "comments and pings": b"".join(
        [
            b": PROCESSING\n\n",
            chunk({"content": "a"}),
            b": PROCESSING\n\n",
            b'event: ping\ndata: {"type": "ping"}\n\n',
            b"data: : keep-alive\n\n",
            b"data:\n\n",
            chunk({"content": "b"}),
            chunk(finish="stop"),
            DONE,
            b"data: {oops\n\n",
        ]
    ),
    "events run together": chunk({"content": "a"})[:-1] + chunk({"content": "b"}) + chunk({"content": "c"}, finish="stop")[:-1] + DONE,
    "plain events of which some need thought": b"".join(
        [
            *(chunk({"role": "assistant", "content": "a"}) for _ in range(3)),
            chunk({"content": "b", "reasoning_content": "c"}),
            chunk(choices=[]),
            b"data: null\n\n",
            chunk({"content": "d"}),
            chunk({"content": "e", "tool_calls": [call(0, "c", "f", "{}")]}),
            chunk({"content": "g"}),
            chunk(finish="tool_calls"),
            DONE,
        ]
    ),
    "no terminator": b"".join([chunk({"content": "a"}), chunk({"content": "b"}), chunk(finish="stop"), chunk(choices=[], usage=USAGE)]),
    "a finish word after each piece": b"".join(
        [
            chunk({"content": "a"}),
            chunk(finish="stop"),
            chunk({"content": "b"}),
            chunk(finish="stop"),
            calls(call(0, "c", "f", "")),
            chunk(finish="stop"),
            DONE,
        ]
    ),
    "an error in the middle": b"".join(
        [
            chunk({"content": "So"}),
            calls(call(0, "c", "f", '{"a":')),
            event({"error": {"message": "overloaded", "code": 503}}),
            chunk(choices=[], usage=USAGE),
            DONE,
        ]
    ),
    "an error by name": b"".join(
        [chunk({"content": "So"}), b'event: error\ndata: {"error": {"message": "tool_use_failed", "code": "bad"}}\n\n']
    ),
    "an error line": b"".join(
        [chunk({"content": "So"}), b'error: {"code": 500, "message": "slot lost", "type": "server_error"}\n\n', DONE]
    ),
    "a whole body": whole_body(
        "Done.", calls=[("c1", "clock", '{"zone": "UTC"}'), ("c2", "clock", "{}")], finish="tool_calls", usage=USAGE
    ),
    "a whole body behind line ends": b"\n\n\n" + whole_body("Patience."),
    "a body of several JSON lines": b"\n\n".join(part[6:].strip() for part in text_stream("line ", "by line")[:-1]),
    "an error as a body": b'{"error": {"message": "no such model", "type": "invalid_request_error", "code": null}}',
    "a page": b"<!doctype html><title>502</title>",
    "nothing": b"",
    "only the terminator": DONE,
    "fields that nobody knows": b"".join(
        [
            chunk({"role": "assistant", "content": "a", "channel": "final"}, x_trace={"id": 1}),
            chunk({"content": "b", "channel": "final", "mood": "glad"}, x_trace={"id": 2}),
            calls(call(0, "c", "f", "{}", extra_content={"thought": "s1"})),
            chunk(choices=[{"index": 0, "delta": {"mood": "der"}, "finish_reason": "stop", "stop_reason": None, "matched_stop": 7}]),
            DONE,
        ]
    ),
    "numbers out of range": b"".join(
        [chunk({"content": "a"}), b'data: {"choices": [], "usage": {"prompt_tokens": 1e400}}\n\n', chunk(finish="stop"), DONE]
    ),
    "nested without end": b"".join(
        [chunk({"content": "a"}), b'data: {"x": ' + b"[" * 300 + b"]" * 300 + b"}\n\n", chunk(finish="stop"), DONE]
    ),
    "JSON that is no object": b"".join([chunk({"content": "a"}), b"data: 7\n\n", chunk(finish="stop"), DONE]),
}

HONEST = [
    name
    for name in SAMPLES
    if name
    not in (
        "an error in the middle", "an error by name", "an error line", "an error as a body", "a page", "nothing", "only the terminator",
        "numbers out of range", "nested without end", "JSON that is no object",
    )
]  # fmt: skip
"""The streams that end well."""


def json_of(value):
    """A value as compact JSON, to be put into bytes by hand."""
    return json.dumps(value, separators=(",", ":")).encode()
