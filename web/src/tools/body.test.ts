import { expect, test } from "vitest";
import { bodyOf, summary } from "./body";

test("what comes beside the rows is shown, and every column is known", () => {
  const rows = Array.from({ length: 60 }, (_, n) => (n < 59 ? { no: n, "@etag": "x" } : { no: n, late: true }));
  const body = bodyOf({ "@context": "…", total: 412, more: true, value: rows });
  expect(body).toMatchObject({ kind: "rows", columns: ["no", "late"], beside: { total: 412, more: true } });
  expect(bodyOf(rows)).toMatchObject({ beside: {} });
});

test("a list among the arguments is told as people write one", () => {
  expect(summary({ numbers: ["103001", "103002"], lines: [{ no: 1 }] }, undefined)).toBe('Numbers = 103001, 103002 · Lines = [{"no":1}]');
});
