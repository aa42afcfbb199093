/** What a person sees: plain values, made by the fold in `fold.ts`. No React, no DOM. */
import type { AgentRef, TokenUsage } from "../wire/events";

export type Citation = Record<string, unknown>;
export type TurnState = "running" | "waiting" | "done" | "failed";

export interface FileRef {
  id: string;
  name: string;
  mediaType: string;
  size: number;
  pages?: number;
}

export interface Question {
  messageId: string;
  content: string;
  files: FileRef[];
  at: string;
}

/** A thought of an answer. `content` grows until `done`. */
export interface Thought {
  kind: "thought";
  block: number;
  content: string;
  startedAt: string | null; // null after a reload
  duration: number | null;
  tokens: number | null;
  redacted: boolean;
  done: boolean;
  kept: boolean;
}

/** A block of an answer's text, with the sources that stand behind its words. */
export interface Words {
  kind: "words";
  block: number;
  content: string;
  citations: Citation[];
}

export type Part = Thought | Words;

/** One model call's answer, from its first chunk to the kept message: one element on screen. */
export interface Answer {
  kind: "answer";
  key: string; // the messageId
  agent: AgentRef;
  parts: Part[]; // by block
  kept: boolean; // the `message` has come
  startedAt: string;
  at: string;
  content: string; // of the kept message
  stopReason: string | null;
  stopDetails: unknown;
  model: string;
  usage: TokenUsage | null;
  costUsd: number | null;
}

export interface ToolCall {
  kind: "tool";
  key: string; // the toolUseId
  agent: AgentRef;
  name: string;
  args: Record<string, unknown>;
  startedAt: string;
  result: ToolOutcome | null;
}

export interface ToolOutcome {
  value: unknown;
  success: boolean;
  error: string | null;
  duration: number;
  inDoubt: boolean; // a write that began, and nobody knows whether it took effect
}

export interface Approval {
  kind: "approval";
  key: string; // the approvalId
  agent: AgentRef;
  toolUseId: string;
  toolName: string;
  args: Record<string, unknown>;
  description: string;
  expiresAt: string;
  mayDecide: unknown;
  costSoFarUsd: number | null;
  decision: Decision | null;
}

export interface Decision {
  approved: boolean;
  decidedBy: string;
  reason: string | null;
  args: Record<string, unknown> | null; // where they were changed
  at: string;
}

/** A kind of event that this page does not know: from a newer server. */
export interface Unknown {
  kind: "unknown";
  key: string;
  type: string;
  agent: AgentRef;
}

export type Item = Answer | ToolCall | Approval | Unknown;

export interface Failure {
  error: string;
  code: string;
  retryable: boolean;
}

export interface Turn {
  id: string;
  question: Question | null; // null while its page is not loaded
  state: TurnState;
  items: Item[]; // settled, in the order of the log
  drafts: Answer[]; // still being written
  failure: Failure | null;
  cancelled: boolean;
  tokens: number;
  costUsd: number | null; // null: a price is not known
  lastIndex: number; // of the newest event that was applied
  at: string;
}

export interface Screen {
  turns: Turn[];
  cursor: string | null;
}

export const EMPTY: Screen = { turns: [], cursor: null };

export function newTurn(id: string, at: string): Turn {
  return {
    id,
    question: null,
    state: "running",
    items: [],
    drafts: [],
    failure: null,
    cancelled: false,
    tokens: 0,
    costUsd: 0,
    lastIndex: -1,
    at,
  };
}

/** The questions that nobody has answered. */
export function openApprovals(turn: Turn): Approval[] {
  return turn.items.filter((i): i is Approval => i.kind === "approval" && i.decision === null);
}

export function isUndecided(turn: Turn): boolean {
  return openApprovals(turn).length > 0;
}
