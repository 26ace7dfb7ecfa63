"""Five streams to look at with the inspector, each a capture with the times of its reads; written by ourselves."""

from __future__ import annotations

import json

from headrace.inspect.capture import Capture


def chat(delta=None, finish=None, **fields):
    """One event of Chat Completions."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    event = {"id": "chatcmpl-mill", "object": "chat.completion.chunk", "model": "mill-2", "choices": [choice], **fields}
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


def piece(arguments=None, index=None, **fields):
    """One fragment of a call."""
    function = {key: value for key, value in (("name", fields.pop("name", None)), ("arguments", arguments)) if value is not None}
    place = {} if index is None else {"index": index}
    return chat({"tool_calls": [{**place, **fields, "function": function}]})


def named(kind, **fields):
    """One event of the Messages protocol."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def timed(source, rows, **fields):
    """A capture from pairs of a pause in milliseconds and the bytes that came after it."""
    reads, body, now = [], b"", 0.0
    for pause_ms, data in rows:
        now += pause_ms
        reads.append((len(body), now))
        body += data
    return Capture(source=source, body=body, content_type="text/event-stream", reads=tuple(reads), **fields)


DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 412, "completion_tokens": 96, "total_tokens": 508}


def parallel_calls():
    """Two calls whose fragments come interleaved, after a little text."""
    first = ['{"river"', ': "Ill', 'er", "at"', ': "upper', ' weir"}']
    second = ['{"gate"', ": 3, ", '"open', '_cm": ', "40}"]
    rows = [
        (340, chat({"role": "assistant", "content": ""})),
        *((45 + 9 * n, chat({"content": text})) for n, text in enumerate(["I read the gauge ", "and set ", "the gate."])),
        (130, piece("", 0, id="call_gauge", type="function", name="read_gauge")),
        (38, piece("", 1, id="call_gate", type="function", name="set_gate")),
    ]
    for n, (one, two) in enumerate(zip(first, second, strict=True)):
        rows += [(30 + 5 * n, piece(one, 0)), (22, piece(two, 1))]
    rows += [(60, chat(finish="tool_calls")), (18, chat(choices=[], usage=USAGE)), (2, DONE)]
    return timed("parallel calls", rows)


def reasoning_and_text():
    """Signed thinking, then an answer, with pings between; the Messages protocol."""
    thought = "The wheel needs 180 litres a second. The gauge says 212. So the gate may close by a sixth."
    answer = "Close the gate by about **15 %**: the wheel needs 180 l/s and 212 l/s arrive."
    words = [thought[n : n + 9] for n in range(0, len(thought), 9)]
    said = [answer[n : n + 6] for n in range(0, len(answer), 6)]
    usage = {"input_tokens": 230, "cache_read_input_tokens": 128, "output_tokens": 1}
    start = {"id": "msg_mill", "type": "message", "role": "assistant", "model": "mill-3", "content": [], "usage": usage}
    rows = [
        (520, named("message_start", message=start)),
        (4, named("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""})),
        (2, named("ping")),
        *(
            (40 + n % 3 * 12, named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": w}))
            for n, w in enumerate(words)
        ),
        (90, named("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2lnbmVkIGJ5IHRoZSBtaWxs" * 4})),
        (1, named("content_block_stop", index=0)),
        (30, named("content_block_start", index=1, content_block={"type": "text", "text": ""})),
        *((28 + n % 4 * 8, named("content_block_delta", index=1, delta={"type": "text_delta", "text": w})) for n, w in enumerate(said)),
        (12, named("content_block_stop", index=1)),
        (25, named("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 71})),
        (1, named("message_stop")),
    ]
    return timed("reasoning and text", rows)


def cut_with_error():
    """An error inside of a call's arguments, in a stream that had status 200, and a connection that broke behind it."""
    rows = [
        (280, chat({"role": "assistant", "content": "I open the "})),
        (60, chat({"content": "sluice."})),
        (75, piece("", 0, id="call_sluice", type="function", name="open_sluice")),
        *((40, piece(text, 0)) for text in ['{"name": "we', 'st", "hei', 'ght_cm": ']),
        (900, b'data: {"error": {"message": "the worker ran out of memory", "type": "server_error", "code": 503}}\n\n'),
        (3, b'data: {"id":"chatcmpl-mill","choices":[{"ind'),
    ]
    return timed("cut stream with an error", rows, is_complete=False, notes=("the answer broke off: the connection was reset",))


def broken_arguments():
    """Calls without indexes, arguments that need mending, a repeated name, and one that cannot be mended."""
    rows = [
        (210, piece('{"level_m": ', id="call_a", name="log_level")),
        (35, piece("1.82,}", name="log_level")),
        (90, piece({"note": "high water", "urgent": True}, id="call_b", name="notify")),
        (70, piece('{"gate": 2, "open": ', id="call_c", name="set_gate")),
        (32, piece("tru</tool_call>")),
        (40, piece("{}", id="call_d", name="log_level")),
        (22, piece('{"level_m": 1.80}')),
        (60, chat({"content": "<|im_end|>"}, finish="stop")),
        (15, chat(choices=[], usage={"prompt_tokens": 188, "completion_tokens": 64, "total_tokens": 252})),
        (2, DONE),
    ]
    return timed("broken arguments", rows)


def long_with_stalls():
    """Four hundred pieces of text, with two long silences that only comments break."""
    words = "The water comes down the headrace and over the wheel and the stones turn and the flour falls . ".split(" ")
    rows = [(600, chat({"role": "assistant", "content": ""}))]
    for n in range(400):
        if n == 120:
            rows += [(2400, b": keep-alive\n\n"), (2500, b": keep-alive\n\n")]
        if n == 290:
            rows.append((3100, b": keep-alive\n\n"))
        rows.append((14 + n * 7 % 23, chat({"content": words[n % len(words)] + " "})))
    rows += [
        (20, chat(finish="stop")),
        (30, chat(choices=[], usage={"prompt_tokens": 25, "completion_tokens": 421, "total_tokens": 446})),
        (1, DONE),
    ]
    return timed("long stream with stalls", rows)


SAMPLES = {
    "parallel-calls": parallel_calls,
    "reasoning-and-text": reasoning_and_text,
    "cut-with-error": cut_with_error,
    "broken-arguments": broken_arguments,
    "long-with-stalls": long_with_stalls,
}
"""Each by its name in the docs."""
