"""Measures what early start saves: a round of three tools over a stream with real pauses, with it and without.

    python bench/early_start.py                          three tools of 0.5 s each; the stream says a call every 0.5 s
    python bench/early_start.py --tool-s 1 --pause-s 0.2

A server on loopback sends one answer with three calls, with a pause before each and one before its end, as a model that is still writing does; then the tools'
results come back and it answers at once. Wall-clock time of the whole run, in turn, medians. Beside it stands what the stream alone takes:
less than that no client can take.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Iterator

from headrace import Agent, Model, tool

CALLS = 3
PROTOCOLS = ("anthropic-messages", "openai-responses")


def event(value: dict) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def messages_answer(*, has_calls: bool) -> Iterator[list[dict]]:
    """Give the events of an answer, those of each block together."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    yield [{"type": "message_start", "message": message}]
    for n in range(CALLS if has_calls else 1):
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": "look", "input": {}} if has_calls else {"type": "text", "text": ""}
        piece = {"type": "input_json_delta", "partial_json": f'{{"n": {n}}}'} if has_calls else {"type": "text_delta", "text": "Done."}
        yield [
            {"type": "content_block_start", "index": n, "content_block": block},
            {"type": "content_block_delta", "index": n, "delta": piece},
            {"type": "content_block_stop", "index": n},
        ]
    word = "tool_use" if has_calls else "end_turn"
    yield [{"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]


def responses_answer(*, has_calls: bool) -> Iterator[list[dict]]:
    """Give the events of an answer, those of each item together."""
    response = {"id": "resp_1", "object": "response", "model": "m", "status": "in_progress", "output": []}
    yield [{"type": "response.created", "response": response}]
    items = []
    for n in range(CALLS if has_calls else 1):
        arguments = f'{{"n": {n}}}'
        if has_calls:
            item = {
                "type": "function_call",
                "id": f"fc_{n}",
                "call_id": f"c{n}",
                "name": "look",
                "arguments": arguments,
                "status": "completed",
            }
            piece = {"type": "response.function_call_arguments.delta", "output_index": n, "item_id": f"fc_{n}", "delta": arguments}
            added = {**item, "arguments": ""}
        else:
            content = [{"type": "output_text", "text": "Done.", "annotations": []}]
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
            piece = {"type": "response.output_text.delta", "output_index": n, "item_id": "msg_1", "content_index": 0, "delta": "Done."}
            added = {**item, "content": []}
        items.append(item)
        yield [
            {"type": "response.output_item.added", "output_index": n, "item": added},
            piece,
            {"type": "response.output_item.done", "output_index": n, "item": item},
        ]
    yield [{"type": "response.completed", "response": {**response, "status": "completed", "output": items}}]


ANSWERS = {"/v1/messages": messages_answer, "/v1/responses": responses_answer}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pause_s: float) -> None:
    """Answer requests: the first of a talk with calls and pauses, the one that brings the results at once."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            body = await reader.readexactly(length)
            has_calls = b"seen 0" not in body
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for n, block in enumerate(ANSWERS[path](has_calls=has_calls)):
                if n and has_calls:
                    await asyncio.sleep(pause_s)
                data = b"".join(map(event, block))
                writer.write(b"%x\r\n%b\r\n" % (len(data), data))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        writer.close()


async def one_run(model: Model, tool_s: float, limit: int, *, is_early: bool) -> float:
    """Return how long a run takes, in seconds."""

    @tool(idempotent=True)
    async def look(n: int) -> str:
        """Look."""
        await asyncio.sleep(tool_s)
        return f"seen {n}"

    began_s = time.perf_counter()
    result = await Agent(model, tools=[look], max_parallel_tools=limit, early_start=is_early).run("Look three times.")
    took_s = time.perf_counter() - began_s
    assert result.message.text == "Done.", result.generate_reason
    assert [part.text for part in result.messages[2].parts] == ["seen 0", "seen 1", "seen 2"]
    return took_s


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool-s", type=float, default=0.5, help="how long each tool takes")
    parser.add_argument("--pause-s", type=float, default=0.5, help="how long the stream pauses before each call and before its end")
    parser.add_argument("--times", type=int, default=3, help="how often each is measured")
    given = parser.parse_args()
    server = await asyncio.start_server(lambda reader, writer: serve(reader, writer, given.pause_s), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    stream_s = given.pause_s * (CALLS + 1)
    print(f"{CALLS} tools of {given.tool_s:g} s; the stream alone takes {stream_s:g} s\n")
    print(f"{'protocol':<20} {'at once':>7} {'without':>9} {'early':>9} {'saved':>9} {'early, over the stream alone':>30}")
    for protocol in PROTOCOLS:
        async with Model(f"{protocol}:m", base_url=url, api_key="x") as model:
            await one_run(model, 0.0, CALLS, is_early=False)  # opens the connection, loads what is loaded once
            for limit in (CALLS, 1):
                took: dict[bool, list[float]] = {False: [], True: []}
                for _ in range(given.times):
                    for is_early, times in took.items():
                        times.append(await one_run(model, given.tool_s, limit, is_early=is_early))
                without_s, early_s = (statistics.median(took[is_early]) for is_early in (False, True))
                saved_s, over_s = without_s - early_s, early_s - stream_s
                print(f"{protocol:<20} {limit:>7} {without_s:>7.3f} s {early_s:>7.3f} s {saved_s:>7.3f} s {over_s:>28.3f} s")
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
