"""Bodies of generateContent and of interactions as a server sends them; the values are our own."""

from __future__ import annotations

import json

USAGE = {"promptTokenCount": 7, "candidatesTokenCount": 4, "thoughtsTokenCount": 5, "totalTokenCount": 16}
HEAD = {"modelVersion": "m-1", "responseId": "r-1"}


def event(value, end="\r\n"):
    """One server-sent event."""
    data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"data: {data}{end}{end}".encode()


def candidate(*parts, **fields):
    """An event's value with one candidate."""
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **fields}], **HEAD}


def stream(*values):
    """A body of events; a tuple stands for the parts of one candidate."""
    return b"".join(event(candidate(*value) if isinstance(value, tuple) else value) for value in values)


def stop(*parts, word="STOP", **fields):
    """The last event: a finish word, usage."""
    return {**candidate(*parts, finishReason=word, **fields), "usageMetadata": USAGE}


def text(piece, signature=None, *, thought=False):
    """A part that is text or thinking."""
    return {"text": piece, **({"thought": True} if thought else {}), **({"thoughtSignature": signature} if signature else {})}


def call(name="clock", args=None, signature=None, **fields):
    """A part that is a call."""
    function = {"name": name, **({} if args is None else {"args": args}), **fields}
    return {"functionCall": function, **({"thoughtSignature": signature} if signature else {})}


def piece(*pieces, goes_on=True, **fields):
    """A part that is a piece of a call's arguments: pairs of a path and a value, or of a path, a piece of text and True if more of it comes."""
    kinds = {str: "stringValue", bool: "boolValue", type(None): "nullValue"}
    entries = [
        {"jsonPath": path, kinds.get(type(value), "numberValue"): value, **({"willContinue": True} if more else {})}
        for path, value, *more in pieces
    ]
    body = {**({"partialArgs": entries} if entries else {}), **({"willContinue": True} if goes_on else {}), **fields}
    return {"functionCall": body}


def array(*values, end="\r\n]"):
    """A body that is one array, as it comes without `alt=sse`."""
    return b"[" + b",\r\n".join(json.dumps(value, indent=1).encode() for value in values) + end.encode()


CODE = {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}, "thoughtSignature": "Q29kZQ=="}
CODE_RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}

