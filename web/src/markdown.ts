// Markdown as it comes: text in, blocks out; a block that is settled is never parsed again.
//
// The rule of this file: what is given in pieces ends as the same blocks as the whole text at once. Only the open end is parsed anew, so the cost of a
// long answer is that of its length. The parser makes tokens and nobody makes HTML of them (see `prose.tsx`): a tag in the text stays text.
import { Lexer } from "marked";
import type { Token, Tokens, TokensList } from "marked";

export interface Block {
  id: number;
  /** Of a heading: its place among those of the text, without a gap, whatever the text says. */
  level: number;
  token: Token;
}

const FENCE = /^(`{3,}|~{3,})([^\n]*)\n/;
const CLOSED = /\n {0,3}(`{3,}|~{3,})[`~]* *\n*$/;
const LONGEST_FENCE = 200;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

export class Markdown {
  /** The blocks that are settled. Grows only, until the end. */
  readonly settled: Block[] = [];
  /** The blocks of the open end. */
  open: Block[] = [];
  /** Grows when settled blocks had to be made anew after all: at the end, where something was defined after its use. */
  generation = 0;
  private tail = "";
  private level = 0;
  private isInFence = false;
  private hasDefinitions = false;
  /** Where in the tail the line begins that more text goes on with. */
  private lineStart = 0;

  /** Take more of the text. */
  feed(text: string): void {
    if (text === "") return;
    const line = Math.max(this.lineStart, this.tail.length - LONGEST_FENCE);
    this.tail += text;
    const fence = FENCE.exec(this.tail);
    const only = this.open.length === 1 ? this.open[0]! : null;
    // A fence that is still open takes all that comes as it is: nothing to parse.
    if (fence && only && this.isInFence && !this.tail.slice(line).includes(fence[1]!)) {
      const token: Token = { ...only.token, raw: this.tail, text: this.tail.slice(fence[0].length).replace(/\n$/, "") };
      this.open = [{ ...only, token }];
    } else {
      this.parse();
    }
    this.lineStart = this.tail.lastIndexOf("\n") + 1;
  }

  /** Nothing more comes. */
  close(source: string): void {
    if (this.hasDefinitions || DEFINITION.test(source)) {
      // What a reference means may be said after it, so the whole text is read once more.
      this.settled.length = 0;
      this.generation += 1;
      this.open = blocksOf(lex(source), 0, 0);
    }
    this.settled.push(...this.open);
    this.open = [];
    this.tail = "";
  }

  private parse(): void {
    const tokens = lex(this.tail);
    const last = tokens.findLastIndex((token) => token.type !== "space");
    const before = tokens.slice(0, Math.max(last, 0)).reduce((length, token) => length + token.raw.length, 0);
    // All blocks before the last are settled, if that has begun in earnest: its first marks could still turn out to belong to the one before.
    const isSettled = before > 0 && isDistinct(tokens[last]!, /\n[ \t]*\n$/.test(this.tail.slice(0, before)));
    const count = isSettled ? last : 0;
    const length = isSettled ? before : 0;
    const done = tokens.slice(0, count);
    this.settled.push(...blocksOf(done, this.settled.length, this.level));
    this.level = this.settled[this.settled.length - 1]?.level ?? 0;
    if (length > 0) {
      this.hasDefinitions ||= done.some((token) => token.type === "def");
      this.tail = this.tail.slice(length);
    }
    this.open = blocksOf(tokens.slice(count), this.settled.length, this.level);
    const only = this.open.length === 1 ? this.open[0]!.token : null;
    this.isInFence = only?.type === "code" && !CLOSED.test(only.raw);
  }
}

function lex(text: string): TokensList {
  return new Lexer({ gfm: true }).lex(text);
}

function blocksOf(tokens: readonly Token[], from: number, level: number): Block[] {
  const shown = tokens.filter((token) => token.type !== "space" && token.type !== "def");
  return shown.map((token, n) => {
    if (token.type === "heading") level = Math.min((token as Tokens.Heading).depth, level + 1);
    return { id: from + n, token, level };
  });
}

/** Whether a block can no longer turn out to be more of the one before it, from which perhaps a blank line divides it. */
function isDistinct(token: Token, isAfterBlank: boolean): boolean {
  if (token.type === "code" && FENCE.test(token.raw)) return true;
  if (token.type === "heading" && /^#{1,6} [^\n]*\n/.test(token.raw)) return true;
  return isAfterBlank && /^[^\s\d>|*+\-=_#`~<:[\\][^\n]{2}|^\S[^\n]*\n/.test(token.raw);
}

/** The words of a text, without marks: for those who listen. */
export function plainWords(text: string): string {
  return text
    .replace(/^ {0,3}(`{3,}|~{3,}).*$/gm, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[*_`~#>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
