/** Arguments that a person may change, each by its type. */
import type { Schema } from "../wire/config";
import { isNumber, parse, stringify, type Digits } from "../wire/json";

export type Args = Record<string, unknown>;
export type FieldKind = "text" | "number" | "flag" | "choice" | "json";

export interface Field {
  name: string;
  kind: FieldKind;
  choices: unknown[];
}

export function fieldsOf(args: Args, schema?: Schema): Field[] {
  return Object.entries(args).map(([name, value]) => {
    const choices = schema?.properties?.[name]?.enum ?? [];
    return { name, kind: choices.length ? "choice" : kindOf(value, schema?.properties?.[name]?.type), choices };
  });
}

function kindOf(value: unknown, type?: string | string[]): FieldKind {
  if (typeof value === "boolean") return "flag";
  if (isNumber(value)) return "number";
  if (typeof value === "string") return "text";
  const types = [type ?? []].flat();
  if (value === null) return types.includes("number") || types.includes("integer") ? "number" : "text";
  return "json";
}

export function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? stringify(value) : String(value);
}

/** What was typed, as a value of the field's kind. Null where it is none. */
export function read(text: string, { kind, choices }: Field): { value: unknown } | null {
  if (kind === "text") return { value: text };
  if (kind === "choice") return { value: choices.find((choice) => shown(choice) === text) ?? text };
  if (kind === "flag") return { value: text === "true" };
  if (kind === "number") {
    const value = numberOf(text);
    return value === null ? null : { value };
  }
  try {
    return { value: parse(text) };
  } catch {
    return null;
  }
}

/** The arguments with what was changed; null where something cannot be read. */
export function edited(args: Args, fields: Field[], texts: Record<string, string>): Args | null {
  const result: Args = { ...args };
  for (const field of fields) {
    const text = texts[field.name];
    if (text === undefined || text === shown(args[field.name])) continue;
    const value = read(text, field);
    if (!value) return null;
    result[field.name] = value.value;
  }
  return result;
}

export function changed(args: Args, texts: Record<string, string>): string[] {
  return Object.keys(texts).filter((name) => texts[name] !== shown(args[name]));
}

/** What a person typed; null where it is no number. Commas may only part thousands. */
export function numberOf(typed: string): number | Digits | null {
  const plain = typed.trim().replace(/^\+/, "");
  const text = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(plain) ? plain.replaceAll(",", "") : plain;
  const [whole, sign, before = "", after = "", power = ""] = /^(-?)(\d*)\.?(\d*)((?:[eE][+-]?\d+)?)$/.exec(text) ?? [];
  if (whole === undefined || before + after === "") return null;
  return parse(`${sign}${before.replace(/^0+(?=\d)/, "") || "0"}${after && `.${after}`}${power}`);
}
