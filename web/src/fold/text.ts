/** The text of a kept message, block by block. Positions on the wire count code points. */
import type { Message, Span } from "../wire/events";
import type { Words } from "./screen";

const SURROGATE = /[\ud800-\udfff]/;

type Placed = Record<string, unknown> & Span;

/** The very pieces that were streamed: a citation stands behind the words that it is for. */
export function wordsOf(message: Message): Words[] {
  const slice = slicer(message.content);
  return message.blocks
    .map((span) => ({ span, cited: citedIn(message, span) }))
    .filter(({ span, cited }) => span.end > span.start || cited.length > 0)
    .map(({ span, cited }) => ({
      kind: "words",
      block: span.blockIndex,
      content: slice(span.start, span.end),
      citations: cited.map(source),
    }));
}

function citedIn(message: Message, span: Span): Record<string, unknown>[] {
  return (message.citations as Placed[]).filter(
    (c) => c.blockIndex === span.blockIndex && span.start <= c.start && c.end <= span.end,
  );
}

/** JavaScript counts UTF-16 units: an emoji is two of them, and one character for the server. */
function slicer(text: string): (start: number, end: number) => string {
  if (!SURROGATE.test(text)) return (start, end) => text.slice(start, end);
  const points = Array.from(text);
  return (start, end) => points.slice(start, end).join("");
}

/** A citation without its place: the part that it stands in says that. */
export function source(citation: Record<string, unknown>): Record<string, unknown> {
  const { blockIndex: _block, start: _start, end: _end, ...rest } = citation;
  return rest;
}
