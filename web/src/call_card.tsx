// A tool call as a card: its name, arguments as they are written, how it stands, what it gives, what it asks, and the agents that it runs inside.
import { useState } from "preact/hooks";
import { Content, JsonView, Media } from "./content.tsx";
import { Code } from "./highlight.tsx";
import { Icon, Spinner } from "./icons.tsx";
import type { IconName } from "./icons.tsx";
import { isSettled } from "./items.ts";
import type { CallItem, CallState } from "./items.ts";
import { memo } from "./memo.ts";
import { Question } from "./questions.tsx";
import type { RunView } from "./run_view.ts";
import { ItemView } from "./thread.tsx";
import type { Desk } from "./thread.tsx";
import type { Json, Part, Reply } from "./values.ts";
import { argumentsLine, duration, stateWords } from "./wording.ts";

const ICONS: Partial<Record<CallState, IconName>> = {
  called: "clock", asking: "hand", success: "check", error: "cross", denied: "minus", interrupted: "minus", timed_out: "clock", not_run: "minus", in_doubt: "hand",
};

export const CallCard = memo(({ item, desk, version }: { item: CallItem; desk: Desk; version: number }) => {
  void version; // what is inside of a sub-agent changes in place
  const [chosen, choose] = useState<boolean | null>(null);
  const asksInside = item.inner.some(isAsking);
  const state: CallState = asksInside && !isSettled(item.state) ? "asking" : item.state;
  // A call is open while something happens in it, and folds when it is done, unless somebody has chosen.
  const isOpen = chosen ?? (!isSettled(state) || state === "error" || state === "timed_out");
  const used = item.answer?.kind === "approve" ? item.answer.arguments : undefined;
  const pictures = (item.result?.parts ?? []).filter((part) => part.type === "media");
  return (
    <div role="group" class={`card is-${state}`} aria-label={`Tool ${item.name || "without a name"}: ${stateWords(state, item.question)}`}>
      <details open={isOpen}>
        <summary onClick={(event) => { event.preventDefault(); choose(!isOpen); }}>
          <span class="mark">{ICONS[state] ? <Icon name={ICONS[state]!} size={16} /> : <Spinner />}</span>
          <span class="name">{item.name || "…"}</span>
          <span class="line">{isOpen ? "" : argumentsLine(used ?? item.parsed, item.text)}{used && !isOpen && <span class="tag">edited</span>}</span>
          <span class="state">{stateWords(state, item.question)}{item.seconds !== null && item.seconds >= 0.1 ? ` · ${duration(item.seconds)}` : ""}</span>
          <Icon name="chevron" size={16} />
        </summary>
        {isOpen && <Inside item={item} desk={desk} />}
      </details>
      {item.question && <Question key={item.question.digest} question={item.question} given={desk.given(item.key)} onReply={desk.reply} />}
      {!isOpen && pictures.map((part) => <Media part={part} />)}
    </div>
  );
});

function isAsking(run: RunView): boolean {
  return run.pending.size > 0 || run.items.some((item) => item.kind === "call" && item.inner.some(isAsking));
}

function Inside({ item, desk }: { item: CallItem; desk: Desk }) {
  const output = item.result?.parts ?? item.output;
  return (
    <div class="inside">
      <Arguments item={item} />
      {item.answer && <Answered reply={item.answer} />}
      {item.progress && <Progress {...item.progress} />}
      {item.inner.map((run) => (
        <div class="inner" role="group" aria-label={`Agent inside ${item.name}`} key={run.runId}>
          {run.items.filter((one) => one.kind !== "user").map((one) => <ItemView key={one.key} item={one} desk={desk} version={one.kind === "call" && one.inner.length > 0 ? run.version : 0} />)}
        </div>
      ))}
      {output.length > 0 && (
        <div class={`output ${item.result ? "" : "live"}`}>
          <p class="label">{item.result ? (item.state === "success" ? "Result" : "What the model reads") : "Output so far"}</p>
          {output.map((part: Part) => <Content part={part} />)}
        </div>
      )}
      {item.result && output.length === 0 && <p class="soft">No output.</p>}
    </div>
  );
}

function Arguments({ item }: { item: CallItem }) {
  if (item.state === "streaming") return <pre class="json live" role="group" aria-label="Arguments, being written"><Code code={item.text} language="json" /><span class="caret" /></pre>;
  if (item.parsed && Object.keys(item.parsed).length === 0) return null;
  if (item.parsed) return <JsonView value={item.parsed as Json} label="Arguments" />;
  if (item.text === "") return null;
  return (
    <>
      <pre class="plain" tabIndex={0} role="group" aria-label="Arguments">{item.text}</pre>
      {!item.runnable && <p class="wrong">These arguments are not whole or no JSON: the call cannot run. The model is told.</p>}
    </>
  );
}

function Answered({ reply }: { reply: Reply }) {
  if (reply.kind === "deny") return <p class="answered">Denied{reply.reason ? `: ${reply.reason}` : "."}</p>;
  if (reply.kind === "answer") return <p class="answered">{reply.is_error ? "An error was reported from outside." : "The value was given from outside."}</p>;
  const always = reply.rules?.length ? " Such calls run without asking for the rest of this run." : "";
  if (!reply.arguments) return <p class="answered">Approved.{always}</p>;
  return (
    <div class="answered">
      <p>Approved with other arguments:{always}</p>
      <JsonView value={reply.arguments} label="The arguments that were approved" />
    </div>
  );
}

function Progress({ message, done, total }: { message: string; done: number | null; total: number | null }) {
  return (
    <div class="progress">
      <span>{message}{done !== null && <span class="soft"> {done}{total !== null ? ` of ${total}` : ""}</span>}</span>
      {done !== null && total !== null && total > 0 && <progress value={done} max={total} aria-label={message || "Progress"} />}
    </div>
  );
}
