/** A write of which nobody knows whether it took effect: a person looks, and says. */
import { useState, type ReactNode } from "react";
import { post, sentence } from "../wire/http";
import { useSessionId } from "../chat/SessionContext";

export function Doubt({ toolUseId, title }: { toolUseId: string; title: string }): ReactNode {
  const sessionId = useSessionId();
  const [note, setNote] = useState("");
  const [state, setState] = useState<"open" | "sending" | "said">("open");
  const [failed, setFailed] = useState("");
  const say = async (happened: boolean): Promise<void> => {
    setState("sending");
    try {
      await post(`/api/sessions/${sessionId}/doubts/${toolUseId}`, { happened, ...(note && { note }) });
      setState("said");
    } catch (error) {
      setFailed(sentence(error));
      setState("open");
    }
  };
  if (state === "said") return <p className="muted">Noted. The model is told with your next message.</p>;
  return (
    <div className="doubt">
      <p className="warn">It is not known whether “{title}” happened. Look in the system itself, then say:</p>
      <input type="text" value={note} onChange={(event) => setNote(event.target.value)} placeholder="Note (optional)" aria-label="Note" />
      <div className="actions">
        <button type="button" className="button" disabled={state === "sending"} onClick={() => void say(true)}>
          It happened
        </button>
        <button type="button" className="button" disabled={state === "sending"} onClick={() => void say(false)}>
          It did not
        </button>
      </div>
      {failed && <p className="bad" role="alert">{failed}</p>}
    </div>
  );
}
