import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { itemsOf } from "../src/history.ts";
import type { CallItem, Item } from "../src/items.ts";
import { localUrl } from "../src/items.ts";
import { objectIn } from "../src/questions.tsx";
import { RunView } from "../src/run_view.ts";
import type { Message, RunEvent } from "../src/values.ts";

type Loose = { type: string } & Record<string, unknown>;

/** Give events their numbers and what all of them have. */
function log(...events: Loose[]): RunEvent[] {
  return events.map((event, n) => ({ seq: n + 1, run_id: "r", round: 1, at: `2026-01-01T00:00:${String(n).padStart(2, "0")}Z`, ...event }) as unknown as RunEvent);
}

function viewOf(events: readonly RunEvent[]): RunView {
  const view = new RunView("r");
  for (const event of events) view.feed(event);
  return view;
}

/** What is seen of a run, with the runs inside. */
function seen(view: RunView): unknown {
  const items = view.items.map((item) => (item.kind === "call" ? { ...item, inner: item.inner.map(seen) } : item));
  return JSON.parse(JSON.stringify({ items, status: view.status, reason: view.reason, usage: view.usage, pending: [...view.pending.keys()] }));
}

const m1 = { message_id: "m1" };
const PENDING = { kind: "approval", call_key: "m1/1", call: { type: "tool_call", id: "c", name: "pay", parsed: { euros: 1 } }, digest: "d" };
const CALL: Loose[] = [
  { type: "tool_call_started", call_key: "m1/1", call_id: "c", name: "pa" },
  { type: "tool_call_arguments", call_key: "m1/1", text: '{"eur' },
  { type: "tool_call_ended", call_key: "m1/1", call_id: "c", name: "pay", arguments: '{"euros": 1}', parsed: { euros: 1 }, runnable: true },
];

test("blocks stand in the order of their parts, also when they interleave", () => {
  const view = viewOf(log(
    { type: "text_started", ...m1, part: 1 }, { type: "reasoning_started", ...m1, part: 0 }, { type: "text_delta", ...m1, part: 1, text: "b" },
    { type: "reasoning_delta", ...m1, part: 0, text: "a" }, { type: "text_delta", ...m1, part: 1, text: "c" },
  ));
  assert.deepEqual(view.items.map((item) => [item.kind, "text" in item ? item.text : ""]), [["reasoning", "a"], ["text", "bc"]]);
});

test("reasoning is quiet once the answer goes on, and lives again if more of it comes", () => {
  const started = [{ type: "reasoning_started", ...m1, part: 0 }, { type: "reasoning_delta", ...m1, part: 0, text: "a" }];
  const quiet = (...events: Loose[]) => (viewOf(log(...started, ...events)).items[0] as { isQuiet?: boolean }).isQuiet;
  const text = [{ type: "text_started", ...m1, part: 1 }, { type: "text_delta", ...m1, part: 1, text: "b" }];
  assert.deepEqual([quiet(), quiet(...text), quiet(...text, started[1]!), quiet(CALL[0]!)], [false, true, false, true]);
});

test("the final call overrides its pieces", () => {
  const [item] = viewOf(log(...CALL)).items;
  assert.equal(item?.kind === "call" && item.name, "pay");
  assert.equal(item?.kind === "call" && item.text, '{"euros": 1}');
});

test("a discarded attempt is gone", () => {
  const view = viewOf(log({ type: "text_started", ...m1, part: 0 }, { type: "text_delta", ...m1, part: 0, text: "void" }, { type: "attempt_discarded", ...m1, attempt: 1, reason: "x" },
    { type: "text_started", ...m1, part: 0 }, { type: "text_delta", ...m1, part: 0, text: "counts" }));
  assert.deepEqual(view.items.flatMap((item) => (item.kind === "text" ? [item.text] : [])), ["counts"]);
});

test("a question waits until it is answered", () => {
  const asked = log(...CALL, { type: "approval_required", pending: PENDING }, { type: "run_ended", generate_reason: "awaiting_approval", message: null, usage: {}, pending: [PENDING] });
  const view = viewOf(asked);
  assert.equal(view.status, "waiting");
  assert.equal((view.items[0] as CallItem).question?.digest, "d");
  view.feed({ ...asked[0]!, seq: 10, type: "approval_given", answer: { kind: "deny", call_key: "m1/1", digest: "d", reason: "no" } });
  assert.deepEqual([view.status, view.pending.size, (view.items[0] as CallItem).question], ["running", 0, null]);
});

