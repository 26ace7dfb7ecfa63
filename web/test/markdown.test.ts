import assert from "node:assert/strict";
import { test } from "node:test";
import { Markdown, plainWords } from "../src/markdown.ts";

const SAMPLE = `# A mill

It *turns* with **water**, see [the page](https://example.org "x") and \`code\`.
A second line.

Setext
------

- one
- two

  still two
  1. nested

* another

1. first
2. second

> a quote
> of two lines
lazy

| a | b |
|---|:-:|
| 1 | 2 |

\`\`\`python
def f():

    return "\`\`\`"
\`\`\`

    indented code

    of two pieces

<b>no tag</b>

<script>alert(1)</script>

~~~
tilde
~~~
***
Last words with a [reference][mill].

[mill]: https://example.org/mill
`;

function shape(machine: Markdown): unknown[] {
  return [...machine.settled, ...machine.open].map((block) => strip(block.token));
}

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (value === null || typeof value !== "object") return value;
  // The line that a fence without an end stops in is no line of the code yet.
  const isCode = "type" in value && value.type === "code";
  const entries = Object.entries(value).filter(([name]) => name !== "raw");
  return Object.fromEntries(entries.map(([name, inner]) => [name, isCode && name === "text" ? String(inner).replace(/\n+$/, "") : strip(inner)]));
}

function inPieces(text: string, cuts: Iterable<number>): Markdown {
  const machine = new Markdown();
  let from = 0;
  for (const cut of cuts) {
    machine.feed(text.slice(from, cut));
    from = cut;
  }
  machine.feed(text.slice(from));
  machine.close(text);
  return machine;
}

function random(seed: number): () => number {
  return () => {
    seed = (seed * 1664525 + 1013904223) % 4294967296;
    return seed / 4294967296;
  };
}

const WHOLE = (text: string) => shape(inPieces(text, []));

test("in pieces as in one", () => {
  const expected = WHOLE(SAMPLE);
  for (let size = 1; size < 80; size++) {
    const cuts = Array.from({ length: Math.floor(SAMPLE.length / size) }, (_, n) => (n + 1) * size);
    assert.deepEqual(shape(inPieces(SAMPLE, cuts)), expected, `pieces of ${size}`);
  }
});

test("in pieces as in one, for texts made by chance", () => {
  const next = random(7);
  const parts = [
    "\n", "\n\n", "word ", "two words", "- ", "1. ", "> ", "  ", "    ", "```\n", "```", "~~~\n", "# ", "---\n", "===\n", "| a | b |\n", "|---|---|\n", "**b**", "`c`",
    "<div>\n", "</div>\n", "\t", "* x\n", "a\n", "\\", "[x](y) ", "-", "=", "1", "&amp;", "+ y\n", "_i_", ". ", "<!-- ", "-->\n",
  ];
  for (let round = 0; round < 6_000; round++) {
    const text = Array.from({ length: 1 + Math.floor(next() * 14) }, () => parts[Math.floor(next() * parts.length)]).join("");
    const cuts = Array.from({ length: text.length }, (_, n) => n).filter(() => next() < 0.5);
    assert.deepEqual(shape(inPieces(text, cuts)), WHOLE(text), JSON.stringify({ text, cuts }));
  }
});

test("a settled block stays the same object", () => {
  const machine = new Markdown();
  const seen: unknown[] = [];
  for (const piece of SAMPLE.match(/[^]{1,7}/g) ?? []) {
    machine.feed(piece);
    for (const [n, block] of machine.settled.entries()) {
      seen[n] ??= block;
      assert.equal(seen[n], block);
    }
  }
  assert.ok(seen.length > 8);
});

test("a long answer costs by its length", () => {
  const took = (times: number) => {
    const machine = new Markdown();
    const text = `${SAMPLE.slice(0, 300)}\n\n\`\`\`\n${"let x = 1;\n".repeat(60)}\n\`\`\`\n\n`;
    const began = performance.now();
    for (let n = 0; n < times; n++) for (const piece of text.match(/[^]{1,8}/g) ?? []) machine.feed(piece);
    return performance.now() - began;
  };
  took(20);
  const small = took(20);
  const large = took(200);
  assert.ok(large < small * 40, `${small} ms for 20, ${large} ms for 200`);
});

test("the words without the marks", () => {
  assert.equal(plainWords("# A *mill*\n\n[page](x) `c`\n```js\nlet x\n```"), "A mill page c let x");
});
