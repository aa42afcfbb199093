/** Above the composer: the connection, an approval that is out of view, what waits to be sent. */
import { useEffect, useState, type ReactNode } from "react";
import { ArrowDown, Pencil, X } from "lucide-react";
import type { Approval } from "../fold/screen";
import { tryNow, type Connection } from "../wire/live";
import type { Outbox, Outgoing } from "../wire/outbox";

interface Props {
  outbox: Outbox;
  queue: Outgoing[];
  waitsFor: Approval[];
  state: Connection;
  refreshed: number;
  notStopped: string; // why the turn could not be stopped
  warning: string | null;
  putAway: () => void; // the warning
  restore: (() => void) | null; // of a session that is archived
}

export function Notices({ outbox, queue, waitsFor, state, refreshed, notStopped, warning, putAway, restore }: Props): ReactNode {
  return (
    <div className="notices">
      {state === "offline" && (
        <div className="notice warn">
          <span>No connection. Your text is kept here.</span>
          <button type="button" className="button small" onClick={tryNow}>
            Try now
          </button>
        </div>
      )}
      {notStopped && <p className="notice bad" role="alert">The turn was not stopped. {notStopped}</p>}
      {restore && (
        <div className="notice">
          <span>This session is archived.</span>
          <button type="button" className="button small" onClick={restore}>
            Restore
          </button>
        </div>
      )}
      {warning && (
        <div className="notice warn">
          <span>{warning}</span>
          <button type="button" className="icon-button" aria-label="Put this away" onClick={putAway}>
            <X aria-hidden />
          </button>
        </div>
      )}
      {waitsFor[0] && <OutOfView approval={waitsFor[0]} />}
      <Refreshed times={refreshed} />
      {queue.map((message) => (
        <div className="notice" key={message.requestId}>
          <span className="pill">Sends after this turn</span>
          <span className="queued">{message.text}</span>
          <button type="button" className="icon-button" aria-label="Edit" onClick={() => (outbox.unqueue(message), outbox.draft.set({ text: message.text, files: message.files }))}>
            <Pencil aria-hidden />
          </button>
          <button type="button" className="icon-button" aria-label="Remove" onClick={() => outbox.unqueue(message)}>
            <X aria-hidden />
          </button>
        </div>
      ))}
    </div>
  );
}

/** A chip that leads to an open approval, while that cannot be seen. */
function OutOfView({ approval }: { approval: Approval }): ReactNode {
  const [hidden, setHidden] = useState(false);
  const find = (): HTMLElement | null => document.querySelector(`[data-approval="${CSS.escape(approval.key)}"]`);
  useEffect(() => {
    const card = find();
    if (!card) return setHidden(true);
    const observer = new IntersectionObserver(([entry]) => setHidden(!entry!.isIntersecting));
    observer.observe(card);
    return () => observer.disconnect();
  }, [approval.key]);
  if (!hidden) return null;
  return (
    <button type="button" className="chip warn" onClick={() => find()?.scrollIntoView({ block: "center" })}>
      Waiting for your approval <ArrowDown aria-hidden />
    </button>
  );
}

function Refreshed({ times }: { times: number }): ReactNode {
  const [shown, setShown] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => setShown(times), 3000);
    return () => clearTimeout(timer);
  }, [times]);
  return times > shown ? <div className="notice small-text">Refreshed</div> : null;
}
