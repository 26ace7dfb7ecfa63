"""A model server for the agent's bench: a call of `lookup` for so many rounds, then an answer. Loopback, raw sockets, a process of its own.

POST /react/N/v1/chat/completions gives a tool call as long as the request holds fewer than N results, then text. Run by itself it prints its
port and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Generator

ANSWER = "The final answer is here."
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _event(delta: dict[str, object] | None, finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body: dict[str, object] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    if usage is not None:
        body["usage"] = usage
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


def _answer(done: int, rounds: int) -> bytes:
    events = [_event({"role": "assistant", "content": None if done < rounds else ""})]
    if done < rounds:
        arguments = json.dumps({"city": f"C{done}"})
        start = {"index": 0, "id": f"call_{done:06d}", "type": "function", "function": {"name": "lookup", "arguments": ""}}
        events.append(_event({"tool_calls": [start]}))
        events += [
            _event({"tool_calls": [{"index": 0, "function": {"arguments": arguments[at : at + 6]}}]}) for at in range(0, len(arguments), 6)
        ]
    else:
        events += [_event({"content": f"{word} "}) for word in ANSWER.split(" ")]
    events.append(_event({}, "tool_calls" if done < rounds else "stop"))
    events.append(_event(None, usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}))
    body = b"".join(events) + b"data: [DONE]\n\n"
    return _HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            rounds = int(head.split(b"/react/")[1].split(b"/")[0])
            writer.write(_answer(body.count(b'"tool_call_id"'), rounds))
            await writer.drain()
    writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


@contextlib.contextmanager
def running() -> Generator[int]:
    """Serve from another process while the block runs; gives the port."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait()


if __name__ == "__main__":
    asyncio.run(_main())
