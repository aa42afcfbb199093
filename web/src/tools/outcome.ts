/** What became of a call. */
import type { ToolCall } from "../fold/screen";

export type Outcome = "running" | "done" | "failed" | "refused" | "cut" | "doubt";

// What the server says in `error`, by its words. First match.
const WORDS: [RegExp, Outcome][] = [
  [/^user rejected|rejected|refused|withdrawn|nobody answered|expired/i, "refused"],
  [/interrupted|cancelled|stopped|cut off/i, "cut"],
];

export function outcomeOf(call: ToolCall, over: boolean): Outcome {
  if (!call.result) return over ? "cut" : "running";
  if (call.result.inDoubt) return "doubt";
  if (call.result.success) return "done";
  const error = call.result.error ?? "";
  return WORDS.find(([pattern]) => pattern.test(error))?.[1] ?? "failed";
}
