// Markdown on the page: blocks and inline marks as elements.
//
// The rule of this file: elements are made here one by one and no HTML is ever read, so nothing in a text can become an element, an attribute or a script
// of its own; addresses of links are those of the web and of mail, and images come from our own server or from the text itself.
import type { Token, Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Code } from "./highlight.tsx";
import { Icon } from "./icons.tsx";
import { localUrl } from "./items.ts";
import { Markdown } from "./markdown.ts";
import type { Block } from "./markdown.ts";
import { memo } from "./memo.ts";

/** A text as markdown. While it grows, only its open end is parsed and drawn anew. */
export const Prose = memo(({ text, isOver }: { text: string; isOver: boolean }) => {
  const held = useRef<{ machine: Markdown; fed: string; isClosed: boolean } | null>(null);
  const drawn = useRef(0);
  if (!held.current || held.current.isClosed || text.length < held.current.fed.length) held.current = { machine: new Markdown(), fed: "", isClosed: false };
  const { machine, fed } = held.current;
  machine.feed(text.slice(fed.length));
  held.current.fed = text;
  if (isOver) {
    machine.close(text);
    held.current.isClosed = true;
  }
  drawn.current += 1;
  const batches: ComponentChildren[] = [];
  for (let from = 0; from < machine.settled.length + machine.open.length; from += BATCH) {
    batches.push(<Batch key={from} machine={machine} from={from} stamp={from + BATCH <= machine.settled.length ? -1 - machine.generation : drawn.current} />);
  }
  return (
    <div class={isOver ? "prose" : "prose growing"}>
      {batches}
    </div>
  );
});

const BATCH = 24;

/** Some blocks. Those of a batch that is full are laid out only where they can be seen, so a long answer costs by what is in view. */
const Batch = memo(({ machine, from, stamp }: { machine: Markdown; from: number; stamp: number }) => {
  const { settled, open } = machine;
  const blocks = [...settled.slice(from, from + BATCH), ...open.slice(Math.max(0, from - settled.length), Math.max(0, from + BATCH - settled.length))];
  return <div class={stamp < 0 ? "batch full" : "batch"}>{blocks.map((block) => <BlockView key={block.id} block={block} />)}</div>;
});

const BlockView = memo(({ block }: { block: Block }) => blockOf(block.token, block.level));

function blocksOf(tokens: readonly Token[] | undefined): ComponentChildren[] {
  return (tokens ?? []).map((token) => blockOf(token));
}

function blockOf(token: Token, level = 4): ComponentChildren {
  switch (token.type) {
    case "heading": {
      // The page has headings of its own above those of an answer.
      const Heading = `h${Math.min(6, level + 2)}` as "h3";
      return <Heading class={`h-${(token as Tokens.Heading).depth}`}>{inlinesOf(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p>{inlinesOf(token.tokens)}</p>;
    case "text":
      return token.tokens ? inlinesOf(token.tokens) : decoded(token.raw);
    case "code":
      return <CodeBlock code={(token as Tokens.Code).text} language={/^\S*/.exec((token as Tokens.Code).lang ?? "")![0]} />;
    case "blockquote":
      return <blockquote>{blocksOf(token.tokens)}</blockquote>;
    case "list":
      return listOf(token as Tokens.List);
    case "table":
      return tableOf(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    default:
      return <p class="raw">{token.raw.trim()}</p>;
  }
}

function listOf(list: Tokens.List): ComponentChildren {
  const items = list.items.map((item) => (
    <li class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? "done" : "to do"} />}
      {blocksOf(item.tokens.filter((token) => token.type !== "checkbox"))}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function tableOf(table: Tokens.Table): ComponentChildren {
  const side = (n: number) => (table.align[n] ? `to-${table.align[n]}` : undefined);
  return (
    <div class="table" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead><tr>{table.header.map((cell, n) => <th scope="col" class={side(n)}>{inlinesOf(cell.tokens)}</th>)}</tr></thead>
        <tbody>{table.rows.map((row) => <tr>{row.map((cell, n) => <td class={side(n)}>{inlinesOf(cell.tokens)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function inlinesOf(tokens: readonly Token[] | undefined): ComponentChildren[] {
  return (tokens ?? []).map(inlineOf);
}

function inlineOf(token: Token): ComponentChildren {
  switch (token.type) {
    case "text":
      return token.tokens ? inlinesOf(token.tokens) : decoded(token.raw);
    case "escape":
      return (token as Tokens.Escape).text;
    case "strong":
      return <strong>{inlinesOf(token.tokens)}</strong>;
    case "em":
      return <em>{inlinesOf(token.tokens)}</em>;
    case "del":
      return <del>{inlinesOf(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return linkOf((token as Tokens.Link).href, inlinesOf(token.tokens), (token as Tokens.Link).title);
    case "image":
      return imageOf(token as Tokens.Image);
    default:
      return token.raw;
  }
}

function linkOf(href: string, inner: ComponentChildren, title?: string | null): ComponentChildren {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return inner;
  return <a href={href} title={title ?? undefined} target="_blank" rel="noopener noreferrer">{inner}</a>;
}

function imageOf(image: Tokens.Image): ComponentChildren {
  const source = localUrl(image.href);
  // An image of another host would tell it who reads this: it is a link, for the reader to follow or not.
  return source ? <img src={source} alt={image.text} title={image.title ?? undefined} loading="lazy" /> : linkOf(image.href, image.text || image.href, image.title);
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", hellip: "…", mdash: "—", ndash: "–", copy: "©", times: "×", rarr: "→", larr: "←" };

function decoded(text: string): string {
  return text.replace(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (all, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name] ?? all;
    const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

function CodeBlock({ code, language }: { code: string; language: string }) {
  return (
    <figure class="code">
      <figcaption><span>{language || "text"}</span><CopyButton text={code} what="code" /></figcaption>
      <pre tabIndex={0}><Code code={code} language={language.toLowerCase()} /></pre>
    </figure>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = () => void navigator.clipboard?.writeText(text).then(() => setDone(true), () => undefined);
  return (
    <button type="button" class="quiet small" onClick={copy} aria-label={isDone ? "Copied" : `Copy ${what}`} title={`Copy ${what}`}>
      <Icon name={isDone ? "check" : "copy"} size={16} />
    </button>
  );
}
