/** All of a large result in the drawer, line by line; only what is in view is drawn. */
import { useMemo, type ReactNode } from "react";
import { VList } from "virtua";
import { stringify } from "../wire/json";

const LONGEST = 4_000; // characters of one line

export function WholeResult({ value }: { value: unknown }): ReactNode {
  const lines = useMemo(() => linesOf(value), [value]);
  return (
    <VList className="whole-result" role="region" aria-label="Result" tabIndex={0}>
      {lines.map((line, at) => (
        <div key={at} className="json-line">
          {line || " "}
        </div>
      ))}
    </VList>
  );
}

function linesOf(value: unknown): string[] {
  const text = typeof value === "string" ? value : stringify(value, 2);
  return text.split("\n").flatMap((line) => {
    if (line.length <= LONGEST) return [line];
    return Array.from({ length: Math.ceil(line.length / LONGEST) }, (_, n) => line.slice(n * LONGEST, (n + 1) * LONGEST));
  });
}
