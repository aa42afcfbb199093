/** What the draft would cost. Asked for when the user rests; nothing is sent or kept by it. */
import { useEffect, useState } from "react";
import { post } from "../wire/http";
import { connection } from "../wire/live";
import { useValue } from "../wire/observable";
import type { Draft } from "../wire/outbox";
import { count, money } from "../ui/format";

const REST = 1_000; // ms without a change

export interface Estimate {
  inputTokens: number;
  estimatedCostUsd: number | string | null;
  wouldExceedBudget: boolean;
}

/** `idle`: no turn runs. While one does, nobody knows what the next message is sent with. */
export function useEstimate(sessionId: string | null, draft: Draft, idle: boolean): Estimate | null {
  const [known, setKnown] = useState<{ of: Draft; estimate: Estimate } | null>(null);
  const isLive = useValue(connection) === "live";
  const wanted = sessionId !== null && idle && isLive && draft.text.trim() !== "";
  useEffect(() => {
    if (!wanted) return;
    let gone = false;
    const ask = (): void =>
      void post<Estimate>(`/api/sessions/${sessionId}/estimate`, { message: draft.text, fileIds: draft.files.map((file) => file.id) })
        .then((estimate) => gone || setKnown({ of: draft, estimate }))
        .catch(() => {}); // it is a help, not a condition
    const timer = setTimeout(ask, REST);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [wanted, sessionId, draft]);
  return wanted && known?.of === draft ? known.estimate : null;
}

export function inWords({ inputTokens, estimatedCostUsd }: Estimate): string {
  const cost = estimatedCostUsd === null ? "" : `, ${money(Number(estimatedCostUsd))}`;
  return `≈ ${count(inputTokens)} tokens${cost}`;
}
