// One conversation: what was kept of it, its runs, and what a person does in it.
//
// The rule of this file: what is shown comes from messages and events; what was said here and not yet heard of (a message on its way, an answer, words
// that steer) is kept beside them until an event says it.
import { ApiError, newId } from "./api.ts";
import type { Api } from "./api.ts";
import { follow } from "./follow.ts";
import type { Link } from "./follow.ts";
import { addUsage, itemsOf } from "./history.ts";
import type { Kept } from "./history.ts";
import { textOf } from "./items.ts";
import { RunView } from "./run_view.ts";
import type { Message, Part, Reply, RunEvent, Usage } from "./values.ts";

export interface World {
  api: Api;
  /** Something changed: draw it soon. */
  touch(): void;
  /** Say something to those who listen. */
  announce(text: string): void;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
  /** A run began or ended, or the conversation got its name: lists may look different. */
  moved(conversation: Conversation, run: RunView | null): void;
  needsKey(): void;
}

export interface Given { reply: Reply; state: "queued" | "sending" | "sent" | "refused"; error: string }
export interface Saying { parts: Part[]; key: string }

export class Conversation {
  runs: RunView[] = [];
  link: Link = { state: "over" };
  isLoading = false;
  /** Why it cannot be shown, or what went wrong last. */
  trouble = "";
  isStopping = false;
  /** What is on its way as the first message of a run, by the run. */
  readonly said = new Map<string, Part[]>();
  steering: Saying[] = [];
  readonly given = new Map<string, Given>();
  /** Text that comes back into the box, since it was not heard. */
  returned: string | null = null;
  private messages: Message[] = [];
  private kept: { of: string; is: Kept } | null = null;
  private readonly leaving = new AbortController();

  constructor(readonly id: string, private readonly world: World) {}

  get run(): RunView | null {
    return this.runs[this.runs.length - 1] ?? null;
  }

  get isBusy(): boolean {
    return this.run !== null && !this.run.isOver;
  }

  get history(): Kept {
    const without = new Set(this.runs.flatMap((run) => [...run.messageIds]));
    const of = `${this.messages.length}/${without.size}`;
    if (this.kept?.of !== of) this.kept = { of, is: itemsOf(this.messages, without) };
    return this.kept.is;
  }

  get usage(): Usage {
    const sum: Usage = {};
    addUsage(sum, this.history.usage);
    for (const run of this.runs) addUsage(sum, run.usage);
    return sum;
  }

  get firstWords(): string {
    const first = this.history.items.find((item) => item.kind === "user") ?? this.runs[0]?.items.find((item) => item.kind === "user");
    const parts = first?.kind === "user" ? first.parts : (this.said.values().next().value ?? []);
    const words = textOf(parts).replace(/\s+/g, " ").trim();
    return words.length > 60 ? `${words.slice(0, 59).trimEnd()}…` : words;
  }

  /** Fetch what was kept, and follow the last run. */
  async load(runId: string | null): Promise<void> {
    this.isLoading = true;
    this.world.touch();
    try {
      const quiet = <T>(ask: Promise<T>, without: T) => ask.catch((error) => (isStatus(error, 404) ? without : Promise.reject(error)));
      const [messages, runs] = this.id === "" ? [[], []] : await Promise.all([quiet(this.world.api.messages(this.id), []), quiet(this.world.api.runsOf(this.id), [])]);
      if (this.leaving.signal.aborted) return;
      this.messages = messages;
      this.isLoading = false;
      this.link = { state: "over" };
      const last = runs[0]?.id ?? runId;
      if (last && !this.runs.some((run) => run.runId === last)) this.adopt(last);
    } catch (error) {
      if (this.leaving.signal.aborted) return;
      if (isStatus(error, 401)) this.world.needsKey();
      else if (error instanceof ApiError) this.trouble = error.message;
      else {
        this.link = { state: "lost", tries: 1, waitS: 2 };
        this.world.touch();
        await this.world.sleep(2, this.leaving.signal).catch(() => undefined);
        if (!this.leaving.signal.aborted) return this.load(runId);
      }
    }
    this.isLoading = false;
    this.world.touch();
  }

  /** Show a run that began elsewhere. */
  adopt(runId: string): void {
    if (this.runs.some((run) => run.runId === runId)) return;
    const run = new RunView(runId);
    this.runs.push(run);
    void this.follow(run);
    this.world.moved(this, run);
  }

  leave(): void {
    this.leaving.abort();
  }

  /** Give a new message: to the run that is going, or as the input of a new one. */
  async send(parts: Part[]): Promise<void> {
    this.trouble = "";
    const input = parts.length === 1 && parts[0]!.type === "text" ? parts[0]!.text : parts;
    if (this.isBusy) return this.steer(parts, input);
    const run = new RunView(newId());
    this.said.set(run.runId, parts);
    this.runs.push(run);
    this.world.announce("Sent.");
    this.world.touch();
    for (let tries = 1; !this.leaving.signal.aborted; tries++) {
      try {
        // The run's id is ours, so that asking again after a lost connection begins no second run.
        await this.world.api.start(run.runId, this.id, input);
        break;
      } catch (error) {
        const isFinal = error instanceof ApiError && error.status !== 503 && error.status !== 429;
        if (isFinal) return this.takeBack(run, parts, error);
        const waitS = (error instanceof ApiError ? error.retryAfterS : null) ?? Math.min(8, tries);
        this.link = { state: "lost", tries, waitS };
        this.world.touch();
        await this.world.sleep(waitS, this.leaving.signal).catch(() => undefined);
      }
    }
    if (this.leaving.signal.aborted) return;
    this.world.moved(this, run);
    void this.follow(run);
  }

