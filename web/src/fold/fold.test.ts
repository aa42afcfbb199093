/** The golden pages, folded here as on the server. `tests/web/test_fold.py` performs them. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { TurnlogEvent } from "../wire/events";
import { fold, foldAll, isKept } from "./fold";
import { plain } from "./plain";
import { EMPTY, type Screen } from "./screen";

interface Page {
  name: string;
  live: TurnlogEvent[];
  log: TurnlogEvent[];
  screens: unknown[]; // the server's, after each live event
}

const PAGES: Page[] = JSON.parse(readFileSync(process.env["TURNLOG_PAGES"]!, "utf8"));

/** What a person can tell apart: no times of ours, no positions in the stream. */
function seen(screen: Screen): unknown {
  return screen.turns.map((turn) => ({
    ...turn,
    lastIndex: 0,
    items: turn.items.map((item) => ({
      ...item,
      startedAt: "",
      ...(item.kind === "answer" && { parts: item.parts.map((p) => ({ ...p, startedAt: null })) }),
    })),
  }));
}

/** A number for each place, the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  for (let x = seed + 1; ; ) yield (x = (x * 48271) % 2147483647);
}

function cut(events: TurnlogEvent[], seed: number): TurnlogEvent[][] {
  const random = numbers(seed);
  const batches: TurnlogEvent[][] = [];
  for (let at = 0; at < events.length; ) {
    const size = 1 + (random.next().value % 4);
    const again = random.next().value % 3 ? 0 : random.next().value % (at + 1);
    batches.push(events.slice(at - again, at + size)); // some of it is sent again
    at += size;
  }
  return batches;
}

describe.each(PAGES.map((page) => [page.name, page] as const))("%s", (_name, page) => {
  test("is the screen of the server after every event", () => {
    const ids = new Set<string>();
    let screen = EMPTY;
    page.live.forEach((event, at) => {
      screen = fold(screen, [event], ids);
      expect(plain(screen.turns)).toEqual(page.screens[at]);
    });
  });

  test("is the same after a reload", () => {
    const live = seen(foldAll(page.live));
    expect(seen(foldAll(page.log))).toEqual(live);
  });

  test("is the same in whatever batches it comes, some of them twice", () => {
    const whole = foldAll(page.live);
    for (let seed = 1; seed <= 20; seed++) {
      const ids = new Set<string>();
      const screen = cut(page.live, seed).reduce((so_far, b) => fold(so_far, b, ids), EMPTY);
      expect(screen.turns).toEqual(whole.turns);
    }
  });

  test("is the same when a tab reloads in the middle and goes on from there", () => {
    const whole = seen(foldAll(page.live));
    for (let at = 0; at < page.live.length; at++) {
      const ids = new Set<string>();
      const kept = fold(EMPTY, page.live.slice(0, at).filter(isKept), ids);
      const after = keptUpTo(page.live, at); // chunks of what is not kept come again
      expect(seen(fold(kept, page.live.slice(after), ids))).toEqual(whole);
    }
  });

  test("leaves what a batch does not touch as it is", () => {
    const before = foldAll(page.live);
    const after = fold(before, []);
    expect(after.turns.every((turn, at) => turn === before.turns[at])).toBe(true);
  });
});

function keptUpTo(events: TurnlogEvent[], at: number): number {
  return events.slice(0, at).findLastIndex(isKept) + 1;
}

test("characters beyond the first plane keep their places", () => {
  const page = PAGES.find((one) => one.name.startsWith("26"))!;
  const text = "😀 30 days";
  const events = page.log.map((event) =>
    event.type === "message"
      ? {
          ...event,
          content: text,
          blocks: [
            { blockIndex: 0, start: 0, end: 2 },
            { blockIndex: 1, start: 2, end: 9 },
          ],
          citations: [],
        }
      : event,
  );
  const answer = foldAll(events).turns[0]!.items.find((item) => item.kind === "answer")!;
  expect(answer.parts.map((part) => part.content)).toEqual(["😀 ", "30 days"]);
});
