/** What a provider sent beside what was kept and shown: one line for each value. Pure. */
import { wordsOf } from "../../fold/text";
import type { Message } from "../../wire/events";
import type { LogEvent } from "../log";
import type { RawBlock, RawMessage } from "./stream";
import { isNumber, stringify } from "../../wire/json";

export interface Line {
  name: string;
  sent: string;
  shown: string;
  same: boolean;
}

/** The answer that an event is part of; null where no model said it. */
export function answerOf(event: LogEvent | undefined, events: LogEvent[]): LogEvent | null {
  if (event?.type === "message") return event;
  if (event?.type === "thinking") return events.find((one) => one.type === "message" && one["messageId"] === event["messageId"]) ?? null;
  if (event?.type !== "tool_use") return null;
  const before = events.slice(0, events.indexOf(event));
  return before.findLast((one) => one.type === "message" && one.turnId === event.turnId && one.agent.id === event.agent.id) ?? null;
}

// Our name of a count, and the provider's.
const COUNTS: [string, string][] = [
  ["inputTokens", "input_tokens"],
  ["outputTokens", "output_tokens"],
  ["cacheWriteTokens", "cache_creation_input_tokens"],
  ["cacheReadTokens", "cache_read_input_tokens"],
];

export function differences(raw: RawMessage, answer: LogEvent, events: LogEvent[]): Line[] {
  const usage = (answer["tokenUsage"] ?? {}) as Record<string, unknown>;
  return [
    ...raw.blocks.flatMap((block) => linesOf(block, answer, events)),
    line("Stop reason", raw.stopReason, answer["stopReason"]),
    line("Model", raw.model, answer["model"]),
    ...COUNTS.map(([ours, theirs]) => line(theirs.replaceAll("_", " "), raw.usage[theirs] ?? 0, usage[ours] ?? 0)),
  ];
}

function linesOf(block: RawBlock, answer: LogEvent, events: LogEvent[]): Line[] {
  const name = `Block ${block.index}`;
  const message = answer as unknown as Message;
  switch (block.type) {
    case "text": {
      const words = wordsOf(message).filter((one) => one.block === block.index);
      const cited = words.flatMap((one) => one.citations);
      const text = line(`${name}, text`, block.text, words.map((one) => one.content).join(""));
      const given = block.citations.map((one) => told(one as object));
      return given.length || cited.length ? [text, line(`${name}, citations`, given, sentFields(cited, given))] : [text];
    }
    case "thinking":
    case "redacted_thinking": {
      const thought = events.find((one) => one.type === "thinking" && one["messageId"] === answer["messageId"] && one["blockIndex"] === block.index);
      if (block.type === "redacted_thinking") return [line(`${name}, thought`, "(hidden)", thought?.["redacted"] ? "(hidden)" : "")];
      return [line(`${name}, thought`, block.text, thought?.["content"] ?? "")];
    }
    case "tool_use": {
      const call = events.find((one) => one.type === "tool_use" && one["toolUseId"] === block.id);
      return [line(`${name}, call`, `${block.name} ${ordered(block.input ?? {})}`, call ? `${String(call["toolName"])} ${ordered(call["args"] ?? {})}` : "")];
    }
    default:
      return [{ name, sent: block.type, shown: "Kept in the log, not shown.", same: true }];
  }
}

/** Citations as they are shown, with the fields that were sent: what we add is no difference. */
function sentFields(shown: Record<string, unknown>[], sent: Record<string, unknown>[]): Record<string, unknown>[] {
  return shown.map((one, at) => Object.fromEntries(Object.entries(one).filter(([name]) => name in (sent[at] ?? one))));
}

/** Without nulls, which say nothing. */
const told = (one: object): Record<string, unknown> => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null));

function line(name: string, sent: unknown, shown: unknown): Line {
  const [left, right] = [ordered(sent), ordered(shown)];
  return { name, sent: left, shown: right, same: left === right };
}

/** A value as text; the order of an object's fields says nothing. */
function ordered(value: unknown): string {
  if (typeof value === "string") return value;
  return stringify(sorted(value ?? null));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object" || isNumber(value)) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, each]) => [name, sorted(each)]));
}

const AROUND = 60; // characters before the place where two texts part
const MOST = 400;

/** Both sides, cut to the place where they part. */
export function clipped({ sent, shown, same }: Line): [string, string] {
  let at = 0;
  while (!same && at < sent.length && sent[at] === shown[at]) at += 1;
  const from = at > AROUND * 2 ? at - AROUND : 0;
  const cut = (text: string): string => `${from ? "…" : ""}${text.slice(from, from + MOST)}${text.length > from + MOST ? "…" : ""}`;
  return [cut(sent), cut(shown)];
}
