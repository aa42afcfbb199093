/** Which panels are open, by key and outside of the rows: a panel stays as the user left it. */
import { useCallback, useSyncExternalStore } from "react";

const touched = new Map<string, boolean>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Open or not, and a way to change it. Until the user touches it, `otherwise` holds. */
export function usePanel(key: string, otherwise: boolean): [boolean, () => void] {
  const open = useSyncExternalStore(subscribe, () => touched.get(key) ?? otherwise);
  const toggle = useCallback(() => {
    touched.set(key, !(touched.get(key) ?? otherwise));
    listeners.forEach((listener) => listener());
  }, [key, otherwise]);
  return [open, toggle];
}
