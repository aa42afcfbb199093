/** Answers as they are written, and as they are kept: the rules of everything with a `messageId`. */
import type * as E from "../wire/events";
import { isUndecided, type Answer, type Part, type Thought, type Turn, type Words } from "./screen";
import { source, wordsOf } from "./text";

const GOES_ON = new Set(["tool_use", "pause_turn"]); // the model speaks again afterwards

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

export function thinks(turn: Turn, event: ThoughtPiece, content: string): void {
  const answer = draft(turn, event);
  const soFar = thoughtOf(answer, event.blockIndex);
  put(answer, {
    kind: "thought",
    block: event.blockIndex,
    content: (soFar?.content ?? "") + content,
    startedAt: soFar?.startedAt ?? event.timestamp,
    duration: null,
    tokens: null,
    redacted: false,
    done: false,
    kept: false,
  });
}

export function thought(turn: Turn, event: E.ThinkingComplete): void {
  const answer = draft(turn, event);
  const soFar = thoughtOf(answer, event.blockIndex);
  if (soFar) put(answer, { ...soFar, duration: event.duration, done: true });
}

export function keepsThought(turn: Turn, event: E.Thinking): void {
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

export function says(turn: Turn, event: E.MessageChunk): void {
  const answer = draft(turn, event);
  const soFar = answer.parts.find(
    (p): p is Words => p.kind === "words" && p.block === event.blockIndex,
  );
  put(answer, {
    kind: "words",
    block: event.blockIndex,
    content: (soFar?.content ?? "") + event.content,
    citations: [...(soFar?.citations ?? []), ...(event.citations ?? []).map(source)],
  });
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

export function keepsMessage(turn: Turn, event: E.Message): void {
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
