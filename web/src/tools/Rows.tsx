/** A table of records: the first twenty rows and twelve columns, sortable, numbers at the right. */
import { useMemo, useState, type ReactNode } from "react";
import { ArrowDown, ArrowUp } from "lucide-react";
import { inWords } from "../wire/config";
import { widthOf } from "../ui/cells";
import { count, number } from "../ui/format";
import { isNumber, stringify } from "../wire/json";

const FIRST = 20; // rows
const WIDE = 12; // columns

interface Props {
  rows: Record<string, unknown>[];
  columns: string[];
  name: string;
}

export function Rows({ rows, columns: known, name }: Props): ReactNode {
  const [all, setAll] = useState(false);
  const [wide, setWide] = useState(false);
  const columns = wide ? known : known.slice(0, WIDE);
  const [order, setOrder] = useState<{ column: string; up: boolean } | null>(null);
  const sorted = useMemo(() => (order ? sort(rows, order.column, order.up) : rows), [rows, order]);
  const press = (column: string): void =>
    setOrder((now) => (now?.column === column ? { column, up: !now.up } : { column, up: true }));
  return (
    <>
      <div className="table" role="region" aria-label={`${name}, table`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} className={isNumeric(rows, column) ? "align-right" : undefined} aria-sort={sortOf(order, column)}>
                  <button type="button" onClick={() => press(column)}>
                    {inWords(column)}
                    {order?.column === column && (order.up ? <ArrowUp aria-hidden /> : <ArrowDown aria-hidden />)}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, all ? undefined : FIRST).map((row, at) => (
              <tr key={at}>
                {columns.map((column) => (
                  <td key={column} className={`${isNumber(row[column]) ? "align-right" : ""} ${widthOf(cell(row[column]))}`}>
                    {cell(row[column])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > FIRST && !all && (
        <button type="button" className="button ghost small" onClick={() => setAll(true)}>
          Show all {count(rows.length)}
        </button>
      )}
      {known.length > WIDE && !wide && (
        <button type="button" className="button ghost small" onClick={() => setWide(true)}>
          Show all {count(known.length)} columns
        </button>
      )}
    </>
  );
}

function sortOf(order: { column: string; up: boolean } | null, column: string): "ascending" | "descending" | "none" {
  if (order?.column !== column) return "none";
  return order.up ? "ascending" : "descending";
}

function isNumeric(rows: Record<string, unknown>[], column: string): boolean {
  return isNumber(rows[0]?.[column]);
}

function sort(rows: Record<string, unknown>[], column: string, up: boolean): Record<string, unknown>[] {
  const sign = up ? 1 : -1;
  return [...rows].sort((a, b) => sign * compare(a[column], b[column]));
}

function compare(a: unknown, b: unknown): number {
  if (isNumber(a) && isNumber(b)) return Number(a) - Number(b);
  return cell(a).localeCompare(cell(b), "en", { numeric: true });
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "—";
  if (isNumber(value)) return number(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : stringify(value);
}
