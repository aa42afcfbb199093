/** One open session: its screen, from a reload and the live events that follow it. */
import { flushSync } from "react-dom";
import { fold, isKept } from "../fold/fold";
import { EMPTY, type Screen, type Turn } from "../fold/screen";
import { config, known } from "./config";
import { get, Problem } from "./http";
import { watch } from "./live";
import { Observable } from "./observable";
import type { TurnlogEvent } from "./events";

const PAGE = 300; // events of one reload
const FRAME = 33; // ms between two flushes, or four times what the last one cost
const MOST_TEXT = 8_000; // characters of one flush: no task may be long

interface Page {
  events: TurnlogEvent[];
  before: number | null;
  cursor: string;
}

export interface Shown {
  status: "loading" | "ready" | "missing" | "failed";
  screen: Screen;
  before: number | null; // where the page above begins; null: all is here
  older: boolean; // the page above is being loaded
  fresh: Set<string>; // answers whose first chunk was seen live
  refreshed: number; // counts the reloads that the server asked for
  flushes: number;
}

const NOTHING: Shown = {
  status: "loading",
  screen: EMPTY,
  before: null,
  older: false,
  fresh: new Set(),
  refreshed: 0,
  flushes: 0,
};

export class Conversation {
  readonly shown = new Observable<Shown>(NOTHING);
  private seen = new Set<string>();
  private events = new Map<string, TurnlogEvent[]>(); // by turn; only kept ones of older turns
  private waiting: TurnlogEvent[] = [];
  private timer = 0;
  private cost = 0;
  private unwatch: (() => void) | null = null;
  private closed = false;

  constructor(readonly sessionId: string) {}

  async open(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      const missing = error instanceof Problem && error.status === 404;
      this.change({ status: missing ? "missing" : "failed" });
      return;
    }
    if (this.closed) return;
    this.unwatch = watch({
      sessionId: this.sessionId,
      cursor: () => this.shown.get().screen.cursor,
      receive: (event) => this.receive(event),
    });
  }

  close(): void {
    this.closed = true;
    this.unwatch?.();
    clearTimeout(this.timer);
  }

  /** The page above. What is on screen stays where it is. */
  async loadOlder(): Promise<void> {
    const { before, older } = this.shown.get();
    if (before === null || older) return;
    this.change({ older: true });
    try {
      const page = await this.page(before);
      this.prepend(page);
    } catch {
      // whoever scrolls there again asks again
    } finally {
      this.change({ older: false });
    }
  }

  private page(before?: number): Promise<Page> {
    const query = before === undefined ? "" : `&before=${before}`;
    return get<Page>(`/api/sessions/${this.sessionId}/messages?limit=${PAGE}${query}`);
  }

  private async reload(): Promise<void> {
    const [page] = await Promise.all([this.page(), known]);
    this.seen = new Set();
    this.events = new Map();
    const events = page.events.filter(isForUsers);
    this.note(events);
    const screen = { ...fold(EMPTY, events, this.seen), cursor: page.cursor };
    this.change({ status: "ready", screen, before: page.before });
  }

  private prepend(page: Page): void {
    const older = page.events.filter(isForUsers);
    const { screen } = this.shown.get();
    const first = screen.turns[0];
    // A turn that the page cut in two is folded anew, from all of its events.
    const cutInTwo = first !== undefined && older.at(-1)?.turnId === first.id;
    const rest = cutInTwo ? (this.events.get(first.id) ?? []) : [];
    const above = fold(EMPTY, [...older, ...rest]).turns;
    for (const event of older) this.seen.add(event.eventId);
    if (cutInTwo) this.events.set(first.id, [...older.filter((e) => e.turnId === first.id), ...rest]);
    const turns: Turn[] = [...above, ...screen.turns.slice(cutInTwo ? 1 : 0)];
    this.change({ screen: { ...screen, turns }, before: page.before });
  }

  private receive(event: TurnlogEvent): void {
    if (event.type === "resync_required") {
      this.waiting = [];
      void this.resync();
      return;
    }
    if (!isForUsers(event)) return;
    this.waiting.push(event);
    this.schedule();
  }

  private flush(): void {
    this.timer = 0;
    const events = portion(this.waiting, document.hidden ? Infinity : MOST_TEXT);
    this.waiting = this.waiting.slice(events.length);
    if (this.closed || events.length === 0) return;
    const begin = performance.now();
    const { screen, fresh, flushes } = this.shown.get();
    this.note(events);
    const begun = events.filter((e) => e.type === "thinking_start" || e.type === "message_chunk");
    const more = begun.map((e) => (e as { messageId: string }).messageId).filter((id) => !fresh.has(id));
    const next = fold(screen, events, this.seen);
    flushSync(() =>
      this.change({
        screen: next,
        flushes: flushes + 1,
        ...(more.length > 0 && { fresh: new Set([...fresh, ...more]) }),
      }),
    );
    this.cost = performance.now() - begin;
    if (this.waiting.length > 0) this.schedule();
  }

  private schedule(): void {
    this.timer ||= window.setTimeout(() => this.flush(), Math.max(FRAME, 4 * this.cost));
  }

  private async resync(): Promise<void> {
    this.unwatch?.();
    await this.open();
    this.change({ refreshed: this.shown.get().refreshed + 1 });
  }

  /** Remember events by turn, the transient ones only of the newest. */
  private note(events: TurnlogEvent[]): void {
    for (const event of events) {
      if (!event.turnId) continue;
      if (!this.events.has(event.turnId)) {
        for (const [id, old] of this.events) {
          if (old.some((e) => !isKept(e))) this.events.set(id, old.filter(isKept));
        }
        this.events.set(event.turnId, []);
      }
      this.events.get(event.turnId)!.push(event);
    }
  }

  private change(changes: Partial<Shown>): void {
    this.shown.update((shown) => ({ ...shown, ...changes }));
  }
}

/** The first events, up to so much text: what came in one burst is drawn in several frames. */
function portion(events: TurnlogEvent[], most: number): TurnlogEvent[] {
  const sizes = events.map((event) => (event.type === "message_chunk" || event.type === "thinking_chunk" ? event.content.length : 0));
  const enough = Math.max(most, sizes.reduce((sum, size) => sum + size, 0) / 10); // far behind: in ten steps
  let text = 0;
  const end = sizes.findIndex((size) => (text += size) > enough);
  return end < 0 ? events : events.slice(0, Math.max(1, end));
}

/** Internal events never come on a user's wire. Should one come, it is not shown either. */
export function isForUsers(event: TurnlogEvent): boolean {
  if ((event as { isInternal?: boolean }).isInternal) return false;
  const tool = (event as { toolName?: string }).toolName;
  const prefixes = config.get()?.internalPrefixes ?? [];
  return !tool || !prefixes.some((prefix) => tool.startsWith(prefix));
}
