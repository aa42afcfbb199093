/** The user's answer to a question: sent once, and told by whoever shows the card. */
import { useRef, useState } from "react";
import { post, Problem, sentence } from "../wire/http";
import type { Approval, Decision } from "../fold/screen";

// What this page has answered itself. A reload does not know it.
export const answeredHere = new Set<string>();
export const handsFocus = new Set<string>(); // those whose buttons had the focus when they were answered

export interface Answer {
  approved: boolean;
  reason?: string;
  args?: Record<string, unknown>; // where they were changed
}

interface Taken {
  decidedBy: string | null;
  decidedAt: string | null;
  reason: string | null;
}

interface Answering {
  sending: "approve" | "reject" | null;
  failed: string;
  answer: (answer: Answer) => Promise<void>;
}

/** `decided`: what the server has taken; null where somebody else was first. */
export function useAnswer(approval: Approval, decided: (decision: Decision | null) => void): Answering {
  const [sending, setSending] = useState<"approve" | "reject" | null>(null);
  const [failed, setFailed] = useState("");
  const busy = useRef(false);
  const answer = async (given: Answer): Promise<void> => {
    if (busy.current) return;
    busy.current = true;
    setSending(given.approved ? "approve" : "reject");
    answeredHere.add(approval.key);
    handsFocus.add(approval.key);
    try {
      const taken = await post<Taken>(`/api/approvals/${approval.key}`, given);
      const { decidedBy, decidedAt, reason } = taken;
      decided({ approved: given.approved, decidedBy: decidedBy ?? "", reason, args: given.args ?? null, at: decidedAt ?? "" });
    } catch (error) {
      answeredHere.delete(approval.key);
      handsFocus.delete(approval.key);
      setSending(null);
      if (error instanceof Problem && error.status === 409) decided(null);
      else setFailed(error instanceof Problem && error.status === 404 ? "You may not decide this." : sentence(error));
    } finally {
      busy.current = false;
    }
  };
  return { sending, failed, answer };
}
