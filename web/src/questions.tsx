// What a person is asked about a call, and the forms to answer it.
//
// The rule of this file: a reply names its call and the digest of the question that was shown, so it fits that question alone.
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Given } from "./conversation.ts";
import { Icon, Spinner } from "./icons.tsx";
import type { Json, Pending, Reply, Rule } from "./values.ts";
import { ruleWords } from "./wording.ts";

type Form = "none" | "edit" | "deny" | "value" | "error" | "always";
interface Asked { question: Pending; given: Given | undefined; onReply(reply: Reply): void }

export function Question({ question, given, onReply }: Asked) {
  const [form, setForm] = useState<Form>(question.kind === "external" ? "value" : "none");
  const heading = useId();
  const of = { call_key: question.call_key, digest: question.digest };
  const close = () => setForm("none");
  if (given && given.state !== "refused") {
    const words = given.state === "queued" ? "Your answer is sent once the other tools are done." : "Your answer is on its way.";
    return <div class="question" role="status"><p class="row"><Spinner /> {words}</p></div>;
  }
  return (
    <div role="group" class={`question is-${question.kind}`} aria-labelledby={heading} onKeyDown={form === "none" ? undefined : closing(close)}>
      <p class="asked" id={heading}>{titleOf(question)}</p>
      {question.reason && <p class="soft">{question.reason}</p>}
      {given && <p class="wrong" role="alert">{given.error}</p>}
      <Choices question={question} form={form} setForm={setForm} onReply={onReply} />
      {form === "edit" && <EditForm question={question} onReply={onReply} onClose={close} />}
      {form === "always" && <AlwaysForm question={question} onReply={onReply} />}
      {form === "deny" && (
        <TextForm label={question.kind === "in_doubt" ? "Why it is given up (the model reads it)" : "Why not? (the model reads it)"} button={question.kind === "in_doubt" ? "Give up" : "Deny"}
          isDanger onClose={close} onText={(reason) => onReply({ kind: "deny", ...of, ...(reason ? { reason } : {}) })} />
      )}
      {form === "value" && (
        <TextForm label={question.kind === "in_doubt" ? "What the call gave" : `What ${question.call.name ?? "the tool"} gives: JSON, or plain text`} button="Give the value" isMono isNeeded
          isQuiet={question.kind === "external"} onClose={close} onText={(text) => onReply({ kind: "answer", ...of, value: valueOf(text) })} />
      )}
      {form === "error" && (
        <TextForm label="What went wrong (the model reads it)" button="Report the error" isDanger isNeeded onClose={close}
          onText={(text) => onReply({ kind: "answer", ...of, value: text, is_error: true })} />
      )}
    </div>
  );
}

function titleOf({ kind, call }: Pending): string {
  const name = call.name || "the tool";
  if (kind === "approval") return `May ${name} run?`;
  return kind === "external" ? `${name} runs outside: what did it give?` : `Did ${name} run? The server stopped in the middle of it.`;
}

function Choices({ question, form, setForm, onReply }: { question: Pending; form: Form; setForm(form: Form): void; onReply(reply: Reply): void }) {
  const of = { call_key: question.call_key, digest: question.digest };
  const toggle = (name: Form, words: string, extra = "") => (
    <button type="button" class={extra} aria-expanded={form === name} onClick={() => setForm(form === name ? "none" : name)}>{words}</button>
  );
  if (question.kind === "external") {
    return <div class="buttons">{toggle("value", "Give a value")}{toggle("error", "Report an error…")}{toggle("deny", "Deny…")}</div>;
  }
  if (question.kind === "in_doubt") {
    return (
      <div class="buttons">
        <button type="button" onClick={() => onReply({ kind: "approve", ...of })}>Run it again</button>
        {toggle("value", "It ran: give its result")}
        {toggle("deny", "Give it up")}
      </div>
    );
  }
  return (
    <div class="buttons">
      <button type="button" class={form === "none" ? "primary" : ""} onClick={() => onReply({ kind: "approve", ...of })}><Icon name="check" size={16} /> Approve</button>
      {toggle("edit", "Edit…")}
      {(question.suggestions ?? []).length > 0 && toggle("always", "Always…")}
      {toggle("deny", "Deny…")}
    </div>
  );
}

/** Leaves a form with Escape, without stopping the run. */
function closing(onClose: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onClose();
    // The button that opened the form has the focus again.
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(".buttons [aria-expanded='true']")?.focus();
  };
}

function EditForm({ question, onReply, onClose }: { question: Pending; onReply(reply: Reply): void; onClose(): void }) {
  const [text, setText] = useState(() => JSON.stringify(question.call.parsed ?? {}, null, 2));
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const read = objectIn(text);
  const submit = (event: Event) => {
    event.preventDefault();
    if (typeof read !== "string") onReply({ kind: "approve", call_key: question.call_key, digest: question.digest, arguments: read });
    else box.current?.focus();
  };
  return (
    <form onSubmit={submit}>
      <label for={id}>Arguments (JSON)</label>
      <textarea id={id} ref={box} class="mono" rows={Math.min(14, text.split("\n").length + 1)} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)}
        aria-invalid={typeof read === "string"} aria-describedby={`${id}-wrong`} />
      <p id={`${id}-wrong`} class="wrong" role="alert">{typeof read === "string" ? read : ""}</p>
      <div class="buttons">
        <button type="submit" class="primary" disabled={typeof read === "string"}>Approve with these</button>
        <button type="button" onClick={onClose}>Cancel</button>
      </div>
    </form>
  );
}

function AlwaysForm({ question, onReply }: { question: Pending; onReply(reply: Reply): void }) {
  const approve = (rule: Rule) => onReply({ kind: "approve", call_key: question.call_key, digest: question.digest, rules: [rule] });
  return (
    <div class="always">
      <p class="soft">Approve this call, and for the rest of this run without asking:</p>
      {(question.suggestions ?? []).map((rule) => <button type="button" onClick={() => approve(rule)}>{ruleWords(rule)}</button>)}
    </div>
  );
}

interface TextAsked { label: string; button: string; isMono?: boolean; isDanger?: boolean; isNeeded?: boolean; isQuiet?: boolean; onClose(): void; onText(text: string): void }

function TextForm({ label, button, isMono, isDanger, isNeeded, isQuiet, onClose, onText }: TextAsked) {
  const [text, setText] = useState("");
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  // A form that was there from the start takes the focus from nobody.
  useLayoutEffect(() => void (isQuiet || box.current?.focus()), []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isNeeded && text.trim() === "") box.current?.focus();
    else onText(isMono ? text : text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !isMono) submit(event);
  };
  return (
    <form onSubmit={submit} onKeyDown={onKeyDown}>
      <label for={id}>{label}</label>
      <textarea id={id} ref={box} class={isMono ? "mono" : ""} rows={isMono ? 3 : 2} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <div class="buttons">
        <button type="submit" class={isDanger ? "danger" : "primary"}>{button}</button>
        <button type="button" onClick={onClose}>Cancel</button>
      </div>
    </form>
  );
}

/** The object in a text, or what is wrong with it. */
export function objectIn(text: string): { [name: string]: Json } | string {
  try {
    const value = JSON.parse(text) as Json;
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : "The arguments must be an object: { … }.";
  } catch (error) {
    return `This is no JSON yet: ${(error as Error).message}`;
  }
}

function valueOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
