/** The end of a text that is being written: what would look different a moment later is not shown yet. */
import { withoutUnfinished } from "./formulas";

const FENCE = /^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^\n]*)$/gm;
const LAST_LINE = /(?:^|(?<=\n))[^\n]*$/;
const MAYBE_CLOSING = /(?:^|(?<=\n))[ \t>]*[`~]+$/;
// Where emphasis ends in any case: a new paragraph, item, heading or cell.
const BREAK = /\n[ \t]*\n|(?:^|\n)[ \t>]*(?:[-+*]|\d{1,9}[.)]|#{1,6})[ \t]|\|/g;
const MARK = /`+|\*{1,3}|_{1,3}|~~/g;

// What is taken away at the end, one after the other. Each is read in one pass: a line may have a megabyte.
const TAILS = [
  /(?:^|(?<=\n))(?=[ \t>]*\|)(?<!(?:^|\n)[ \t>]*\|[^\n]*\n)[^\n]*(?:\n[ \t>:|-]*)?$/, // the head of a table
  /!?\[[^[\]\n]*(?:\](?:\([^)\n]{0,500}|\[[^[\]\n]*)?)?$/, // a link
  /(?:<(?:[a-z][^\s<>]*)?|&[#\w]{0,8})$/i, // an address or an entity
  /(?:\*{1,3}|_{1,3}|~{1,2}|`{1,3}|(?<!\$)\$|\\)$/, // marks that something follows
  /(?:^|(?<=\n))(?:[-+*=#_>|:~ \t]+|[ \t]*\d{1,9}[.)]?[ \t]*)$/, // the sign of a list, a heading or a rule
];

/** `text` begins with a block. */
export function withoutTail(text: string): string {
  const { opened, closed } = fences(text);
  if (opened !== null) return text.replace(text.includes("\n", opened) ? MAYBE_CLOSING : LAST_LINE, "");
  const shown = TAILS.reduce((rest, tail) => rest.replace(tail, ""), withoutUnfinished(text.slice(closed)));
  const marks = openMarks(shown);
  return text.slice(0, closed) + (marks ? shown.trimEnd() + marks : shown);
}

/** Where the code block begins that is not closed yet, and where the last closed one ends. */
function fences(text: string): { opened: number | null; closed: number } {
  let open: { marks: string; at: number } | null = null;
  let closed = 0;
  for (const { 0: line, 1: marks = "", 2: rest = "", index } of text.matchAll(FENCE)) {
    if (open && marks.startsWith(open.marks) && !rest.trim()) {
      open = null;
      closed = index + line.length;
    } else if (!open && !(marks.startsWith("`") && rest.includes("`"))) open = { marks, at: index };
  }
  return { opened: open && open.at, closed };
}

/** What closes the emphasis and the code that the last words stand in. */
function openMarks(text: string): string {
  const begin = [...text.matchAll(BREAK)].at(-1);
  const words = begin ? text.slice(begin.index + begin[0].length) : text;
  const open: string[] = [];
  for (const { 0: mark, index } of words.matchAll(MARK)) {
    const before = words[index - 1] ?? " ";
    const after = words[index + mark.length] ?? " ";
    const last = open.at(-1);
    if (last === mark) open.pop();
    else if (last?.startsWith("`")) continue; // inside of code it means nothing
    else if (mark.startsWith("`") || (/\S/.test(after) && /[^\w\\]/.test(before))) open.push(mark);
  }
  return open.reverse().join("");
}
