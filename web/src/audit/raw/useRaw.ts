/** The raw answer behind an event. It is asked for when somebody wants to see it: each read is kept. */
import { useEffect, useState } from "react";
import { get, sentence } from "../../wire/http";
import type { LogEvent } from "../log";
import { eventsOf, type RawEvent } from "./stream";

export interface Raw {
  events: RawEvent[];
  bytes: number;
  body: string;
}

export type Found = Raw | { failed: string } | null; // null: on its way

export function useRaw(sessionId: string, answer: LogEvent | null, wanted: boolean): Found {
  const [known, setKnown] = useState<Record<string, Found>>({});
  const key = answer?.eventId ?? "";
  const missing = wanted && answer !== null && !(key in known);
  useEffect(() => {
    if (!missing) return;
    const keep = (found: Found): void => setKnown((now) => ({ ...now, [key]: found }));
    keep(null);
    get<{ bytes: number; body: string }>(`/api/sessions/${sessionId}/raw/${answer!.sequenceNumber}`)
      .then(({ bytes, body }) => keep({ bytes, body, events: eventsOf(body) }))
      .catch((error: unknown) => keep({ failed: sentence(error) }));
  }, [missing, key]);
  return known[key] ?? null;
}
