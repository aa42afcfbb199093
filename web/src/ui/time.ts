/** Clocks for what waits. They tick once a second, and only while somebody looks. */
import { useEffect, useState } from "react";

/** Whole seconds since a moment; 0 where there is none. */
export function useSeconds(since: string | null): number {
  const now = useNow(since !== null);
  return since === null ? 0 : Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
}

export function useNow(ticking: boolean, every = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [ticking, every]);
  return now;
}
