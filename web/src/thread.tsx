// The conversation, from the first message to the last.
import { useState } from "preact/hooks";
import { CallCard } from "./call_card.tsx";
import { Content, Media } from "./content.tsx";
import type { Conversation, Given } from "./conversation.ts";
import { Icon } from "./icons.tsx";
import { textOf } from "./items.ts";
import type { ErrorItem, Item, NoteItem, ReasoningItem, UserItem } from "./items.ts";
import { memo } from "./memo.ts";
import { CopyButton, Prose } from "./prose.tsx";
import type { RunView } from "./run_view.ts";
import type { Part, Reply } from "./values.ts";
import { adviceFor, duration, usageTitle, usageWords } from "./wording.ts";

/** What items need of the conversation that they stand in. */
export interface Desk {
  given(callKey: string): Given | undefined;
  reply(...replies: Reply[]): void;
  retry: (() => void) | null;
}

export const ItemView = memo(({ item, desk, version }: { item: Item; desk: Desk; version: number }) => {
  switch (item.kind) {
    case "user":
      return <User item={item} />;
    case "text":
      return item.isRefusal ? <div class="refusal"><p class="soft">The model declines:</p><Prose text={item.text} isOver={item.isOver} /></div> : <Prose text={item.text} isOver={item.isOver} />;
    case "reasoning":
      return <Reasoning item={item} />;
    case "part":
      return item.content.type === "media" ? <Media part={item.content} /> : item.content.type === "provider_item" ? null : <Content part={item.content} />;
    case "call":
      return <CallCard item={item} desk={desk} version={version} />;
    case "note":
      return <Note item={item} />;
    case "error":
      return <Failure item={item} desk={desk} />;
  }
});

function User({ item }: { item: UserItem }) {
  return <Said parts={item.parts} label={item.isSteering ? "You said meanwhile" : "You said"} note={item.isSteering ? "said while it ran" : ""} />;
}

export function Said({ parts, label, note }: { parts: readonly Part[]; label: string; note: string }) {
  const text = textOf(parts);
  return (
    <article class="said" aria-label={label}>
      {parts.filter((part) => part.type !== "text").map((part) => <Content part={part} />)}
      {text && <div class="bubble">{text}</div>}
      {note && <span class="soft tiny">{note}</span>}
    </article>
  );
}

function Reasoning({ item }: { item: ReasoningItem }) {
  const [chosen, choose] = useState<boolean | null>(null);
  const isOpen = chosen ?? false;
  if (item.isOver && item.text.trim() === "") return null;
  const isLive = !item.isOver && !item.isQuiet;
  const words = !isLive ? `Thought${item.seconds !== null && item.seconds >= 1 ? ` for ${duration(item.seconds)}` : ""}` : "Thinking…";
  const lines = item.text.trimEnd().split("\n");
  return (
    <details class={`reasoning ${isLive ? "live" : ""}`} open={isOpen}>
      <summary onClick={(event) => { event.preventDefault(); choose(!isOpen); }}>
        <Icon name="think" size={16} /><span class="words">{words}</span>
        {isLive && !isOpen && <span class="line">{lines[lines.length - 1]!.slice(-160)}</span>}
        <Icon name="chevron" size={16} />
      </summary>
      {isOpen && <Prose text={item.text} isOver={item.isOver} />}
    </details>
  );
}

function Note({ item }: { item: NoteItem }) {
  if (!item.detail) return <p class={`note ${item.tone}`} role="note">{item.text}</p>;
  return (
    <details class={`note ${item.tone}`}>
      <summary>{item.text}</summary>
      <p>{item.detail}</p>
    </details>
  );
}

function Failure({ item, desk }: { item: ErrorItem; desk: Desk }) {
  return (
    <div role="group" class="failure" aria-label="Error">
      <h3><Icon name="hand" size={16} /> The run failed: {item.what.replaceAll("_", " ")}</h3>
      <p>{item.message}</p>
      <p class="soft">{adviceFor(item.what, item.retryable)}</p>
      {desk.retry && <button type="button" onClick={desk.retry}>Try again</button>}
    </div>
  );
}

const Kept = memo(({ items, desk }: { items: Item[]; desk: Desk }) => <>{items.map((item) => <ItemView key={item.key} item={item} desk={desk} version={0} />)}</>);

const RunItems = memo(({ run, version, desk, given }: { run: RunView; version: number; desk: Desk; given: number }) => (
  <>
    {run.items.map((item) => {
      const isAsked = item.kind === "call" && (item.question !== null || item.inner.length > 0);
      return <ItemView key={item.key} item={item} desk={desk} version={isAsked ? version + given : 0} />;
    })}
  </>
));

function RunFoot({ run }: { run: RunView }) {
  if (!run.isOver) return null;
  const answer = run.items.flatMap((item) => (item.kind === "text" ? [item.text] : [])).join("\n\n");
  const span = run.startedAt && run.endedAt ? (Date.parse(run.endedAt) - Date.parse(run.startedAt)) / 1000 : null;
  const said = [usageWords(run.usage), span !== null ? duration(span) : ""].filter(Boolean).join(" · ");
  return (
    <p class="foot">
      {answer && <CopyButton text={answer} what="the answer" />}
      <span title={run.usage ? usageTitle(run.usage) : undefined}>{said}</span>
    </p>
  );
}

/** One answer to several questions of the same kind. */
function Together({ conversation, desk }: { conversation: Conversation; desk: Desk }) {
  const open = [...(conversation.run?.pending.values() ?? [])].filter((one) => one.kind === "approval" && !desk.given(one.call_key));
  if (open.length < 2) return null;
  const all = open.map((one) => ({ kind: "approve" as const, call_key: one.call_key, digest: one.digest }));
  return (
    <div class="together">
      <span>{open.length} calls wait for your yes.</span>
      <button type="button" onClick={() => desk.reply(...all)}><Icon name="check" size={16} /> Approve all {open.length}</button>
    </div>
  );
}

/** What is going on where nothing can be seen of it. */
function Working({ run }: { run: RunView }) {
  const last = run.items[run.items.length - 1];
  const isShown = last && ((last.kind === "text" && !last.isOver) || (last.kind === "reasoning" && !last.isOver && !last.isQuiet) || (last.kind === "call" && (last.state === "running" || last.state === "streaming")));
  if (run.isOver || run.status === "waiting" || isShown) return null;
  return <p class="working"><span class="dots" aria-hidden="true"><i /><i /><i /></span><span class="hidden">Working</span></p>;
}

export function Thread({ conversation, desk }: { conversation: Conversation; desk: Desk }) {
  // Replies that are on their way change how questions look, and no event says so.
  const given = [...conversation.given.values()].reduce((sum, one) => sum * 5 + { queued: 1, sending: 2, sent: 3, refused: 4 }[one.state], 0) / 1e3;
  return (
    <>
      <h2 class="hidden">Conversation</h2>
      <Kept items={conversation.history.items} desk={desk} />
      {conversation.runs.map((run) => (
        <div role="group" class="run" aria-label="Answer" key={run.runId}>
          {run.lastSeq === 0 && conversation.said.has(run.runId) && <Said parts={conversation.said.get(run.runId)!} label="You said" note="" />}
          <RunItems run={run} version={run.version} desk={desk} given={given} />
          <Working run={run} />
          <RunFoot run={run} />
        </div>
      ))}
      <Together conversation={conversation} desk={desk} />
      {conversation.steering.map((one) => <Said key={one.key} parts={one.parts} label="You said meanwhile" note="read before the next step" />)}
    </>
  );
}
