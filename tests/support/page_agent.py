"""The agent behind the page's tests: what it does is said by the first word of what it is told, so that any server can serve it.

    headrace serve page_agent:agent

The rule of this file: no state between runs, and nothing at random; a word that is not known is answered in one sentence.
"""

from __future__ import annotations

import asyncio
import json
import struct
import zlib

from headrace import (
    Agent,
    AssistantMessage,
    Context,
    MediaPart,
    ReasoningPart,
    ScriptedModel,
    TextPart,
    ToolCallPart,
    Usage,
    UserMessage,
    tool,
)
from headrace.errors import OverloadedError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.models.answer import AttemptDiscarded
from headrace.models.script import Scripted

GIVEN = """## How a headrace works

A **headrace** leads the water from the river to the wheel. What counts is the *head*, the height that the water falls:

The power of a wheel is flow times height, times what the wheel makes of it.

1. A weir holds the river back.
2. The gate lets in as much as the wheel can take.
   - Too little, and it stands still.
   - Too much, and it runs away.
3. The tailrace leads the water back.

| Wheel | Head | Efficiency |
|:------|-----:|-----------:|
| Undershot | 0.5 m | 30 % |
| Breastshot | 2 m | 65 % |
| Overshot | 6 m | 85 % |

```python
def power(flow_m3s: float, head_m: float, efficiency: float = 0.85) -> float:
    # Watts, for water of 1,000 kg per cubic metre.
    return efficiency * 1000 * 9.81 * flow_m3s * head_m


print(f"{power(0.4, 6.0) / 1000:.1f} kW")  # 20.0 kW
```

> Whoever owns the water owns the mill.

- [x] Weir and gate
- [ ] Grease the bearings

More is in [the handbook](https://example.org/mills). The call is `power(0.4, 6.0)`.
"""
NASTY = """<script>window.bad = 1</script>

<img src=x onerror="window.bad = 2"> [a](javascript:window.bad=3) [b](data:text/html,<script>window.bad=4</script>)
![far](https://elsewhere.example/pixel.png) ![near](//elsewhere.example/pixel.png) <b onclick="window.bad=5">bold</b>

<iframe src="https://elsewhere.example"></iframe>

&lt;b&gt; & done
"""


def picture(width: int = 320, height: int = 120) -> bytes:
    """A PNG of a few bars, as a plotting tool would give."""
    bars = (52, 78, 95, 60, 110, 84, 36, 70)
    rows = []
    for y in range(height):
        row = bytearray(b"\0")
        for x in range(width):
            bar = x * len(bars) // width
            is_in = (x * len(bars) % width) < width * 0.72 and height - y <= bars[bar]
            row += bytes((15, 107, 124) if is_in else (255, 255, 255))
        rows.append(bytes(row))
    body = zlib.compress(b"".join(rows))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", body)
        + chunk(b"IEND", b"")
    )


@tool(needs_approval=True)
def pay(to: str, euros: int) -> str:
    """Pay somebody from the mill's account."""
    return f"paid {euros} euros to {to}"


@tool(external=True)
def temperature(room: str) -> dict[str, float]:
    """Read the thermometers of a room."""


@tool
async def search(query: str, context: Context):
    """Search the mill's papers."""
    for page in range(1, 5):
        context.progress(f"reading page {page}", done=page, total=4)
        await asyncio.sleep(0.05)
        yield f"page {page}: something about {query}\n"


@tool
def chart(title: str) -> list:
    """Draw a chart."""
    return [
        {"title": title, "bars": 8, "unit": "kW"},
        MediaPart(kind="image", data=picture(), media_type="image/png", name=f"{title}.png"),
    ]


@tool
def weigh(what: str) -> str:
    """Weigh something."""
    raise RuntimeError(f"the scales are broken, so {what} was not weighed")


@tool
async def grind(sacks: int, context: Context):
    """Grind sacks of grain; takes a while."""
    for sack in range(1, sacks + 1):
        context.progress(f"grinding sack {sack}", done=sack, total=sacks)
        yield f"sack {sack} is flour\n"
        await asyncio.sleep(0.25)


def _call(name: str, number: int = 1, **arguments: object) -> ToolCallPart:
    return ToolCallPart(id=f"call_{number}", name=name, arguments=arguments)


def _usage(output: int) -> Usage:
    return Usage(input_tokens=1200, output_tokens=output, cache_read_tokens=1024)


