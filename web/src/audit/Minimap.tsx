/** The session at a glance: a lane for each agent, the cost as it grew, and the tools. */
import { useMemo, type ReactNode } from "react";
import { config, titleOf } from "../wire/config";
import { count, duration, money } from "../ui/format";
import { agentColour } from "../ui/agents";
import { toolSums, type LogEvent } from "./log";

const [WIDTH, LANE, COST] = [368, 16, 64];

interface Props {
  events: LogEvent[];
  at: number;
  go: (at: number) => void;
}

export function Minimap({ events, at, go }: Props): ReactNode {
  const agents = useMemo(() => [...new Map(events.map((event) => [event.agent.id, event.agent])).values()], [events]);
  const tools = useMemo(() => toolSums(events), [events]);
  const costs = useMemo(() => running(events), [events]);
  const x = (n: number): number => (events.length < 2 ? 0 : (n / (events.length - 1)) * (WIDTH - 6)) + 3;
  const most = costs.at(-1) || 1;
  const nameOf = (id: string, name: string): string => config.get()?.agents.find((one) => one.id === id)?.name ?? name;
  return (
    <div className="minimap">
      <h3>Who spoke when</h3>
      {agents.map((agent) => (
        <svg key={agent.id} viewBox={`0 0 ${WIDTH} ${LANE}`} role="img" aria-label={`Events of ${nameOf(agent.id, agent.name)}`} className={agentColour(agent.id)}>
          <title>{nameOf(agent.id, agent.name)}</title>
          <rect x={0} y={LANE / 2 - 0.5} width={WIDTH} height={1} className="lane" />
          {events.map((event, n) => event.agent.id === agent.id && <rect key={event.eventId} x={x(n) - 1.5} y={3} width={3} height={LANE - 6} rx={1.5} className={event.type === "error" ? "mark failed" : "mark"} onClick={() => go(n)} />)}
          <rect x={x(at) - 0.5} y={0} width={1} height={LANE} className="now" />
        </svg>
      ))}
      <p className="lanes muted">{agents.map((agent) => <span key={agent.id} className={agentColour(agent.id)}><i /> {nameOf(agent.id, agent.name)}</span>)}</p>
      <h3>Cost: {money(costs[at] ?? 0)} of {money(costs.at(-1) ?? 0)}</h3>
      <svg viewBox={`0 0 ${WIDTH} ${COST}`} role="img" aria-label="Cost as it grew">
        <polyline className="cost" points={costs.map((usd, n) => `${x(n)},${COST - 3 - (usd / most) * (COST - 8)}`).join(" ")} />
        <rect x={x(at) - 0.5} y={0} width={1} height={COST} className="now" />
      </svg>
      <h3>Tools</h3>
      {tools.length === 0 ? (
        <p className="muted">No tool was called.</p>
      ) : (
        <div className="table" role="region" aria-label="Tools" tabIndex={0}>
          <table>
            <thead><tr><th>Tool</th><th className="align-right">Calls</th><th className="align-right">Failed</th><th className="align-right">Median</th></tr></thead>
            <tbody>
              {tools.map((tool) => (
                <tr key={tool.name}><td>{titleOf(tool.name)}</td><td className="align-right">{count(tool.calls)}</td><td className="align-right">{count(tool.failures)}</td><td className="align-right">{duration(tool.median)}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function running(events: LogEvent[]): number[] {
  let usd = 0;
  return events.map((event) => (usd += event.type === "message" ? Number(event["costUsd"] ?? 0) : 0));
}
