"""Fuzzes the decoders: bends honest streams, and holds every decoder to what must be true of any bytes.

    python fuzz/decoders.py --seconds 300                 every protocol in turn
    python fuzz/decoders.py --protocol gemini --seed 7    one, repeatable

What must hold for any body: decoding never raises; the sum of the chunks is the message; another slicing gives the same; the summary can be
written as UTF-8 JSON; no call of a failed stream is runnable; memory stays within a bound of the body's size. The seeds are the streams of
`bench/wires.py`, some written here, and, where the folder is there, the shared recordings (`../shared/conformance`, or HEADRACE_CONFORMANCE).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "bench"))

import wires  # noqa: E402 - bench/ is no package

from headrace import MessageChunk, StreamDecoder  # noqa: E402
from headrace.decoding import SUPPORTED  # noqa: E402

RECORDINGS = Path(os.environ.get("HEADRACE_CONFORMANCE", ROOT.parent / "shared" / "conformance"))
LIMITS = {"max_event_bytes": 1 << 20, "max_total_bytes": 1 << 22, "max_parts": 200, "max_tool_calls": 100, "max_argument_bytes": 1 << 18}
ODD_VALUES = (
    b"null", b"{}", b"[]", b'""', b"true", b"-1", b"0", b"1e400", b"NaN", b"9" * 400, b'"\\ud800"', b'"\\udc00\\ud800"', b'"\xff\xfe"', b"[" * 400,
    b'{"type":"nonsense"}', b'[{"type":null}]', b'"' + b"a" * 5000 + b'"', b'{"message":"boom","code":429}', b'"<tool_call>{}</tool_call>"',
    b'"\\u0000\\u001f\\u2028"', b'{"":{"":[[[]]]}}',
)  # fmt: skip
ODD_BYTES = (
    b"\n\n",
    b"\r",
    b"\r\n\r\n",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b": ping\n",
    b"\xef\xbb\xbf",
    b"\x00",
    b"data:",
    b"}",
    b"[",
    b"\\",
    b'"',
    b"\xed\xa0\x80",
)
_VALUE = re.compile(rb'(?<=:)\s*(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|\{\}|\[\])')
_MAX_SEED = 1 << 16


class BrokenLawError(AssertionError):
    """Something that must hold did not."""


def seeds_of(protocol: str) -> list[bytes]:
    """Return honest bodies of a protocol."""
    found = [wires.CASES[protocol][0](6)] if protocol in wires.CASES else []
    folder = RECORDINGS / "corpus" / protocol
    if folder.is_dir():
        found += [body for path in sorted(folder.iterdir()) if len(body := path.read_bytes()) <= _MAX_SEED]
    cases = RECORDINGS / "cases"
    for path in sorted(cases.glob("*.json")) if cases.is_dir() else ():
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["protocol"] == protocol and "wire" in case:
            found.append("\n".join([*case["wire"], ""]).encode())
    return found or [b'data: {"text":"hello"}\n\n']


def bent(body: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    """Return a body with up to six things wrong with it."""
    for _ in range(rng.randrange(1, 7)):
        body = rng.choice(_BENDS)(body, seeds, rng)[: 1 << 18]
    return body


def _flip(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(body) or 1)
    return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]


def _cut(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def _drop(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(body) + 1)
    return body[:at] + body[at + rng.choice((1, 2, 10, 100, 1000)) :]


def _insert(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(body) + 1)
    return body[:at] + rng.choice(ODD_BYTES + ODD_VALUES) + body[at:]


def _splice(body: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    other = rng.choice(seeds)
    return body[: rng.randrange(len(body) + 1)] + other[rng.randrange(len(other) + 1) :]


def _event(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    """Drop, double or swap whole lines or events."""
    separator = rng.choice((b"\n\n", b"\n"))
    pieces = body.split(separator)
    at, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    match rng.randrange(3):
        case 0:
            del pieces[at]
        case 1:
            pieces.insert(other, pieces[at])
        case _:
            pieces[at], pieces[other] = pieces[other], pieces[at]
    return separator.join(pieces)


def _value(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    """Put an odd value in the place of another."""
    matches = list(_VALUE.finditer(body))
    if not matches:
        return body
    match = rng.choice(matches)
    return body[: match.start()] + rng.choice(ODD_VALUES) + body[match.end() :]


def _values(body: bytes, _: list[bytes], rng: random.Random) -> bytes:
    """Put a value of the same body in the place of another."""
    matches = list(_VALUE.finditer(body))
    if not matches:
        return body
    match, other = rng.choice(matches), rng.choice(matches)
    return body[: match.start()] + other.group() + body[match.end() :]


_BENDS: tuple[Callable[[bytes, list[bytes], random.Random], bytes], ...] = (
    _flip,
    _cut,
    _drop,
    _insert,
    _splice,
    _event,
    _value,
    _value,
    _value,
    _values,
)


def sliced(body: bytes, rng: random.Random) -> list[bytes]:
    """Cut a body anyhow."""
    pieces, at = [], 0
    while at < len(body):
        size = rng.choice((1, 2, 3, 7, 50, 300, 4096))
        pieces.append(body[at : at + size])
        at += size
    return pieces


def check(protocol: str, body: bytes, rng: random.Random) -> None:
    """Hold a decoder to what must be true of any bytes.

    Raises:
        BrokenLawError: something is not true.
    """
    whole, chunks = _decoded(protocol, [body])
    other, _ = _decoded(protocol, sliced(body, rng))
    summary = whole.summary()
    json.dumps(summary, ensure_ascii=False).encode("utf-8")
    if MessageChunk.join(chunks).to_message() != whole.message:
        raise BrokenLawError("the sum of the chunks is not the message")
    if other.summary() != summary:
        raise BrokenLawError("another slicing gives another result")
    if whole.error is not None and any(call.runnable for message in whole.choices for call in message.tool_calls):
        raise BrokenLawError("a call of a failed stream is runnable")


def _decoded(protocol: str, pieces: list[bytes]):
    decoder = StreamDecoder(protocol=protocol, limits=LIMITS)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    chunks += decoder.close()
    return decoder.result, chunks


def run(protocol: str, *, seconds: float, seed: int, most: int | None = None) -> int:
    """Fuzz one protocol for a time or a number of bodies; returns how many were tried.

    Raises:
        BrokenLawError: with the seed's number and the body, so that it can be tried again.
    """
    rng = random.Random(f"{seed}/{protocol}")
    seeds = seeds_of(protocol)
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end and (most is None or tried < most):
        body = bent(rng.choice(seeds), seeds, rng)
        if tried % 50 == 0:  # this one is weighed
            tracemalloc.start()
        try:
            check(protocol, body, random.Random(tried))
            _, peak = tracemalloc.get_traced_memory()
        except Exception as error:
            raise BrokenLawError(f"{protocol}, body {tried} of seed {seed}: {type(error).__name__}: {error}\n{body!r}") from error
        finally:
            tracemalloc.stop()
        if peak > 4_000_000 + 400 * len(body):
            raise BrokenLawError(f"{protocol}, body {tried} of seed {seed}: {peak} bytes of memory for a body of {len(body)}\n{body!r}")
        tried += 1
    return tried


def main() -> int:
    """Fuzz, and say how many bodies were tried."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="for each protocol")
    parser.add_argument("--protocol", choices=SUPPORTED, action="append", help="by default all")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for protocol in arguments.protocol or SUPPORTED:
        try:
            tried = run(protocol, seconds=arguments.seconds, seed=arguments.seed)
        except BrokenLawError as broken:
            print(broken)
            return 1
        print(f"{protocol}: {tried} bodies, all held", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
