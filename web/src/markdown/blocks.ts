/** Markdown to blocks. While text grows, only its last two blocks are read again. */
import { Lexer, type Token, type Tokens } from "marked";
import { formulasOf, withoutUnfinished } from "./formulas";

export interface Block {
  key: number; // where it begins in the text
  raw: string;
  token: Token;
}

const AGAIN = 2; // blocks at the end that more text may still change
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m; // [x]: url may stand far below

/** Tags are text: no HTML is ever read, so none can be made. */
class PlainLexer extends Lexer {
  constructor(text: string) {
    super({ gfm: true, breaks: false, extensions: formulasOf(text) });
    const tokenizer = this["tokenizer"] as unknown as Record<string, unknown>;
    tokenizer["html"] = () => undefined;
    tokenizer["tag"] = () => undefined;
  }
}

export class Blocks {
  private text = "";
  private blocks: Block[] = [];

  /** The blocks of the text. Those that did not change are the same objects as before. */
  of(text: string): Block[] {
    if (text === this.text) return this.blocks;
    const grows = text.startsWith(this.text) && !DEFINITION.test(text);
    const stable = grows ? this.blocks.slice(0, -AGAIN) : [];
    const last = stable.at(-1);
    const begin = last ? last.key + last.raw.length : 0;
    this.blocks = [...stable, ...lexed(text, begin)];
    this.text = text;
    return this.blocks;
  }
}

function lexed(text: string, begin: number): Block[] {
  const blocks: Block[] = [];
  let at = begin;
  // The lexer turns "\r\n" into "\n"; then positions would not fit.
  const rest = text.slice(begin).replaceAll("\r", " ");
  for (const token of new PlainLexer(rest).lex(rest)) {
    if (token.type !== "space" && token.type !== "def") blocks.push({ key: at, raw: token.raw, token });
    else if (blocks.length) blocks.at(-1)!.raw += token.raw;
    at += token.raw.length;
  }
  return blocks;
}

/** Whether the fence of a code block is closed: only then is it coloured. */
export function isClosed(token: Tokens.Code): boolean {
  if (token.codeBlockStyle === "indented") return true;
  const lines = token.raw.trimEnd().split("\n");
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(lines[0] ?? "")?.[1];
  return !fence || (lines.length > 1 && lines.at(-1)!.trim().startsWith(fence));
}

/** The text without a tail that would look different a moment later. */
export function heldBack(text: string): string {
  const at = text.lastIndexOf("\n\n") + 1;
  const head = text.slice(0, at);
  let tail = text.slice(at);
  if (isInFence(text)) return text;
  if (/^\s*\|/.test(tail) && tail.trim().split("\n").length < 3) return head; // a table's first rows
  tail = withoutUnfinished(tail);
  tail = tail.replace(/!?\[[^\]\n]*(\]\([^)\n]*)?$/, ""); // a link that is not whole
  tail = tail.replace(/(\*{1,3}|_{1,3}|~~|`+)$/, "");
  for (const mark of ["`", "**", "~~"]) {
    if (tail.split(mark).length % 2 === 0) tail = tail.trimEnd() + mark;
  }
  return head + tail;
}

function isInFence(text: string): boolean {
  return (text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0) % 2 === 1;
}
