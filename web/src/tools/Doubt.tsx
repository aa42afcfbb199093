/** A write of which nobody knows whether it took effect: a person looks, and says. */
import { useEffect, useState, type ReactNode } from "react";
import { Problem, sentence } from "../wire/http";
import { useValue } from "../wire/observable";
import { useSessionId } from "../chat/SessionContext";
import { doubts, loadDoubts, settle } from "./doubts";

export function Doubt({ toolUseId, title }: { toolUseId: string; title: string }): ReactNode {
  const sessionId = useSessionId();
  const [note, setNote] = useState("");
  const [sending, setSending] = useState(false);
  const [failed, setFailed] = useState("");
  const open = useValue(doubts);
  useEffect(() => void loadDoubts().catch(() => {}), []);
  const say = async (happened: boolean): Promise<void> => {
    setSending(true);
    setFailed("");
    try {
      await settle({ sessionId, toolUseId }, happened, note);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) void loadDoubts().catch(() => {}); // somebody was faster
      else setFailed(sentence(error));
    }
    setSending(false);
  };
  if (open === null) return <p className="warn">It is not known whether “{title}” happened.</p>;
  if (!open.some((run) => run.sessionId === sessionId && run.toolUseId === toolUseId)) {
    return <p className="muted">It was not known whether this happened. Somebody has looked and said it; the model is told with the next message.</p>;
  }
  return (
    <div className="doubt">
      <p className="warn">It is not known whether “{title}” happened. Look in the system itself, then say:</p>
      <input type="text" value={note} onChange={(event) => setNote(event.target.value)} placeholder="Note (optional)" aria-label="Note" />
      <div className="actions">
        <button type="button" className="button" disabled={sending} onClick={() => void say(true)}>
          It happened
        </button>
        <button type="button" className="button" disabled={sending} onClick={() => void say(false)}>
          It did not
        </button>
      </div>
      {failed && <p className="bad" role="alert">{failed}</p>}
    </div>
  );
}
