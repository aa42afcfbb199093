/** While an answer is written, what is shown only grows: no sign of Markdown appears and vanishes. */
import type { Token, Tokens } from "marked";
import { expect, test } from "vitest";
import { Blocks, type Block } from "./blocks";
import { withoutTail } from "./unfinished";

/** What a reader sees: each block's kind and its words. */
function seen(tokens: Token[]): string {
  return tokens.map(view).join("");
}

function view(token: Token): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "table": {
      const table = token as Tokens.Table;
      const rows = [table.header, ...table.rows].map((row) => row.map((cell) => seen(cell.tokens)).join("|").replace(/\|+$/, ""));
      return `<table>${rows.join("/")}`;
    }
    case "list":
      return `<list>${(token as Tokens.List).items.map((item) => `*${seen(item.tokens).replace("<p>", "")}`).join("")}`;
    case "code":
      return `<code>${(token as Tokens.Code).text}`;
    case "heading":
    case "blockquote":
    case "hr":
      return `<${token.type}>${seen((token as Tokens.Heading).tokens ?? [])}`;
    case "paragraph":
      return `<p>${seen((token as Tokens.Paragraph).tokens ?? [])}`;
    case "strong":
    case "em":
    case "del":
      return `{${seen((token as Tokens.Strong).tokens)}`;
    case "link":
      return seen((token as Tokens.Link).tokens);
    case "text": {
      const nested = (token as Tokens.Text).tokens;
      return nested ? seen(nested) : (token as Tokens.Text).text;
    }
    default:
      return (token as { text?: string }).text ?? token.raw;
  }
}

const WRITTEN: Record<string, string> = {
  "a list below a sentence": "These are due:\n- Adatum\n- Alpine\n\nAnd a second:\n\n* one\n* two\n\nDone.",
  "numbers below each other": "First:\n1. one\n2. two\n10. ten\n\nThen.",
  "a table below a sentence": "The balances:\n| Customer | City |\n|:---|---:|\n| Adatum | Atlanta |\n| **Alpine** | `x` |\n\nThat is all.",
  "a table by itself": "Here.\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\nEnd.",
  "emphasis": "It is *quite* late, **very _much_ so**, and _this_ is ***both***. A * B is a product; snake_case_name stays.",
  "links": "See [the terms](https://example.com/a_b) and [1] or <https://example.com>, also https://example.com/x_y_z now.",
  "headings": "# One\n\ntext\n\n## Two\ntext\n\n### Three\n",
  "a rule": "One\n\n---\n\nTwo\n\n***\n\nThree",
  "code": "Do `a * b` then\n\n```python\nx = a ** b  # [y](\nprint(`x`)\n\n| a |\n```\n\nand `more`.",
  "code in a list": "1. Run this:\n\n    ```bash\n    ls **/*.py\n    \n    echo `date` *x\n    ```\n\n2. Then that.",
  "a fence in a fence": "````markdown\n```python\nx = 1\n```\nstill *inside\n````\n\nOut *of* it.",
  "formulas": "So $a_1 + b^2$ holds, $$x$$ too, \\(y_1\\) and $5.\n\n$$\na*b*c\n$$\n\nEnd",
  "tasks": "- [ ] one\n- [x] two\n\nok",
  "a quote": "> He said *so*.\n> And more.\n\nYes.",
  "strikes": "It was ~~wrong~~ right, ~5 items.",
  "nested lists": "- one\n  - inner *a*\n  - inner b\n- two\n\n1. x\n   - y\n2. z",
  "entities": "A &amp; B &lt;c&gt; end",
  "bold items": "1. **Name**: one\n2. **Other**: two\n\n- **A**: b\n- `c`: d",
};

const inBlocks = (blocks: Block[]): string => seen(blocks.map((block) => block.token));

test.each(Object.entries(WRITTEN))("%s", (_name, text) => {
  const blocks = new Blocks();
  const whole = inBlocks(new Blocks().of(text));
  for (let end = 1; end <= text.length; end++) {
    const now = inBlocks(blocks.of(text.slice(0, end), true)).trimEnd();
    expect(whole.slice(0, now.length), text.slice(0, end)).toBe(now);
  }
  expect(inBlocks(blocks.of(text))).toBe(whole);
});

test("a link whose address stands below it is one when the answer is whole, as after a reload", () => {
  const text = "See [the terms][1].\n\nTwo.\n\nThree.\n\nFour.\n\n[1]: https://example.com/terms";
  const blocks = new Blocks();
  for (let end = 1; end <= text.length; end++) blocks.of(text.slice(0, end), true);
  expect(blocks.of(text)).toEqual(new Blocks().of(text));
});

test("what does not change is the same object, also while the last words are emphasised", () => {
  const blocks = new Blocks();
  const [first] = blocks.of("One.\n\nTwo.\n\nThree.\n\nIt is **qui", true);
  const [again] = blocks.of("One.\n\nTwo.\n\nThree.\n\nIt is **quite** late", true);
  expect(again).toBe(first);
});

test.each(["*", "[", "![", "|", " ", "> ", "$", "`", "_a", "[a](b", "1. ", "- ", "<a", "&a", "~"])("a megabyte of %j is read in one pass", (sign) => {
  expect(withoutTail(`${sign.repeat(1_000_000 / sign.length)}x`)).toBeTypeOf("string"); // in two passes for each it would take hours
});
