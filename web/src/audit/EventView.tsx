/** One event: its JSON, and what belongs to it. */
import type { ReactNode } from "react";
import { Link2 } from "lucide-react";
import { Json } from "../tools/Json";
import { CopyButton } from "../ui/CopyButton";
import { linked, type LogEvent } from "./log";
import { stringify } from "../wire/json";

interface Props {
  event: LogEvent;
  events: LogEvent[];
  choose: (event: LogEvent) => void;
}

export function EventView({ event, events, choose }: Props): ReactNode {
  const others = linked(event, events);
  const claims = events.filter((one) => one.type === "claim_unfounded" && one["messageId"] === event["messageId"]);
  const { cursor: _cursor, ...shown } = event;
  return (
    <div className="event-view">
      <p className="event-name">
        <b>{event.type}</b>
        {event.sequenceNumber !== undefined && <span className="pill">number {event.sequenceNumber}</span>}
        <span className="pill">{event.agent.name}</span>
        {event.isInternal && <span className="pill info">internal</span>}
        <span className="event-tools">
          <CopyButton text={() => stringify(event, 2)} label="Copy the event" />
          <CopyButton text={() => `${location.origin}${location.pathname}?event=${event.eventId}`} label="Copy a link to this event" icon={Link2} />
        </span>
      </p>
      <Json value={shown} />
      {others.length > 0 && (
        <p className="muted">
          Belongs to{" "}
          {others.slice(0, 8).map((other) => (
            <button key={other.eventId} type="button" className="link" onClick={() => choose(other)}>
              {other.type} {other.sequenceNumber ?? ""}
            </button>
          ))}
        </p>
      )}
      {claims.map((claim) => (
        <div key={claim.eventId} className="claim">
          <b>Claim to check</b>
          <p>“{String(claim["claim"])}” {String(claim["why"])}</p>
        </div>
      ))}
    </div>
  );
}
