// The list of conversations: open, rename, fork, delete, and begin a new one.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";
import type { Store } from "./store.ts";
import { nextTheme, themeNow } from "./theme.ts";
import type { SessionRecord } from "./values.ts";
import { ago } from "./wording.ts";

export function Sidebar({ store }: { store: Store }) {
  const { conversation, sessions } = store;
  const isListed = sessions.some((one) => one.id === conversation.id);
  const own = !isListed && conversation.runs.length > 0 ? conversation.firstWords || "New chat" : null;
  return (
    <nav class="sidebar" id="sidebar" aria-label="Conversations" onKeyDown={(event) => {
      if (event.key !== "Escape" || !store.isListOpen) return;
      event.stopPropagation();
      store.showList(false);
    }}>
      <div class="row head">
        <img src={document.querySelector<HTMLLinkElement>("link[rel=icon]")!.href} alt="" width={26} height={26} />
        <span class="brand">{store.info?.agent.name || "Headrace"}</span>
        <button type="button" class="quiet only-small" aria-label="Close the list" onClick={() => store.showList(false)}><Icon name="close" /></button>
      </div>
      <button type="button" class="new" onClick={() => store.openNew()}><Icon name="plus" size={18} /> New chat</button>
      {store.trouble && <p class="wrong" role="alert">{store.trouble}</p>}
      <ul class="sessions">
        {own !== null && <li class="current"><button type="button" class="title" aria-current="page">{own}</button></li>}
        {sessions.map((one) => <Session key={one.id} record={one} store={store} />)}
      </ul>
      {store.hasMoreSessions && <button type="button" class="quiet wide" onClick={() => void store.listSessions(true)}>Older ones</button>}
      <div class="row below">
        <a href="inspect"><Icon name="inspect" size={18} /> Inspector</a>
        <ThemeButton />
      </div>
    </nav>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState(themeNow());
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button type="button" class="quiet" aria-label={`Use the ${other} colours`} title={`Use the ${other} colours`} onClick={() => setTheme(nextTheme())}>
      <Icon name={theme === "dark" ? "sun" : "moon"} />
    </button>
  );
}

function Session({ record, store }: { record: SessionRecord; store: Store }) {
  const [mode, setMode] = useState<"plain" | "menu" | "rename" | "delete">("plain");
  const more = useRef<HTMLButtonElement>(null);
  const isCurrent = record.id === store.conversation.id;
  const title = record.title || (isCurrent ? store.conversation.firstWords : "") || "Untitled chat";
  const back = () => {
    setMode("plain");
    more.current?.focus();
  };
  if (mode === "rename") return <li class="current"><Rename title={record.title} onDone={(name) => { if (name !== null) void store.rename(record.id, name); setMode("plain"); }} /></li>;
  return (
    <li class={`${isCurrent ? "current" : ""} ${mode === "plain" ? "" : "is-open"}`} onKeyDown={(event) => {
      if (event.key !== "Escape" || mode === "plain") return;
      event.stopPropagation();
      back();
    }}>
      <div class="row">
        <button type="button" class="title" aria-current={isCurrent ? "page" : undefined} title={title} onClick={() => store.open(record.id)}>
          {record.holder && <span class="dot" role="img" aria-label="A run works or waits here" />}
          <span>{title}</span>
        </button>
        <time class="soft tiny" dateTime={record.updated_at}>{ago(record.updated_at, Date.now())}</time>
        <button type="button" ref={more} class="quiet small more" aria-label={`More about ${title}`} aria-expanded={mode !== "plain"} onClick={() => setMode(mode === "plain" ? "menu" : "plain")}><Icon name="more" size={18} /></button>
      </div>
      {mode === "menu" && (
        <div class="menu">
          <button type="button" class="small" onClick={() => setMode("rename")}>Rename</button>
          <button type="button" class="small" onClick={() => { setMode("plain"); void store.fork(record.id); }}>Fork</button>
          <button type="button" class="small" onClick={() => setMode("delete")}>Delete…</button>
        </div>
      )}
      {mode === "delete" && (
        <div class="menu" role="group" aria-label={`Delete ${title}?`}>
          <button type="button" class="small danger" onClick={() => { setMode("plain"); void store.forget(record.id); }}>Delete it</button>
          <button type="button" class="small" onClick={back}>Keep it</button>
        </div>
      )}
    </li>
  );
}

function Rename({ title, onDone }: { title: string; onDone(name: string | null): void }) {
  const box = useRef<HTMLInputElement>(null);
  const [name, setName] = useState(title);
  const isDone = useRef(false);
  useLayoutEffect(() => box.current?.select(), []);
  const done = (said: string | null) => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(said?.trim() ? said.trim() : null);
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); done(name); }}>
      <input ref={box} class="rename" aria-label="Title" maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} onBlur={() => done(name)}
        onKeyDown={(event) => { if (event.key === "Escape") { event.stopPropagation(); done(null); } }} />
    </form>
  );
}
