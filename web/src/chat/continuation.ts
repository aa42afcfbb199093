/** A new session that begins with what was said in an old one, for the model to summarize. */
import { attach } from "../files/uploads";
import { foldAll } from "../fold/fold";
import type { Turn } from "../fold/screen";
import { titleOf } from "../wire/config";
import { isForUsers } from "../wire/conversation";
import type { TurnlogEvent } from "../wire/events";
import { get } from "../wire/http";
import { outboxOf } from "./useConversation";

const PAGE = 500; // events
const MOST_PAGES = 20; // the newest are read first
const MOST = 100_000; // characters: the newest count
const REQUEST = "Summarize the attached conversation in a few sentences. Then we go on from there.";

/** Puts the text of the session and a request into the draft of a new one. The user sends it. */
export async function prepare(sessionId: string, title: string): Promise<void> {
  const events: TurnlogEvent[] = [];
  let before: number | null = null;
  for (let pages = 0; pages < MOST_PAGES && (pages === 0 || before !== null); pages += 1) {
    const query: string = before === null ? "" : `&before=${before}`;
    const page: { events: TurnlogEvent[]; before: number | null } = await get(`/api/sessions/${sessionId}/messages?limit=${PAGE}${query}`);
    events.unshift(...page.events.filter(isForUsers));
    before = page.before;
  }
  const text = asText(foldAll(events).turns);
  const box = outboxOf(null);
  const name = `${title.replace(/[^\p{L}\p{N} -]/gu, "").trim().slice(0, 60) || "Session"}.md`;
  await attach(box, new File([text], name, { type: "text/markdown" }));
  box.write([box.draft.get().text, REQUEST].filter(Boolean).join("\n\n"));
}

/** Who said what, and which tools ran. The newest of it, where it is long. */
export function asText(turns: Turn[]): string {
  const text = turns.flatMap(linesOf).join("\n\n");
  return text.length > MOST ? `(The beginning is left out.)\n\n${text.slice(-MOST)}` : text;
}

function linesOf(turn: Turn): string[] {
  const asked = turn.question ? [`**User:** ${turn.question.content}`] : [];
  return turn.items.reduce<string[]>((lines, item) => {
    if (item.kind === "answer" && item.content) lines.push(`**${item.agent.name}:** ${item.content}`);
    if (item.kind === "tool") lines.push(`*${titleOf(item.name)}: ${item.result?.success ? "done" : (item.result?.error ?? "not done")}*`);
    return lines;
  }, asked);
}
