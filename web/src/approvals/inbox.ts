/** What the inbox shows. Nothing moves in it: a click must not meet another question than the one that was read. */
import { useRef } from "react";
import { useValue } from "../wire/observable";
import { pending, type Pending } from "./pending";

export interface Item {
  asked: Pending;
  isOpen: boolean;
}

/** Open questions, oldest first, and in their places those that were open since the page came. */
export function useInbox(): Item[] {
  const open = useValue(pending);
  const seen = useRef(new Map<string, Pending>());
  for (const each of open) seen.current.set(each.id, each);
  const ids = new Set(open.map((each) => each.id));
  return [...seen.current.values()].map((asked) => ({ asked, isOpen: ids.has(asked.id) }));
}
