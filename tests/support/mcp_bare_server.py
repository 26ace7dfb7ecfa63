"""An MCP server over standard input and output, written by hand: it starts at once, and can do what no library lets a server do.

Run it as a program. Arguments: `--pages N` (tools on a page), `--cursor-loop`, `--deaf` (answers nothing), `--stubborn` (does not leave when
its input ends), `--crash` (ends before it answers anything).

Tools: `add`, `pid`, `env`, `count` (writes a line into the file COUNT_FILE for each call), `die` (counts, then ends without an answer),
`hang` (counts, never answers; a cancellation is counted as well), `slow` (answers when the next call has been answered), `grow` (one tool more, and
says so), `spoil` (says that the tools have changed, and lists them no more), `strange` (content of a kind from the future), `refuse` (a protocol error), `progress`, `log`, and two whose names need changing.
"""

from __future__ import annotations

import json
import os
import sys
import time

SCHEMA = {"type": "object", "properties": {}}
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
TOOLS = [
    {"name": "add", "description": "Add two numbers.", "inputSchema": NUMBERS, "annotations": {"readOnlyHint": True}},
    {"name": "pid", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}},
    {"name": "env", "inputSchema": SCHEMA},
    {"name": "count", "inputSchema": SCHEMA, "annotations": {"destructiveHint": True}},
    {"name": "die", "inputSchema": SCHEMA},
    {"name": "die_again", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}},
    {"name": "hang", "inputSchema": SCHEMA},
    {"name": "slow", "inputSchema": SCHEMA},
    {"name": "grow", "inputSchema": SCHEMA},
    {"name": "spoil", "inputSchema": SCHEMA},
    {"name": "strange", "inputSchema": SCHEMA},
    {"name": "refuse", "inputSchema": SCHEMA},
    {"name": "progress", "inputSchema": SCHEMA},
    {"name": "log", "inputSchema": SCHEMA},
    {"name": "files/read.all", "inputSchema": SCHEMA},
    {"name": "files_read_all", "inputSchema": SCHEMA},
]
waiting = []


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request_id, result):
    send({"id": request_id, "result": result})


def text(request_id, words):
    answer(request_id, {"content": [{"type": "text", "text": words}]})


def count(word):
    if path := os.environ.get("COUNT_FILE"):
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the time to start
            file.write(f"{word}\n")


def list_tools(request_id, params):
    size = int(sys.argv[sys.argv.index("--pages") + 1]) if "--pages" in sys.argv else len(TOOLS)
    start = int(params.get("cursor", 0))
    result = {"tools": TOOLS[start : start + size]}
    if start + size < len(TOOLS):
        result["nextCursor"] = str(start + size)
    if "--cursor-loop" in sys.argv:
        result = {"tools": TOOLS[:2], "nextCursor": "0"}
    answer(request_id, result)


def call(request_id, name, params):  # noqa: C901, PLR0912 - a table of tools
    arguments = params.get("arguments") or {}
    if name == "add":
        total = arguments["a"] + arguments["b"]
        answer(request_id, {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}})
    elif name == "pid":
        text(request_id, str(os.getpid()))
    elif name == "env":
        text(request_id, " ".join(sorted(os.environ)))
    elif name in {"die", "die_again"}:
        count(name)
        os._exit(3)
    elif name == "hang":
        count("hang")
    elif name == "slow":
        waiting.append(request_id)
        return
    elif name == "grow":
        TOOLS.append({"name": "grown", "inputSchema": SCHEMA})
        send({"method": "notifications/tools/list_changed"})
        text(request_id, "grown")
    elif name == "spoil":
        TOOLS.clear()
        TOOLS.append({"name": "without a schema"})
        send({"method": "notifications/tools/list_changed"})
        text(request_id, "spoiled")
    elif name == "strange":
        answer(request_id, {"content": [{"type": "hologram", "depth": 3}, {"type": "text", "text": "and words"}]})
    elif name == "refuse":
        error = {"code": -32602, "message": f"no, not with {os.environ.get('SECRET', 'that')}", "data": {"field": "x"}}
        send({"id": request_id, "error": error})
    elif name == "progress":
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "total": 2, "message": "half"}})
        text(request_id, "nobody asked" if token is None else "done")
    elif name == "log":
        data = f"look out, {os.environ.get('SECRET')}"
        send({"method": "notifications/message", "params": {"level": "warning", "data": data}})
        text(request_id, "logged")
    else:
        count(name)
        text(request_id, name)
    while waiting:
        text(waiting.pop(), "slow")


def main():
    if "--crash" in sys.argv:
        sys.stderr.write(f"ModuleNotFoundError: no such thing {os.environ.get('SECRET')}\n")
        sys.exit(1)
    for line in sys.stdin:
        message = json.loads(line)
        method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if "--deaf" in sys.argv:
            continue
        if method == "initialize":
            capabilities = {"tools": {"listChanged": True}, "logging": {}}
            version = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "bare", "version": "1"}}
            answer(request_id, version)
        elif method == "tools/list":
            list_tools(request_id, params)
        elif method == "tools/call":
            call(request_id, params["name"], params)
        elif method == "notifications/cancelled":
            count("cancelled")
        elif request_id is not None:
            send({"id": request_id, "error": {"code": -32601, "message": "Method not found"}})
    while "--stubborn" in sys.argv:
        time.sleep(60)


main()
