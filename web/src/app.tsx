// The page as a whole: the list, the conversation, the box below it, and what is said about the connection.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Composer } from "./composer.tsx";
import type { Conversation } from "./conversation.ts";
import { Icon, Spinner } from "./icons.tsx";
import { plainWords } from "./markdown.ts";
import { Sidebar } from "./sidebar.tsx";
import type { Store } from "./store.ts";
import { Thread } from "./thread.tsx";
import type { Desk } from "./thread.tsx";
import type { ToolInfo } from "./values.ts";
import { count, usageTitle } from "./wording.ts";

export function App({ store }: { store: Store }) {
  const { conversation } = store;
  const run = conversation.run;
  const desk = useDesk(conversation);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // A run that waits has an answer to lose, so it is stopped by its button alone.
      const isRunning = store.conversation.isBusy && store.conversation.run?.status !== "waiting";
      if (event.key === "Escape" && !event.defaultPrevented && isRunning && !document.querySelector("dialog[open]")) void store.conversation.stop();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [store]);
  const title = store.sessions.find((one) => one.id === conversation.id)?.title || conversation.firstWords;
  useEffect(() => {
    const mark = run?.status === "waiting" ? "● " : "";
    document.title = `${mark}${title ? `${title} · ` : ""}${store.info?.agent.name || "Headrace"}`;
  });
  const isEmpty = conversation.runs.length === 0 && conversation.history.items.length === 0 && !conversation.isLoading;
  return (
    <div class={`app ${store.isListOpen ? "list-open" : ""}`}>
      <a class="skip" href="#message" onClick={(event) => { event.preventDefault(); document.getElementById("message")?.focus(); }}>Go to the message box</a>
      <Sidebar store={store} />
      {store.isListOpen && <div class="shade" onClick={() => store.showList(false)} />}
      <main inert={store.isListOpen && matchMedia("(max-width: 50rem)").matches}>
        <header class="top">
          <button type="button" id="open-list" class="quiet only-small" aria-label="Conversations" aria-controls="sidebar" aria-expanded={store.isListOpen}
            onClick={() => store.showList(true)}><Icon name="menu" /></button>
          <h1>{title || "New chat"}</h1>
          <Total conversation={conversation} />
        </header>
        <Banner store={store} />
        <Scroller conversation={conversation} isEmpty={isEmpty}>
          {isEmpty ? <Welcome store={store} /> : <Thread conversation={conversation} desk={desk} />}
          {conversation.isLoading && <p class="row soft loading"><Spinner /> Loading the conversation</p>}
        </Scroller>
        <Composer conversation={conversation} />
      </main>
      <Announcer store={store} />
      {store.wantsKey && <KeyDialog store={store} />}
    </div>
  );
}

function useDesk(conversation: Conversation): Desk {
  const last = conversation.run;
  const hasFailed = last?.isOver === true && last.reason === "error";
  return useMemo(() => {
    const again = () => {
      const user = last?.items.find((item) => item.kind === "user");
      if (user?.kind === "user") void conversation.send(user.parts);
    };
    return { given: (key) => conversation.given.get(key), reply: (...replies) => conversation.answer(replies), retry: hasFailed ? again : null };
  }, [conversation, hasFailed, last]);
}

function Total({ conversation }: { conversation: Conversation }) {
  const { usage } = conversation;
  const sum = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  return sum > 0 ? <span class="soft total" title={usageTitle(usage)}>{count(sum)} tokens</span> : null;
}

/** What is wrong with the connection, or with what is shown, and what is done about it. */
function Banner({ store }: { store: Store }) {
  const { conversation } = store;
  const { link } = conversation;
  const wasLost = useRef(false);
  const [isBack, setBack] = useState(false);
  const isLost = store.isOffline || link.state === "lost" || (wasLost.current && link.state === "connecting");
  useEffect(() => {
    if (!isLost && wasLost.current) {
      setBack(true);
      setTimeout(() => setBack(false), 2500);
    }
    wasLost.current = isLost;
  }, [isLost]);
  const again = <button type="button" class="small" onClick={() => store.wake()}>Try now</button>;
  let words: ComponentChildren = null;
  let tone = "warning";
  if (isLost) words = <><Spinner /><span>{store.info ? "Connection lost. The agent works on, and this page catches up as soon as the server answers." : "The server does not answer yet. Trying again…"}</span>{again}</>;
  else if (link.state === "refused" && link.status !== 401) words = <span>{link.status === 404 ? "The server does not know this run any more." : `The server refuses to show this run (${link.status}).`}</span>;
  else if (isBack) [words, tone] = [<><Icon name="check" size={16} /><span>Connected again. Nothing was lost.</span></>, "good"];
  return <div class="banner-place" role="status" aria-live="polite">{words && <div class={`banner ${tone}`}>{words}</div>}</div>;
}

