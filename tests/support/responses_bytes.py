"""Bodies of the Responses protocol as servers send them: one for each way in which they differ; the values are our own."""

from __future__ import annotations

import itertools
import json

USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 29,
}


def event(kind, name=None, **fields):
    """One server-sent event; it is named by its type unless another name is given, and "" gives none."""
    value = {"type": f"response.{kind}", **fields}
    name = value["type"] if name is None else name
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def started(**fields):
    """The head of a response."""
    return event(
        "created", response={"id": "resp_1", "object": "response", "model": "m-1", "status": "in_progress", "output": [], **fields}
    )


def ended(word="completed", output=(), **fields):
    """The end of a response."""
    response = {"id": "resp_1", "object": "response", "model": "m-1", "status": word, "output": list(output), "usage": USAGE, **fields}
    return event(word, response=response)


def added(index, kind, **fields):
    """The announcement of an item; without a place where `index` is None."""
    return event("output_item.added", **_place(index), item={"type": kind, **fields})


def done(index, kind, **fields):
    """A whole item."""
    return event("output_item.done", **_place(index), item={"type": kind, **fields})


def pieces(kind, index, *texts, **fields):
    """Pieces of an item."""
    return b"".join(event(f"{kind}.delta", **_place(index), delta=text, **fields) for text in texts)


def message_item(*texts, id="msg_1", **fields):  # noqa: A002 - the wire's word
    """A whole message, as an item."""
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content, **fields}


def message(index, *texts, id="msg_1", **fields):  # noqa: A002
    """A message that streams one text, with all that repeats it."""
    whole, place = "".join(texts), {"item_id": id, "content_index": 0}
    return (
        added(index, "message", id=id, role="assistant", status="in_progress", content=[], **fields)
        + event("content_part.added", **_place(index), **place, part={"type": "output_text", "text": "", "annotations": []})
        + pieces("output_text", index, *texts, **place, logprobs=[])
        + event("output_text.done", **_place(index), **place, text=whole, logprobs=[])
        + event("content_part.done", **_place(index), **place, part={"type": "output_text", "text": whole, "annotations": []})
        + event("output_item.done", **_place(index), item=message_item(whole, id=id, **fields))
    )


