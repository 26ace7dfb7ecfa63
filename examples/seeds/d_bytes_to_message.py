"""(d) Recorded bytes, chunk by chunk, to a whole message.

From openJiuwen's article: the model client parses each event of the stream into a chunk and merges all of them in order. Here the
bytes are cut anywhere, and the sum of the chunks is the message.
"""

from __future__ import annotations

from headrace import MessageChunk, StreamDecoder, decode_stream

RECORDED = b"""\
: keep-alive

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Oslo, so"},"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"Let me "},"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"look."},"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function",\
"function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"city\\":"}}]},\
"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"Oslo\\"}"}}]},\
"finish_reason":null}]}

data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29}}

data: [DONE]

"""


def main() -> None:
    """Decode the bytes in pieces of ten, and watch."""
    decoder = StreamDecoder(protocol="openai-chat")
    chunks: list[MessageChunk] = []
    for at in range(0, len(RECORDED), 10):
        for chunk in decoder.feed(RECORDED[at : at + 10]):
            chunks.append(chunk)
            print(*(type(delta).__name__ for delta in chunk.deltas))
    chunks += decoder.close()

    message = decoder.result.message
    assert sum(chunks, MessageChunk()).to_message() == message == decode_stream(RECORDED, protocol="openai-chat").message
    assert (message.reasoning, message.text) == ("Oslo, so", "Let me look.")
    (call,) = message.tool_calls
    assert (call.id, call.name, call.parsed, call.runnable) == ("call_a", "weather", {"city": "Oslo"}, True)
    assert message.finish_reason == "tool_calls"
    assert message.usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens) == (20, 9)

    cut = decode_stream(RECORDED[:900], protocol="openai-chat")  # the same stream, broken off: the call is kept, and never runnable
    assert cut.error is not None
    print(cut.error.kind, [(call.name, call.arguments, call.runnable) for call in cut.message.tool_calls])
    assert cut.error.kind == "stream_truncated"
    assert not any(call.runnable for call in cut.message.tool_calls)


if __name__ == "__main__":
    main()
