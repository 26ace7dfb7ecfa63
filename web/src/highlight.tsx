// Code in colours: comments, texts, numbers and words that many languages share; no grammar of any language.
//
// The rule of this file: linear in the code's length, and every character is shown once, whatever the code is.
import type { ComponentChildren } from "preact";
import { memo } from "./memo.ts";

const WORDS =
  "as|async|await|break|case|catch|class|const|continue|def|do|elif|else|enum|except|export|extends|false|False|finally|fn|for|from|func|function|if|impl|import|in|interface|is|let|match|mod|mut|new|nil|None|not|null|or|and|pass|pub|raise|return|self|static|struct|switch|this|throw|true|True|try|type|use|var|void|while|with|yield|SELECT|FROM|WHERE|JOIN|GROUP|ORDER|BY|INSERT|UPDATE|DELETE|CREATE|TABLE";
const TEXTS = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\]|\\\\.)*`";
const HASH = /^(py|python|sh|bash|shell|zsh|ya?ml|toml|ruby|rb|r|make|makefile|dockerfile|perl|console)$/i;
const PLAIN = /^(|text|txt|plain|output|markdown|md|diff|csv)$/i;

function patternFor(language: string): RegExp {
  const comment = HASH.test(language) ? "#[^\\n]*" : language === "sql" ? "--[^\\n]*" : "//[^\\n]*|/\\*[^]*?(?:\\*/|$)";
  return new RegExp(`(${comment})|(${TEXTS})(\\s*:)?|(\\b\\d[\\w.]*)|\\b(${WORDS})\\b`, "g");
}

export function coloured(code: string, language: string): ComponentChildren[] {
  if (PLAIN.test(language)) return [code];
  const out: ComponentChildren[] = [];
  let from = 0;
  for (const found of code.matchAll(patternFor(language))) {
    const [all, comment, text, colon, number] = found;
    if (found.index > from) out.push(code.slice(from, found.index));
    from = found.index + all.length;
    const kind = comment ? "c" : text ? (colon && language === "json" ? "k" : "s") : number ? "n" : "w";
    out.push(<span class={`hl-${kind}`}>{text ?? all}</span>, colon ?? null);
  }
  out.push(code.slice(from));
  return out;
}

const LINES = 40;
const Chunk = memo(({ code, language }: { code: string; language: string }) => <span class="chunk">{coloured(code, language)}</span>);

/** Code in chunks of some lines, so that more of it at the end draws only the end anew. */
export function Code({ code, language }: { code: string; language: string }) {
  const chunks: ComponentChildren[] = [];
  let from = 0;
  let lines = 0;
  for (let at = code.indexOf("\n"); at >= 0; at = code.indexOf("\n", at + 1)) {
    if (++lines % LINES !== 0) continue;
    chunks.push(<Chunk key={from} code={code.slice(from, at + 1)} language={language} />);
    from = at + 1;
  }
  chunks.push(<Chunk key={from} code={code.slice(from)} language={language} />);
  return <code>{chunks}</code>;
}
