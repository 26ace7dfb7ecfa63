// A run as it is shown: events in, items out.
//
// The rule of this file: an event counts once, whatever came twice (an old `seq` is passed over), and the same events give the same view live, after
// a reload and after a lost connection. Pure: no clock, no network; time is what the events say.
import { isSettled, newCall, secondsBetween, userItem } from "./items.ts";
import type { BlockItem, CallItem, Item, NoteItem, ReasoningItem, TextItem } from "./items.ts";
import type { Message, Part, Pending, RunEvent, RunStatus, Usage } from "./values.ts";
import { compactedWords, endWords, limitWords } from "./wording.ts";

export class RunView {
  lastSeq = 0;
  status: RunStatus = "queued";
  reason: string | null = null;
  items: Item[] = [];
  usage: Usage | null = null;
  model = "";
  round = 0;
  startedAt: string | null = null;
  endedAt: string | null = null;
  /** The questions that are open, by the call's key, in the order in which they were asked. */
  readonly pending = new Map<string, Pending>();
  /** The ids of the messages that this run shows, so that nothing is shown a second time from what was kept. */
  readonly messageIds = new Set<string>();
  /** Grows with every event that counted. */
  version = 0;
  /** The reasoning that is going on, so far as is known. */
  private thinking: string | null = null;
  private readonly places = new Map<string, number>();

  constructor(public runId: string) {}

  get isOver(): boolean {
    return this.status === "ended";
  }

  /** Take an event; returns whether it was new. */
  feed(event: RunEvent): boolean {
    if (event.seq <= this.lastSeq) return false;
    this.lastSeq = event.seq;
    this.version += 1;
    this.round = Math.max(this.round, event.round);
    if (event.type !== "run_ended") this.status = "running";
    this.take(event);
    return true;
  }

  call(key: string): CallItem | null {
    const item = this.items[this.places.get(key) ?? -1];
    return item?.kind === "call" ? item : null;
  }

  private take(event: RunEvent): void {
    switch (event.type) {
      case "run_started":
        this.startedAt = event.at;
        for (const [n, message] of event.input.entries()) if (message.role === "user") this.addUser(message, `input/${n}`, false);
        break;
      case "round_started":
        this.model = event.model;
        break;
      case "text_started":
        this.open({ kind: "text", ...place(event, event.kind ?? "text"), text: "", isRefusal: event.kind === "refusal", isOver: false });
        break;
      case "text_delta":
        this.hush();
        this.change<TextItem>(place(event, event.kind ?? "text").key, (item) => ({ text: item.text + event.text }));
        break;
      case "text_ended":
        this.change<TextItem>(place(event, event.kind ?? "text").key, () => ({ isOver: true }));
        break;
      case "reasoning_started":
        this.open({ kind: "reasoning", ...place(event, "reasoning"), text: "", isOver: false, isQuiet: false, seconds: null, at: event.at });
        break;
      case "reasoning_delta":
        // Blocks end together when the answer ends, so how long it thought is told by its last words.
        this.change<ReasoningItem>(place(event, "reasoning").key, (item) => ({ text: item.text + event.text, isQuiet: false, seconds: secondsBetween(item.at, event.at) }));
        this.thinking = place(event, "reasoning").key;
        break;
      case "reasoning_ended":
        this.change<ReasoningItem>(place(event, "reasoning").key, () => ({ isOver: true }));
        break;
      case "attempt_discarded":
        this.discard(event.message_id);
        this.note(event, "The connection to the model broke; it was asked again.", event.reason);
        break;
      case "round_ended":
        if (event.message) this.settle(event.message);
        break;
      case "reminder_added":
        if (event.message.origin === "framework" || event.message.reminder_kind) this.remind(event, event.message);
        else this.addUser(event.message, `said/${event.seq}`, true);
        break;
      case "context_compacted":
        this.note(event, compactedWords(event.messages_before, event.messages_after), event.detail ?? "");
        break;
      case "tools_changed":
        this.note(event, "Other tools are offered from here on.", [event.tools.join(", "), event.detail ?? ""].filter(Boolean).join("\n"));
        break;
      case "limit_reached":
        this.note(event, limitWords(event.which, event.limit, event.tool ?? ""), "", "warning");
        break;
      case "error":
        this.add({ kind: "error", key: `error/${event.seq}`, what: event.kind, message: event.message, retryable: event.retryable });
        break;
      case "run_ended":
        this.end(event);
        break;
      default:
        this.takeOfCall(event);
    }
  }