def call_item(name="clock", arguments="{}", id="fc_1", call_id="call_1", **fields):  # noqa: A002
    """A whole function call, as an item."""
    return {"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments, "status": "completed", **fields}


def call(index, name="clock", *texts, id="fc_1", call_id="call_1", **fields):  # noqa: A002
    """A function call that streams its arguments, with all that repeats them."""
    whole = "".join(texts)
    item = call_item(name, whole, id, call_id, **fields)
    return (
        event("output_item.added", **_place(index), item={**item, "arguments": "", "status": "in_progress"})
        + pieces("function_call_arguments", index, *texts, item_id=id)
        + event("function_call_arguments.done", **_place(index), item_id=id, arguments=whole)
        + event("output_item.done", **_place(index), item=item)
    )


def reasoning_item(*summaries, id="rs_1", encrypted="gAAA=", **fields):  # noqa: A002
    """A whole reasoning item."""
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": encrypted, **fields}


def reasoning(index, *summaries, id="rs_1", encrypted="gAAA="):  # noqa: A002
    """A reasoning item that streams its summaries."""
    body = added(index, "reasoning", id=id, summary=[], encrypted_content="gAAA-not-yet")
    for n, text in enumerate(summaries):
        place = {"item_id": id, "summary_index": n}
        body += event("reasoning_summary_part.added", **_place(index), **place, part={"type": "summary_text", "text": ""})
        body += pieces("reasoning_summary_text", index, *itertools.chain([text[:3]], [text[3:]]), **place)
        body += event("reasoning_summary_text.done", **_place(index), **place, text=text)
    return body + event("output_item.done", **_place(index), item=reasoning_item(*summaries, id=id, encrypted=encrypted))


def _place(index):
    return {} if index is None else {"output_index": index}


def _samples():
    text = started() + message(0, "Hel", "lo") + ended()
    tool_round = (
        started()
        + reasoning(0, "First think.", "Then call.")
        + call(1, "clock", '{"zone":', '"UTC"}')
        + call(2, "weather", '{"city":"Oslo"}', id="fc_2", call_id="call_2")
        + ended(output=[reasoning_item("First think.", "Then call."), call_item("clock", '{"zone":"UTC"}')])
    )
    interleaved = (
        started()
        + added(0, "function_call", id="a", call_id="call_a", name="f", arguments="")
        + added(1, "function_call", id="b", call_id="call_b", name="g", arguments="")
        + pieces("function_call_arguments", 0, '{"x":', item_id="a")
        + pieces("function_call_arguments", 1, '{"y":', item_id="b")
        + pieces("function_call_arguments", 0, "1}", item_id="a")
        + pieces("function_call_arguments", 1, "2}", item_id="b")
        + ended()
    )
    placeless = (
        event("created", response={"id": "r", "object": "response", "status": "in_progress"})
        + added(None, "reasoning", id="rs", summary=[], content=[])
        + pieces("reasoning_text", None, "hm", "m", item_id="rs")
        + added(None, "message", id="msg", role="assistant", content=[])
        + pieces("output_text", None, "a", "b", item_id="msg")
        + done(None, "reasoning", id="rs", summary=[], content=[{"type": "reasoning_text", "text": "hmm"}])
        + event("output_item.done", item=message_item("ab", id="msg"))
        + ended(output=[{"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hmm"}]},
                        message_item("ab", id="msg")])
    )  # fmt: skip
    hosted = (
        started()
        + added(0, "web_search_call", id="ws_1", status="in_progress")
        + event("web_search_call.searching", output_index=0, item_id="ws_1")
        + done(0, "web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "q"})
        + added(1, "code_interpreter_call", id="ci_1", status="in_progress", code="", container_id="c", outputs=[])
        + pieces("code_interpreter_call_code", 1, "print(", '"hé")\n', item_id="ci_1")
        + done(1, "code_interpreter_call", id="ci_1", code='print("hé")\n', container_id="c", outputs=[{"type": "logs", "logs": "hé"}])
        + done(2, "compaction", id="cmp_1", encrypted_content="gBBB")
        + message(3, "ok", id="msg_3", phase="final_answer")
        + ended()
    )
    client = (
        started()
        + added(0, "apply_patch_call", id="ap_1", call_id="call_p", operation={"type": "update_file", "path": "a", "diff": ""})
        + pieces("apply_patch_call_operation_diff", 0, "-a\n", "+b\n", item_id="ap_1")
        + done(0, "apply_patch_call", id="ap_1", call_id="call_p", operation={"type": "update_file", "path": "a", "diff": "-a\n+b\n"})
        + added(1, "custom_tool_call", id="ct_1", call_id="call_c", name="sql", input="")
        + pieces("custom_tool_call_input", 1, "select", " 1", item_id="ct_1")
        + done(1, "custom_tool_call", id="ct_1", call_id="call_c", name="sql", input="select 1")
        + ended()
    )
    failed = (
        started() + message(0, "Half") + event("failed", response={"status": "failed", "error": {"code": "server_error", "message": "x"}})
    )
    whole = json.dumps(
        {"object": "response", "status": "completed", "model": "m", "usage": USAGE,
         "output": [reasoning_item("Why."), message_item("Hi"), call_item("f", '{"x":1}')]}
    ).encode()  # fmt: skip
    return {
        "text": text,
        "tool round": tool_round,
        "interleaved": interleaved,
        "without places": placeless,
        "hosted tools": hosted,
        "tools of the client": client,
        "failed": failed,
        "incomplete": started() + message(0, "Half") + ended("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        "names away": b"\n".join(line for line in tool_round.split(b"\n") if not line.startswith(b"event:")),
        "lines by carriage returns": tool_round.replace(b"\n", b"\r\n"),
        "one whole answer": whole,
        "error": started() + b'event: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}\n\n',
    }


SAMPLES = _samples()
"""One body for each kind of stream."""