SAMPLES = {
    "text": stream((text("Two"),), (text(" mills"),), (text(" run."),), stop()),
    "thinking": stream((text("Let me", thought=True),), (text(" see.", thought=True),), (text("It runs."),), stop(text("", "U2ln"))),
    "signed": stream((text("Plain "),), (text("signed", "QQ=="),), (text(" and plain"),), (text(" again"),), stop(text("", "Qg=="))),
    "calls": stream((text("Plan.", thought=True), call(args={"city": "Oslo"}, signature="Qw==")), (call(args={"city": "Lima"}),), stop()),
    "no args": stream((call(),), (call(),), stop(call("other", id="x1"))),
    "pieces": stream(
        (call(willContinue=True, signature="RA=="),),
        (piece(("$.place.city", "Os", True)),),
        (piece(("$.place.city", "lo"), ("$.place.days[0]", 1), ("$.place.days[1]", 2)),),
        (piece(("$.is_long", True), ("$.rest", None), goes_on=False),),
        stop(text("")),
    ),
    "unclosed": stream((call(willContinue=True),), (piece(("$.a", "x", True)),), (piece(("$.a", "")),), stop(text("Done."))),
    "code": stream((text("First: "), CODE), (CODE_RESULT,), stop(text("It is 42."))),
    "two ends": stream(stop(text("One.")), stop(text(" Two."))),
    "several": stream(
        {"candidates": [{"index": 0, "content": {"parts": [text("A")]}}, {"index": 1, "content": {"parts": [text("B")]}}], **HEAD},
        {
            "candidates": [
                {"index": 1, "content": {"parts": [text("b")]}, "finishReason": "STOP"},
                {"content": {}, "finishReason": "MAX_TOKENS"},
            ]
        },
    ),
    "media": stream(({"inlineData": {"mimeType": "image/png", "data": "aWNvbg=="}},), stop({"fileData": {"fileUri": "https://x/y.mp4"}})),
    "speech": stream(*[({"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "AAEC"}},)] * 3, stop()),
    "blocked": stream({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 7}}),
    "malformed": stream(stop(word="MALFORMED_FUNCTION_CALL", finishMessage="no such call")),
    "error": stream((text("Half"),), {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
    "cut": stream((text("Half"),)),
    "odd": stream(
        (text("a"), {"newThing": {"x": 1}}, {"text": None}, {}, 7),
        {"candidates": []},
        {"usageMetadata": USAGE},
        stop(text("b"), newField=[1]),
    ),
    "ratings": stream(
        *[
            {
                **candidate(text(f"{n} "), index=0, safetyRatings=[{"category": "C", "probability": str(n)}]),
                "usageMetadata": {"promptTokenCount": n},
            }
            for n in range(4)
        ],
        stop(),
    ),
    "array": array(candidate(text("Two")), candidate(text(' mills\n[{"\\')), stop(text("."))),
    "cut array": array(candidate(text("Two")), stop(text(" mills")), end=""),
    "answer": json.dumps(stop(text("Whole."), call(args={"a": 1}))).encode(),
    "halves": event(r'{"candidates":[{"content":{"parts":[{"text":"a\ud83d"}]}}]}', "\n")
    + event(r'{"candidates":[{"content":{"parts":[{"text":"\ude00"}]},"finishReason":"STOP"}]}', "\n"),
}
"""Whole bodies of generateContent, one for each thing that the wire can do."""


# ---------------------------------------------------------------------------------------------- interactions


def named(kind, **fields):
    """One event of an interaction, with its name."""
    return f"event: {kind}\ndata: {json.dumps({**fields, 'event_type': kind})}\n\n".encode()


def created():
    """The first event."""
    return named("interaction.created", interaction={"id": "v1", "status": "in_progress", "object": "interaction", "model": "m-1"})


def start(index, kind, **fields):
    """A step begins."""
    return named("step.start", index=index, step={"type": kind, **fields})


def delta(index, kind, **fields):
    """A piece of a step."""
    return named("step.delta", index=index, delta={"type": kind, **fields})


def stopped(index):
    """A step is whole."""
    return named("step.stop", index=index)


INTERACTION_USAGE = {
    "total_input_tokens": 7,
    "total_output_tokens": 4,
    "total_thought_tokens": 5,
    "total_cached_tokens": 2,
    "total_tool_use_tokens": 1,
}


def completed(status="completed", **fields):
    """The last event."""
    interaction = {"id": "v1", "status": status, "model": "m-1", "usage": INTERACTION_USAGE, **fields}
    return named("interaction.completed", interaction=interaction)


DONE = b"event: done\ndata: [DONE]\n\n"
THOUGHT = (
    start(0, "thought")
    + delta(0, "thought_summary", content={"type": "text", "text": "Let me see."})
    + delta(0, "thought_signature", signature="U2ln")
    + stopped(0)
)
SEARCH = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["mills"]}}
FOUND = {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "<b>"}], "signature": "Rg=="}

INTERACTIONS = {
    "text": created() + THOUGHT + start(1, "model_output") + delta(1, "text", text="Two") + delta(1, "text", text=" mills.") + stopped(1) + completed() + DONE,
    "calls": created()
    + start(0, "function_call", id="f1", name="clock", arguments={})
    + delta(0, "arguments_delta", arguments='{"city":')
    + delta(0, "arguments_delta", arguments='"Oslo"}')
    + stopped(0)
    + start(1, "function_call", id="f2", name="clock", arguments={})
    + stopped(1)
    + completed("requires_action"),
    "search": created()
    + start(0, "google_search_call", id="s1", signature="")
    + delta(0, "google_search_call", arguments={"queries": ["mills"]})
    + stopped(0)
    + start(1, "google_search_result", call_id="s1")
    + delta(1, "google_search_result", result=[{"search_suggestions": "<b>"}], signature="Rg==")
    + stopped(1)
    + start(2, "model_output")
    + delta(2, "text", text="Found.")
    + delta(2, "text_annotation_delta", annotations=[{"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 5}])
    + stopped(2)
    + completed()
    + DONE,
    "media": created()
    + start(0, "model_output")
    + delta(0, "text", text="Look: ")
    + delta(0, "image", data="aWNvbg==", mime_type="image/png")
    + delta(0, "image", uri="https://x/y.png")
    + delta(0, "audio", data="AAEC", mime_type="audio/l16")
    + delta(0, "audio", data="AAEC", mime_type="audio/l16")
    + delta(0, "text", text="heard?")
    + stopped(0)
    + completed(),
    "length": created() + start(0, "model_output") + delta(0, "text", text="Half") + stopped(0) + completed("incomplete"),
    "error": created() + start(0, "model_output") + delta(0, "text", text="Half") + named("error", error={"code": "503", "message": "busy"}),
    "cut": created() + start(0, "model_output") + delta(0, "text", text="Half"),
    "odd": created() + start(0, "new_step", x=1) + delta(0, "new_delta", y=[2]) + stopped(0) + delta(3, "text", text="b") + named("new.event", z=1) + completed(),
    "answer": json.dumps(
        {
            "id": "v1", "object": "interaction", "model": "m-1", "status": "requires_action", "usage": INTERACTION_USAGE,
            "steps": [
                {"type": "user_input", "content": []},
                {"type": "thought", "signature": "U2ln", "summary": [{"type": "text", "text": "Hm."}]},
                SEARCH, FOUND,
                {"type": "model_output", "content": [{"type": "text", "text": "So."}]},
                {"type": "function_call", "id": "f1", "name": "clock", "arguments": {"city": "Oslo"}},
            ],
        }
    ).encode(),
}  # fmt: skip
"""Whole bodies of interactions."""
