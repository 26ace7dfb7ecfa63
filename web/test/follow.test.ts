import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, waitBefore } from "../src/follow.ts";
import type { Answer, Link } from "../src/follow.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const frames = (from: number, to: number) => {
  let text = "";
  for (let seq = from; seq <= to; seq++) text += `id: ${seq}\ndata: ${seq}\n\n`;
  return text;
};

async function* stream(text: string, breaks: boolean): AsyncIterable<Uint8Array> {
  for (let n = 0; n < text.length; n += 5) yield bytes(text.slice(n, n + 5));
  if (breaks) throw new Error("reset");
}

interface Played { asked: number[]; taken: number[]; links: Link[]; slept: number[] }

async function play(answers: ((after: number) => Answer | Error)[], last: number): Promise<Played> {
  const played: Played = { asked: [], taken: [], links: [], slept: [] };
  const controller = new AbortController();
  let seq = 0;
  await follow({
    open: async (after) => {
      played.asked.push(after);
      const answer = answers.shift()?.(after);
      if (!answer) controller.abort();
      if (!answer || answer instanceof Error) throw answer ?? new Error("no more");
      return answer;
    },
    after: () => seq,
    take: (data) => {
      if (Number(data) <= seq) return false;
      seq = Number(data);
      played.taken.push(seq);
      return true;
    },
    isOver: () => seq >= last,
    say: (link) => played.links.push(link),
    sleep: async (seconds) => void played.slept.push(seconds),
    breathe: async () => undefined,
    chance: () => 0,
    signal: controller.signal,
  });
  return played;
}

const ok = (text: string, breaks = false): Answer => ({ status: 200, retryAfterS: null, body: stream(text, breaks) });
const refused = (status: number, retryAfterS: number | null = null): Answer => ({ status, retryAfterS, body: stream("", false) });

test("a run is followed to its end", async () => {
  const played = await play([() => ok(frames(1, 5))], 5);
  assert.deepEqual(played.taken, [1, 2, 3, 4, 5]);
  assert.deepEqual(played.links.map((link) => link.state), ["connecting", "live", "over"]);
});

test("a connection that breaks in the middle of an event goes on after the last whole one, with nothing lost or doubled", async () => {
  const played = await play([() => ok(`${frames(1, 3)}id: 4\ndata: 4`, true), (after) => ok(frames(after - 1, 6))], 6);
  assert.deepEqual(played.asked, [0, 3]);
  assert.deepEqual(played.taken, [1, 2, 3, 4, 5, 6]);
});

test("without a server it waits longer and longer, and begins anew once something came", async () => {
  const down = () => new Error("refused");
  const played = await play([down, down, down, () => ok(frames(1, 1)), down, () => refused(503, 4), () => ok(frames(2, 2))], 2);
  assert.deepEqual(played.slept, [0.5, 1, 2, 0.5, 1, 4]);
  assert.equal(waitBefore(50, 0), 10);
});

test("what no second try would change ends it", async () => {
  const played = await play([() => refused(401)], 1);
  assert.deepEqual(played.links.at(-1), { state: "refused", status: 401 });
});

test("a connection on which nothing comes is given up", async () => {
  let opened = 0;
  const controller = new AbortController();
  await follow({
    open: async (_after, signal) => {
      opened += 1;
      if (opened === 2) {
        controller.abort();
        throw new Error("enough");
      }
      await new Promise((_done, fail) => signal.addEventListener("abort", () => fail(new Error("left"))));
      throw new Error("never");
    },
    after: () => 0, take: () => false, isOver: () => false, say: () => undefined, sleep: async () => undefined, breathe: async () => undefined,
    chance: () => 0, signal: controller.signal, silenceS: 0.02,
  });
  assert.equal(opened, 2);
});
