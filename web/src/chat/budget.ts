/** What is left to spend. At 80 % the user is warned, once a session, at 100 % nothing is sent. */
import { useEffect, useState } from "react";
import { get } from "../wire/http";
import { recall, remember, tab } from "../wire/storage";
import { count, money } from "../ui/format";

export interface BudgetState {
  per: string;
  limit_usd: number | string | null;
  spent_usd: number | string;
  limit_tokens: number | null;
  spent_tokens: number;
  resets_at?: string | null;
}

export interface Standing {
  refused: string | null;
  warning: string | null;
}

const FINE: Standing = { refused: null, warning: null };

/** `stand`: how the turns stand. When one is over, it has cost something. */
export function useBudget(sessionId: string, stand: string): Standing & { putAway: () => void } {
  const [standing, setStanding] = useState(FINE);
  const name = `warned.${sessionId}`;
  const [isAway, setAway] = useState(() => recall(name, false, tab));
  useEffect(() => {
    let gone = false;
    get<{ budgets?: BudgetState[] }>(`/api/billing/sessions/${sessionId}`)
      .then((bill) => gone || setStanding(standingOf(bill.budgets ?? [])))
      .catch(() => {});
    return () => void (gone = true);
  }, [sessionId, stand]);
  const putAway = (): void => {
    remember(name, true, tab);
    setAway(true);
  };
  return { ...standing, warning: isAway ? null : standing.warning, putAway };
}

export function share(budget: BudgetState): number {
  const usd = budget.limit_usd === null ? 0 : Number(budget.spent_usd) / Number(budget.limit_usd);
  const tokens = budget.limit_tokens === null ? 0 : budget.spent_tokens / budget.limit_tokens;
  return Math.max(usd, tokens);
}

export function amount(budget: BudgetState): string {
  return budget.limit_usd !== null
    ? `${money(Number(budget.spent_usd))} of ${money(Number(budget.limit_usd))}`
    : `${count(budget.spent_tokens)} of ${count(budget.limit_tokens ?? 0)} tokens`;
}

export function standingOf(budgets: BudgetState[]): Standing {
  const worst = [...budgets].sort((a, b) => share(b) - share(a))[0];
  if (!worst || share(worst) < 0.8) return FINE;
  const reset = worst.resets_at ? ` It resets ${new Date(worst.resets_at).toLocaleString("en-GB")}.` : "";
  if (share(worst) >= 1) return { refused: `The budget of this ${worst.per} is used up: ${amount(worst)}.${reset}`, warning: null };
  return { refused: null, warning: `${Math.floor(share(worst) * 100)} % of the budget of this ${worst.per} is used: ${amount(worst)}.` };
}
