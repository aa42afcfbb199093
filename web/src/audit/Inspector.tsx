/** Beside the log: the chosen event, what the provider sent for it, what the user saw. */
import { useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { foldAll } from "../fold/fold";
import { rowsOf } from "../chat/rows";
import { RowView } from "../chat/RowView";
import { SessionContext } from "../chat/SessionContext";
import { isForUsers } from "../wire/conversation";
import { EventView } from "./EventView";
import { shownEvents, type LogEvent } from "./log";
import { Minimap } from "./Minimap";
import { answerOf, differences } from "./raw/difference";
import { DiffView, RawView } from "./raw/RawView";
import { messageOf } from "./raw/stream";
import { useRaw } from "./raw/useRaw";

const TABS = ["Event", "Raw", "As shown", "Diff", "Overview"] as const;
type Tab = (typeof TABS)[number];

interface Props {
  id: string;
  events: LogEvent[];
  at: number;
  go: (at: number) => void;
  choose: (event: LogEvent) => void;
}

export function Inspector({ id, events, at, go, choose }: Props): ReactNode {
  const [tab, setTab] = useState<Tab>("Event");
  const current = events[at];
  const answer = useMemo(() => answerOf(current, events), [current, events]);
  const found = useRaw(id, answer, tab === "Raw" || tab === "Diff");
  const other = useMemo(
    () => (found && answer && "events" in found ? differences(messageOf(found.events), answer, events).filter((line) => !line.same).length : null),
    [found, answer, events],
  );
  return (
    <aside className="inspector" aria-label="Inspector">
      <div className="tab-list" role="tablist" onKeyDown={(event) => step(event, tab, setTab)}>
        {TABS.map((name) => (
          <button key={name} type="button" role="tab" aria-selected={tab === name} tabIndex={tab === name ? 0 : -1} onClick={() => setTab(name)}>
            {name}
            {name === "Diff" && other !== null && <span className={other ? "pill warn" : "muted"}> {other}</span>}
          </button>
        ))}
      </div>
      <div className="inspector-body" role="tabpanel" aria-label={tab} tabIndex={0}>
        {tab === "Event" && current && <EventView event={current} events={events} choose={choose} />}
        {tab === "Raw" && <RawView answer={answer} found={found} />}
        {tab === "As shown" && <AsShown id={id} events={events} at={at} />}
        {tab === "Diff" && <DiffView answer={answer} found={found} events={events} />}
        {tab === "Overview" && <Minimap events={events} at={at} go={go} />}
      </div>
    </aside>
  );
}

/** Arrows go from tab to tab, and not to the next event. */
function step(event: KeyboardEvent, tab: Tab, setTab: (tab: Tab) => void): void {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length]!;
  setTab(next);
  event.stopPropagation();
  (event.currentTarget.children[TABS.indexOf(next)] as HTMLElement).focus();
}

/** What the user saw at this place: the same fold, the same rows. */
function AsShown({ id, events, at }: { id: string; events: LogEvent[]; at: number }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(foldAll(shownEvents(events.slice(0, at + 1)).filter(isForUsers)).turns), [events, at]);
  useLayoutEffect(() => void box.current?.lastElementChild?.scrollIntoView({ block: "end" }), [rows]); // the newest of that moment
  return (
    <SessionContext value={id}>
      <div className="as-shown" inert ref={box}>
        {rows.map((row) => (
          <RowView key={row.key} row={row} />
        ))}
      </div>
    </SessionContext>
  );
}
