// Following a run: its events from the last one that is known, over as many connections as it takes.
//
// The rule of this file: every connection asks for what comes after the last event that was taken, so that nothing is lost or doubled, and only the end
// of the run, an answer that no second try would change, or the caller ends it. The network and the clock come in as arguments.
import { SseParser } from "./sse.ts";

export interface Answer {
  status: number;
  retryAfterS: number | null;
  body: AsyncIterable<Uint8Array>;
}

export type Link =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "lost"; tries: number; waitS: number }
  | { state: "refused"; status: number }
  | { state: "over" };

export interface Following {
  /** Ask for the events after this number. May raise where there is no network. */
  open(after: number, signal: AbortSignal): Promise<Answer>;
  after(): number;
  /** Take an event's JSON; returns whether it was new. */
  take(data: string): boolean;
  isOver(): boolean;
  say(link: Link): void;
  /** Wait so long, or until there is reason to try at once. */
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
  /** Let others have the thread; asked for after each read. */
  breathe(): Promise<void>;
  chance(): number;
  signal: AbortSignal;
  /** A connection on which nothing came for so long is taken for dead; the server sends a comment every 15 s. */
  silenceS?: number;
}

const FINAL = new Set([400, 401, 403, 404, 410, 422]);

/** Seconds to wait before a try: half a second, doubling, at most 10, by chance up to a third less, so that not all come back at once. */
export function waitBefore(tries: number, chance: number): number {
  return Math.min(10, 0.5 * 2 ** Math.min(tries - 1, 8)) * (1 - chance / 3);
}

export async function follow(on: Following): Promise<void> {
  let tries = 0;
  on.say({ state: "connecting" });
  while (!on.signal.aborted) {
    let waitS: number | null = null;
    try {
      const before = on.after();
      const refused = await once(on);
      if (on.signal.aborted) return;
      if (on.isOver()) return on.say({ state: "over" });
      if (refused && FINAL.has(refused.status)) return on.say({ state: "refused", status: refused.status });
      if (on.after() > before) tries = 0;
      waitS = refused?.retryAfterS ?? null;
    } catch {
      // No network, or the connection broke off: that is what the next try is for.
      if (on.signal.aborted) return;
      if (on.isOver()) return on.say({ state: "over" });
    }
    tries += 1;
    waitS ??= waitBefore(tries, on.chance());
    on.say({ state: "lost", tries, waitS });
    await on.sleep(waitS, on.signal).catch(() => undefined);
  }
}

/** One connection, to its end. Returns what was answered if it was no stream. */
async function once(on: Following): Promise<Answer | null> {
  const own = new AbortController();
  const leave = () => own.abort();
  on.signal.addEventListener("abort", leave, { once: true });
  let watch: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(leave, (on.silenceS ?? 45) * 1000);
  };
  try {
    heard();
    const answer = await on.open(on.after(), own.signal);
    if (answer.status !== 200) return answer;
    on.say({ state: "live" });
    const parser = new SseParser();
    for await (const bytes of answer.body) {
      heard();
      for (const event of parser.feed(bytes)) on.take(event.data);
      await on.breathe();
      if (on.isOver()) break;
    }
    return null;
  } finally {
    clearTimeout(watch);
    on.signal.removeEventListener("abort", leave);
    own.abort();
  }
}
