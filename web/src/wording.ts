// What the page says, in plain words. The rule of this file: texts and small formats, no state and no markup.
import type { CallState } from "./items.ts";
import type { Json, Pending, Rule, Usage } from "./values.ts";

const STATES: Record<CallState, string> = {
  streaming: "being written", called: "about to run", asking: "waits for you", running: "running", success: "done", error: "failed", denied: "denied",
  interrupted: "interrupted", timed_out: "timed out", not_run: "not run", in_doubt: "in doubt",
};

export function stateWords(state: CallState, question: Pending | null): string {
  if (state === "asking" && question) return { approval: "waits for your yes", external: "waits for its value", in_doubt: "in doubt" }[question.kind];
  return STATES[state];
}

const ENDS: Record<string, string> = {
  interrupted: "Stopped.",
  all_denied: "The run ended, since every call was denied.",
  max_rounds: "The run has used all its rounds; this is the answer that it was made to give.",
  limit: "The run ended at a limit.",
  length: "The answer was cut: the model reached its longest answer.",
  content_filter: "The provider's content filter ended this answer.",
  stopped: "A hook ended the run.",
};

export function endWords(reason: string): string {
  return ENDS[reason] ?? "";
}

export function limitWords(which: string, limit: number, tool: string): string {
  const what = { rounds: "rounds", tool_calls: "tool calls", pauses: "pauses", tokens: "tokens", cost: "cost", time: "time (seconds)" }[which] ?? which;
  return `Limit reached${tool ? ` of ${tool}` : ""}: ${limit.toLocaleString("en")} ${what}.`;
}

export function compactedWords(before: number, after: number): string {
  return `The conversation was shortened for the model: ${before} messages became ${after}. Nothing of it is lost here.`;
}

/** What a person can do about an error. */
export function adviceFor(kind: string, retryable: boolean): string {
  if (/auth|permission/.test(kind)) return "The provider refused the server's key. Whoever runs the server has to check it.";
  if (/rate_limit/.test(kind)) return "The provider limits how often it is asked. Wait a little, then try again.";
  if (/overloaded/.test(kind)) return "The provider is overloaded. Try again in a while.";
  if (/context_length/.test(kind)) return "The conversation is too long for the model. Begin a new chat, or fork an earlier one.";
  if (/timeout/.test(kind)) return "The model did not answer in time. Try again.";
  if (/connect/.test(kind)) return "The server cannot reach the model. Check the network and the address of the model, then try again.";
  if (/limit/.test(kind)) return "A limit that was set for the run is used up. Send a new message to go on.";
  return retryable ? "This may pass: try again." : "What came until then is kept. Change the question, or ask whoever runs the server to look into its log.";
}

export function usageWords(usage: Usage | null | undefined): string {
  const words: string[] = [];
  if (usage?.input_tokens != null) words.push(`${count(usage.input_tokens)} in`);
  if (usage?.output_tokens != null) words.push(`${count(usage.output_tokens)} out`);
  return words.join(" · ");
}

export function usageTitle(usage: Usage): string {
  const said = (name: string, value: number | null | undefined) => (value == null ? [] : [`${name}: ${value.toLocaleString("en")}`]);
  return [
    ...said("Input tokens", usage.input_tokens), ...said("from a cache", usage.cache_read_tokens),
    ...said("Output tokens", usage.output_tokens), ...said("reasoning", usage.reasoning_tokens),
  ].join("\n");
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en");
  return value < 1e6 ? `${(value / 1000).toFixed(value < 1e5 ? 1 : 0)}k` : `${(value / 1e6).toFixed(1)}M`;
}

export function duration(seconds: number): string {
  if (seconds < 0.1) return "<0.1 s";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  return seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function ago(at: string, now: number): string {
  const seconds = (now - Date.parse(at)) / 1000;
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return seconds < 7 * 86_400 ? `${Math.floor(seconds / 86_400)} d` : new Date(at).toLocaleDateString("en", { day: "numeric", month: "short" });
}

export function ruleWords(rule: Rule): string {
  return rule.pattern ? `${rule.tool} where ${rule.pattern}` : `every call of ${rule.tool}`;
}

/** The arguments of a call on one line, the values first of all. */
export function argumentsLine(parsed: { [name: string]: Json } | null, text: string): string {
  if (!parsed) return text.replace(/\s+/g, " ").slice(0, 200);
  const said = Object.entries(parsed).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return said.join(", ").replace(/\s+/g, " ").slice(0, 200);
}
