import assert from "node:assert/strict";
import { test } from "node:test";
import { SseParser } from "../src/sse.ts";
import type { ServerEvent } from "../src/sse.ts";

const STREAM = ': hello\r\n\r\nid: 1\nevent: text_delta\ndata: {"a":"ä–😀"}\n\ndata:x\rdata: y\r\rid: 7\ndata\n\nevent: lost\ndata: never ended\n';
const EVENTS: ServerEvent[] = [
  { id: "1", event: "text_delta", data: '{"a":"ä–😀"}' },
  { id: "1", event: "message", data: "x\ny" },
  { id: "7", event: "message", data: "" },
];

function parsed(slices: Uint8Array[]): ServerEvent[] {
  const parser = new SseParser();
  return slices.flatMap((slice) => parser.feed(slice));
}

test("a stream gives its events", () => {
  assert.deepEqual(parsed([new TextEncoder().encode(STREAM)]), EVENTS);
});

test("how it is cut makes no difference", () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let size = 1; size <= bytes.length; size++) {
    const slices = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.slice(n * size, (n + 1) * size));
    assert.deepEqual(parsed(slices), EVENTS, `reads of ${size}`);
  }
});

test("a line that comes in a hundred thousand reads costs no more than its length", () => {
  const parser = new SseParser();
  const began = performance.now();
  const one = new TextEncoder().encode("x".repeat(20));
  parser.feed(new TextEncoder().encode("data: "));
  for (let n = 0; n < 100_000; n++) parser.feed(one);
  const [event] = parser.feed(new TextEncoder().encode("\n\n"));
  assert.equal(event?.data.length, 2_000_000);
  assert.ok(performance.now() - began < 5_000);
});
