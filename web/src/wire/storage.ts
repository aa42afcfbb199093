/** What a browser remembers for us. Storage may be full or forbidden: then nothing is kept. */
import { root } from "./place";

// Two servers under one address do not share drafts or tokens. The theme is everybody's.
const nameOf = (name: string): string => (name === "theme" ? "turnlog.theme" : `turnlog${root}.${name}`);

export function recall<T>(name: string, otherwise: T, storage = local): T {
  try {
    const text = storage()?.getItem(nameOf(name));
    return text == null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function remember(name: string, value: unknown, storage = local): void {
  try {
    if (value === null || value === undefined) storage()?.removeItem(nameOf(name));
    else storage()?.setItem(nameOf(name), JSON.stringify(value));
  } catch {
    /* the page works without */
  }
}

/** Another tab of this browser has changed it. */
export function whenChanged(name: string, heard: () => void): void {
  window.addEventListener("storage", (event) => {
    if (event.storageArea === local() && (event.key === nameOf(name) || event.key === null)) heard();
  });
}

/** One tab of this browser after the other. Without locks (on plain http) each does it when it wants to. */
export async function alone(name: string, act: () => Promise<void>): Promise<void> {
  const locks = navigator.locks as LockManager | undefined;
  if (!locks) return act();
  await locks.request(nameOf(name), act);
}

/** Only for this tab, until it is closed. */
export const tab = (): Storage | null => storageOf("sessionStorage");
export const local = (): Storage | null => storageOf("localStorage");

function storageOf(name: "localStorage" | "sessionStorage"): Storage | null {
  try {
    return window[name];
  } catch {
    return null;
  }
}
