/** What a screen reader hears of a turn: events, not tokens. */
import { openApprovals, type Answer, type Turn } from "../fold/screen";
import { isOfClient } from "../approvals/clients";
import { waitsInWords } from "../approvals/words";
import { titleOf } from "../wire/config";

const MOST = 300; // characters of an answer

export function announcement(turn: Turn | null): string {
  if (!turn) return "";
  const open = openApprovals(turn).find((each) => !isOfClient(each));
  if (open) return `${waitsInWords([open])}: ${titleOf(open.toolName)}`;
  if (turn.cancelled) return "Stopped";
  if (turn.state === "running") return turn.drafts.length > 0 ? "Answer started" : "";
  if (turn.state !== "done") return "";
  const last = turn.items.findLast((item): item is Answer => item.kind === "answer" && item.kept);
  return last ? `${last.content.slice(0, MOST)} — answer complete` : "";
}
