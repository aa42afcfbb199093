/** Three things to try, from the tools that are connected. */
import type { AgentInfo } from "../wire/config";

// The first tool of a row that somebody has makes the suggestion. In the order of interest.
const KNOWN: [RegExp, string][] = [
  [/^create_customer$/, 'Create a customer called "Atelier Rhône" in Lyon'],
  [/^(list_tasks|add_task)$/, "Show me my tasks"],
  [/^(find|list|search|get)_(items?|inventory)/, "Which items are in stock, and what do they cost?"],
  [/^(find|list|search|get)_customers?/, "Find the customers in Atlanta"],
  [/^search_(documents|knowledge|files)|^knowledge/, "What do my documents say about payment terms?"],
  [/^calculate$/, "What is 19 % of 4,250?"],
  [/^current_time$/, "What time is it in UTC?"],
];
const ANY = ["What can you do?", "Explain in three sentences how you work", "Write a short status mail"];

export function suggestions(agents: AgentInfo[], only: string | null): string[] {
  const chosen = only ? agents.filter((agent) => agent.id === only) : agents;
  const names = chosen.flatMap((agent) => agent.tools ?? []).map((tool) => tool.name);
  const fitting = KNOWN.filter(([pattern]) => names.some((name) => pattern.test(name))).map(([, text]) => text);
  return [...fitting, ...ANY].slice(0, 3);
}
