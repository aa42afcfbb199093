/** What the provider sent, event by event, as it came. */
import { useState, type ReactNode } from "react";
import { CopyButton } from "../../ui/CopyButton";
import { count, size } from "../../ui/format";
import type { LogEvent } from "../log";
import { differences, clipped } from "./difference";
import { messageOf } from "./stream";
import type { Found, Raw } from "./useRaw";
import { stringify } from "../../wire/json";

const FIRST = 200; // events that are drawn at once

interface Props {
  answer: LogEvent | null;
  found: Found;
}

export function RawView({ answer, found }: Props): ReactNode {
  return <Waiting answer={answer} found={found}>{(raw) => <RawEvents raw={raw} />}</Waiting>;
}

export function DiffView({ answer, found, events }: Props & { events: LogEvent[] }): ReactNode {
  return <Waiting answer={answer} found={found}>{(raw) => <Differences raw={raw} answer={answer!} events={events} />}</Waiting>;
}

function Waiting({ answer, found, children }: Props & { children: (raw: Raw) => ReactNode }): ReactNode {
  if (!answer) return <p className="muted">No model said this: there is nothing from a provider to compare it with. Choose a message, a thought or a tool call.</p>;
  if (!found) return <p className="muted" role="status">Loading…</p>;
  if ("failed" in found) return <p className="muted">{found.failed}</p>;
  return children(found);
}

function RawEvents({ raw }: { raw: Raw }): ReactNode {
  const [all, showAll] = useState(false);
  const shown = all ? raw.events : raw.events.slice(0, FIRST);
  return (
    <div className="event-view">
      <p className="event-name">
        <b>Raw from the provider</b>
        <span className="pill">{count(raw.events.length)} events</span>
        <span className="pill">{size(raw.bytes)}</span>
        <CopyButton text={() => raw.body} label="Copy the raw answer" />
      </p>
      <ol className="raw-events">
        {shown.map(({ type, ...fields }, n) => (
          <li key={n}>
            <b>{type}</b> <span className="muted">{brief(fields)}</span>
          </li>
        ))}
      </ol>
      {shown.length < raw.events.length && (
        <button type="button" className="button small" onClick={() => showAll(true)}>Show all {count(raw.events.length)}</button>
      )}
    </div>
  );
}

const brief = (fields: object): string => (Object.keys(fields).length ? stringify(fields) : "");

function Differences({ raw, answer, events }: { raw: Raw; answer: LogEvent; events: LogEvent[] }): ReactNode {
  const lines = differences(messageOf(raw.events), answer, events);
  const other = lines.filter((line) => !line.same);
  return (
    <div className="event-view">
      <p className="event-name">
        <b>Sent and shown</b>
        <span className={other.length ? "pill warn" : "pill ok"}>{other.length ? `${other.length} of ${lines.length} differ` : `${lines.length} values, all the same`}</span>
      </p>
      <table className="differences">
        <thead>
          <tr><th scope="col">Value</th><th scope="col">From the provider</th><th scope="col">As shown</th></tr>
        </thead>
        <tbody>
          {[...other, ...lines.filter((line) => line.same)].map((line) => {
            const [sent, shown] = clipped(line);
            return (
              <tr key={line.name} className={line.same ? "" : "other"}>
                <th scope="row">{line.name}</th>
                <td>{sent}</td>
                <td>{line.same && sent === shown ? <span className="muted">the same</span> : shown || <span className="muted">nothing</span>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
