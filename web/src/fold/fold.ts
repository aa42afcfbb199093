/** Events to a screen. Live, reloaded, in a second tab and in a replay: this one function.
 *
 * Every transient event is only a draft of a kept one that follows and takes its place.
 */
import type { TurnlogEvent } from "../wire/events";
import { RULES } from "./rules";
import { EMPTY, newTurn, type Screen, type Turn } from "./screen";

/** Turns between batches share what did not change, so that a component can tell. */
export function fold(screen: Screen, events: readonly TurnlogEvent[], seen = new Set<string>()): Screen {
  const batch = new Batch(screen);
  let cursor = screen.cursor;
  for (const event of events) {
    if (event.type !== "session_start" && event.cursor) cursor = event.cursor;
    if (event.turnId) apply(batch, event, seen);
  }
  return { turns: batch.turns, cursor };
}

export function foldAll(events: readonly TurnlogEvent[]): Screen {
  return fold(EMPTY, events);
}

/** Whether it stays on a reload. */
export function isKept(event: TurnlogEvent): boolean {
  return event.persistenceState === "persisted" || event.type.startsWith("approval_");
}

function apply(batch: Batch, event: TurnlogEvent, seen: Set<string>): void {
  if (seen.has(event.eventId)) return;
  const turn = batch.turn(event.turnId, event.timestamp);
  const index = event.eventIndex ?? -1;
  if (!isKept(event) && index <= turn.lastIndex) return; // sent again after a reconnect
  seen.add(event.eventId);
  turn.lastIndex = Math.max(turn.lastIndex, index);
  const rule = RULES[event.type] as ((turn: Turn, event: TurnlogEvent) => void) | undefined;
  if (rule) rule(turn, event);
  else turn.items.push({ kind: "unknown", key: event.eventId, ...place(event) });
}

function place(event: TurnlogEvent): Pick<TurnlogEvent, "type" | "agent"> {
  return { type: event.type, agent: event.agent };
}

/** Turns as they change: each is copied once in a batch, then changed in place. */
class Batch {
  turns: Turn[];
  private at = new Map<string, number>();
  private own = new Set<string>();

  constructor(screen: Screen) {
    this.turns = [...screen.turns];
  }

  turn(id: string, timestamp: string): Turn {
    const at = this.at.get(id) ?? this.turns.findLastIndex((turn) => turn.id === id);
    if (at < 0) {
      this.at.set(id, this.turns.push(newTurn(id, timestamp)) - 1);
      this.own.add(id);
      return this.turns.at(-1)!;
    }
    this.at.set(id, at);
    if (!this.own.has(id)) {
      const turn = this.turns[at]!;
      this.turns[at] = { ...turn, items: [...turn.items], drafts: [...turn.drafts] };
      this.own.add(id);
    }
    return this.turns[at]!;
  }
}
