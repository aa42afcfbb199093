/** Three things to try, from the tools that are connected. */
import type { AgentInfo } from "../wire/config";

// The first tool of a row that somebody has makes the suggestion. In the order of interest.
// The simulated model understands each of them.
const KNOWN: [RegExp, string][] = [
  [/^create_customer$/, 'Create a customer called "Atelier Rhône" in Lyon'],
  [/^(find|list|search)_items?$/, "List the items"],
  [/^add_task$/, "Add a task: call Adatum on Friday"],
  [/^list_tasks$/, "Show me my tasks"],
  [/^(find|list|search)_customers?$/, "List all customers"],
  [/^search_(documents|knowledge|files)|^knowledge/, "What do my documents say about payment terms?"],
  [/^calculate$/, "What is 4250 * 0.19?"],
  [/^current_time$/, "What time is it?"],
];
const ANY = ["What can you do?", "Explain in three sentences how you work", "Write a short status mail"];

export function suggestions(agents: AgentInfo[], only: string | null): string[] {
  const chosen = only ? agents.filter((agent) => agent.id === only) : agents;
  const names = chosen.flatMap((agent) => agent.tools ?? []).map((tool) => tool.name);
  const fitting = KNOWN.filter(([pattern]) => names.some((name) => pattern.test(name))).map(([, text]) => text);
  return [...fitting, ...ANY].slice(0, 3);
}
