// The page's state, and what is done with it beyond one conversation.
//
// The rule of this file: whoever changes something calls `touch`; it is drawn once in the next frame, however much came.
import { Api, ApiError, newId } from "./api.ts";
import { Conversation, isStatus, wordsOf } from "./conversation.ts";
import type { World } from "./conversation.ts";
import type { RunView } from "./run_view.ts";
import type { Info, SessionRecord } from "./values.ts";

export class Store implements World {
  readonly api = new Api(document.baseURI);
  info: Info | null = null;
  sessions: SessionRecord[] = [];
  hasMoreSessions = false;
  conversation: Conversation;
  wantsKey = false;
  keyTrouble = "";
  isOffline = false;
  announcement = "";
  isListOpen = false;
  trouble = "";
  draw: () => void = () => undefined;
  private frame = 0;
  private readonly wakers = new Set<() => void>();
  private readonly channel = "BroadcastChannel" in window ? new BroadcastChannel("headrace") : null;

  constructor() {
    this.conversation = new Conversation(newId(), this);
  }

  async begin(): Promise<void> {
    addEventListener("hashchange", () => this.goToHash());
    addEventListener("online", () => this.wake());
    document.addEventListener("visibilitychange", () => {
      // A frame that was asked for before may not come any more.
      this.frame = 0;
      this.touch();
      if (document.hidden) return;
      this.wake();
      void this.listSessions();
    });
    if (this.channel) {
      this.channel.onmessage = (message: MessageEvent<{ session: string; run: string | null }>) => {
        const { session, run } = message.data;
        if (run && session === this.conversation.id) this.conversation.adopt(run);
        void this.listSessions();
      };
    }
    this.goToHash();
    await this.reach();
  }

  touch(): void {
    const draw = () => {
      this.frame = 0;
      this.draw();
    };
    // A tab that nobody sees gets no frames; its title must still say that somebody is waited for.
    this.frame ||= document.hidden ? window.setTimeout(draw, 500) : requestAnimationFrame(draw);
  }

  announce(text: string): void {
    // The same words twice are said twice only if they differ.
    this.announcement = this.announcement === text ? `${text}\u00a0` : text;
    this.touch();
  }

  sleep(seconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((done) => {
      const over = () => {
        clearTimeout(timer);
        this.wakers.delete(over);
        signal.removeEventListener("abort", over);
        done();
      };
      const timer = setTimeout(over, seconds * 1000);
      this.wakers.add(over);
      signal.addEventListener("abort", over, { once: true });
    });
  }

  /** Whoever waits before a next try tries now. */
  wake(): void {
    for (const one of [...this.wakers]) one();
  }

  moved(conversation: Conversation, run: RunView | null): void {
    if (conversation === this.conversation && run) this.writeHash();
    this.channel?.postMessage({ session: conversation.id, run: run?.isOver ? null : (run?.runId ?? null) });
    void this.listSessions().then(() => this.nameIt(conversation));
  }

  needsKey(): void {
    this.wantsKey = true;
    this.touch();
  }

  async useKey(key: string): Promise<void> {
    this.api.useKey(key);
    this.wantsKey = false;
    this.keyTrouble = "";
    await this.reach("This key is not known here.");
    if (!this.wantsKey && location.hash.length > 1) this.goToHash(true);
  }

  open(session: string, run: string | null = null): void {
    if (session !== this.conversation.id || session === "") this.replace(new Conversation(session, this), run);
    this.isListOpen = false;
    this.writeHash();
    this.touch();
  }

  openNew(): void {
    this.beginNew();
    if (location.hash !== "") history.pushState(null, "", "#");
    document.getElementById("message")?.focus();
  }

  /** Open or close the list of a small screen; the focus goes along. */
  showList(isOpen: boolean): void {
    this.isListOpen = isOpen;
    // At once: what is inert takes no focus.
    this.draw();
    document.querySelector<HTMLElement>(isOpen ? ".sidebar .new" : "#open-list")?.focus();
  }

  async listSessions(isMore = false): Promise<void> {
    try {
      const found = await this.api.sessions(isMore ? this.sessions[this.sessions.length - 1]?.id : undefined);
      this.hasMoreSessions = found.length === 50;
      const kept = isMore ? this.sessions : [];
      this.sessions = [...kept, ...found.filter((one) => !kept.some((other) => other.id === one.id))];
      this.touch();
    } catch (error) {
      if (isStatus(error, 401)) this.needsKey();
    }
  }

  rename = (session: string, title: string) => this.change(() => this.api.rename(session, title));

  async fork(session: string, at?: number): Promise<void> {
    await this.change(async () => {
      const record = await this.api.fork(session, at);
      if (record.title) await this.api.rename(record.id, `${record.title.slice(0, 190)} (fork)`);
      this.open(record.id);
    });
  }

  async forget(session: string): Promise<void> {
    await this.change(() => this.api.forget(session));
    if (session === this.conversation.id && !this.trouble) this.openNew();
  }

  private async change(what: () => Promise<unknown>): Promise<void> {
    this.trouble = "";
    try {
      await what();
    } catch (error) {
      if (isStatus(error, 401)) this.needsKey();
      else this.trouble = wordsOf(error);
    }
    await this.listSessions();
    this.touch();
  }

  /** A conversation without a title is named by its first words. */
  private async nameIt(conversation: Conversation): Promise<void> {
    const record = this.sessions.find((one) => one.id === conversation.id);
    const words = conversation.firstWords;
    if (!record || record.title || !words) return;
    record.title = words;
    this.touch();
    await this.api.rename(record.id, words).catch(() => undefined);
  }

  private async reach(unknownKey = ""): Promise<void> {
    for (;;) {
      try {
        this.info = await this.api.info();
        this.isOffline = false;
        break;
      } catch (error) {
        if (isStatus(error, 401)) {
          this.keyTrouble = unknownKey;
          return this.needsKey();
        }
        this.isOffline = !(error instanceof ApiError);
        this.touch();
        await this.sleep(2, new AbortController().signal);
      }
    }
    document.title = this.info.agent.name || "Headrace";
    this.touch();
    await this.listSessions();
  }

  private beginNew(): void {
    const isFresh = this.conversation.runs.length === 0 && this.conversation.history.items.length === 0;
    if (!isFresh) this.replace(new Conversation(newId(), this), undefined);
    this.isListOpen = false;
    this.touch();
  }

  private replace(next: Conversation, run: string | null | undefined): void {
    this.conversation.leave();
    this.conversation = next;
    if (run !== undefined) void next.load(run);
  }

  /** The address names what is open: `#session/run`. */
  private goToHash(isAnew = false): void {
    const [session = "", run = ""] = location.hash.slice(1).split("/").map(decodeURIComponent);
    if (session === "" && run === "") {
      this.beginNew();
    } else if (isAnew || session !== this.conversation.id || (session === "" && run !== this.conversation.run?.runId)) {
      this.replace(new Conversation(session, this), run || null);
    }
    this.touch();
  }

  private writeHash(): void {
    const { id, run } = this.conversation;
    const hash = `#${encodeURIComponent(id)}${run ? `/${encodeURIComponent(run.runId)}` : ""}`;
    if (hash === location.hash) return;
    const isSame = location.hash.slice(1).split("/")[0] === encodeURIComponent(id);
    if (isSame) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
  }
}
