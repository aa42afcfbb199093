/** A result: rows as a table, a record as pairs, text as text, anything else as JSON. */
import { useMemo, type ReactNode } from "react";
import { Download, PanelRightOpen } from "lucide-react";
import { inWords } from "../wire/config";
import { drawer } from "../ui/drawer";
import { count, size } from "../ui/format";
import { saveAs } from "../ui/save";
import { bodyOf } from "./body";
import { Json } from "./Json";
import { Rows } from "./Rows";
import { WholeResult } from "./WholeResult";
import { stringify } from "../wire/json";

export function ToolBody({ value, name }: { value: unknown; name: string }): ReactNode {
  const body = useMemo(() => bodyOf(value), [value]);
  switch (body.kind) {
    case "rows":
      return (
        <>
          <Pairs record={body.beside} />
          <Rows rows={body.rows} columns={body.columns} name={name} />
        </>
      );
    case "record":
      return <Pairs record={body.record} />;
    case "text":
      return <p className="plain-text">{body.text || "(empty)"}</p>;
    case "json":
      return <Json value={body.value} />;
    case "large":
      return <Large text={body.text} bytes={body.size} rows={body.rows} value={value} name={name} />;
  }
}

function Pairs({ record }: { record: Record<string, unknown> }): ReactNode {
  const pairs = Object.entries(record);
  if (pairs.length === 0) return null;
  return (
    <dl className="pairs">
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{inWords(name)}</dt>
          <dd>{value === null ? "—" : String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

interface LargeProps {
  text: string;
  bytes: number;
  rows: number | null;
  value: unknown;
  name: string;
}

function Large({ text, bytes, rows, value, name }: LargeProps): ReactNode {
  const facts = [rows !== null && `${count(rows)} rows`, size(bytes)].filter(Boolean).join(", ");
  const whole = (): string => (typeof value === "string" ? value : stringify(value, 2));
  return (
    <div className="large">
      <pre className="json" tabIndex={0} role="region" aria-label="First part">{text}…</pre>
      <div className="large-actions">
        <span className="muted">{facts}, first part</span>
        <button type="button" className="button small" onClick={() => drawer.set({ title: name, body: <WholeResult value={value} /> })}>
          <PanelRightOpen aria-hidden /> Open
        </button>
        <button type="button" className="button small" onClick={() => saveAs(`${name}.json`, whole(), "application/json")}>
          <Download aria-hidden /> Download
        </button>
      </div>
    </div>
  );
}
