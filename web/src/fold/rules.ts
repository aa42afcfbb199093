/** What each event does to its turn: one rule a kind, as in the server's `transcript.py`. */
import type * as E from "../wire/events";
import { keepsMessage, keepsThought, says, thinks, thought } from "./answers";
import { isUndecided, type FileRef, type Item, type Turn } from "./screen";

type Rule<T extends E.TurnlogEvent> = (turn: Turn, event: T) => void;
type Rules = { [T in E.TurnlogEvent["type"]]: Rule<Extract<E.TurnlogEvent, { type: T }>> };

/** A kind without a rule is a compile error. A turn that a rule gets is its own to change. */
export const RULES: Rules = {
  session_start: nothing,
  resync_required: nothing,
  agent_changed: nothing,
  citations_found: nothing,
  user_message_sent: asked,
  thinking_start: (turn, event) => void thinks(turn, event, ""),
  thinking_chunk: (turn, event) => void thinks(turn, event, event.content),
  thinking_complete: thought,
  thinking: keepsThought,
  message_chunk: says,
  message: keepsMessage,
  tool_use: calls,
  tool_result: returns,
  approval_requested: requests,
  approval_resolved: resolves,
  complete: completes,
  error: fails,
};

function nothing(): void {}

function asked(turn: Turn, event: E.UserMessageSent): void {
  turn.question = {
    messageId: event.messageId,
    content: event.content,
    files: event.files as unknown as FileRef[],
    at: event.timestamp,
  };
  turn.at = event.timestamp;
}

function calls(turn: Turn, event: E.ToolUse): void {
  turn.items.push({
    kind: "tool",
    key: event.toolUseId,
    agent: event.agent,
    name: event.toolName,
    args: event.args,
    startedAt: event.timestamp,
    result: null,
  });
}

function change<K extends Item["kind"]>(
  turn: Turn,
  kind: K,
  key: string,
  changes: Partial<Extract<Item, { kind: K }>>,
): void {
  turn.items = turn.items.map((item) =>
    item.kind === kind && item.key === key ? ({ ...item, ...changes } as Item) : item,
  );
}

function returns(turn: Turn, event: E.ToolResult): void {
  const { result: value, success, duration } = event;
  change(turn, "tool", event.toolUseId, {
    result: { value, success, error: event.error ?? null, duration, inDoubt: event.inDoubt ?? false },
  });
}

function requests(turn: Turn, event: E.ApprovalRequested): void {
  const more = event as unknown as Record<string, unknown>;
  turn.items.push({
    kind: "approval",
    key: event.approvalId,
    agent: event.agent,
    toolUseId: event.toolUseId,
    toolName: event.toolName,
    args: event.args,
    description: event.description,
    expiresAt: event.expiresAt,
    mayDecide: more["mayDecide"] ?? null,
    costSoFarUsd: (more["costSoFarUsd"] as number | undefined) ?? null,
    decision: null,
  });
  turn.state = "waiting";
}

function resolves(turn: Turn, event: E.ApprovalResolved): void {
  const { approved, decidedBy, reason } = event;
  const args = event.args ?? null;
  const decision = { approved, decidedBy, reason, args, at: event.timestamp };
  change(turn, "approval", event.approvalId, { decision });
  turn.state = isUndecided(turn) ? "waiting" : "running";
}

function completes(turn: Turn, event: E.Complete): void {
  turn.state = "done";
  if (event.reason === "cancelled") turn.cancelled = true;
}

function fails(turn: Turn, event: E.Error): void {
  turn.drafts = [];
  turn.state = "failed";
  turn.failure = { error: event.error, code: event.code, retryable: event.retryable };
}
