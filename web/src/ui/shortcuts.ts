/** Keys that work everywhere. Single letters do not while somebody writes, and can be off. */
import { useEffect } from "react";
import { useLocation } from "wouter";
import { Observable } from "../wire/observable";
import { recall, remember } from "../wire/storage";
import { copy, htmlOf } from "./clipboard";
import { drawer } from "./drawer";

export const letters = new Observable(recall("letters", true));
letters.subscribe(() => remember("letters", letters.get()));
export const helpShown = new Observable(false);
export const listShown = new Observable(false); // the sheet of sessions, where the window is too narrow for them
const narrow = matchMedia("(max-width: 1023px)");

export const KEYS: [string, string][] = [
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
  ["Esc", "Close what is open, else stop the turn"],
  ["↑", "In an empty field: your last message"],
  ["Ctrl K", "Search sessions"],
  ["N", "New session"],
  ["G A", "Approvals"],
  ["G U", "Usage and cost"],
  ["J / K", "Next / previous message"],
  ["C", "Copy the message in focus"],
  ["End", "To the end of the conversation"],
  ["Ctrl Enter", "In an approval: approve"],
  ["← → Space", "In the audit: step, play"],
  ["↑ ↓ Home End", "In the audit’s list: choose an event"],
  ["?", "This list"],
];

export function useShortcuts({ stop }: { stop: (() => void) | null }): void {
  const [, go] = useLocation();
  useEffect(() => {
    let before = "";
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing) return;
      const key = event.key;
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
        event.preventDefault();
        listShown.set(narrow.matches);
        requestAnimationFrame(() => document.querySelector<HTMLInputElement>("#search")?.focus());
      } else if (key === "Escape") {
        if (document.querySelector("dialog[open]")) return;
        if (listShown.get()) listShown.set(false);
        else if (drawer.get()) drawer.set(null);
        else stop?.();
      } else if (!event.ctrlKey && !event.metaKey && !event.altKey && letters.get() && !isWriting(event.target)) {
        const act = LETTERS[before === "g" ? `g${key}` : key];
        before = key === "g" ? "g" : "";
        if (!act) return;
        event.preventDefault();
        act(go);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [go, stop]);
}

type Act = (go: (path: string) => void) => void;

const LETTERS: Record<string, Act> = {
  n: (go) => go("/"),
  ga: (go) => go("/approvals"),
  gu: (go) => go("/usage"),
  j: () => step(1),
  k: () => step(-1),
  c: () => {
    const row = document.activeElement?.closest<HTMLElement>("[data-row]");
    if (row) void copy(row.innerText, htmlOf(row));
  },
  End: () => document.querySelector<HTMLButtonElement>(".to-end")?.click(),
  "?": () => helpShown.set(true),
};

function isWriting(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable]");
}

function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const at = rows.indexOf(document.activeElement?.closest("[data-row]") as HTMLElement);
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.setAttribute("tabindex", "-1");
  next?.focus();
}
