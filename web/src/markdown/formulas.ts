/** Formulas are shown as they were written: Markdown would eat their backslashes and underscores. */
import type { MarkedOptions, Tokens } from "marked";

const BLOCK = /^(?:\$\$[ \t]*\n([\s\S]+?)\n[ \t]*\$\$|\\\[[ \t]*\n([\s\S]+?)\n[ \t]*\\\])[ \t]*(?:\n+|$)/;
// A single $ only around what has a \, ^ or _ in it: the others are money.
const INLINE = /^(?:\$\$[^$]+\$\$|\\\([^\n]+?\\\)|\\\[[^\n]+?\\\]|\$(?!\s)(?=[^$\n]*[\\^_])[^$\n]*[^$\s]\$(?!\d))/;
const BEGIN = /\$|\\[([]/;
const BEGIN_OF_BLOCK = /\n(?=\$\$|\\\[)/;
const UNFINISHED = [/\$\$[^$]*\$?$/, /\\\((?:(?!\\\))[^\n])*$/, /\\\[(?:(?!\\\])[\s\S])*$/];

function block(src: string): Tokens.Code | undefined {
  const found = BLOCK.exec(src);
  return found ? { type: "code", raw: found[0], lang: "formula", text: found[1] ?? found[2]! } : undefined;
}

function inline(src: string): Tokens.Codespan | undefined {
  const raw = INLINE.exec(src)?.[0];
  return raw ? { type: "codespan", raw, text: raw } : undefined;
}

/** For marked's lexer. Null for a text without any: it is read faster. */
export function formulasOf(text: string): MarkedOptions["extensions"] {
  if (!BEGIN.test(text)) return null;
  return {
    renderers: {},
    childTokens: {},
    block: [block],
    startBlock: [(src) => BEGIN_OF_BLOCK.exec(src)?.index],
    inline: [inline],
    startInline: [(src) => BEGIN.exec(src)?.index],
  };
}

/** The text without a formula at its end that is not whole yet. */
export function withoutUnfinished(text: string): string {
  const isOpen = text.split("$$").length % 2 === 0;
  return UNFINISHED.slice(isOpen ? 0 : 1).reduce((rest, pattern) => rest.replace(pattern, ""), text);
}
