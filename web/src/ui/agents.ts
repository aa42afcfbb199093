/** The colour of an agent, the same everywhere. */
import { agentIndex } from "../wire/config";

/** By its place among the agents: a1 to a6, then grey. */
export function agentColour(id: string): string {
  const at = agentIndex(id);
  return at >= 0 && at < 6 ? `a${at + 1}` : "a0";
}
