/** Sessions by the day of their last activity. */
import { lastActivity, type Session } from "../wire/sessions";

const DAY = 86_400_000;

export function grouped(sessions: Session[]): [string, Session[]][] {
  const groups = new Map<string, Session[]>();
  for (const session of sessions) {
    const name = nameOf(new Date(lastActivity(session)));
    groups.set(name, [...(groups.get(name) ?? []), session]);
  }
  return [...groups];
}

function nameOf(date: Date): string {
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const age = midnight.getTime() - date.getTime();
  if (age <= 0) return "Today";
  if (age <= DAY) return "Yesterday";
  if (age <= 7 * DAY) return "Last week";
  return date.toLocaleString("en-US", { month: "long", year: "numeric" });
}
