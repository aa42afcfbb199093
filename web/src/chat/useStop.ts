/** Stopping the turn. The user sees that it was asked for, and when it could not be. */
import { useCallback, useState } from "react";
import { post, sentence } from "../wire/http";

interface Stop {
  stop: () => void;
  stopping: boolean;
  failed: string; // why it could not be asked for
}

/** `turnId`: the one that runs or waits. No later one is stopped, and what was said about another is forgotten. */
export function useStop(sessionId: string, turnId: string | null): Stop {
  const [asked, ask] = useState<{ turnId: string; failed: string } | null>(null);
  const mine = asked?.turnId === turnId ? asked : null;
  const stopping = mine !== null && !mine.failed;
  const stop = useCallback(() => {
    if (!turnId || stopping) return;
    ask({ turnId, failed: "" });
    post(`/api/sessions/${sessionId}/stop?turnId=${turnId}`).catch((error: unknown) => ask({ turnId, failed: sentence(error) }));
  }, [sessionId, turnId, stopping]);
  return { stop, stopping, failed: mine?.failed ?? "" };
}
