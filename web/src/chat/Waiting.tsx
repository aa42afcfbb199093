/** Nothing to show yet: quiet dots, and after a while for what one waits. */
import type { ReactNode } from "react";
import { connection, isLost } from "../wire/live";
import { useValue } from "../wire/observable";
import { useSeconds } from "../ui/time";

const LONG = 10; // seconds after which a wait is explained

export function Waiting({ since }: { since: string }): ReactNode {
  const lost = isLost(useValue(connection));
  const seconds = useSeconds(since);
  if (lost) return <p className="awaited muted">Waiting for the connection</p>;
  return (
    <div className="awaited">
      <span className="dots" aria-hidden>
        <i />
        <i />
        <i />
      </span>
      {seconds >= LONG && seconds < 3600 && <span className="muted">Still waiting for the model ({seconds} s)</span>}
    </div>
  );
}
