/** A screen as the server's fold says it (`projections/transcript.py`), to compare the two. */
import type { Answer, Item, Part, Turn } from "./screen";

export function plain(turns: readonly Turn[]): unknown[] {
  return turns.map((turn) => ({
    turn_id: turn.id,
    question: turn.question?.content ?? "",
    state: turn.state,
    error: turn.failure?.error ?? null,
    items: turn.items.flatMap(item),
    drafts: [...turn.items.filter(isHalfKept), ...turn.drafts].map(draft),
    tokens: turn.tokens,
  }));
}

/** Its thoughts are kept, its message is not yet: the server still calls that a draft. */
function isHalfKept(one: Item): one is Answer {
  return one.kind === "answer" && !one.kept;
}

function item(one: Item): unknown[] {
  switch (one.kind) {
    case "answer":
      return [...one.parts.flatMap((part) => keptThought(one, part)), ...keptMessage(one)];
    case "tool":
      return [
        {
          kind: "tool",
          toolUseId: one.key,
          toolName: one.name,
          args: one.args,
          agent: one.agent,
          ...(one.result && {
            result: one.result.value,
            success: one.result.success,
            error: one.result.error,
            duration: one.result.duration,
          }),
        },
      ];
    case "approval":
      return [
        {
          kind: "approval",
          approvalId: one.key,
          toolUseId: one.toolUseId,
          description: one.description,
          expiresAt: one.expiresAt,
          ...(one.decision && {
            approved: one.decision.approved,
            decidedBy: one.decision.decidedBy,
            reason: one.decision.reason,
            args: one.decision.args,
          }),
        },
      ];
    case "unknown":
      return [];
  }
}

function keptThought(answer: Answer, part: Part): unknown[] {
  if (part.kind !== "thought" || !part.kept) return [];
  return [
    {
      kind: "thinking",
      messageId: answer.key,
      content: part.content,
      blockIndex: part.block,
      duration: part.duration,
      redacted: part.redacted,
      agent: answer.agent,
      thinkingTokens: part.tokens,
    },
  ];
}

function keptMessage(answer: Answer): unknown[] {
  if (!answer.kept) return [];
  return [
    {
      kind: "message",
      messageId: answer.key,
      content: answer.content,
      stopReason: answer.stopReason,
      model: answer.model,
      tokenUsage: answer.usage,
      costUsd: answer.costUsd,
      agent: answer.agent,
      parts: answer.parts.filter((part) => part.kind === "words").map(words),
      ...(answer.stopDetails !== null && { stopDetails: answer.stopDetails }),
    },
  ];
}

function words(part: Part): unknown {
  const citations = part.kind === "words" ? part.citations : [];
  return { kind: "message", block: part.block, content: part.content, citations };
}

function draft(answer: Answer): unknown {
  const unkept = answer.parts.filter((part) => part.kind === "words" || !part.kept);
  const parts = unkept.map((part) =>
    part.kind === "words"
      ? words(part)
      : { kind: "thinking", block: part.block, content: part.content, citations: [] },
  );
  return { messageId: answer.key, agent: answer.agent, parts };
}
