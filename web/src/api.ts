// The server's HTTP API. The rule of this file: one request each, to our own server alone; what comes back is JSON or an `ApiError`.
import type { Answer } from "./follow.ts";
import type { Info, Json, Message, Part, Reply, RunRecord, SessionRecord } from "./values.ts";

export class ApiError extends Error {
  constructor(readonly status: number, readonly kind: string, message: string, readonly retryAfterS: number | null) {
    super(message);
  }
}

const KEY = "headrace.key";

export class Api {
  private key: string | null = null;

  constructor(private readonly base: string) {
    try {
      this.key = sessionStorage.getItem(KEY);
    } catch {
      // Storage may be forbidden; then the key is asked for after each load.
    }
  }

  useKey(key: string): void {
    this.key = key;
    try {
      sessionStorage.setItem(KEY, key);
    } catch {
      // The same.
    }
  }

  info = () => this.ask<Info>("GET", "api/info");
  sessions = async (before?: string) => (await this.ask<{ sessions: SessionRecord[] }>("GET", `sessions?limit=50${before ? `&before=${encodeURIComponent(before)}` : ""}`)).sessions;
  messages = async (session: string) => (await this.ask<{ messages: Message[] }>("GET", `sessions/${encodeURIComponent(session)}/messages`)).messages;
  runsOf = async (session: string) => (await this.ask<{ runs: RunRecord[] }>("GET", `sessions/${encodeURIComponent(session)}/runs?limit=5`)).runs;
  rename = (session: string, title: string) => this.ask<SessionRecord>("PATCH", `sessions/${encodeURIComponent(session)}`, { title });
  forget = (session: string) => this.ask<null>("DELETE", `sessions/${encodeURIComponent(session)}`);
  fork = (session: string, at?: number) => this.ask<SessionRecord>("POST", `sessions/${encodeURIComponent(session)}/fork`, at === undefined ? {} : { at });
  start = (run: string, session: string, input: string | Part[]) => this.ask<RunRecord>("POST", "runs", { input: input as Json, session_id: session, run_id: run });
  resume = (run: string, answers: Reply[]) => this.ask<RunRecord>("POST", `runs/${encodeURIComponent(run)}/resume`, { answers: answers as unknown as Json });
  interrupt = (run: string) => this.ask<null>("POST", `runs/${encodeURIComponent(run)}/interrupt`, {});
  steer = (run: string, content: string | Part[]) => this.ask<null>("POST", `runs/${encodeURIComponent(run)}/steer`, { content: content as Json });

  /** The events of a run after a number, and on until the run has ended. */
  async events(run: string, after: number, signal: AbortSignal): Promise<Answer> {
    const response = await this.fetch("GET", `runs/${encodeURIComponent(run)}/events?after=${after}&follow=true`, undefined, signal, "text/event-stream");
    return { status: response.status, retryAfterS: retryAfter(response), body: pieces(response) };
  }

  private async ask<T>(method: string, path: string, body?: Json): Promise<T> {
    const response = await this.fetch(method, path, body);
    if (response.ok) return (response.status === 204 || response.headers.get("content-length") === "0" ? null : await response.json()) as T;
    const said = (await response.json().catch(() => null)) as { error?: { kind?: string; message?: string } } | null;
    const message = said?.error?.message ?? `The server answered ${response.status}.`;
    throw new ApiError(response.status, said?.error?.kind ?? "", message, retryAfter(response));
  }

  private fetch(method: string, path: string, body?: Json, signal?: AbortSignal, accept = "application/json"): Promise<Response> {
    const headers: Record<string, string> = { accept };
    if (this.key) headers["authorization"] = `Bearer ${this.key}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    return fetch(new URL(path, this.base), {
      method, headers, cache: "no-store", redirect: "error", credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }), ...(signal ? { signal } : {}),
    });
  }
}

function retryAfter(response: Response): number | null {
  const seconds = Number(response.headers.get("retry-after") ?? "");
  return seconds > 0 ? Math.min(seconds, 60) : null;
}

async function* pieces(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** 128 bits by chance. `crypto.randomUUID` is there only where the page came by HTTPS or from this machine. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
}
