import { expect, test } from "vitest";
import { newTurn, type Answer, type Part, type ToolCall, type Turn } from "../fold/screen";
import { rowsOf } from "./rows";

const agent = { id: "assistant", name: "Assistant" };
const at = (second: number): string => `2026-11-18T12:00:${String(second).padStart(2, "0")}.000Z`;

const draft = (...parts: Part[]): Answer => ({
  kind: "answer", key: "m1", agent, parts, kept: false, startedAt: at(1), at: at(1), content: "",
  stopReason: null, stopDetails: null, model: "", usage: null, costUsd: null,
}); // prettier-ignore

const thought = (done: boolean): Part => ({
  kind: "thought", block: 0, content: "Well.", startedAt: at(1), duration: done ? 20_000 : null, tokens: null,
  redacted: false, done, kept: false,
}); // prettier-ignore

const words: Part = { kind: "words", block: 1, content: "Yes", citations: [] };

const call = (result: ToolCall["result"]): ToolCall => ({ kind: "tool", key: "t1", agent, name: "look", args: {}, startedAt: at(2), result });

function waits(changes: Partial<Turn>): string | null {
  const row = rowsOf([{ ...newTurn("turn", at(0)), ...changes }]).find((one) => one.kind === "waiting");
  return row?.since ?? null;
}

test("the model is waited for from the question on", () => {
  expect(waits({})).toBe(at(0));
});

test("a thought that is over and has no answer yet is waited for, from its end on", () => {
  expect(waits({ drafts: [draft(thought(false))] })).toBeNull();
  expect(waits({ drafts: [draft(thought(true))] })).toBe(at(21));
  expect(waits({ drafts: [draft(thought(true), words)] })).toBeNull();
});

test("after a tool the wait begins with its result", () => {
  expect(waits({ items: [call(null)] })).toBeNull();
  expect(waits({ items: [call({ value: 1, success: true, error: null, duration: 30_000, inDoubt: false })] })).toBe(at(32));
});
