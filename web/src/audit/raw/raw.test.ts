/** Raw answers: read, put together, and compared with what was shown. */
import { describe, expect, test } from "vitest";
import type { LogEvent } from "../log";
import { answerOf, clipped, differences } from "./difference";
import { eventsOf, messageOf } from "./stream";

const AGENT = { id: "a", name: "A" };
const frame = (event: object): string => `event: x\ndata: ${JSON.stringify(event)}\n\n`;
const delta = (index: number, delta: object): object => ({ type: "content_block_delta", index, delta });
const CITED = { type: "page_location", cited_text: "30 days", document_index: 0 };

const BODY = [
  { type: "message_start", message: { id: "m", model: "claude", usage: { input_tokens: 7, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "ping" },
  delta(0, { type: "thinking_delta", thinking: "Hm" }),
  delta(0, { type: "thinking_delta", thinking: "m." }),
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "", citations: [] } },
  delta(1, { type: "citations_delta", citation: CITED }),
  delta(1, { type: "text_delta", text: "Net 🦆 " }),
  delta(1, { type: "text_delta", text: "30." }),
  { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t", name: "pay", input: {} } },
  delta(2, { type: "input_json_delta", partial_json: '{"b":2,' }),
  delta(2, { type: "input_json_delta", partial_json: '"a":1}' }),
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { input_tokens: 7, output_tokens: 9 } },
  { type: "message_stop" },
].map(frame).join("");

function event(type: string, fields: object): LogEvent {
  return { type, eventId: `${type}${JSON.stringify(fields).length}`, turnId: "1", timestamp: "", agent: AGENT, ...fields };
}

const THOUGHT = event("thinking", { messageId: "m", blockIndex: 0, content: "Hmm.", redacted: false });
const MESSAGE = event("message", {
  messageId: "m", content: "Net 🦆 30.", blocks: [{ blockIndex: 1, start: 0, end: 9 }], stopReason: "tool_use", model: "claude",
  citations: [{ ...CITED, file: { page: 3 }, blockIndex: 1, start: 0, end: 9 }],
  tokenUsage: { inputTokens: 7, outputTokens: 9, cacheWriteTokens: 0, cacheReadTokens: 0 },
});
const CALL = event("tool_use", { toolUseId: "t", toolName: "pay", args: { a: 1, b: 2 } });
const LOG = [THOUGHT, MESSAGE, CALL];

describe("a raw answer", () => {
  test("that was shown as it came differs in nothing", () => {
    const lines = differences(messageOf(eventsOf(BODY)), MESSAGE, LOG);
    expect(lines.filter((line) => !line.same)).toEqual([]);
    expect(lines.length).toBe(10);
  });

  test.each([
    ["Block 0, thought", { ...THOUGHT, content: "Hm." }],
    ["Block 1, text", { ...MESSAGE, content: "Net 🦆 31." }],
    ["Block 1, citations", { ...MESSAGE, citations: [] }],
    ["Block 1, citations", { ...MESSAGE, citations: [{ ...CITED, cited_text: "31 days", blockIndex: 1, start: 0, end: 9 }] }],
    ["Block 2, call", { ...CALL, args: { a: 1, b: 3 } }],
    ["Stop reason", { ...MESSAGE, stopReason: "interrupted" }],
    ["output tokens", { ...MESSAGE, tokenUsage: { ...(MESSAGE["tokenUsage"] as object), outputTokens: 8 } }],
  ])("with another %s differs in that alone", (name, changed) => {
    const log = LOG.map((one) => (one.type === changed.type ? (changed as LogEvent) : one));
    const answer = log.find((one) => one.type === "message")!;
    const other = differences(messageOf(eventsOf(BODY)), answer, log).filter((line) => !line.same);
    expect(other.map((line) => line.name)).toEqual([name]);
  });

  test("that was begun again is the last one, and a cut line is left out", () => {
    const again = `${BODY}${BODY}data: {"type":"mess`;
    expect(messageOf(eventsOf(again))).toEqual(messageOf(eventsOf(BODY)));
    expect(eventsOf(BODY.slice(0, -20)).length).toBe(13);
  });

  test("belongs to the message, its thoughts and its calls, and to nothing else", () => {
    for (const one of LOG) expect(answerOf(one, LOG)).toBe(MESSAGE);
    expect(answerOf(event("tool_result", { toolUseId: "t" }), LOG)).toBe(null);
    expect(answerOf(undefined, LOG)).toBe(null);
  });

  test("shows long texts where they part", () => {
    const long = "x".repeat(1000);
    const [sent, shown] = clipped({ name: "", sent: `${long}a`, shown: `${long}b`, same: false });
    expect([sent.length < 100, sent.endsWith("xa"), shown.endsWith("xb")]).toEqual([true, true, true]);
  });
});
