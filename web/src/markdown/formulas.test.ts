/** What is a formula, what is money, and what is held back until it is whole. */
import type { Token } from "marked";
import { describe, expect, test } from "vitest";
import { Blocks } from "./blocks";
import { withoutTail } from "./unfinished";

/** The formulas of a text, as they would be shown. */
function shown(text: string): string[] {
  const codes = (tokens: Token[]): string[] =>
    tokens.flatMap((token) => {
      if (token.type === "code" || token.type === "codespan") return [(token as { text: string }).text];
      return codes((token as { tokens?: Token[] }).tokens ?? []);
    });
  return codes(new Blocks().of(text).map((block) => block.token));
}

describe("a formula is shown as it was written", () => {
  test.each([
    ["so $a_1 * b_1 * c$ holds", ["$a_1 * b_1 * c$"]],
    ["so \\(x_1\\) and \\[y\\,z\\] hold", ["\\(x_1\\)", "\\[y\\,z\\]"]],
    ["$$\\frac{1}{3}$$ and *this*", ["$$\\frac{1}{3}$$"]],
    ["First\n$$\na\n- b\n$$\nthen", ["a\n- b"]],
    ["\\[\n\\int_0^1 x\n\\]", ["\\int_0^1 x"]],
  ])("%j", (text, formulas) => expect(shown(text)).toEqual(formulas));
});

test.each(["from $5 to $10", "$5/$10 a_b", "it costs $ 5 or 6 $", "US$4,000_000 a year", "a \\$5 note_ and \\$6"])("%j is money", (text) =>
  expect(shown(text)).toEqual([]),
);

test("positions fit: every block begins where the one before ends", () => {
  const text = "One\n\n$$\na\n$$\n\nTwo $x_1$\n\nThree";
  const blocks = new Blocks().of(text);
  expect(blocks.map((block) => block.raw).join("")).toBe(text);
});

test.each([
  ["so $$\\frac{1}", "so "],
  ["so \\(x_1", "so "],
  ["so \\[\nx", "so "],
  ["so $$x$$ and", "so $$x$$ and"],
  ["$5 and \\(x\\) is", "$5 and \\(x\\) is"],
])("of %j only what is whole is shown while it is written", (text, held) => expect(withoutTail(text)).toBe(held));
