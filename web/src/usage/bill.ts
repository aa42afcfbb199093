/** A bill as the server tells it, and what the page makes of it. */

export interface Sums {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cache_write_tokens: number;
  cache_read_tokens: number;
  total_tokens: number;
  partial_calls: number;
  cost_usd: number | null;
  known_cost_usd: number;
  unpriced: number;
}

export interface DayPart {
  day: string;
  agent?: string;
  model?: string;
  known_cost_usd: number;
}

export interface Bill {
  user_id?: string;
  total_sessions: number;
  total_tokens: number;
  total_cost_usd: number | null;
  known_cost_usd: number;
  unpriced: number;
  timezone: string;
  by_day: (Sums & { day: string })[];
  by_model: (Sums & { model: string })[];
  by_agent: (Sums & { agent: string })[];
  by_user?: (Sums & { user: string })[];
  by_day_and_agent: DayPart[];
  by_day_and_model: DayPart[];
  budgets?: import("../chat/budget").BudgetState[];
}

export interface Range {
  from: string; // a day; in
  to: string; // a day; in
}

const DAY = 86_400_000;

export const dayText = (date: Date): string => date.toISOString().slice(0, 10);

export function lastDays(days: number, now = new Date()): Range {
  return { from: dayText(new Date(now.getTime() - (days - 1) * DAY)), to: dayText(now) };
}

/** For the server the last day is not in it. */
export function query(range: Range): string {
  const end = dayText(new Date(Date.parse(range.to) + DAY));
  return `startDate=${range.from}&endDate=${end}`;
}

export function daysOf(range: Range): string[] {
  const days: string[] = [];
  for (let at = Date.parse(range.from); at <= Date.parse(range.to) && days.length < 400; at += DAY) {
    days.push(dayText(new Date(at)));
  }
  return days;
}

export interface Series {
  names: string[]; // the most expensive first
  days: { day: string; parts: { name: string; usd: number }[]; usd: number }[];
}

export function series(bill: Bill, by: "agent" | "model", range: Range): Series {
  const rows = by === "agent" ? bill.by_day_and_agent : bill.by_day_and_model;
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row[by]!, (sums.get(row[by]!) ?? 0) + Number(row.known_cost_usd));
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const days = daysOf(range).map((day) => {
    const mine = rows.filter((row) => row.day === day);
    const parts = names
      .map((name) => ({ name, usd: Number(mine.find((row) => row[by] === name)?.known_cost_usd ?? 0) }))
      .filter((part) => part.usd > 0);
    return { day, parts, usd: parts.reduce((sum, part) => sum + part.usd, 0) };
  });
  return { names, days };
}

/** The end of an axis: the next round number. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((n) => n * step).find((n) => n >= value)!;
}

/** With as many digits as a quarter needs: 0.025 must not be told as 0.03. */
export function axisLabel(usd: number, most: number): string {
  const quarter = Number((most / 4).toPrecision(6));
  const digits = [0, 1, 2, 3, 4, 5].find((n) => Number(quarter.toFixed(n)) === quarter) ?? 6;
  return `$${usd.toFixed(digits)}`;
}

export function sum(rows: Sums[], name: "input_tokens" | "output_tokens" | "cache_read_tokens" | "cache_write_tokens" | "calls" | "partial_calls"): number {
  return rows.reduce((total, row) => total + row[name], 0);
}
