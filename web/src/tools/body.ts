/** What kind of thing a tool has returned. Big ones are not looked into before somebody asks. */
import { inWords } from "../wire/config";
import { isNumber, parse, stringify } from "../wire/json";

export type Body =
  | { kind: "rows"; rows: Record<string, unknown>[]; columns: string[]; beside: Record<string, unknown> }
  | { kind: "record"; record: Record<string, unknown> }
  | { kind: "text"; text: string }
  | { kind: "json"; value: unknown }
  | { kind: "large"; text: string; size: number; rows: number | null };

const LARGE = 50_000; // characters
const MANY = 200; // rows
const PART = 2_000; // characters that are shown of a large one

export function bodyOf(value: unknown): Body {
  if (typeof value === "string") return fromText(value);
  const found = rowsIn(value);
  const size = sizeOf(value);
  if (size > LARGE || (found && found.length > MANY)) {
    const text = stringify(value, 1).slice(0, PART);
    return { kind: "large", text, size, rows: found?.length ?? null };
  }
  return small(value, found);
}

function fromText(text: string): Body {
  if (text.length > LARGE) return { kind: "large", text: text.slice(0, PART), size: text.length, rows: null };
  const parsed = parsedJson(text);
  return parsed === undefined ? { kind: "text", text } : small(parsed, rowsIn(parsed));
}

/** JSON inside of a text is shown as what it is. */
function parsedJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

export function small(value: unknown, found = rowsIn(value)): Body {
  if (found && found.length > 0) return { kind: "rows", rows: found, columns: columnsOf(found), beside: besideOf(value) };
  if (isRecord(value) && Object.keys(value).length <= 40 && Object.values(value).every(isPlain)) {
    return { kind: "record", record: value };
  }
  return { kind: "json", value };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isNumber(value);
}

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object" || isNumber(value);

/** The list of records that it is, or that is all it holds beside a few plain values. */
export function rowsIn(value: unknown): Record<string, unknown>[] | null {
  if (Array.isArray(value)) return value.every(isRecord) ? value : null;
  if (!isRecord(value)) return null;
  const lists = Object.values(value).filter(Array.isArray) as unknown[][];
  const rest = Object.values(value).filter((each) => !Array.isArray(each));
  const only = lists[0];
  return lists.length === 1 && rest.every(isPlain) && only!.every(isRecord) ? (only as Record<string, unknown>[]) : null;
}

function columnsOf(rows: Record<string, unknown>[]): string[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  return [...names].filter((name) => !name.startsWith("@"));
}

/** What comes with the rows: how many there are in all, whether there are more. */
function besideOf(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name, each]) => !Array.isArray(each) && !name.startsWith("@")));
}

function sizeOf(value: unknown): number {
  return stringify(value).length;
}

/** One line about a call: its arguments, then what came of it. */
export function summary(args: Record<string, unknown>, value: unknown): string {
  const given = Object.entries(args)
    .filter(([, each]) => each !== null && each !== undefined && each !== "")
    .slice(0, 3)
    .map(([name, each]) => `${inWords(name)} = ${brief(each)}`);
  const found = value === undefined ? null : rowsIn(typeof value === "string" ? parsedJson(value.slice(0, LARGE)) : value);
  const rows = found ? [found.length === 1 ? "1 row" : `${found.length} rows`] : [];
  return [...given, ...rows].join(" · ");
}

export function brief(value: unknown, most = 40): string {
  const isList = Array.isArray(value) && value.length > 0 && value.every(isPlain);
  const text = typeof value === "string" ? value : isList ? value.slice(0, most).map(String).join(", ") : stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
