/** How wide a cell of a table is, by its text. */
const SHORT = 16; // characters that stay on one line: dates, numbers, codes
const LONG = 48; // from here on a cell is never too narrow to be read

export function widthOf(text: string): "short" | "long" | "" {
  if (text.length <= SHORT) return "short";
  return text.length >= LONG ? "long" : "";
}
