/** How the connection stands: a colour and a word. A drop that heals at once is not told. */
import type { ReactNode } from "react";
import type { Connection } from "../wire/live";

const WORDS: Record<Connection, string> = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Live",
  reconnecting: "Reconnecting…",
  offline: "Offline",
};

export function ConnectionDot({ state }: { state: Connection }): ReactNode {
  const live = state === "live" || state === "lost";
  return (
    <span className={live ? "connection ok" : "connection muted"} data-state={state}>
      <i className="dot" /> {WORDS[state]}
    </span>
  );
}
