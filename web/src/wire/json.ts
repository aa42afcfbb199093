/** JSON whose numbers keep their digits: an id beyond 2^53 is shown, and sent back, as it came. */

/** A number that the browser's own numbers cannot hold. It counts as the nearest that they can. */
export class Digits {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

export const isNumber = (value: unknown): value is number | Digits => typeof value === "number" || value instanceof Digits;

const MARK = `digits-${crypto.getRandomValues(new Uint32Array(4)).join("-")}:`; // no text of others can have it
const SUSPECT = /[\d.]{16}|\d[eE][+-]?\d{3}/; // anything shorter fits
const TOKEN = /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");

export function parse<T>(text: string): T {
  const value = JSON.parse(text) as T; // it raises what is no JSON
  const marked = withMarks(text);
  return marked === text ? value : (JSON.parse(marked, withoutMarks) as T);
}

/** JSON in which each number that does not fit is a text with a mark. */
export function withMarks(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(TOKEN, (token) => (token.startsWith('"') || fits(token) ? token : `"${MARK}${token}"`));
}

/** For `JSON.parse`: such a text is its `Digits`. */
export function withoutMarks(_name: string, value: unknown): unknown {
  return typeof value === "string" && value.startsWith(MARK) ? new Digits(value.slice(MARK.length)) : value;
}

export function stringify(value: unknown, space?: number): string {
  const text = JSON.stringify(value, (_name, each: unknown) => (each instanceof Digits ? `${MARK}${String(each)}` : each), space) ?? "";
  return text.replace(MARKED, "$1");
}

/** What a person typed; null where it is no number. Commas may only part thousands. */
export function numberOf(typed: string): number | Digits | null {
  const plain = typed.trim().replace(/^\+/, "");
  const text = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(plain) ? plain.replaceAll(",", "") : plain;
  const [whole, sign, before = "", after = "", power = ""] = /^(-?)(\d*)\.?(\d*)((?:[eE][+-]?\d+)?)$/.exec(text) ?? [];
  if (whole === undefined || before + after === "") return null;
  return parse(`${sign}${before.replace(/^0+(?=\d)/, "") || "0"}${after && `.${after}`}${power}`);
}

/** Whether a number is written back as it came, or as its equal: 1.50 is 1.5. */
function fits(token: string): boolean {
  const written = String(Number(token));
  return /^-?\d+$/.test(token) ? written === token : canonical(written) === canonical(token);
}

/** Its digits without zeros at the ends, and the power of ten that they are multiplied by. */
function canonical(token: string): string {
  const [, sign, whole = "", part = "", power = "0"] = /^(-?)(\d+)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  const bare = digits.replace(/0+$/, "");
  return bare ? `${sign}${bare}e${Number(power) - part.length + digits.length - bare.length}` : "0";
}
