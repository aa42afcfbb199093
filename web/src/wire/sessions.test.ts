/** What is listed is what was asked for last, whichever answer comes last. */
import { beforeEach, expect, test, vi } from "vitest";
import { list, more, refresh, type Session } from "./sessions";

const answers = vi.hoisted(() => new Map<string, (page: unknown) => void>()); // by what was asked for
const asksFor = vi.hoisted(() => (path: string) => /cursor=(\w+)/.exec(path)?.[1] ?? (path.includes("archived") ? "archived" : "others"));
vi.mock("./http", () => ({ get: (path: string) => new Promise((resolve) => answers.set(asksFor(path), resolve)) }));

const named = (...ids: string[]): Session[] => ids.map((id) => ({ id }) as Session);
const shown = (): string[] => list.get().sessions.map(({ id }) => id);

beforeEach(() => answers.clear());
beforeEach(() => list.set({ sessions: named("a"), cursor: "older", search: "", archived: false, loaded: true }));

test("a late answer does not undo what was chosen since", async () => {
  const looks = [refresh(), refresh("", true)];
  answers.get("archived")!({ sessions: named("z"), cursor: null });
  answers.get("others")!({ sessions: named("a"), cursor: null });
  await Promise.all(looks);
  expect([shown(), list.get().archived]).toEqual([["z"], true]);
});

test("a look of the page's own does not undo what somebody waits for", async () => {
  void refresh("", true);
  const own = refresh();
  for (const answer of answers.values()) answer({ sessions: named("z"), cursor: null });
  await own;
  expect([shown(), list.get().archived]).toEqual([["z"], true]);
});

test("older sessions follow what is listed by then", async () => {
  const asked = more();
  list.update((now) => ({ ...now, sessions: named("new", "a") }));
  answers.get("older")!({ sessions: named("b"), cursor: null });
  await asked;
  expect(shown()).toEqual(["new", "a", "b"]);
});

test("older sessions of another list are left out", async () => {
  const asked = more();
  list.set({ sessions: named("z"), cursor: null, search: "", archived: true, loaded: true });
  answers.get("older")!({ sessions: named("b"), cursor: null });
  await asked;
  expect(shown()).toEqual(["z"]);
});

test("another look at the newest keeps the older ones that were loaded", async () => {
  const active = (id: string, day: string): Session => ({ id, lastActivityAt: `2026-11-${day}` }) as Session;
  const loaded = [active("a", "18"), active("gone", "17"), active("b", "16"), active("c", "15")];
  list.set({ sessions: loaded, cursor: "oldest", search: "", archived: false, loaded: true });
  const look = refresh();
  answers.get("others")!({ sessions: [active("new", "18"), active("a", "18"), active("b", "16")], cursor: "older" });
  await look;
  expect([shown(), list.get().cursor]).toEqual([["new", "a", "b", "c"], "oldest"]);
});
