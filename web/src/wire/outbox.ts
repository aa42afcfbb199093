/** What the user has written and what is on its way: drafts, sends, a queue. All of it survives. */
import { post, Problem, sentence } from "./http";
import { connection } from "./live";
import { Observable } from "./observable";
import { alone, recall, remember, whenChanged } from "./storage";
import { stranger } from "./token";

export interface Attached {
  id: string;
  name: string;
  mediaType: string;
  size: number;
  pages?: number;
}

export interface Draft {
  text: string;
  files: Attached[];
}

export interface Outgoing extends Draft {
  requestId: string;
  turnId: string | null; // known when the server has taken it
  thinking: number | null; // a budget for this message alone; 0: none
  failed: string | null;
  at: string;
}

const AGAIN = 2_000; // ms until a request is repeated that was lost while the socket stands
export const EMPTY_DRAFT: Draft = { text: "", files: [] };

/** Of one session. `null` is the session that is not made yet. */
export class Outbox {
  readonly draft: Observable<Draft>;
  readonly sending: Observable<Outgoing | null>;
  readonly queue: Observable<Outgoing[]>;
  private busy = false;

  constructor(readonly sessionId: string | null) {
    this.draft = this.kept("draft", EMPTY_DRAFT);
    this.sending = this.kept<Outgoing | null>("sending", null);
    this.queue = this.kept<Outgoing[]>("queue", []);
    const queue = `queue.${sessionId ?? "new"}`;
    whenChanged(queue, () => this.queue.set(recall<Outgoing[]>(queue, []))); // what is taken away in one tab, none sends
    if (sessionId === null) this.forgetOthers();
  }

  /** A session is its user's, but what was written before there is one lies here for anybody. */
  private forgetOthers(): void {
    const forget = (): void => void (stranger.get() && this.draft.set(EMPTY_DRAFT));
    forget();
    stranger.subscribe(forget);
  }

  private kept<T>(name: string, otherwise: T): Observable<T> {
    const key = `${name}.${this.sessionId ?? "new"}`;
    const observable = new Observable(recall(key, otherwise));
    const empty = JSON.stringify(otherwise);
    observable.subscribe(() => {
      const value = observable.get();
      remember(key, JSON.stringify(value) === empty ? null : value);
    });
    return observable;
  }

  write(text: string): void {
    this.draft.update((draft) => ({ ...draft, text }));
  }

  /** Take the draft away. It is in the queue, or on its way. */
  take(thinking: number | null): Outgoing {
    const { text, files } = this.draft.get();
    this.draft.set(EMPTY_DRAFT);
    return outgoing(text, files, thinking);
  }

  enqueue(message: Outgoing): void {
    this.queue.update((queue) => [...queue, message]);
  }

  unqueue(message: Outgoing): void {
    this.queue.update((queue) => queue.filter((one) => one.requestId !== message.requestId));
  }

  /** The first of the queue, by one of the tabs that show it. `may`: whether that still holds when it is this one's turn. */
  async sendNext(may: () => boolean): Promise<void> {
    await alone(`queue.${this.sessionId}`, async () => {
      const next = this.queue.get()[0];
      if (!next || !may()) return;
      this.unqueue(next);
      await this.send(next);
    });
  }

  /** Send it, once: the same `requestId` finds the same turn, however often it is sent. */
  async send(message: Outgoing): Promise<void> {
    this.sending.set({ ...message, failed: null });
    if (this.busy) return;
    this.busy = true;
    try {
      const { turnId } = await post<{ turnId: string }>(`/api/sessions/${this.sessionId}/messages`, {
        message: message.text,
        requestId: message.requestId,
        ...(message.files.length > 0 && { fileIds: message.files.map((file) => file.id) }),
        ...thinkingOf(message),
      });
      this.sending.update((now) => now && { ...now, turnId });
    } catch (error) {
      this.refused(message, error);
    } finally {
      this.busy = false;
    }
  }

  private refused(message: Outgoing, error: unknown): void {
    const status = error instanceof Problem ? error.status : -1;
    if (status === 0) return this.whenBack(message);
    if (status === 409 && (error as Problem).code === "busy") {
      this.sending.set(null);
      this.queue.update((queue) => [message, ...queue]); // another tab was first
      return;
    }
    this.sending.set({ ...message, failed: sentence(error) });
  }

  private whenBack(message: Outgoing): void {
    const again = (): void => {
      if (this.sending.get()?.requestId === message.requestId) void this.send(message);
    };
    if (connection.get() === "live") return void setTimeout(again, AGAIN); // back already, or never away
    const stop = connection.subscribe(() => {
      if (connection.get() !== "live") return;
      stop();
      again();
    });
  }

  /** The server has it in its log. */
  confirm(turnIds: Set<string>): void {
    const message = this.sending.get();
    if (message?.turnId && turnIds.has(message.turnId)) this.sending.set(null);
  }
}

function thinkingOf({ thinking }: Outgoing): object {
  if (thinking === null) return {};
  return thinking ? { enableThinking: true, thinkingBudget: thinking } : { enableThinking: false };
}

export function outgoing(text: string, files: Attached[], thinking: number | null): Outgoing {
  const at = new Date().toISOString();
  return { text, files, thinking, requestId: newId(), turnId: null, failed: null, at };
}

/** `randomUUID` is missing on plain http. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
