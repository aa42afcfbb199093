/** In the place of the answer, or under it: how the turn ended, and what can be done. */
import { useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import { CircleAlert } from "lucide-react";
import type { Turn } from "../fold/screen";
import { list, load } from "../wire/sessions";
import { useActions } from "./Actions";
import { prepare } from "./continuation";
import { useSessionId } from "./SessionContext";
import { ENDINGS } from "./words";

export function Ending({ turn, reason }: { turn: Turn; reason: string }): ReactNode {
  const { fill, again } = useActions();
  const [, go] = useLocation();
  const sessionId = useSessionId();
  const [preparing, setPreparing] = useState(false);
  const summarize = async (): Promise<void> => {
    setPreparing(true);
    const known = list.get().sessions.find((one) => one.id === sessionId);
    await Promise.resolve(known ?? load(sessionId))
      .then((session) => prepare(sessionId, session.title ?? ""))
      .then(() => go("/"))
      .catch(() => setPreparing(false));
  };
  if (turn.failure && reason === "error") {
    return (
      <div className="ending bad" role="note">
        <CircleAlert aria-hidden />
        <p>
          {turn.failure.error} <code>{turn.failure.code}</code>
        </p>
        {turn.failure.retryable && turn.question && (
          <button type="button" className="button small" onClick={() => again(turn)}>
            Retry
          </button>
        )}
      </div>
    );
  }
  const ending = ENDINGS[reason];
  if (!ending) return null;
  return (
    <div className={`ending ${ending.tone}`} role="note">
      <p>{ending.text}</p>
      {ending.action === "continue" && (
        <button type="button" className="button small" onClick={() => fill("Continue.")}>
          Continue
        </button>
      )}
      {ending.action === "again" && turn.question && (
        <button type="button" className="button small" onClick={() => again(turn)}>
          Ask again
        </button>
      )}
      {ending.action === "new" && (
        <>
          <button type="button" className="button small" disabled={preparing} onClick={() => void summarize()}>
            {preparing && <span className="spinner" aria-hidden />} New session with a summary
          </button>
          <button type="button" className="button ghost small" onClick={() => go("/")}>
            New session
          </button>
        </>
      )}
    </div>
  );
}
