/** What became of a call. */
import type { ShownCall } from "../chat/rows";

export type Outcome = "running" | "done" | "failed" | "refused" | "cut" | "doubt";

// The server's own words for a call that it closed: `pipeline/ending.py` and `turns/recovery.py`.
// Only whole sentences: a tool's own error may speak of a refused connection or an expired token.
const CUT = new Set(["Stopped by the user.", "The user sent another message instead.", "The turn ended before this tool answered.", "The server stopped before this tool answered."]);

export function outcomeOf(call: ShownCall, over: boolean): Outcome {
  if (!call.result) return over ? "cut" : "running";
  if (call.result.inDoubt) return "doubt";
  if (call.result.success) return "done";
  if (CUT.has(call.result.error ?? "")) return "cut";
  return call.refused ? "refused" : "failed";
}