def _paced(text: str, pause_s: float, *, reasoning: str = "") -> list:
    """Chunks with real pauses between them."""
    steps = []
    pieces = [("reasoning", word) for word in reasoning.split(" ") if reasoning] + [("content", word) for word in text.split(" ")]
    loop, last = asyncio.get_running_loop(), None
    for n, (field, word) in enumerate(pieces):
        gate = asyncio.Event()
        loop.call_later(pause_s * n, gate.set)
        space = " " if field == last else ""
        last = field
        steps += [gate, AssistantMessageChunk(**{field: space + word})]
    return [*steps, AssistantMessageChunk(usage=_usage(len(pieces)), finish_reason="stop")]


def _spelled(word: str, pause_s: float) -> list:
    """A call of `search` whose arguments come letter by letter, with real pauses between them."""
    loop = asyncio.get_running_loop()
    steps: list = [AssistantMessageChunk(tool_calls=[ToolCallFragment(id="call_1", name="search", arguments='{"query": "')])]
    for n, letter in enumerate([*word, '"}'], 1):
        gate = asyncio.Event()
        loop.call_later(pause_s * n, gate.set)
        steps += [gate, AssistantMessageChunk(tool_calls=[ToolCallFragment(id="call_1", arguments=letter)])]
    return [*steps, AssistantMessageChunk(usage=_usage(len(word)), finish_reason="tool_calls")]


def _first(words: list[str], specs) -> object:
    """What the model says to words that it hears for the first time."""
    match words:
        case ["slowly", number, *_]:
            return _paced(" ".join(f"w{n}" for n in range(1, int(number) + 1)), 0.03)
        case ["ponder", number, *_]:
            return _paced("Well.", 0.03, reasoning=" ".join(["hm"] * int(number)))
        case ["tour", *_]:
            thinking = "The reader wants to know how a headrace works. I will begin with the head, then list the parts, then give a table and a formula."
            return _paced(GIVEN, 0.012, reasoning=thinking)
        case ["long", number, *_]:
            return Scripted("\n\n".join([GIVEN] * int(number)), 40)
        case ["spell", word, *_]:
            return _spelled(word, 0.08)
        case ["discard", *_]:
            return [
                AssistantMessageChunk(content="this is void"),
                AttemptDiscarded(1, "the connection broke"),
                AssistantMessageChunk(content="This counts.", finish_reason="stop"),
            ]
        case ["fail", *_]:
            return OverloadedError("the model has too much to do", status=529)
        case ["nasty", *_]:
            return Scripted(NASTY, 5)
    if words[0] == "call" and any(spec.name == words[1] for spec in specs):
        return AssistantMessage([_call(words[1], **json.loads(" ".join(words[2:])))], usage=_usage(20))
    return _calls(words) or f"You said: {' '.join(words)}"


def _calls(words: list[str]) -> AssistantMessage | None:
    match words:
        case ["pay", to, euros, *_]:
            return AssistantMessage([TextPart(f"I will pay {to}."), _call("pay", to=to, euros=int(euros))], usage=_usage(30))
        case ["pays", *names]:
            return AssistantMessage([_call("pay", n, to=name, euros=n) for n, name in enumerate(names, 1)], usage=_usage(40))
        case ["tools", *_]:
            calls = [_call("search", 1, query="head"), _call("chart", 2, title="Power"), _call("weigh", 3, what="a sack")]
            return AssistantMessage([ReasoningPart("Three tools at once."), TextPart("Let me look."), *calls], usage=_usage(60))
        case ["grind", sacks, *_]:
            return AssistantMessage([_call("grind", sacks=int(sacks))], usage=_usage(20))
        case ["temperature", *_]:
            return AssistantMessage([_call("temperature", room="B2")], usage=_usage(20))
        case ["delegate", *_]:
            return AssistantMessage([_call("clerk", task="pay Ada 3")], usage=_usage(20))
    return None


def play(request) -> object:
    """Answer a request by its last words: those of a person, or what the tools gave."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    at = len(request.messages) - 1 - list(reversed(request.messages)).index(said[-1])
    words = said[-1].text.split()
    results = [message for message in request.messages[at + 1 :] if message.role == "tool"]
    if results:
        texts = [part.text for result in results[-1].parts for part in result.parts if isinstance(part, TextPart)]
        return AssistantMessage(f"Done: {' '.join(texts).strip() or 'all of it'}", usage=_usage(25))
    answer = _first(words, request.tools)
    return AssistantMessage(answer, usage=_usage(12)) if isinstance(answer, str) else answer


def make_agent() -> Agent:
    """Return the agent, and inside it a clerk who pays."""
    clerk = Agent(ScriptedModel(*[play] * 10_000, slice_chars=8), tools=[pay])
    model = ScriptedModel(*[play] * 100_000, slice_chars=8, id="scripted:mill-1")
    return Agent(
        model,
        tools=[pay, temperature, search, chart, weigh, grind, clerk.as_tool("clerk", "Does the paperwork.")],
        instructions="You run a mill.",
    )


agent = make_agent()
