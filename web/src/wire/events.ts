// Written by `make docs` from the events of the server. Do not edit.

export interface AgentRef {
  id: string;
  name: string;
}

export interface Span {
  blockIndex: number;
  start: number;
  end: number;
}

export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  cacheWriteTokens: number;
  cacheReadTokens: number;
  thinkingTokens: number | null;
  totalTokens: number;
}

export interface Envelope {
  eventId: string;
  sessionId: string;
  turnId: string;
  timestamp: string;
  eventIndex: number | null;
  persistenceState: string;
  sequenceNumber?: number;
  agent: AgentRef;
  cursor: string;
}

/** Sent to a client that joins: the session and its settings. */
export interface SessionStart extends Envelope {
  type: "session_start";
  session: Record<string, unknown>;
  settings: Record<string, unknown>;
}

/** The user asked. Always the first event of a turn, on disk before the model is called. */
export interface UserMessageSent extends Envelope {
  type: "user_message_sent";
  messageId: string;
  content: string;
  files: Array<Record<string, unknown>>;
}

/** The model began to think. */
export interface ThinkingStart extends Envelope {
  type: "thinking_start";
  messageId: string;
  blockIndex: number;
}

/** A piece of a thought. Adjacent pieces of one block may be joined. */
export interface ThinkingChunk extends Envelope {
  type: "thinking_chunk";
  messageId: string;
  content: string;
  blockIndex: number;
}

/** The thought is whole. The live signal; `thinking` is what is kept. */
export interface ThinkingComplete extends Envelope {
  type: "thinking_complete";
  messageId: string;
  content: string;
  blockIndex: number;
  duration: number;
}

/** A thought, kept with the signature that proves it to the API. */
export interface Thinking extends Envelope {
  type: "thinking";
  messageId: string;
  content: string;
  blockIndex: number;
  duration: number | null;
  thinkingTokens?: number;
  redacted: boolean;
}

/** A piece of the answer. Adjacent pieces of one block may be joined. */
export interface MessageChunk extends Envelope {
  type: "message_chunk";
  messageId: string;
  content: string;
  blockIndex: number;
  citations?: Array<Record<string, unknown>>;
}

/** The answer cites sources. The kept `message` holds the same citations. */
export interface CitationsFound extends Envelope {
  type: "citations_found";
  messageId: string;
  count: number;
  citations: Array<Record<string, unknown>>;
}

/** One model call's answer, whole: its text equals the chunks joined. */
export interface Message extends Envelope {
  type: "message";
  messageId: string;
  stopReason: string;
  model: string;
  tokenUsage: TokenUsage;
  role: string;
  costUsd: number | null;
  blocks: Array<Span>;
  content: string;
  citations: Array<Record<string, unknown>>;
  stopDetails?: unknown;
}

/** The model asked for a tool. Exactly one ToolResult with the same id follows. */
export interface ToolUse extends Envelope {
  type: "tool_use";
  toolUseId: string;
  toolName: string;
  args: Record<string, unknown>;
}

/** A person must allow this call before it runs. The turn waits, however long. */
export interface ApprovalRequested extends Envelope {
  type: "approval_requested";
  approvalId: string;
  toolUseId: string;
  toolName: string;
  args: Record<string, unknown>;
  description: string;
  expiresAt: string;
  mayDecide: string;
  costSoFarUsd: number | null;
}

/** A person decided; or nobody did in time, or the question was withdrawn. */
export interface ApprovalResolved extends Envelope {
  type: "approval_resolved";
  approvalId: string;
  approved: boolean;
  decidedBy: string;
  reason: string | null;
  args?: Record<string, unknown>;
}

/** The tool answered, failed, was refused or was cut off: its one and only result. */
export interface ToolResult extends Envelope {
  type: "tool_result";
  toolUseId: string;
  toolName: string;
  result: unknown;
  success: boolean;
  duration: number;
  error?: string;
  inDoubt?: boolean;
}

/** Another agent took over. Shown as a signal; its record in the log is internal. */
export interface AgentChanged extends Envelope {
  type: "agent_changed";
  from: string;
  to: string;
}

/** The turn is over. Always the last event, unless an error ended it. */
export interface Complete extends Envelope {
  type: "complete";
  reason: string;
  stopReason: string;
  tokenUsage: TokenUsage;
  model: string;
  toolsUsed: Array<string>;
  costUsd: number | null;
}

/** The turn failed, and why. Nothing follows; the user's message stays. */
export interface Error extends Envelope {
  type: "error";
  error: string;
  code: string;
  retryable: boolean;
}

/** The client's cursor is too old: reload, then join with the new one. */
export interface ResyncRequired extends Envelope {
  type: "resync_required";
  why: string;
}

export type TurnlogEvent =
  | SessionStart
  | UserMessageSent
  | ThinkingStart
  | ThinkingChunk
  | ThinkingComplete
  | Thinking
  | MessageChunk
  | CitationsFound
  | Message
  | ToolUse
  | ApprovalRequested
  | ApprovalResolved
  | ToolResult
  | AgentChanged
  | Complete
  | Error
  | ResyncRequired;

/** Every type of event, so that a program can check that it handles all. */
export const EVENT_TYPES = [
  "session_start",
  "user_message_sent",
  "thinking_start",
  "thinking_chunk",
  "thinking_complete",
  "thinking",
  "message_chunk",
  "citations_found",
  "message",
  "tool_use",
  "approval_requested",
  "approval_resolved",
  "tool_result",
  "agent_changed",
  "complete",
  "error",
  "resync_required",
] as const;
