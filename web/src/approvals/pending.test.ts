/** What is to be allowed is what was looked for last, whichever answer comes last. */
import { expect, test, vi } from "vitest";
import { look, pending, type Pending } from "./pending";

const answers = vi.hoisted(() => [] as ((page: unknown) => void)[]);
vi.mock("../wire/http", () => ({ get: () => new Promise((resolve) => answers.push(resolve)) }));
vi.mock("../wire/config", () => ({ known: Promise.resolve() }));

test("a late answer does not bring back what was decided since", async () => {
  const asked = [{ id: "a", args: {} } as Pending];
  const looks = [look(), look()];
  answers[1]!({ approvals: [] });
  answers[0]!({ approvals: asked });
  await Promise.all(looks);
  expect(pending.get()).toEqual([]);
});