  private takeOfCall(event: RunEvent): void {
    switch (event.type) {
      case "tool_call_started":
        this.hush();
        this.open(newCall(event.call_key, event.name));
        break;
      case "tool_call_arguments":
        this.change<CallItem>(event.call_key, (item) => ({ text: item.text + event.text }));
        break;
      case "tool_call_ended":
        this.change<CallItem>(event.call_key, () => ({
          name: event.name, text: event.arguments, parsed: event.parsed, runnable: event.runnable, state: "called",
        }));
        break;
      case "approval_required":
      case "external_required":
        this.ask(event.pending);
        break;
      case "approval_given":
        this.pending.delete(event.answer.call_key);
        this.change<CallItem>(event.answer.call_key, (item) => ({ answer: event.answer, question: null, state: isSettled(item.state) ? item.state : "called" }));
        break;
      case "tool_started":
        // A rule that was given with another answer may have answered for this call too.
        this.pending.delete(event.call_key);
        this.change<CallItem>(event.call_key, () => ({ state: "running", startedAt: event.at, output: [], progress: null, question: null }));
        break;
      case "tool_output":
        this.change<CallItem>(event.call_key, (item) => ({ output: joined(item.output, event.output) }));
        break;
      case "tool_progress":
        this.change<CallItem>(event.call_key, () => ({
          progress: { message: event.message, done: event.done ?? null, total: event.total ?? null },
        }));
        break;
      case "tool_ended":
        this.pending.delete(event.call_key);
        this.change<CallItem>(event.call_key, (item) => ({
          result: event.result, state: event.result.state ?? "success", question: null, progress: null, seconds: secondsBetween(item.startedAt, event.at),
        }));
        break;
      case "subrun":
        this.feedInner(event.call_key, event.event);
        break;
    }
  }

  private hush(): void {
    if (this.thinking !== null) this.change<ReasoningItem>(this.thinking, () => ({ isQuiet: true }));
    this.thinking = null;
  }

  private feedInner(callKey: string, event: RunEvent): void {
    const item = this.call(callKey);
    if (!item) return;
    let inner = item.inner.find((one) => one.runId === event.run_id);
    const isNew = !inner;
    inner ??= new RunView(event.run_id);
    inner.feed(event);
    this.change<CallItem>(callKey, () => ({ inner: isNew ? [...item.inner, inner] : item.inner }));
  }

  private ask(pending: Pending): void {
    this.pending.set(pending.call_key, pending);
    // A question from inside a sub-agent is shown at the inner call, which has its own.
    this.change<CallItem>(pending.call_key, () => ({ question: pending, state: "asking" }));
  }

  private end(event: RunEvent & { type: "run_ended" }): void {
    this.usage = event.usage;
    this.reason = event.generate_reason;
    this.endedAt = event.at;
    const pending = event.pending ?? [];
    this.pending.clear();
    for (const one of pending) this.ask(one);
    this.status = pending.length > 0 ? "waiting" : "ended";
    if (this.status !== "ended") return;
    this.showStructured(event.message);
    const words = endWords(event.generate_reason);
    if (words) this.note(event, words, "", event.generate_reason === "interrupted" ? "plain" : "warning");
    // What was open when the run ended will not end by itself any more.
    for (const item of this.items) {
      if (item.kind === "call" && !isSettled(item.state)) this.change<CallItem>(item.key, () => ({ state: "interrupted", question: null }));
      else if ((item.kind === "text" || item.kind === "reasoning") && !item.isOver) this.change<TextItem>(item.key, () => ({ isOver: true }));
    }
  }

