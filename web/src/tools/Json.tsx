/** JSON with colours, from a walk over the value. */
import type { ReactNode } from "react";
import { marked } from "../markdown/links";
import { stringify } from "../wire/json";

const MOST = 20_000; // characters

/** `whole`: never cut, because somebody decides on it. */
export function Json({ value, whole = false }: { value: unknown; whole?: boolean }): ReactNode {
  const text = marked(stringify(value ?? null, 2));
  return (
    <pre className="json" tabIndex={0} role="region" aria-label="JSON">
      {text.length <= MOST ? tokens(text) : whole ? text : `${text.slice(0, MOST)}…`}
    </pre>
  );
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/g;

function tokens(text: string): ReactNode[] {
  const pieces: ReactNode[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    pieces.push(text.slice(at, match.index));
    const [whole, string, colon] = match;
    const kind = string ? (colon ? "hljs-attr" : "hljs-string") : "hljs-number";
    pieces.push(
      <span key={match.index} className={kind}>
        {string ?? whole}
      </span>,
      colon ?? "",
    );
    at = match.index + whole.length;
  }
  return [...pieces, text.slice(at)];
}
