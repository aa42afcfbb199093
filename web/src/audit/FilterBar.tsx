/** Which events are listed: by kind with counts, by agent, by text. */
import { useEffect, useRef, type ReactNode } from "react";
import { FILTERS, type Filter, type LogEvent } from "./log";

export interface Chosen {
  filter: Filter;
  agent: string;
  text: string;
}

const NAMES: Record<Filter, string> = { all: "All", messages: "Messages", tools: "Tools", approvals: "Approvals", internal: "Internal", errors: "Errors" };

export function FilterBar({ events, chosen, set }: { events: LogEvent[]; chosen: Chosen; set: (chosen: Chosen) => void }): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const agents = [...new Map(events.map((event) => [event.agent.id, event.agent.name]))];
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== "/" || (event.target as HTMLElement).closest("input, textarea, select")) return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <div className="filters">
      <div className="kinds" role="group" aria-label="Which events">
        {(Object.keys(NAMES) as Filter[]).map((name) => (
          <button key={name} type="button" className={chosen.filter === name ? "chip on" : "chip"} aria-pressed={chosen.filter === name} onClick={() => set({ ...chosen, filter: name })}>
            {NAMES[name]} {events.filter(FILTERS[name]).length}
          </button>
        ))}
        <select aria-label="Agent" value={chosen.agent} onChange={(event) => set({ ...chosen, agent: event.target.value })}>
          <option value="">Agent: any</option>
          {agents.map(([id, name]) => (
            <option key={id} value={id}>{name}</option>
          ))}
        </select>
      </div>
      <label className="search">
        <input ref={field} type="search" placeholder="Filter text or id" aria-label="Filter text or id" value={chosen.text} onChange={(event) => set({ ...chosen, text: event.target.value })} />
        <kbd>/</kbd>
      </label>
    </div>
  );
}