test("a call that starts is asked about no more, whoever answered for it", () => {
  const view = viewOf(log(...CALL, { type: "approval_required", pending: PENDING }, { type: "tool_started", call_key: "m1/1" }));
  assert.deepEqual([view.pending.size, (view.items[0] as CallItem).question, (view.items[0] as CallItem).state], [0, null, "running"]);
});

test("what is open when the run ends is closed", () => {
  const view = viewOf(log(...CALL, { type: "tool_started", call_key: "m1/1" }, { type: "run_ended", generate_reason: "interrupted", message: null, usage: {} }));
  assert.equal((view.items[0] as CallItem).state, "interrupted");
  assert.equal(view.isOver, true);
});

test("parts that no block carries get their place", () => {
  const image = { type: "media", kind: "image", data: "AA==" };
  const message = { role: "assistant", id: "m1", parts: [image, { type: "text", text: "a" }, image] };
  const view = viewOf(log({ type: "text_started", ...m1, part: 0 }, { type: "text_delta", ...m1, part: 0, text: "a" }, { type: "round_ended", message, usage: null, is_final: true }));
  assert.deepEqual(view.items.map((item) => item.kind), ["part", "text", "part"]);
});

test("a structured answer is shown where no text says it", () => {
  const message = { role: "assistant", id: "m2", parts: [], structured_output: { a: 1 } };
  const ended = { type: "run_ended", generate_reason: "structured_output", message, usage: {} };
  const last = viewOf(log(...CALL, ended)).items.at(-1);
  assert.deepEqual(last?.kind === "part" && last.content, { type: "json", value: { a: 1 } });
  assert.equal(viewOf(log({ ...ended, message: { ...message, parts: [{ type: "text", text: "1" }] } })).items.length, 0);
});

test("an event of a newer server that is not known does no harm", () => {
  assert.equal(viewOf(log({ type: "something_new", call_key: "m1/1" }, ...CALL)).items.length, 1);
});

test("addresses stay here", () => {
  for (const good of ["data:image/png;base64,AA", "/assets/x.png", "a.png", "?x"]) assert.equal(localUrl(good), good);
  for (const bad of ["https://a.example/x", "//a.example/x", "\\\\a.example", "/\\a.example", "data:text/html,x", "javascript:x", "blob:x", " //a"]) assert.equal(localUrl(bad), null, bad);
});

test("arguments that are edited must be an object", () => {
  assert.deepEqual(objectIn('{"a": 1}'), { a: 1 });
  for (const bad of ["[1]", "null", "{", ""]) assert.equal(typeof objectIn(bad), "string");
});

// --- logs of real runs, with the messages that they stored ----------------------------------------------

interface Real { name: string; events: RunEvent[]; messages: Message[] }
const file = process.env["HEADRACE_LOGS"];
const REAL: Real[] = file ? (JSON.parse(readFileSync(file, "utf8")) as Real[]) : [];

function reduced(items: readonly Item[]): unknown[] {
  return items.flatMap((item): unknown[] => {
    if (item.kind === "user") return [["user", item.parts]];
    if (item.kind === "text" || item.kind === "reasoning") return [[item.kind, item.text]];
    if (item.kind === "call") return [["call", item.name, item.text, item.state, item.result]];
    return item.kind === "part" ? [["part", item.content]] : [];
  });
}

for (const { name, events, messages } of REAL) {
  test(`${name}: events show what the kept messages show`, () => {
    const order = (items: unknown[]) => items.filter((item) => (item as unknown[])[0] !== "user");
    assert.deepEqual(order(reduced(viewOf(events).items)), order(reduced(itemsOf(messages).items)));
  });

  test(`${name}: whatever is sent twice, and wherever the connection broke, the view is the same`, () => {
    const whole = seen(viewOf(events));
    for (let cut = 0; cut <= events.length; cut++) {
      const view = viewOf(events.slice(0, cut));
      // A server that sends everything again, as after a reload that kept the view.
      for (const event of events) view.feed(event);
      assert.deepEqual(seen(view), whole, `cut at ${cut}`);
    }
    assert.deepEqual(seen(viewOf(events.flatMap((event) => [event, event]))), whole);
  });

  test(`${name}: ids of its messages are known, so that nothing is shown twice`, () => {
    assert.deepEqual(itemsOf(messages, viewOf(events).messageIds).items, []);
  });
}
