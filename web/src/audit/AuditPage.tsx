/** The log of a session, played back: events at the left, what they make at the right. */
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { ArrowLeft, CircleAlert, CircleCheck } from "lucide-react";
import { config } from "../wire/config";
import { get, Problem, sentence } from "../wire/http";
import { useValue } from "../wire/observable";
import { MissingSession } from "../ui/MissingPage";
import { exportLog } from "../ui/SessionList";
import { FilterBar, type Chosen } from "./FilterBar";
import { Inspector } from "./Inspector";
import { FILTERS, load, MOST, searchable, turnSums, type LogEvent } from "./log";
import { ReplayBar } from "./ReplayBar";
import { useReplay } from "./replay";
import { Timeline } from "./Timeline";
import { count } from "../ui/format";

const NONE: LogEvent[] = []; // while they are on their way
const SAID = 3; // problems of a log that are told in words

interface Proof {
  ok: boolean;
  first: number | null;
  last: number | null;
  problems?: string[];
}

export default function AuditPage({ id }: { id: string }): ReactNode {
  const [log, setLog] = useState<LogEvent[] | null>(null);
  const events = log ?? NONE;
  const [proof, setProof] = useState<Proof | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  const [title, setTitle] = useState("");
  const [chosen, setChosen] = useState<Chosen>({ filter: "all", agent: "", text: "" });
  const [search, setSearch] = useSearchParams();
  const replay = useReplay(events);
  useValue(config);
  useEffect(() => {
    load(id).then(setLog).catch(setFailed);
    get<Proof>(`/api/sessions/${id}/verify`).then(setProof).catch(setFailed);
    get<{ title: string | null }>(`/api/sessions/${id}`).then((session) => setTitle(session.title ?? "")).catch(() => {});
  }, [id]);
  const pointed = search.get("event");
  useEffect(() => {
    const place = events.findIndex((event) => event.eventId === pointed);
    if (place >= 0) replay.go(place);
  }, [events, pointed]); // not `replay`: it would jump back when somebody moves on
  const fitting = useMemo(() => events.filter((event) => fits(event, chosen)), [events, chosen]);
  const sums = useMemo(() => turnSums(events), [events]);
  const claims = useMemo(() => events.filter((event) => event.type === "claim_unfounded"), [events]);
  const choose = (event: LogEvent): void => {
    replay.go(events.indexOf(event));
    if (pointed) setSearch({});
  };
  if (failed instanceof Problem && failed.status === 404) return <MissingSession />;
  return (
    <div className="audit">
      <header className="top">
        <Link href={`/s/${id}`} className="button ghost"><ArrowLeft aria-hidden /> Session</Link>
        <h1 className="title">{title ? `Audit · ${title}` : "Audit"}</h1>
        <span className="findings">
          {proof && <ProofPill proof={proof} />}
          {claims[0] && <button type="button" className="pill warn" onClick={() => choose(claims[0]!)}>{claims.length === 1 ? "1 claim" : `${claims.length} claims`} to check</button>}
        </span>
        <button type="button" className="button" aria-label="Export JSONL" onClick={() => void exportLog({ id, title }, true).then(() => setFailed(null), setFailed)}><span>Export<span className="wide-only"> JSONL</span></span></button>
      </header>
      {failed !== null && <p className="notice bad" role="alert">{sentence(failed)}</p>}
      {proof?.problems?.length ? <p className="notice bad">{inWords(proof.problems)}</p> : null}
      {events.length >= MOST && <p className="notice warn">Only the first {count(events.length)} events are listed. Export JSONL has all of them.</p>}
      <FilterBar events={events} chosen={chosen} set={setChosen} />
      <main className="audit-split">
        {!log && failed === null && <p className="muted loading" role="status">Loading…</p>}
        {log && <Timeline events={events} fitting={fitting} sums={sums} at={replay.at} choose={choose} />}
        <Inspector id={id} events={events} at={replay.at} go={replay.go} choose={choose} />
      </main>
      <ReplayBar events={events} replay={replay} />
    </div>
  );
}

function fits(event: LogEvent, { filter, agent, text }: Chosen): boolean {
  if (!FILTERS[filter](event) || (agent && event.agent.id !== agent)) return false;
  const wanted = text.trim().toLowerCase();
  return !wanted || event.eventId === wanted || event.type.includes(wanted) || searchable(event).includes(wanted);
}

function ProofPill({ proof }: { proof: Proof }): ReactNode {
  if (!proof.ok) return <span className="pill bad"><CircleAlert aria-hidden /> Log not whole</span>;
  return <span className="pill ok"><CircleCheck aria-hidden /> Log verified{proof.first !== null && ` · ${proof.first}–${proof.last}, no gaps`}</span>;
}

function inWords(problems: string[]): string {
  const more = problems.length > SAID ? `, and ${count(problems.length - SAID)} more` : "";
  return `The log is not whole: ${problems.slice(0, SAID).join("; ")}${more}.`;
}
