// What the server speaks: events, messages and records as JSON, as far as the page reads them.
//
// The rule of this file: types only, named as in the Python package. Fields that JSON leaves out are optional here; readers fill in.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Usage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_tokens?: number | null;
  reasoning_tokens?: number | null;
}

export type ResultState = "success" | "error" | "denied" | "interrupted" | "timed_out" | "not_run" | "in_doubt";

export interface TextPart { type: "text"; text: string }
export interface ReasoningPart { type: "reasoning"; text?: string }
export interface RefusalPart { type: "refusal"; text: string }
export interface MediaPart {
  type: "media";
  kind: "image" | "audio" | "video" | "document";
  url?: string | null;
  data?: string | null;
  file_id?: string | null;
  media_type?: string | null;
  name?: string | null;
  transcript?: string | null;
}
export interface JsonPart { type: "json"; value: Json }
export interface ToolCallPart { type: "tool_call"; id?: string; name?: string; arguments?: string; parsed?: { [name: string]: Json } | null; runnable?: boolean }
export interface ToolResultPart { type: "tool_result"; call_id: string; name?: string; parts?: Part[]; state?: ResultState; metadata?: { [name: string]: Json } }
export interface ProviderToolPart { type: "provider_tool"; id?: string; name?: string; arguments?: string; parsed?: { [name: string]: Json } | null; result?: Json }
export interface ProviderItem { type: "provider_item"; provider: string; protocol: string; raw: string }
export interface OpaquePart { type: "opaque"; raw?: Json }
export type Part =
  | TextPart | ReasoningPart | RefusalPart | MediaPart | JsonPart | ToolCallPart | ToolResultPart | ProviderToolPart | ProviderItem | OpaquePart;

export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  parts?: Part[];
  id?: string | null;
  origin?: string;
  reminder_kind?: string | null;
  run_id?: string | null;
  usage?: Usage | null;
  generate_reason?: string | null;
  created_at?: string | null;
  structured_output?: Json;
}

export interface Rule { behavior: "allow" | "ask" | "deny"; tool: string; pattern?: string | null; source?: string }
export type PendingKind = "approval" | "external" | "in_doubt";
export interface Pending {
  kind: PendingKind;
  call_key: string;
  call: ToolCallPart;
  digest: string;
  reason?: string;
  suggestions?: Rule[];
  path?: string[];
}
export type Reply =
  | { kind: "approve"; call_key: string; digest: string; arguments?: { [name: string]: Json }; rules?: Rule[] }
  | { kind: "deny"; call_key: string; digest: string; reason?: string; rules?: Rule[] }
  | { kind: "answer"; call_key: string; digest: string; value: Json; is_error?: boolean };

interface Base { seq: number; run_id: string; round: number; at: string }
interface OfBlock { message_id: string; part: number }
interface OfCall { call_key: string }
export type RunEvent = Base & (
  | { type: "run_started"; input: Message[] }
  | { type: "round_started"; model: string }
  | ({ type: "text_started" | "text_ended"; kind?: "text" | "refusal" } & OfBlock)
  | ({ type: "text_delta"; text: string; kind?: "text" | "refusal" } & OfBlock)
  | ({ type: "reasoning_started" | "reasoning_ended" } & OfBlock)
  | ({ type: "reasoning_delta"; text: string } & OfBlock)
  | ({ type: "tool_call_started"; call_id: string; name: string } & OfCall)
  | ({ type: "tool_call_arguments"; text: string } & OfCall)
  | ({ type: "tool_call_ended"; call_id: string; name: string; arguments: string; parsed: { [name: string]: Json } | null; runnable: boolean } & OfCall)
  | ({ type: "tool_started" } & OfCall)
  | ({ type: "tool_output"; output: Part } & OfCall)
  | ({ type: "tool_progress"; message: string; done?: number | null; total?: number | null } & OfCall)
  | ({ type: "tool_ended"; result: ToolResultPart } & OfCall)
  | { type: "approval_required" | "external_required"; pending: Pending }
  | { type: "approval_given"; answer: Reply }
  | { type: "round_ended"; message: Message | null; usage: Usage | null; is_final: boolean }
  | { type: "attempt_discarded"; message_id: string; attempt: number; reason: string }
  | { type: "reminder_added"; message: Message }
  | { type: "context_compacted"; messages_before: number; messages_after: number; detail?: string }
  | { type: "tools_changed"; tools: string[]; detail?: string }
  | { type: "limit_reached"; which: string; limit: number; tool?: string }
  | ({ type: "subrun"; event: RunEvent } & OfCall)
  | { type: "error"; kind: string; message: string; retryable: boolean }
  | { type: "run_ended"; generate_reason: string; message: Message | null; usage: Usage; pending?: Pending[] }
);

export type RunStatus = "queued" | "running" | "waiting" | "ended";
export interface RunRecord {
  id: string;
  session_id: string | null;
  status: RunStatus;
  generate_reason?: string | null;
  last_seq: number;
  created_at: string;
  updated_at: string;
}
export interface SessionRecord {
  id: string;
  title: string;
  messages: number;
  holder?: string | null;
  forked_from?: string | null;
  created_at: string;
  updated_at: string;
}
export interface ToolInfo { name: string; description?: string; needs_approval?: boolean; external?: boolean; idempotent?: boolean }
export interface Info { version: string; agent: { name?: string; model?: string; tools?: ToolInfo[] }; auth?: boolean; durable?: boolean }
