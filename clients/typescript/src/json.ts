// Written by `make docs` from web/src/wire/json.ts. Do not edit.

/** JSON whose numbers keep their digits: an id beyond 2^53 is shown, and sent back, as it came.
 *
 * `make docs` copies it into the npm client.
 */

/** A number that the browser's own numbers cannot hold. It counts as the nearest that they can. */
export class Digits {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  valueOf(): number {
    return Number(this.#text);
  }

  /** For a `JSON.stringify` that knows nothing of this: a text loses no digit. */
  toJSON(): string {
    return this.#text;
  }
}

export const isNumber = (value: unknown): value is number | Digits => typeof value === "number" || value instanceof Digits;

const MARK = `digits-${crypto.getRandomValues(new Uint32Array(4)).join("-")}:`; // no text of others can have it
const SUSPECT = /[\d.]{16}|\d[eE][+-]?\d{3}/; // anything shorter fits
const PLACE = /"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g; // where a text begins, or a number
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");

export function parse<T>(text: string): T {
  const value = JSON.parse(text) as T; // it raises what is no JSON
  const marked = withMarks(text);
  return marked === text ? value : (JSON.parse(marked, withoutMarks) as T);
}

/** JSON in which each number that does not fit is a text with a mark. */
export function withMarks(text: string): string {
  if (!SUSPECT.test(text)) return text;
  const place = new RegExp(PLACE);
  const pieces: string[] = [];
  let done = 0;
  for (let found = place.exec(text); found; found = place.exec(text)) {
    if (found[0] === '"') place.lastIndex = endOfText(text, found.index);
    else if (!fits(found[0])) {
      pieces.push(text.slice(done, found.index), `"${MARK}${found[0]}"`);
      done = place.lastIndex;
    }
  }
  return pieces.join("") + text.slice(done);
}

/** Behind the quote that ends it. A pattern would do, but not for texts of millions of characters. */
function endOfText(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
}

/** For `JSON.parse`: such a text is its `Digits`. */
export function withoutMarks(_name: string, value: unknown): unknown {
  return typeof value === "string" && value.startsWith(MARK) ? new Digits(value.slice(MARK.length)) : value;
}

export function stringify(value: unknown, space?: number): string {
  const text = JSON.stringify(value, marking, space) ?? "";
  return text.replace(MARKED, "$1");
}

/** For `JSON.stringify`, which gives the value after its `toJSON`: the number itself is in `this`. */
function marking(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const own = this[name];
  return own instanceof Digits ? `${MARK}${String(own)}` : value;
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