  /** A structured answer is shown where no text says it. */
  private showStructured(message: Message | null): void {
    const value = message?.structured_output;
    if (message == null || value == null || (message.parts ?? []).some((part) => part.type === "text")) return;
    this.add({ kind: "part", key: `${message.id}/structured`, messageId: message.id ?? "", part: Infinity, content: { type: "json", value } });
  }

  private addUser(message: Message, key: string, isSteering: boolean): void {
    if (message.id) this.messageIds.add(message.id);
    this.add(userItem(message, key, isSteering));
  }

  private remind(event: RunEvent, message: Message): void {
    if (message.id) this.messageIds.add(message.id);
    const text = (message.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    this.note(event, "The model was reminded.", text);
  }

  private note(event: RunEvent, text: string, detail = "", tone: NoteItem["tone"] = "plain"): void {
    this.add({ kind: "note", key: `note/${event.seq}`, text, detail, tone });
  }

  private add(item: Item): void {
    this.places.set(item.key, this.items.length);
    this.items.push(item);
  }

  /** Put a block where its part number says, among those of its message. */
  private open(item: BlockItem): void {
    this.messageIds.add(item.messageId);
    let at = this.items.length;
    while (at > 0) {
      const before = this.items[at - 1]!;
      if (!("messageId" in before) || before.messageId !== item.messageId || before.part <= item.part) break;
      at -= 1;
    }
    this.items.splice(at, 0, item);
    this.index(at);
  }

  private change<T extends BlockItem>(key: string, changes: (item: T) => Partial<T>): void {
    const at = this.places.get(key);
    const item = at === undefined ? undefined : this.items[at];
    if (at !== undefined && item) this.items[at] = { ...item, ...changes(item as T) } as Item;
  }

  private index(from = 0): void {
    for (let n = from; n < this.items.length; n++) this.places.set(this.items[n]!.key, n);
  }

  private discard(messageId: string): void {
    this.items = this.items.filter((item) => !("messageId" in item) || item.messageId !== messageId);
    this.places.clear();
    this.index();
  }

  /** The answer is whole: what no block carries (media, JSON, tools of the provider's own) gets its place between the blocks. */
  private settle(message: Message): void {
    const id = message.id ?? "";
    this.messageIds.add(id);
    this.messageIds.add(`${id}/results`);
    const parts = message.parts ?? [];
    if (!parts.some((part) => !isBlock(part))) return;
    const first = this.items.findIndex((item) => "messageId" in item && item.messageId === id);
    const at = first < 0 ? this.items.length : first;
    const own = this.items.filter((item): item is BlockItem => "messageId" in item && item.messageId === id);
    const others = this.items.slice(at).filter((item) => !("messageId" in item) || item.messageId !== id);
    const ordered: Item[] = [];
    for (const [n, part] of parts.entries()) {
      if (!isBlock(part)) {
        ordered.push({ kind: "part", key: `${id}/part/${n}`, messageId: id, part: n, content: part });
        continue;
      }
      const found = own.findIndex((item) => isSame(item, part));
      if (found >= 0) ordered.push(...own.splice(found, 1));
    }
    this.items = [...this.items.slice(0, at), ...ordered, ...own, ...others];
    this.index(at);
  }
}

function place(event: { message_id: string; part: number }, kind: string) {
  return { key: `${event.message_id}/${kind}/${event.part}`, messageId: event.message_id, part: event.part };
}

function isBlock(part: Part): boolean {
  return part.type === "text" || part.type === "refusal" || part.type === "reasoning" || part.type === "tool_call";
}

function isSame(item: BlockItem, part: Part): boolean {
  if (item.kind === "text") return part.type === (item.isRefusal ? "refusal" : "text");
  if (item.kind === "reasoning") return part.type === "reasoning";
  return item.kind === "call" && part.type === "tool_call";
}

/** Neighbouring pieces of text are one text. */
function joined(output: Part[], next: Part): Part[] {
  const last = output[output.length - 1];
  if (last?.type === "text" && next.type === "text") return [...output.slice(0, -1), { type: "text", text: last.text + next.text }];
  return [...output, next];
}
