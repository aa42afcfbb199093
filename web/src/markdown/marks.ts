/** Places of citations inside of a text: private characters, which no text may bring along. */
import type { Words } from "../fold/screen";

export const OPEN = "\uE000";
const CLOSE = "\uE001";
const ANY = /\uE000\d*\uE001?|\uE001/g;

/** The text of these blocks in one piece, with a mark behind the words that a source is for. */
export function joined(parts: Words[], numbersOf: (part: Words) => number[]): string {
  return parts
    .map((part) => {
      const text = part.content.replace(ANY, "");
      const numbers = numbersOf(part);
      if (numbers.length === 0) return text;
      const words = text.trimEnd();
      const marks = numbers.map((number) => `${OPEN}${number}${CLOSE}`).join("");
      return words + marks + text.slice(words.length);
    })
    .join("");
}

export function withoutMarks(text: string): string {
  return text.replace(ANY, "");
}
