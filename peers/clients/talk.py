"""What the scripts of all clients share: the question, the tools, and the lines in and out.

    echo MODEL BASE_URL | python ask_openai.py
    echo MODEL | python ask_openai.py BASE_URL

Each line that comes in names a model, which is asked the question at the base URL with that client, streamed; each line that goes out is what
the client made of the answer, as JSON:

    text, reasoning, refusal    what it gave as the answer's words ("" for none)
    tool_calls                  {id, name, arguments, raw}: `arguments` is the object that a program would call the tool with, None where there is
                                none; `raw` is the text that the client gave beside it or instead
    finish                      why the answer ended, in the client's own word; None if it says nothing
    usage                       {input, output} in tokens; None if it gives none
    error                       {type, message} of what was raised; None

This runs in the client's environment: nothing here may need more than the standard library.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

# What a client prints by itself, as some do while they are imported, must not stand among the answers.
OUT = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
os.chdir(tempfile.mkdtemp())  # nor must its logs stand where the caller is

QUESTION = "What is the weather in Oslo, and what time is it there?"
API_KEY = "sk-no-key"
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tell the weather in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "get_time",
            "description": "Tell the time in a zone.",
            "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}},
        },
    },
]

Ask = Callable[[str, str, dict[str, Any]], Awaitable[None]]
"""Asks a model at a base URL and fills in what came; whatever it raises is written down."""


def nothing_yet() -> dict[str, Any]:
    """Return the line of an answer that has not come."""
    return {"text": "", "reasoning": "", "refusal": "", "tool_calls": [], "finish": None, "usage": None, "error": None}


def call_of(call_id: object, name: object, arguments: object) -> dict[str, Any]:
    """Return a call whose arguments the client gave as text (or as an object) and left to the caller to parse, as every caller does it."""
    if isinstance(arguments, dict):
        return {"id": call_id, "name": name, "arguments": arguments, "raw": None}
    try:
        parsed = json.loads(arguments)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        parsed = None
    return {"id": call_id, "name": name, "arguments": parsed, "raw": arguments}


def talk(ask: Ask) -> None:
    """Answer the lines of standard input until it ends."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    for line in sys.stdin:
        model, base_url = [*line.split(), *sys.argv[1:]][:2]
        answer = nothing_yet()
        try:
            loop.run_until_complete(ask(base_url, model, answer))
        except Exception as error:
            answer["error"] = {"type": type(error).__name__, "message": str(error)[:500]}
        try:
            written = json.dumps(answer, default=repr)
        except ValueError as error:  # such as an object that holds itself
            written = json.dumps(nothing_yet() | {"error": {"type": type(error).__name__, "message": str(error)}})
        OUT.write(written + "\n")
        OUT.flush()
