/** The log of a session for auditors: every kept event, internal ones too. Pure, beside `load`. */
import type { AgentRef, TurnlogEvent } from "../wire/events";
import { get } from "../wire/http";
import { count, duration, money } from "../ui/format";
import { stringify } from "../wire/json";

/** An event of the log. Internal ones are of kinds that a user's wire does not know. */
export interface LogEvent {
  type: string;
  eventId: string;
  turnId: string;
  timestamp: string;
  sequenceNumber?: number;
  agent: AgentRef;
  isInternal?: boolean;
  [name: string]: unknown;
}

const PAGE = 1000;
export const MOST = 20_000; // events that one page of a browser should hold

export async function load(sessionId: string): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  for (let after: number | null = -1; after !== null && events.length < MOST; ) {
    const page: { events: LogEvent[]; after: number | null } = await get(
      `/api/sessions/${sessionId}/events?internal=true&limit=${PAGE}&after=${after}`,
    );
    events.push(...page.events.map(placed));
    after = page.after;
  }
  return events;
}

/** With its number, which approvals do not show on the wire; what has no place on a screen is internal. */
function placed(event: LogEvent): LogEvent {
  const number = Number(String(event["cursor"]).split(".")[0]);
  const isInternal = event.isInternal ?? event["eventIndex"] === null;
  return { ...event, sequenceNumber: event.sequenceNumber ?? number, isInternal };
}

export type Filter = "all" | "messages" | "tools" | "approvals" | "internal" | "errors";

export const FILTERS: Record<Filter, (event: LogEvent) => boolean> = {
  all: () => true,
  messages: (event) => ["user_message_sent", "message", "thinking"].includes(event.type),
  tools: (event) => event.type.startsWith("tool_"),
  approvals: (event) => event.type.startsWith("approval_") || event.type === "decision_refused",
  internal: (event) => !!event.isInternal,
  errors: (event) => event.type === "error" || (event.type === "tool_result" && event["success"] === false),
};

const clip = (text: string, most = 160): string => (text.length > most ? `${text.slice(0, most)}…` : text);
const line = (value: unknown): string => clip(typeof value === "string" ? value : stringify(value));

// One line about an event, by its type; what is not here is told by its own fields.
const SUMMARIES: Record<string, (event: LogEvent) => string> = {
  user_message_sent: (e) => line(e["content"]),
  message: (e) => line(e["content"]) || `(${String(e["stopReason"])})`,
  thinking: (e) => (e["redacted"] ? "(hidden)" : line(e["content"])),
  tool_use: (e) => `${String(e["toolName"])} ${line(e["args"])}`,
  tool_result: (e) => `${String(e["toolName"])} · ${e["success"] ? line(e["result"]) : line(e["error"])}`,
  approval_requested: (e) => line(e["description"]),
  approval_resolved: (e) => `${e["approved"] ? "approved" : "not approved"} by ${String(e["decidedBy"])}${e["args"] ? " · arguments changed" : ""}${e["reason"] ? `: ${line(e["reason"])}` : ""}`,
  agent_changed: (e) => `${String(e["from"])} → ${String(e["to"])}`,
  claim_unfounded: (e) => `“${line(e["claim"])}” ${line(e["why"])}`,
  error: (e) => `${String(e["code"])}: ${line(e["error"])}`,
};

const ENVELOPE = new Set(["type", "eventId", "sessionId", "turnId", "timestamp", "eventIndex", "persistenceState", "sequenceNumber", "agent", "cursor", "isInternal"]);

export function summary(event: LogEvent): string {
  const known = SUMMARIES[event.type];
  return known ? known(event) : line(Object.fromEntries(Object.entries(event).filter(([name]) => !ENVELOPE.has(name))));
}

const texts = new WeakMap<LogEvent, string>();

/** All that is written in it, in small letters. Made once: a log is long, and somebody types. */
export function searchable(event: LogEvent): string {
  const text = texts.get(event) ?? `${summary(event)}\n${stringify(event)}`.toLowerCase();
  texts.set(event, text);
  return text;
}

/** At the right of a row: how long, or how much. */
export function measure(event: LogEvent): string {
  if (typeof event["duration"] === "number") return duration(event["duration"]);
  const usage = event["tokenUsage"] as { totalTokens: number } | undefined;
  if (usage) return `${count(usage.totalTokens)} tok`;
  return event.isInternal ? "internal" : "";
}

export interface TurnSum {
  id: string;
  number: number;
  at: string;
  ms: number;
  usd: number | null;
}

export function turnSums(events: LogEvent[]): Map<string, TurnSum> {
  const sums = new Map<string, TurnSum>();
  for (const event of events) {
    if (!event.turnId) continue;
    const turn = sums.get(event.turnId) ?? { id: event.turnId, number: sums.size + 1, at: event.timestamp, ms: 0, usd: 0 };
    turn.ms = Date.parse(event.timestamp) - Date.parse(turn.at);
    if (event.type === "message") turn.usd = turn.usd === null || event["costUsd"] === null ? null : turn.usd + Number(event["costUsd"]);
    sums.set(event.turnId, turn);
  }
  return sums;
}

export const headOf = (turn: TurnSum): string => `Turn ${turn.number} · ${new Date(turn.at).toLocaleTimeString("en-GB")} · ${duration(turn.ms)} · ${money(turn.usd)}`;

/** Those of a user's wire, for the conversation beside the log. */
export function shownEvents(events: LogEvent[]): TurnlogEvent[] {
  return events as unknown as TurnlogEvent[];
}

export interface ToolSum {
  name: string;
  calls: number;
  failures: number;
  median: number;
}

export function toolSums(events: LogEvent[]): ToolSum[] {
  const results = new Map<string, LogEvent[]>();
  for (const event of events) {
    if (event.type !== "tool_result") continue;
    const name = String(event["toolName"]);
    results.set(name, [...(results.get(name) ?? []), event]);
  }
  return [...results].map(([name, all]) => {
    const times = all.map((event) => Number(event["duration"])).sort((a, b) => a - b);
    const failures = all.filter((event) => event["success"] === false).length;
    return { name, calls: all.length, failures, median: times[Math.floor(times.length / 2)] ?? 0 };
  });
}

/** Where on the slider something was asked or decided, from 0 to 1. */
export interface Mark {
  id: string;
  place: number;
  title: string;
}

export function marksOf(events: LogEvent[]): Mark[] {
  const last = Math.max(1, events.length - 1);
  return events.flatMap((event, at) =>
    FILTERS.approvals(event) ? [{ id: event.eventId, place: at / last, title: `Event ${at}, ${event.type}: ${summary(event)}` }] : [],
  );
}

/** Events of the same call or approval. */
export function linked(event: LogEvent, events: LogEvent[]): LogEvent[] {
  const keys = ["toolUseId", "approvalId", "messageId"].map((name) => event[name]).filter(Boolean);
  if (keys.length === 0) return [];
  return events.filter((one) => one !== event && keys.some((key) => one["toolUseId"] === key || one["approvalId"] === key || one["messageId"] === key));
}
