// Kept messages as items: what the conversation was before the run that is followed now.
//
// The rule of this file: the same items as from events, as far as messages hold what they show. Pure.
import { newCall, userItem } from "./items.ts";
import type { CallItem, Item } from "./items.ts";
import type { Message, Part, ToolResultPart, Usage } from "./values.ts";

export interface Kept {
  items: Item[];
  usage: Usage;
}

/** Return what the messages show; those whose id is in `without` are shown elsewhere. */
export function itemsOf(messages: readonly Message[], without: ReadonlySet<string> = new Set()): Kept {
  const items: Item[] = [];
  const usage: Usage = {};
  let open = new Map<string, CallItem[]>();
  for (const [n, message] of messages.entries()) {
    if (message.id && without.has(message.id)) continue;
    const id = message.id ?? `kept/${n}`;
    if (message.role === "user") {
      if (message.origin === "framework" || message.reminder_kind) items.push({ kind: "note", key: id, text: "The model was reminded.", detail: textIn(message), tone: "plain" });
      else items.push(userItem(message, `kept/${id}`));
    } else if (message.role === "assistant") {
      addUsage(usage, message.usage);
      open = new Map();
      for (const [part, content] of (message.parts ?? []).entries()) {
        const item = itemOf(id, part, content);
        items.push(item);
        if (item.kind === "call" && content.type === "tool_call") open.set(content.id ?? "", [...(open.get(content.id ?? "") ?? []), item]);
      }
    } else if (message.role === "tool") {
      for (const part of message.parts ?? []) if (part.type === "tool_result") giveResult(open.get(part.call_id)?.shift(), part);
    }
  }
  return { items, usage };
}

export function addUsage(sum: Usage, more: Usage | null | undefined): void {
  for (const name of ["input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens"] as const) {
    const value = more?.[name];
    if (value != null) sum[name] = (sum[name] ?? 0) + value;
  }
}

function itemOf(messageId: string, part: number, content: Part): Item {
  const of = { key: `${messageId}/${part}`, messageId, part };
  switch (content.type) {
    case "text":
    case "refusal":
      return { kind: "text", ...of, text: content.text, isRefusal: content.type === "refusal", isOver: true };
    case "reasoning":
      return { kind: "reasoning", ...of, text: content.text ?? "", isOver: true, isQuiet: true, seconds: null, at: "" };
    case "tool_call":
      return {
        ...newCall(of.key, content.name ?? ""), text: content.arguments ?? "{}", parsed: content.parsed ?? null, runnable: content.runnable ?? false, state: "not_run",
      };
    default:
      return { kind: "part", ...of, content };
  }
}

function giveResult(call: CallItem | undefined, result: ToolResultPart): void {
  // These items are being made here and nobody has seen them yet.
  if (call) Object.assign(call, { result, state: result.state ?? "success" } satisfies Partial<CallItem>);
}

function textIn(message: Message): string {
  return (message.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
