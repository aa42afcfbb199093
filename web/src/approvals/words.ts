/** An approval as a question in words. */
import type { Approval } from "../fold/screen";
import { marked } from "../markdown/links";
import { me, titleOf } from "../wire/config";
import { isOfClient } from "./clients";

const DESTRUCTIVE = /^(delete|remove|post|pay|cancel|purge|drop|transfer|send|void|release)\b/i;

export function isDestructive(approval: Approval): boolean {
  return DESTRUCTIVE.test(titleOf(approval.toolName));
}

/** "Create customer?", from the tool's title. */
export function question(approval: Approval): string {
  return `${marked(titleOf(approval.toolName)).replace(/\?+$/, "")}?`;
}

/** How many things the arguments name: the longest list among them, or one. */
export function things(args: Record<string, unknown>): number {
  const lists = Object.values(args).filter(Array.isArray) as unknown[][];
  return Math.max(1, ...lists.map((list) => list.length));
}

export function approveLabel(approval: Approval, changes: number): string {
  if (changes > 0) return `Approve with ${changes} ${changes === 1 ? "change" : "changes"}`;
  if (!isDestructive(approval)) return "Approve";
  const [title, several] = [marked(titleOf(approval.toolName)), things(approval.args)];
  return several > 1 ? `${title} (${several})` : title;
}

/** Who may answer, where it is not simply the one who asked. */
export function approvers(mayDecide: unknown): string | null {
  if (typeof mayDecide !== "string" || mayDecide === "asker") return null;
  const [who, role] = mayDecide.split(":");
  if (who === "others") return role ? `somebody else with the role ${role}` : "somebody else than you";
  return role ? `somebody with the role ${role}` : null;
}

/** Whether the user may answer it in a session of their own. The inbox has only what they may. */
export function mayAnswer(mayDecide: unknown): boolean {
  if (typeof mayDecide !== "string") return true;
  const [who, role = ""] = mayDecide.split(":");
  const roles = me.get()?.roles ?? [];
  return who === "asker" || (who === "role" && (roles.includes(role) || roles.includes("admin")));
}

/** For whom a turn waits; null where it waits for nobody. */
export function waitsInWords(open: Approval[]): string | null {
  if (open.length === 0) return null;
  const asked = open.filter((each) => !isOfClient(each));
  if (asked.length === 0) return "Waiting for the app that asked";
  return asked.some((each) => mayAnswer(each.mayDecide)) ? "Waiting for your approval" : "Waiting for somebody else";
}

/** What became of it, in one line. */
export function outcome(approval: Approval, at: string, elsewhere: boolean): string {
  const { decision } = approval;
  if (!decision) return "";
  const mine = decision.decidedBy === me.get()?.id;
  const who = mine ? "you" : decision.decidedBy;
  const where = elsewhere ? ", in another window" : "";
  const nobody = /^(turnlog|system|server|nobody)?$/.test(decision.decidedBy);
  if (decision.approved) {
    return `Approved by ${who}${decision.args ? " with changes" : ""}, ${at}${where}`;
  }
  if (nobody || /expired|nobody answered/i.test(decision.reason ?? "")) {
    return decision.reason && !/expired|nobody/i.test(decision.reason)
      ? `Withdrawn: ${decision.reason}`
      : "Nobody answered. Nothing was written.";
  }
  return `Rejected by ${who}, ${at}${where}${decision.reason ? `: ${decision.reason}` : ""}`;
}