function Welcome({ store }: { store: Store }) {
  const { info } = store;
  const tools = info?.agent.tools ?? [];
  if (!info) return null;
  return (
    <div class="welcome">
      <h2>{info.agent.name ? `Talk to ${info.agent.name}` : "What can I do for you?"}</h2>
      {info.agent.model && <p class="soft">It answers with <code>{info.agent.model}</code>.</p>}
      {tools.length > 0 && (
        <>
          <h3 class="soft">{tools.length === 1 ? "It has one tool" : `It has ${tools.length} tools`}</h3>
          <ul class="tools">{tools.map((tool) => <Tool key={tool.name} tool={tool} />)}</ul>
        </>
      )}
    </div>
  );
}

function Tool({ tool }: { tool: ToolInfo }) {
  return (
    <li>
      <code>{tool.name}</code>
      {tool.needs_approval && <span class="tag">asks first</span>}
      {tool.external && <span class="tag">runs outside</span>}
      {tool.description && <p class="soft">{tool.description}</p>}
    </li>
  );
}

/** Keeps the end in view while it grows, unless the reader went up. */
function Scroller({ conversation, isEmpty, children }: { conversation: Conversation; isEmpty: boolean; children: ComponentChildren }) {
  const outer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const toEnd = () => {
    isAtEnd.current = true;
    setAway(false);
    outer.current?.scrollTo({ top: outer.current.scrollHeight });
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) outer.current?.scrollTo({ top: outer.current.scrollHeight });
    });
    observer.observe(inner.current!);
    observer.observe(outer.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!isEmpty) toEnd();
    isAtEnd.current = !isEmpty;
  }, [conversation, conversation.runs.length, isEmpty]);
  const onScroll = () => {
    const place = outer.current!;
    const rest = place.scrollHeight - place.scrollTop - place.clientHeight;
    isAtEnd.current = rest < 60;
    setAway(rest > 200);
  };
  // The wheel and the keys say at once that the reader leaves the end; a scroll event comes a frame later.
  const onWheel = (event: WheelEvent) => {
    if (event.deltaY < 0) isAtEnd.current = false;
  };
  return (
    <div class="scroll-place">
      <div class="scroll" ref={outer} onScroll={onScroll} onWheel={onWheel} tabIndex={0} role="log" aria-live="off" aria-label="Conversation">
        <div class="thread" ref={inner}>{children}</div>
      </div>
      {isAway && <button type="button" class="round to-end" aria-label="Go to the end" onClick={toEnd}><Icon name="down" /></button>}
    </div>
  );
}

/** Says politely what happens, in whole sentences: the answer when it is there, not each piece of it. */
function Announcer({ store }: { store: Store }) {
  const run = store.conversation.run;
  const seen = useRef<{ id: string; items: number; isOver: boolean }>({ id: "", items: 0, isOver: true });
  useEffect(() => {
    if (!run) return;
    const isNew = seen.current.id !== run.runId;
    const wasLive = !isNew && !seen.current.isOver;
    if (wasLive && run.isOver) {
      const texts = run.items.flatMap((item) => (item.kind === "text" ? [plainWords(item.text)] : []));
      store.announce(texts.length > 0 ? texts[texts.length - 1]! : "The run has ended.");
    }
    seen.current = { id: run.runId, items: run.items.length, isOver: run.isOver };
  });
  return <div class="hidden" role="status" aria-live="polite" aria-atomic="true">{store.announcement}</div>;
}

function KeyDialog({ store }: { store: Store }) {
  const place = useRef<HTMLDialogElement>(null);
  const [key, setKey] = useState("");
  useEffect(() => place.current?.showModal(), []);
  return (
    <dialog ref={place} aria-labelledby="key-title" onCancel={(event) => event.preventDefault()} onClose={() => place.current?.showModal()}>
      <form onSubmit={(event) => { event.preventDefault(); if (key.trim()) void store.useKey(key.trim()); }}>
        <h2 id="key-title">This server asks for a key</h2>
        <p class="soft">You have it from whoever runs the server. It is kept until this tab is closed.</p>
        {store.keyTrouble && <p class="wrong" role="alert">{store.keyTrouble}</p>}
        <label for="key">API key</label>
        <input id="key" type="password" autocomplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        <div class="buttons"><button type="submit" class="primary">Go on</button></div>
      </form>
    </dialog>
  );
}

