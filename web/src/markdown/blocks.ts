/** Markdown to blocks. While text grows, only its last two blocks are read again. */
import { Lexer, type Token, type Tokens } from "marked";
import { formulasOf } from "./formulas";
import { withoutTail } from "./unfinished";

export interface Block {
  key: number; // where it begins in the text
  raw: string;
  token: Token;
}

const AGAIN = 2; // blocks at the end that more text may still change

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

  /** The blocks of the text. Those that did not change are the same objects as before. `open`: more text comes. */
  of(text: string, open = false): Block[] {
    const stable = open && text.startsWith(this.text) ? this.blocks.slice(0, -AGAIN) : [];
    const last = stable.at(-1);
    const begin = last ? last.key + last.raw.length : 0;
    const rest = text.slice(begin);
    const before = new Map(this.blocks.map((block) => [block.key, block]));
    const again = lexed(open ? withoutTail(rest) : rest, begin).map((block) => same(before.get(block.key), block) ?? block);
    this.blocks = [...stable, ...again];
    this.text = text;
    return this.blocks;
  }
}

/** The block as it was. Not one with brackets: the address of its link may stand far below, `[x]: url`. */
function same(before: Block | undefined, now: Block): Block | null {
  return before?.raw === now.raw && before.token.type === now.token.type && !now.raw.includes("[") ? before : null;
}

/** The blocks of a text that begins there. */
function lexed(text: string, begin: number): Block[] {
  const blocks: Block[] = [];
  let at = begin;
  // The lexer turns "\r\n" into "\n"; then positions would not fit.
  const lines = text.replaceAll("\r", " ");
  for (const token of new PlainLexer(lines).lex(lines)) {
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
