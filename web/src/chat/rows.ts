/** The rows of the conversation, from its turns. Pure: the same turn gives the same rows. */
import { isOfClient } from "../approvals/clients";
import type { AgentRef } from "../wire/events";
import type { Answer, Approval, Item, Question, ToolCall, Turn, Unknown } from "../fold/screen";

/** `ofClient`: the app that asked runs it, not the server. `refused`: it was asked for, and not allowed. */
export type ShownCall = ToolCall & { ofClient?: boolean; refused?: boolean };

interface Base {
  key: string;
  turn: Turn;
  agent: AgentRef | null; // whose line it stands at
  last?: boolean; // of a turn that is over
}

export type Row = Base &
  (
    | { kind: "question"; question: Question }
    | { kind: "head"; from: string | null }
    | { kind: "answer"; answer: Answer; open: boolean }
    | { kind: "tools"; calls: ShownCall[] }
    | { kind: "approval"; approval: Approval; call: ToolCall | null }
    | { kind: "ending"; reason: string; code: string }
    | { kind: "waiting"; since: string }
    | { kind: "footer" }
    | { kind: "unknown"; item: Unknown }
  );

const made = new WeakMap<Turn, Row[]>();
// Stop reasons that a person must be told about.
const TOLD = new Set(["max_tokens", "refusal", "model_context_window_exceeded", "cancelled", "unanswered", "interrupted"]);

export function rowsOf(turns: readonly Turn[]): Row[] {
  return turns.flatMap((turn) => {
    const rows = made.get(turn) ?? makeRows(turn);
    made.set(turn, rows);
    return rows;
  });
}

function makeRows(turn: Turn): Row[] {
  const rows: Row[] = [];
  if (turn.question) {
    rows.push({ kind: "question", key: `${turn.id}:question`, turn, agent: null, question: turn.question });
  }
  let speaker: AgentRef | null = null;
  const add = (row: Row): void => {
    if (row.agent && row.agent.id !== speaker?.id) {
      const from = speaker?.name ?? null;
      rows.push({ kind: "head", key: `${row.key}:head`, turn, agent: row.agent, from });
      speaker = row.agent;
    }
    rows.push(row);
  };
  bodies(turn).forEach(add);
  endings(turn, speaker).forEach((row) => rows.push(row));
  const last = rows.at(-1);
  if (last && (turn.state === "done" || turn.state === "failed")) rows[rows.length - 1] = { ...last, last: true };
  return rows;
}

function bodies(turn: Turn): Row[] {
  const rows: Row[] = [];
  const approvals = new Map(
    turn.items.filter((item) => item.kind === "approval").map((item) => [item.toolUseId, item]),
  );
  const items: Item[] = [...turn.items, ...turn.drafts];
  items.forEach((item, at) => {
    if (item.kind === "answer" && !isEmpty(item, turn)) {
      const open = !item.kept && turn.state === "running";
      rows.push({ kind: "answer", key: item.key, turn, agent: item.agent, answer: item, open });
    }
    if (item.kind === "tool") addCall(rows, turn, item, approvals.get(item.key) ?? null, items[at - 1]);
    if (item.kind === "unknown") rows.push({ kind: "unknown", key: item.key, turn, agent: item.agent, item });
  });
  return rows;
}

/** Calls of one message stand side by side. One that a person decides on has its question first. */
function addCall(rows: Row[], turn: Turn, asked: ToolCall, approval: Approval | null, before?: Item): void {
  const ofClient = approval !== null && isOfClient(approval);
  const changed = ofClient ? null : approval?.decision?.args; // what ran is what the person made of it
  const refused = approval?.decision?.approved === false;
  const call: ShownCall = ofClient ? { ...asked, ofClient } : changed ? { ...asked, args: changed } : refused ? { ...asked, refused } : asked;
  const agent = call.agent;
  if (approval && !ofClient) rows.push({ kind: "approval", key: approval.key, turn, agent, approval, call });
  if (approval && !ofClient && !call.result) return;
  const last = rows.at(-1);
  if (last?.kind === "tools" && before?.kind === "tool" && last.agent?.id === agent.id) {
    rows[rows.length - 1] = { ...last, calls: [...last.calls, call] };
  } else {
    rows.push({ kind: "tools", key: call.key, turn, agent, calls: [call] });
  }
}

function isEmpty(answer: Answer, turn: Turn): boolean {
  return answer.parts.length === 0 && (answer.kept || turn.state !== "running");
}

function endings(turn: Turn, speaker: AgentRef | null): Row[] {
  const base = { turn, agent: speaker };
  const last = turn.items.findLast((item): item is Answer => item.kind === "answer" && item.kept);
  if (turn.failure) {
    const { code } = turn.failure;
    const reason = code === "interrupted" && last?.stopReason === code ? code : "error"; // else nothing had arrived
    return [{ ...base, kind: "ending", key: `${turn.id}:ending`, reason, code }];
  }
  if (turn.state === "running") {
    const quiet = turn.drafts.every(hasOnlyThought) && !hasOpenCall(turn);
    return quiet ? [{ ...base, kind: "waiting", key: `${turn.id}:waiting`, since: quietSince(turn) }] : [];
  }
  if (turn.state !== "done") return [];
  const reason = !turn.cancelled ? (last?.stopReason ?? "") : speaker ? "cancelled" : "unanswered";
  const told: Row[] = TOLD.has(reason)
    ? [{ ...base, kind: "ending", key: `${turn.id}:ending`, reason, code: reason }]
    : [];
  return last ? [...told, { ...base, kind: "footer", key: `${turn.id}:footer` }] : told;
}

function hasOpenCall(turn: Turn): boolean {
  return turn.items.some((item) => item.kind === "tool" && !item.result);
}

/** Its last thought is over, and its text has not begun. */
function hasOnlyThought(answer: Answer): boolean {
  const last = answer.parts.at(-1);
  return last?.kind === "thought" && last.done;
}

/** When the turn last showed something new. */
function quietSince(turn: Turn): string {
  const ends = [...turn.items, ...turn.drafts].flatMap(endsOf);
  return new Date(Math.max(Date.parse(turn.at), ...ends)).toISOString();
}

function endsOf(item: Item): number[] {
  if (item.kind === "tool") return [Date.parse(item.startedAt) + (item.result?.duration ?? 0)];
  if (item.kind === "approval") return item.decision ? [Date.parse(item.decision.at)] : [];
  if (item.kind === "unknown") return [];
  const thoughts = item.parts.flatMap((part) => (part.kind === "thought" && part.startedAt ? [Date.parse(part.startedAt) + (part.duration ?? 0)] : []));
  return [Date.parse(item.at), ...thoughts];
}
