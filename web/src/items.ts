// Items: what a conversation shows, one under the other; made from events (`run_view.ts`) or from kept messages (`history.ts`).
//
// The rule of this file: an item is a value. One that changes is replaced by a new one, so whoever draws them sees by identity what to draw again.
import type { Json, MediaPart, Message, Part, Pending, Reply, ResultState, ToolResultPart } from "./values.ts";
import type { RunView } from "./run_view.ts";

export type CallState = "streaming" | "called" | "asking" | "running" | ResultState;

interface OfMessage { key: string; messageId: string; part: number }

export interface UserItem { kind: "user"; key: string; parts: Part[]; at: string | null; isSteering: boolean }
export interface TextItem extends OfMessage { kind: "text"; text: string; isRefusal: boolean; isOver: boolean }
/** `isQuiet`: the answer goes on with something else, so it has thought, though more of it may still come. */
export interface ReasoningItem extends OfMessage { kind: "reasoning"; text: string; isOver: boolean; isQuiet: boolean; seconds: number | null; at: string }
export interface PartItem extends OfMessage { kind: "part"; content: Part }
export interface CallItem extends OfMessage {
  kind: "call";
  name: string;
  /** The arguments as they come, and once the call is whole its final ones. */
  text: string;
  parsed: { [name: string]: Json } | null;
  runnable: boolean;
  state: CallState;
  output: Part[];
  progress: { message: string; done: number | null; total: number | null } | null;
  result: ToolResultPart | null;
  question: Pending | null;
  answer: Reply | null;
  inner: RunView[];
  startedAt: string | null;
  seconds: number | null;
}
export interface NoteItem { kind: "note"; key: string; text: string; detail: string; tone: "plain" | "warning" }
export interface ErrorItem { kind: "error"; key: string; what: string; message: string; retryable: boolean }
export type BlockItem = TextItem | ReasoningItem | PartItem | CallItem;
export type Item = UserItem | BlockItem | NoteItem | ErrorItem;

export function userItem(message: Message, key: string, isSteering = false): UserItem {
  return { kind: "user", key, parts: message.parts ?? [], at: message.created_at ?? null, isSteering };
}

export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" || part.type === "refusal" ? [part.text] : [])).join("");
}

export function newCall(key: string, name: string): CallItem {
  const cut = key.lastIndexOf("/");
  return {
    kind: "call", key, messageId: key.slice(0, cut), part: Number(key.slice(cut + 1)), name, text: "", parsed: null, runnable: false, state: "streaming",
    output: [], progress: null, result: null, question: null, answer: null, inner: [], startedAt: null, seconds: null,
  };
}

/** Whether the call has come to its end. */
export function isSettled(state: CallState): boolean {
  return state !== "streaming" && state !== "called" && state !== "asking" && state !== "running";
}

export function secondsBetween(from: string | null, to: string | null | undefined): number | null {
  const span = from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : NaN;
  return Number.isFinite(span) && span >= 0 ? span : null;
}

/** Where an image may come from without asking another host: its own bytes, a data URL of an image, or our own server. */
export function sourceOf(part: MediaPart): string | null {
  if (part.data) return `data:${part.media_type ?? "application/octet-stream"};base64,${part.data}`;
  return part.url ? localUrl(part.url) : null;
}

const IMAGE_DATA = /^data:(image\/(png|jpeg|gif|webp|avif|svg\+xml)|audio\/[\w.+-]+|video\/[\w.+-]+)[;,]/i;

export function localUrl(url: string): string | null {
  if (IMAGE_DATA.test(url)) return url;
  // An address that begins with one slash, or with none and no scheme, stays here; `//host` and `\\host` would not.
  return /^(?![a-z][a-z\d+.-]*:|[\\/]{2}|\/\\|\\)[^\s]+$/i.test(url) ? url : null;
}
