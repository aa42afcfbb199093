/** What a person sees of a number and what is sent back is what came. */
import { expect, test } from "vitest";
import { edited, fieldsOf, numberOf, shown } from "../approvals/edits";
import { small, summary } from "../tools/body";
import { number } from "../ui/format";
import { Digits, parse, stringify } from "./json";

const KEPT = ["9007199254740993", "-9223372036854775809", "123456789012345678901234567890", "1000000000000000000000", "0.1000000000000000055", "12345678901234.123456789", "1e400", "1e-400", "1.00000000000000000001E+5"];

test.each(KEPT)("%s stays as it is", (digits) => {
  const text = `{"id":${digits},"list":[${digits}, "${digits}"]}`;
  const value = parse<{ id: Digits; list: unknown[] }>(text);
  expect(stringify(value)).toBe(text.replace(", ", ","));
  expect([shown(value.id), `${value.list[0]}`, value.list[1]]).toEqual([digits, digits, digits]);
});

test.each(["0", "7", "-1.5", "1.50", "100.0", "1e2", "9007199254740992", "8452.31", "0.30000000000000004", "1.7976931348623157e308"])("%s is a number like any other", (digits) => {
  expect(parse(digits)).toBe(Number(digits));
});

test("a text is never taken for a number, whatever it holds", () => {
  const text = stringify(["9007199254740993", 'a \\" 9007199254740993 "', { "9007199254740993": "digits-1:9" }]);
  expect(parse(text)).toEqual(["9007199254740993", 'a \\" 9007199254740993 "', { "9007199254740993": "digits-1:9" }]);
});

test.each(["{9007199254740993: 1}", "-09007199254740993", "[9007199254740993", "9007199254740993."])("%s is still no JSON", (text) => {
  expect(() => parse(text)).toThrow();
});

test("an edit of one argument leaves the others as the model wrote them", () => {
  const args = parse<Record<string, unknown>>('{"id":9007199254740993,"rate":0.1000000000000000055,"lines":[{"no":12345678901234567890}],"name":"A"}');
  const fields = fieldsOf(args);
  expect(fields.map(({ kind }) => kind)).toEqual(["number", "number", "json", "text"]);
  expect(stringify(edited(args, fields, { name: "B" }))).toBe('{"id":9007199254740993,"rate":0.1000000000000000055,"lines":[{"no":12345678901234567890}],"name":"B"}');
  const lines = edited(args, fields, { id: "9007199254740995", lines: '[{"no":12345678901234567891}]' });
  expect(stringify(lines)).toContain('{"id":9007199254740995,');
  expect(stringify(lines)).toContain('[{"no":12345678901234567891}]');
});

test("a choice among numbers is sent as a number", () => {
  const schema = { properties: { days: { enum: [14, 30] } } };
  expect(edited({ days: 14 }, fieldsOf({ days: 14 }, schema), { days: "30" })).toEqual({ days: 30 });
});

test.each([
  ["12,345.60", 12345.6],
  [" +5 ", 5],
  [".5", 0.5],
  ["007", 7],
  ["5.", 5],
  ["1,5", null],
  ["1,2345", null],
  ["0x10", null],
  ["Infinity", null],
  ["1 2", null],
  [".", null],
  ["", null],
])("typed as %o it is %o", (typed, value) => expect(numberOf(typed)).toBe(value));

test.each(["9007199254740993", "9,007,199,254,740,993"])("typed as %s it keeps its digits", (typed) => {
  expect(stringify(numberOf(typed))).toBe("9007199254740993");
});

test.each([
  ["9007199254740993", "9,007,199,254,740,993"],
  ["-12345678901234.123456789", "-12,345,678,901,234.123456789"],
  ["12345678901234.123", "12,345,678,901,234.123"],
  ["0.1", "0.1"],
  ["1e400", "1e400"],
])("%s is written for people as %s", (digits, words) => expect(number(parse(digits))).toBe(words));

test("a result with such a number is a record, and rows are rows", () => {
  const record = parse<Record<string, unknown>>('{"id":9007199254740993}');
  expect(small(record).kind).toBe("record");
  expect(small({ value: [record], total: record["id"] }).kind).toBe("rows");
  expect(small([record["id"]]).kind).toBe("json");
  expect(summary(record, undefined)).toContain("9007199254740993");
});

test("it counts as the nearest number", () => {
  const cost = parse<number>("0.1000000000000000055");
  expect([cost + 1, cost < 1, Math.max(cost, 0)]).toEqual([1.1, true, 0.1]);
});

test("a text of many millions of characters beside such a number is read", () => {
  const long = `${"x".repeat(20_000_000)}${'\\"'.repeat(1_000_000)}`;
  const value = parse<[string, Digits]>(`["${long}",9007199254740993]`);
  expect([value[0].length, String(value[1])]).toEqual([21_000_000, "9007199254740993"]);
});

test("who writes JSON without knowing of it loses no digit either", () => {
  expect(JSON.stringify({ id: parse("9007199254740993") })).toBe('{"id":"9007199254740993"}');
});
