// One question and its answer over connections that may break.
//
// The question has a requestId, so sending it again runs nothing twice. A connection that breaks
// is taken up again at the cursor; where the server has lost that, the turn is told again from its
// start, and what was seen before is left out.
import type { TurnlogEvent } from "./events.ts";

export const MOST_FAILURES = 8; // in a row, without one event between them
const LONGEST_WAIT = 5000; // milliseconds

export function pause(failures: number): number {
  return failures ? Math.min(100 * 2 ** failures, LONGEST_WAIT) : 0;
}

export interface Request {
  path: string;
  body?: unknown; // with one it is a POST
  wait: number;
}

export class Asking {
  over = false;
  #path: string;
  #body: unknown;
  #turnId = "";
  #cursor: string | null = null;
  #seen = new Set<string>();
  #failures = 0;

  constructor(sessionId: string, body: { requestId?: string }) {
    this.#path = `/api/sessions/${encodeURIComponent(sessionId)}`;
    this.#body = { requestId: crypto.randomUUID(), ...body };
  }

  /** The next request, first or again. */
  request(): Request {
    const wait = pause(this.#failures);
    if (this.#cursor === null) return { path: `${this.#path}/messages`, body: this.#body, wait };
    return { path: `${this.#path}/stream?after=${encodeURIComponent(this.#cursor)}`, wait };
  }

  /** The connection broke, or ended too early. Throws after too many in a row. */
  lost(error: unknown): void {
    this.#failures += 1;
    if (this.#failures > MOST_FAILURES)
      throw error ?? new Error("The server ends every stream before the answer ends.");
  }

  /** Whether the event is of this turn and new. */
  take(event: TurnlogEvent): boolean {
    if (event.type === "resync_required") {
      this.#cursor = null;
      return false;
    }
    this.#turnId ||= event.turnId;
    this.#failures = 0;
    if (event.turnId !== this.#turnId) return false;
    this.#cursor = event.cursor;
    if (this.#seen.has(event.eventId)) return false;
    this.#seen.add(event.eventId);
    this.over = event.type === "complete" || event.type === "error";
    return true;
  }
}
