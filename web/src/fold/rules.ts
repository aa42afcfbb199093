/** What each event does to its turn: one rule a kind, as in the server's `transcript.py`. */
import type * as E from "../wire/events";
import { wordsOf } from "./text";
import type { Answer, Approval, FileRef, Item, Part, Thought, Turn, Words } from "./screen";

const GOES_ON = new Set(["tool_use", "pause_turn"]); // the model speaks again afterwards

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

/** The answer that this is a piece of. Several may be written at the same time. */
function draft(turn: Turn, event: E.Envelope & { messageId: string }): Answer {
  const at = turn.drafts.findIndex((one) => one.key === event.messageId);
  const answer: Answer = at < 0 ? newAnswer(event) : { ...turn.drafts[at]! };
  answer.parts = [...answer.parts];
  if (at < 0) turn.drafts.push(answer);
  else turn.drafts[at] = answer;
  return answer;
}

function newAnswer(event: E.Envelope & { messageId: string }): Answer {
  return {
    kind: "answer",
    key: event.messageId,
    agent: event.agent,
    parts: [],
    kept: false,
    startedAt: event.timestamp,
    at: event.timestamp,
    content: "",
    stopReason: null,
    stopDetails: null,
    model: "",
    usage: null,
    costUsd: null,
  };
}

function put(answer: Answer, part: Part): void {
  const at = answer.parts.findIndex((one) => one.kind === part.kind && one.block === part.block);
  if (at >= 0) answer.parts[at] = part;
  else {
    answer.parts.push(part);
    answer.parts.sort((a, b) => a.block - b.block);
  }
}

function thoughtOf(answer: Answer, block: number): Thought | undefined {
  return answer.parts.find((p): p is Thought => p.kind === "thought" && p.block === block);
}

type ThoughtPiece = E.ThinkingStart | E.ThinkingChunk;

function thinks(turn: Turn, event: ThoughtPiece, content: string): void {
  const answer = draft(turn, event);
  const so_far = thoughtOf(answer, event.blockIndex);
  put(answer, {
    kind: "thought",
    block: event.blockIndex,
    content: (so_far?.content ?? "") + content,
    startedAt: so_far?.startedAt ?? event.timestamp,
    duration: null,
    tokens: null,
    redacted: false,
    done: false,
    kept: false,
  });
}

function thought(turn: Turn, event: E.ThinkingComplete): void {
  const answer = draft(turn, event);
  const so_far = thoughtOf(answer, event.blockIndex);
  if (so_far) put(answer, { ...so_far, duration: event.duration, done: true });
}

function keepsThought(turn: Turn, event: E.Thinking): void {
  const answer = settled(turn, event);
  put(answer, {
    kind: "thought",
    block: event.blockIndex,
    content: event.content,
    startedAt: thoughtOf(answer, event.blockIndex)?.startedAt ?? null,
    duration: event.duration,
    tokens: event.thinkingTokens ?? null,
    redacted: event.redacted,
    done: true,
    kept: true,
  });
}

function says(turn: Turn, event: E.MessageChunk): void {
  const answer = draft(turn, event);
  const so_far = answer.parts.find(
    (p): p is Words => p.kind === "words" && p.block === event.blockIndex,
  );
  put(answer, {
    kind: "words",
    block: event.blockIndex,
    content: (so_far?.content ?? "") + event.content,
    citations: [...(so_far?.citations ?? []), ...(event.citations ?? []).map(source)],
  });
}

/** A citation without its place: the part that it stands in says that. */
export function source(citation: Record<string, unknown>): Record<string, unknown> {
  const { blockIndex: _block, start: _start, end: _end, ...rest } = citation;
  return rest;
}

/** The answer among the settled items. Its draft, if there is one, moves there. */
function settled(turn: Turn, event: E.Envelope & { messageId: string }): Answer {
  const at = turn.items.findIndex((one) => one.kind === "answer" && one.key === event.messageId);
  const drafted = turn.drafts.find((one) => one.key === event.messageId);
  const found = at < 0 ? (drafted ?? newAnswer(event)) : (turn.items[at] as Answer);
  const answer = { ...found, parts: [...found.parts] };
  turn.drafts = turn.drafts.filter((one) => one !== drafted);
  if (at < 0) turn.items.push(answer);
  else turn.items[at] = answer;
  return answer;
}

function keepsMessage(turn: Turn, event: E.Message): void {
  const answer = settled(turn, event);
  const thoughts = answer.parts.filter((part) => part.kind === "thought" && part.kept);
  answer.parts = [...thoughts, ...wordsOf(event)].sort((a, b) => a.block - b.block);
  answer.kept = true;
  answer.at = event.timestamp;
  answer.content = event.content;
  answer.stopReason = event.stopReason;
  answer.stopDetails = event.stopDetails ?? null;
  answer.model = event.model;
  answer.usage = event.tokenUsage;
  answer.costUsd = event.costUsd;
  turn.tokens += event.tokenUsage.totalTokens;
  turn.costUsd =
    turn.costUsd === null || event.costUsd === null ? null : turn.costUsd + Number(event.costUsd);
  if (event.stopReason === "cancelled") turn.cancelled = true;
  // Another agent may have answered while a person is asked.
  if (!isUndecided(turn)) turn.state = GOES_ON.has(event.stopReason) ? "running" : "done";
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
    result: { value, success, error: event.error ?? null, duration },
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

export function openApprovals(turn: Turn): Approval[] {
  return turn.items.filter((i): i is Approval => i.kind === "approval" && i.decision === null);
}

function isUndecided(turn: Turn): boolean {
  return openApprovals(turn).length > 0;
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
