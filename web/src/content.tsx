// Parts of messages and results on the page: images, sounds, JSON, files.
//
// The rule of this file: nothing is fetched from another host; what may not be shown is named.
import { Code } from "./highlight.tsx";
import { sourceOf } from "./items.ts";
import { Prose } from "./prose.tsx";
import type { Json, MediaPart, Part } from "./values.ts";

export function JsonView({ value, label }: { value: Json; label: string }) {
  const laidOut = JSON.stringify(value, null, 2);
  // Line breaks inside of texts are written as two characters, so these are all of the layout.
  const code = laidOut.length < 100 ? laidOut.replace(/\n\s*/g, " ") : laidOut;
  return <pre class="json" tabIndex={0} role="group" aria-label={label}><Code code={code} language="json" /></pre>;
}

export function Media({ part }: { part: MediaPart }) {
  const source = sourceOf(part);
  const name = part.name ?? part.kind;
  if (source && part.kind === "image") return <a class="picture" href={source} download={name} aria-label={`Save ${name}`}><img src={source} alt={part.name ?? "Image"} /></a>;
  if (source && part.kind === "audio") return <audio controls src={source} aria-label={name} />;
  if (source && part.kind === "video") return <video controls src={source} aria-label={name} />;
  if (source && part.data) return <a href={source} download={name}>Save {name}</a>;
  if (part.url && /^https?:/i.test(part.url)) return <a href={part.url} target="_blank" rel="noopener noreferrer">{part.kind} at {part.url}</a>;
  return <span class="soft">[{part.kind}{part.name ? ` ${part.name}` : ""}]</span>;
}

/** What a tool gave, or what a message holds besides text. */
export function Content({ part }: { part: Part }) {
  switch (part.type) {
    case "text":
    case "refusal":
      return <PlainText text={part.text} />;
    case "json":
      return <JsonView value={part.value} label="JSON" />;
    case "media":
      return <Media part={part} />;
    case "provider_tool":
      return (
        <details class="provider-tool">
          <summary>{part.name || "A tool of the provider's own"}</summary>
          {part.parsed && <JsonView value={part.parsed} label="Arguments" />}
          {part.result != null && <JsonView value={part.result} label="Result" />}
        </details>
      );
    case "reasoning":
      return <Prose text={part.text ?? ""} isOver />;
    default:
      return <span class="soft">[{part.type.replace("_", " ")}]</span>;
  }
}

/** A tool's text as it is; JSON in it is laid out. */
export function PlainText({ text }: { text: string }) {
  const value = text.length < 200_000 && /^\s*[[{]/.test(text) ? asJson(text) : undefined;
  return value === undefined ? <pre class="plain" tabIndex={0}><Code code={text} language="text" /></pre> : <JsonView value={value} label="JSON" />;
}

function asJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
