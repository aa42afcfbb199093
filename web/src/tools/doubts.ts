/** Writes that still are in doubt. A call that is not among them was settled by somebody. */
import { get, post } from "../wire/http";
import { Observable } from "../wire/observable";

interface Run {
  sessionId: string;
  toolUseId: string;
}

export const doubts = new Observable<Run[] | null>(null); // null: not asked yet

export async function loadDoubts(): Promise<void> {
  doubts.set((await get<{ doubts: Run[] }>("/api/doubts")).doubts);
}

export async function settle(run: Run, happened: boolean, note: string): Promise<void> {
  await post(`/api/sessions/${run.sessionId}/doubts/${run.toolUseId}`, { happened, ...(note && { note }) });
  await loadDoubts();
}