  async stop(): Promise<void> {
    const run = this.run;
    if (!run || run.isOver || this.isStopping) return;
    this.isStopping = true;
    this.world.touch();
    await this.attempt(() => this.world.api.interrupt(run.runId));
    this.isStopping = false;
    this.world.touch();
  }

  /** Answer a question. It is sent once the run waits: while other calls still run, nobody would hear it. */
  answer(replies: Reply[]): void {
    for (const reply of replies) this.given.set(reply.call_key, { reply, state: "queued", error: "" });
    this.world.touch();
    void this.flush();
  }

  private async flush(): Promise<void> {
    const run = this.run;
    const queued = [...this.given.values()].filter((one) => one.state === "queued" && run?.pending.has(one.reply.call_key));
    if (!run || run.status !== "waiting" || queued.length === 0) return;
    const set = (state: Given["state"], error = "") => queued.forEach((one) => this.given.set(one.reply.call_key, { ...one, state, error }));
    set("sending");
    this.world.touch();
    try {
      await this.world.api.resume(run.runId, queued.map((one) => one.reply));
      // An event may have said it by now.
      for (const one of queued) if (run.pending.has(one.reply.call_key)) this.given.set(one.reply.call_key, { ...one, state: "sent" });
    } catch (error) {
      const isElsewhere = queued.every((one) => !run.pending.has(one.reply.call_key));
      if (isElsewhere) queued.forEach((one) => this.given.delete(one.reply.call_key));
      else set("refused", error instanceof ApiError ? error.message : "The server could not be reached. Try again.");
      if (isStatus(error, 401)) this.world.needsKey();
    }
    this.world.touch();
  }

  private async steer(parts: Part[], content: string | Part[]): Promise<void> {
    const run = this.run!;
    const saying = { parts, key: newId() };
    this.steering.push(saying);
    this.world.touch();
    try {
      await this.world.api.steer(run.runId, content);
      // The run may have ended meanwhile.
      if (run.isOver) this.giveBackSteering();
    } catch (error) {
      const wasWaiting = this.steering.includes(saying);
      this.steering = this.steering.filter((one) => one !== saying);
      if (wasWaiting) this.returned = textOf(parts);
      this.trouble = isStatus(error, 409) ? "The answer was already given. Your words are back in the box: send them as a new message." : wordsOf(error);
      if (isStatus(error, 401)) this.world.needsKey();
    }
    this.world.touch();
  }

  private async follow(run: RunView): Promise<void> {
    let lastBreath = performance.now();
    const { signal } = this.leaving;
    await follow({
      signal,
      open: (after, own) => this.world.api.events(run.runId, after, own),
      after: () => run.lastSeq,
      take: (data) => this.take(run, JSON.parse(data) as RunEvent),
      isOver: () => run.isOver,
      say: (link) => {
        this.link = link;
        if (link.state === "refused" && link.status === 401) this.world.needsKey();
        this.world.touch();
      },
      sleep: (seconds, own) => this.world.sleep(seconds, own),
      chance: Math.random,
      breathe: async () => {
        // A long log comes in large pieces; the page must stay alive meanwhile.
        if (performance.now() - lastBreath < 12) return;
        await new Promise((done) => setTimeout(done));
        lastBreath = performance.now();
      },
    });
    if (run.isOver && !signal.aborted) this.world.moved(this, run);
  }

  private take(run: RunView, event: RunEvent): boolean {
    if (!run.feed(event)) return false;
    this.said.delete(run.runId);
    if (event.type === "approval_given") this.given.delete(event.answer.call_key);
    else if (event.type === "tool_ended") this.given.delete(event.call_key);
    else if (event.type === "reminder_added" && event.message.origin !== "framework") this.heard(event.message);
    else if (event.type === "run_ended") this.pausedOrOver(run);
    else if (event.type === "error") this.world.announce(`The run failed: ${event.message}`);
    else if (event.type === "approval_required" || event.type === "external_required") this.world.announce(`${event.pending.call.name ?? "A tool"} waits for you.`);
    this.world.touch();
    return true;
  }

  private pausedOrOver(run: RunView): void {
    if (run.status === "waiting") {
      void this.flush();
      return;
    }
    this.giveBackSteering();
    this.given.clear();
  }

  /** Words that the run has heard stand in its log from now on. */
  private heard(message: Message): void {
    const text = textOf(message.parts ?? []);
    const found = this.steering.findIndex((one) => textOf(one.parts) === text);
    if (found >= 0) this.steering.splice(found, 1);
  }

  private giveBackSteering(): void {
    if (this.steering.length === 0) return;
    this.returned = this.steering.map((one) => textOf(one.parts)).join("\n");
    this.steering = [];
    this.trouble = "The run ended before it heard your last words. They are back in the box.";
  }

  private takeBack(run: RunView, parts: Part[], error: unknown): void {
    this.runs = this.runs.filter((one) => one !== run);
    this.said.delete(run.runId);
    this.returned = textOf(parts);
    if (isStatus(error, 401)) this.world.needsKey();
    else this.trouble = isStatus(error, 409) ? `Another run holds this conversation: ${wordsOf(error)}` : wordsOf(error);
    this.world.touch();
  }

  private async attempt(what: () => Promise<unknown>): Promise<void> {
    try {
      await what();
    } catch (error) {
      if (isStatus(error, 401)) this.world.needsKey();
      // 409: it has ended by itself.
      else if (!isStatus(error, 409)) this.trouble = wordsOf(error);
    }
  }
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

export function wordsOf(error: unknown): string {
  return error instanceof ApiError ? error.message : "The server could not be reached.";
}
