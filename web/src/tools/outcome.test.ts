/** What a card says became of a call. */
import { expect, test } from "vitest";
import type { ShownCall } from "../chat/rows";
import { outcomeOf } from "./outcome";

function failed(error: string, refused = false): ShownCall {
  const result = { value: null, success: false, error, duration: 0, inDoubt: false };
  return { kind: "tool", key: "toolu_1", agent: { id: "a", name: "A" }, name: "t", args: {}, startedAt: "", result, refused };
}

test.each([
  [failed("Connection refused: the token expired, the job was cancelled."), "failed"],
  [failed("User rejected", true), "refused"],
  [failed("Nobody answered in time, so this was not done.", true), "refused"],
  [failed("Stopped by the user.", true), "cut"],
  [failed("The user sent another message instead.", true), "cut"],
  [failed("The server stopped before this tool answered."), "cut"],
])("%o", (call, outcome) => expect(outcomeOf(call, true)).toBe(outcome));
