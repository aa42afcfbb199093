/** The numbers behind the chart: by model, by agent, and by user for admins. */
import type { ReactNode } from "react";
import { count, money } from "../ui/format";
import { sum, type Bill, type Sums } from "./bill";

interface Props {
  head: string;
  rows: (Sums & { name: string })[];
  total: boolean;
  note?: ReactNode;
  choose?: (name: string) => void;
}

export function SumTable({ head, rows, total, note, choose }: Props): ReactNode {
  const costs = rows.map((row) => row.cost_usd);
  const cost = costs.includes(null) ? null : costs.reduce<number>((all, each) => all + Number(each), 0);
  return (
    <section className="sum-table">
      <div className="table" role="region" aria-label={`By ${head.toLowerCase()}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{head}</th>
              {["Calls", "Input", "Output", "Cache read", "Cache write", "Cost"].map((name) => (
                <th scope="col" className="align-right" key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td>{choose ? <button type="button" className="link" onClick={() => choose(row.name)}>{row.name}</button> : row.name}</td>
                <Numbers row={row} />
              </tr>
            ))}
            {rows.length === 0 && <tr><td colSpan={7} className="muted">Nothing was used in this time.</td></tr>}
          </tbody>
          {total && rows.length > 0 && (
            <tfoot>
              <tr>
                <th scope="row">Total</th>
                {(["calls", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"] as const).map((name) => (
                  <td className="align-right" key={name}>{count(sum(rows, name))}</td>
                ))}
                <td className="align-right">{cost === null ? "not all known" : money(cost)}</td>
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {note && <p className="table-note">{note}</p>}
    </section>
  );
}

function Numbers({ row }: { row: Sums }): ReactNode {
  return (
    <>
      {[row.calls, row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens].map((value, at) => (
        <td key={at} className="align-right">{count(value)}</td>
      ))}
      <td className="align-right">{row.cost_usd === null ? `${money(Number(row.known_cost_usd))} known` : money(Number(row.cost_usd))}</td>
    </>
  );
}

export function footnote(bill: Bill): ReactNode {
  const stopped = sum(bill.by_model, "partial_calls");
  return (
    <>
      <span>Sums are the tokens that the provider reported. Days begin at midnight, {bill.timezone}; other times on these pages are yours.</span>
      {stopped > 0 && <span>{stopped === 1 ? "1 stopped call" : `${count(stopped)} stopped calls`} counted at the last report.</span>}
      {bill.unpriced > 0 && <span>{count(bill.unpriced)} without a known price: not in the sums of cost.</span>}
    </>
  );
}
