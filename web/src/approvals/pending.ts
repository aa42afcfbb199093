/** What the user is asked to allow, in all sessions. The count stands in the page's title. */
import { useEffect } from "react";
import { known } from "../wire/config";
import { get } from "../wire/http";
import { Observable, useValue } from "../wire/observable";
import { isOfClient } from "./clients";
import { stringify } from "../wire/json";

export interface Pending {
  id: string;
  sessionId?: string; // not of somebody else's
  toolUseId?: string;
  toolName: string;
  args: Record<string, unknown>;
  description: string;
  createdAt: string;
  expiresAt: string;
  askedBy: string;
  mayDecide: string;
  costSoFarUsd?: number | null;
}

const AGAIN = 10_000; // ms
const MOST = 1000; // that the server gives at once: a program may have hundreds of functions open that nobody decides here
export const pending = new Observable<Pending[]>([]);
export const looked = new Observable(false); // at least once: until then nobody knows whether something waits

let looks = 0;

/** A late answer does not bring back what was decided since. */
export async function look(): Promise<void> {
  const look = ++looks;
  const [page] = await Promise.all([get<{ approvals: Pending[] }>(`/api/approvals?status=pending&limit=${MOST}`), known]);
  if (look !== looks) return;
  const approvals = page.approvals.filter((each) => !isOfClient(each)); // those nobody decides here
  const now = pending.get();
  if (stringify(now) !== stringify(approvals)) pending.set(approvals);
  looked.set(true);
}

export function usePending(): Pending[] {
  const open = useValue(pending);
  useEffect(() => {
    const again = (): void => void (document.visibilityState === "visible" && look().catch(() => {}));
    again();
    const timer = setInterval(again, AGAIN);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    document.title = open.length > 0 ? `(${open.length}) turnlog` : "turnlog";
  }, [open.length]);
  return open;
}
