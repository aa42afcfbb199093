/** The log as rows of one height. Only those in view are drawn. */
import { memo, useEffect, useMemo, useRef, type KeyboardEvent, type ReactNode } from "react";
import { VList, type VListHandle } from "virtua";
import { agentColour } from "../ui/agents";
import { precise } from "../ui/format";
import { headOf, measure, summary, type LogEvent, type TurnSum } from "./log";

const HEIGHT = 34; // px
const STEPS: Record<string, number> = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }; // among those that are listed

interface Props {
  events: LogEvent[]; // all
  fitting: LogEvent[]; // those that the filter lets through
  sums: Map<string, TurnSum>;
  at: number;
  choose: (event: LogEvent) => void;
}

type Line = { turn: TurnSum } | { event: LogEvent };

export function Timeline({ events, fitting, sums, at, choose }: Props): ReactNode {
  const list = useRef<VListHandle>(null);
  const places = useMemo(() => new Map(events.map((event, n) => [event.eventId, n])), [events]);
  const lines = useMemo(() => withHeads(fitting, sums), [fitting, sums]);
  const current = events[at]?.eventId;
  const row = lines.findIndex((line) => "event" in line && line.event.eventId === current);
  useEffect(() => {
    if (row >= 0) list.current?.scrollToIndex(row, { align: "nearest" });
  }, [current, lines]); // not `row`, which follows from both
  const press = (key: KeyboardEvent): void => {
    const by = STEPS[key.key];
    if (!by || fitting.length === 0) return;
    key.preventDefault();
    const here = fitting.findLastIndex((event) => places.get(event.eventId)! <= at);
    const isListed = fitting[here]?.eventId === current;
    const from = isListed || by > 0 ? here : here + 1; // else up leads to the one above
    choose(fitting[Math.max(0, Math.min(from + by, fitting.length - 1))]!);
  };
  const start = events[0]?.timestamp ?? "";
  return (
    <VList ref={list} itemSize={HEIGHT} className="timeline" role="listbox" aria-label="Events" tabIndex={0} onKeyDown={press} aria-activedescendant={row >= 0 ? `event-${current}` : undefined} keepMounted={row >= 0 ? [row] : []}>
      {lines.map((line) =>
        "turn" in line ? (
          <div key={line.turn.id} className="turn-head" role="presentation">{headOf(line.turn)}</div>
        ) : (
          <EventRow key={line.event.eventId} event={line.event} start={start} isFirst={places.get(line.event.eventId) === 0} on={line.event.eventId === current} later={places.get(line.event.eventId)! > at} choose={choose} />
        ),
      )}
    </VList>
  );
}

function withHeads(events: LogEvent[], sums: Map<string, TurnSum>): Line[] {
  let turn = "";
  return events.flatMap((event): Line[] => {
    const head = event.turnId && event.turnId !== turn ? sums.get(event.turnId) : undefined;
    turn = event.turnId;
    return head ? [{ turn: head }, { event }] : [{ event }];
  });
}

interface RowProps {
  event: LogEvent;
  start: string;
  isFirst: boolean;
  on: boolean;
  later: boolean;
  choose: (event: LogEvent) => void;
}

const EventRow = memo(function EventRow({ event, start, isFirst, on, later, choose }: RowProps): ReactNode {
  const since = (Date.parse(event.timestamp) - Date.parse(start)) / 1000;
  const names = ["event", on && "on", later && "later", event.isInternal && "internal"].filter(Boolean).join(" ");
  const isUser = event.type === "user_message_sent";
  return (
    <div className={names} id={`event-${event.eventId}`} role="option" aria-selected={on} onClick={() => choose(event)}>
      <span className="seq">{event.sequenceNumber ?? ""}</span>
      <span className="when">{isFirst ? precise(event.timestamp) : `+${since.toFixed(since < 100 ? 3 : 1)}`}</span>
      <span className={isUser ? "badge a0" : `badge ${agentColour(event.agent.id)}`} title={event.agent.name}>{isUser ? "U" : event.agent.name.charAt(0).toUpperCase()}</span>
      <span className="type">{event.type}</span>
      <span className="sum">{summary(event)}</span>
      <span className="measure">{measure(event)}</span>
    </div>
  );
});
