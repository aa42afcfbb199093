/** What was used and what it cost: four figures, bars by day, tables, CSV. */
import { useEffect, useState, type ReactNode } from "react";
import { useSearchParams } from "wouter";
import { Download } from "lucide-react";
import { amount, share } from "../chat/budget";
import { agentName, me } from "../wire/config";
import { get, request, sentence } from "../wire/http";
import { useValue } from "../wire/observable";
import { Frame } from "../ui/Frame";
import { count, money } from "../ui/format";
import { saveAs } from "../ui/save";
import { useShortcuts } from "../ui/shortcuts";
import { lastDays, query, sum, type Bill, type Range } from "./bill";
import { Chart } from "./Chart";
import { RangeMenu } from "./RangeMenu";
import { footnote, SumTable } from "./Tables";

/** A bill, and what it is the bill of: another one may be on its way. */
interface Shown {
  bill: Bill;
  range: Range;
  path: string;
  all: boolean;
}

export default function UsagePage(): ReactNode {
  const who = useValue(me);
  const [search, setSearch] = useSearchParams();
  const [range, setRange] = useState<Range>(() => lastDays(30));
  const [by, setBy] = useState<"agent" | "model">("agent");
  const [shown, show] = useState<Shown | null>(null);
  const [failed, setFailed] = useState("");
  useShortcuts({ stop: null });
  const user = search.get("q") ?? who?.id ?? "";
  const all = user === "*";
  const isAdmin = who?.roles.includes("admin") ?? false;
  const path = all ? "/api/billing/users" : `/api/billing/user/${encodeURIComponent(user)}`;
  useEffect(() => {
    if (!user) return;
    let gone = false;
    get<Bill>(`${path}?${query(range)}`)
      .then((bill) => gone || (show({ bill, range, path, all }), setFailed("")))
      .catch((error: unknown) => gone || setFailed(sentence(error)));
    return () => void (gone = true);
  }, [path, user, range]); // `all` follows from `path`
  const save = async (): Promise<void> => {
    const response = await request("GET", `${path}?${query(range)}&format=csv`, { accept: "text/csv" });
    saveAs(`usage-${range.from}-${range.to}.csv`, await response.blob());
  };
  const isCurrent = shown?.range === range && shown.path === path;
  const choose = (name: string): void => setSearch(name === who?.id ? {} : { q: name });
  return (
    <Frame
      header={
        <>
          <h1 className="title">Usage<span className="wide-only"> and cost</span>{!all && user !== who?.id && ` of ${user}`}</h1>
          {!failed && !isCurrent && <span className="muted small-text" role="status">Loading…</span>}
          <RangeMenu range={range} set={setRange} />
          <button type="button" className="button" onClick={() => void save().then(() => setFailed(""), (error: unknown) => setFailed(sentence(error)))} disabled={!shown}>
            <Download aria-hidden /> <span><span className="wide-only">Download </span>CSV</span>
          </button>
        </>
      }
    >
      <div className="scroll">
        <div className="usage">
          {isAdmin && (
            <div className="tabs" role="group" aria-label="Whose usage">
              <button type="button" className={all ? "chip" : "chip on"} aria-pressed={!all} onClick={() => setSearch({})}>My usage</button>
              <button type="button" className={all ? "chip on" : "chip"} aria-pressed={all} onClick={() => setSearch({ q: "*" })}>All users</button>
            </div>
          )}
          {failed && <p className="notice bad" role="alert">{failed}</p>}
          {shown && <BillView shown={shown} by={by} setBy={setBy} choose={choose} />}
        </div>
      </div>
    </Frame>
  );
}

interface Props {
  shown: Shown;
  by: "agent" | "model";
  setBy: (by: "agent" | "model") => void;
  choose: (user: string) => void;
}

function BillView({ shown: { bill, range, all }, by, setBy, choose }: Props): ReactNode {
  return (
    <>
      <Budgets bill={bill} />
      <Figures bill={bill} range={range} />
      <Chart bill={bill} range={range} by={by} setBy={setBy} />
      {bill.by_user && all && <SumTable head="User" rows={bill.by_user.map((row) => ({ ...row, name: row.user }))} total choose={choose} />}
      <SumTable head="Model" rows={bill.by_model.map((row) => ({ ...row, name: row.model }))} total note={footnote(bill)} />
      <SumTable head="Agent" rows={bill.by_agent.map((row) => ({ ...row, name: agentName(row.agent) }))} total={false} />
    </>
  );
}

function Budgets({ bill }: { bill: Bill }): ReactNode {
  return (bill.budgets ?? []).map((budget) => (
    <p key={budget.per} className={share(budget) >= 0.8 ? "notice warn" : "notice"}>
      <span>
        <b>{Math.floor(share(budget) * 100)} % of the budget per {budget.per}</b> {amount(budget)}. New turns are refused at 100 %; running turns finish.
      </span>
    </p>
  ));
}

function Figures({ bill, range }: { bill: Bill; range: Range }): ReactNode {
  const cached = sum(bill.by_model, "cache_read_tokens");
  const days = Math.round((Date.parse(range.to) - Date.parse(range.from)) / 86_400_000) + 1;
  const part = bill.total_tokens ? `${Math.round((100 * cached) / bill.total_tokens)} % of all` : "";
  const figures: [string, string, string][] = [
    ["Cost", bill.total_cost_usd === null ? money(Number(bill.known_cost_usd)) : money(Number(bill.total_cost_usd)), bill.total_cost_usd === null ? "known, not all" : `${days} days`],
    ["Tokens", short(bill.total_tokens), ""],
    ["Sessions", count(bill.total_sessions), `${count(sum(bill.by_model, "calls"))} model calls`],
    ["Read from cache", short(cached), part],
  ];
  return (
    <div className="figures">
      {figures.map(([name, value, more]) => (
        <div className="figure" key={name}>
          <span>{name}</span>
          <p><b>{value}</b> <span>{more}</span></p>
        </div>
      ))}
    </div>
  );
}

function short(tokens: number): string {
  if (tokens >= 1_000_000) return `${(tokens / 1_000_000).toFixed(2)} M`;
  return tokens >= 100_000 ? `${Math.round(tokens / 1000)} k` : count(tokens);
}
